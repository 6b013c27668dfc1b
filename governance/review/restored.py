"""Which changes only bring golden back: they were approved when golden landed, and need no approval again.

- Golden is what the pointer says in the state *before* the change. A change cannot bring its own golden.
- The whole service has to come back, all three configs and the binding as golden has them. A part of golden
  beside something newer is a combination that nobody approved.
- A config that further services bind counts only when each of these has come back to its own golden too.
- Golden's record must be the one that was pinned, its commit must lie in the history of the state before
  (what never landed was never judged), and nothing may have revoked it.
- What cannot be read covers nothing: the change then needs approvals like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from governance.adapters.git import RevisionTree
from governance.adapters.git_history import is_ancestor
from governance.errors import TierlockError
from governance.fingerprint.layers import config_digest
from governance.fingerprint.states import State
from governance.review import strict
from governance.review.changeset import binding_digest
from governance.review.model import Subject, SubjectKind, Transition
from governance.tiers.config import Service

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.values import Json

POINTERS: Final = ".tierlock/golden/"
RECORDS: Final = ".tierlock/releases/"


def restored(
    before: FileSource | None, after: FileSource, transitions: Iterable[Transition]
) -> dict[Subject, str]:
    """Each subject that only comes back to golden, with the sentence that says so."""
    moved = tuple(transitions)
    if not moved or not isinstance(before, RevisionTree):
        return {}
    names = [entry.path.removeprefix(POINTERS).removesuffix(".json") for entry in before.entries(POINTERS)]
    now = State(after)
    back = {name: said for name in names if (said := _is_back(before, now, name))}
    if not back:
        return {}
    return {one.subject: said for one in moved if (said := _covered(one, now, back))}


def _covered(one: Transition, now: State, back: Mapping[str, str]) -> str:
    """The sentence for one transition, or nothing when it is not covered."""
    subject = one.subject
    if subject.kind is SubjectKind.BINDING:
        return back.get(subject.name, "")
    if subject.kind is not SubjectKind.CONFIG or subject.after is None:
        return ""
    tier, _, name = subject.name.partition("/")
    bound = [service for service, tree in now.bindings().items() if tree.get(tier) == name]
    return back[bound[0]] if bound and all(service in back for service in bound) else ""


def _is_back(before: RevisionTree, now: State, name: str) -> str:
    """How `name` came back to the golden of the state before; empty when it did not."""
    try:
        release, commit = _pinned(before, name)
        if not commit or not is_ancestor(before.git, commit, before.oid):
            return ""
        then = State(RevisionTree(before.git, commit, folder=before.folder, oid=commit))
        golden, service = then.service(name), now.service(name)
        if golden is None or service is None or _identity(golden) != _identity(service):
            return ""
    except (TierlockError, ValueError, KeyError, TypeError):
        return ""
    return f"{name} comes back to its golden {release}, which was judged when it landed"


def _identity(service: Service) -> tuple[str | None, ...]:
    """Everything of a service that needs approval. Raises `ValueError` when a config does not load."""
    configs = (service.base, service.sampling, service.prompts)
    if any(config is None for config in configs):
        raise ValueError("a config does not load")
    return (binding_digest(service.tree), *(config_digest(config) for config in configs if config))


def _pinned(before: RevisionTree, name: str) -> tuple[str, str]:
    """The release that is golden and its commit, by the pointer and the record it pins; empty for none."""
    pointer = strict.object_of(strict.json_of(before.read(f"{POINTERS}{name}.json")), "the pointer")
    if pointer["schema"] != "tierlock.golden/1" or pointer["current"] is None:
        return "", ""
    current = strict.object_of(pointer["current"], "the entry")
    release = strict.name_of(current["release"], "release")
    data = before.read(f"{RECORDS}{name}/{release}.json")
    if current["revoked"] is not None or hashlib.sha256(data).hexdigest() != current["record"]:
        return "", ""
    record: Mapping[str, Json] = strict.object_of(strict.json_of(data), "the record")
    return release, strict.text_of(record["commit"], "commit")
