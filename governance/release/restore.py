"""What has to change in the repository so that a service is declared as a release had it.

- Its three tier files and their folders come back as the commit of the release has them; a file that the
  release did not have goes. Of tierlock.yaml only the three names in the service's entry are replaced: every
  other byte stays. Where it answers and how it is started stay as they are today.
- A service that is no longer in tierlock.yaml gets the entry it had.
- Nothing else is touched. Other services that bind one of these configs move with it, and are named.
- Pure but for the sources and the object store that it reads through git.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from governance.adapters.git_forward import ABSENT, Change, blob_of, entries_of
from governance.errors import Unreadable
from governance.records import dataclass, replace
from governance.tiers.config import SERVICES_FILE, TIERS, ConfigId, Service
from governance.tiers.reader import Reading, read_yaml
from governance.tiers.writer import dump, scalar
from governance.values import Tree

if TYPE_CHECKING:
    from governance.adapters.git import Git
    from governance.fingerprint.states import State
    from governance.release.record import Record
    from governance.release.sides import Place

_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Restore:
    """What moves: paths relative to the top level in `changes`, relative to the governed root in `paths`.

    `moves_too` are other services that bind one of the configs that move.
    """

    changes: tuple[Change, ...]
    paths: tuple[str, ...]
    moves_too: tuple[str, ...] = ()


def configs_of(record: Record) -> tuple[ConfigId, ...]:
    """The three configs that a release binds."""
    return tuple(ConfigId(tier, record.bindings[tier]) for tier in TIERS)


def as_released(record: Record, golden: Service, today: Tree | None) -> Service:
    """The service as it shall run: configs and suites of the release, address and deployment of today."""
    tree = {**(golden.tree if today is None else today), **record.bindings}
    if "evals" in golden.tree:
        tree["evals"] = golden.tree["evals"]
    return replace(golden, tree=tree)


def restore_of(record: Record, golden: Service, place: Place, head: str) -> Restore:
    """What differs between the commit `head` and the service as `record` had it.

    New content of tierlock.yaml is put into the object store. Raises `Unreadable` when tierlock.yaml at
    `head` cannot be edited.
    """
    git = place.git()
    assert git is not None
    state, folder = place.state(head, head), place.folder(git)
    above = f"{folder}/" if folder else ""
    wanted = [f"{above}{path}" for one in configs_of(record) for path in (one.path, one.folder)]
    old, new = (entries_of(git, commit, wanted) for commit in (head, record.commit))
    changes = [
        Change(path, old.get(path, ABSENT), new.get(path, ABSENT))
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    ]
    moved = {one.path.removeprefix(above) for one in changes}
    changes += _services_change(git, f"{above}{SERVICES_FILE}", state, record, golden, head)
    paths = tuple(one.path.removeprefix(above) for one in changes)
    return Restore(tuple(changes), paths, _moves_too(state, record, moved))


def _services_change(
    git: Git, path: str, state: State, record: Record, golden: Service, head: str
) -> list[Change]:
    entry = state.bindings().get(record.service)
    if entry is not None and all(entry[tier] == record.bindings[tier] for tier in TIERS):
        return []
    before = entries_of(git, head, [path]).get(path, ABSENT)
    if state.services_file is None or not state.settings():
        raise Unreadable(
            f"`{SERVICES_FILE}` does not load at HEAD, so the service cannot be bound in it",
            where=SERVICES_FILE,
            hint=f"git restore --source={record.commit[:12]} -- {SERVICES_FILE} && git commit",
        )
    data = git.blob(before[1], SERVICES_FILE)
    text = rebound(state.services_file, record.service, record.bindings, golden.tree)
    ends = "\r\n" if b"\r\n" in data else "\n"
    oid = blob_of(git, text.replace("\n", ends).encode())
    return [Change(path, before, (before[0], oid))]


def rebound(reading: Reading, name: str, bindings: Mapping[str, str], whole: Tree) -> str:
    """The text of tierlock.yaml with the service `name` bound to `bindings`; every other byte as it was.

    `whole` is the entry it gets when the file has none. Raises `Unreadable` when the edit cannot be made in
    the text.
    """
    tree = reading.tree if isinstance(reading.tree, Mapping) else {}
    services = tree.get("services")
    known = isinstance(services, Mapping) and isinstance(services.get(name), Mapping)
    text = _names_replaced(reading, name, bindings) if known else _entry_added(reading, name, whole)
    again = read_yaml(text.encode(), SERVICES_FILE).tree
    if not _is_edited(again, tree, name, bindings):
        raise Unreadable(
            f"`{name}` cannot be bound in `{SERVICES_FILE}` without touching the rest of it",
            where=SERVICES_FILE,
            hint="commit this binding by hand: "
            + ", ".join(f"{tier}: {bindings[tier]}" for tier in TIERS)
            + ", then call again",
        )
    return text


def _names_replaced(reading: Reading, name: str, bindings: Mapping[str, str]) -> str:
    text = reading.text
    places = reading.marks.places.values
    found = [(places[("services", name, tier)], bindings[tier]) for tier in TIERS]
    for place, value in sorted(found, key=lambda one: one[0].start, reverse=True):
        text = text[: place.start] + scalar(value) + text[place.end :]
    return text


def _entry_added(reading: Reading, name: str, whole: Tree) -> str:
    """The entry put behind the last service; at the end of the file when there is no service."""
    block = "".join(f"{_INDENT}{line}\n" for line in dump({name: whole}).splitlines())
    lines = reading.text.splitlines(keepends=True)
    key = reading.marks.key(("services",))
    if key is None:
        return f"{reading.text.rstrip(chr(10))}\nservices:\n{block}"
    at = key[0]
    while at < len(lines) and (lines[at][:1] in (" ", "\n") or lines[at].startswith("#")):
        at += 1
    while at > key[0] and not lines[at - 1].startswith(" "):
        at -= 1
    return "".join([*lines[:at], block, *lines[at:]])


def _is_edited(again: object, tree: Mapping[str, object], name: str, bindings: Mapping[str, str]) -> bool:
    """Whether the new text means the old tree with only this service's names replaced, or its entry added."""
    if not isinstance(again, Mapping) or {**again, "services": None} != {**tree, "services": None}:
        return False
    new, old = again["services"], tree.get("services") or {}
    if not isinstance(new, Mapping) or not isinstance(old, Mapping):
        return False
    others = {key: value for key, value in new.items() if key != name}
    if others != {key: value for key, value in old.items() if key != name}:
        return False
    entry = {**new[name], **dict.fromkeys(TIERS)}
    before = old.get(name)
    same = before is None or entry == {**before, **dict.fromkeys(TIERS)}
    return same and all(new[name][tier] == bindings[tier] for tier in TIERS)


def _moves_too(state: State, record: Record, moved: set[str]) -> tuple[str, ...]:
    """The other services that bind a config of which a file moves."""
    touched = {
        str(one)
        for one in configs_of(record)
        if any(path == one.path or path.startswith(one.folder) for path in moved)
    }
    return tuple(
        name
        for name, tree in state.bindings().items()
        if name != record.service and any(f"{tier}/{tree[tier]}" in touched for tier in TIERS)
    )
