"""Evidence as a record, `tierlock.evidence/1`: what a run says for one fingerprint and one suite.

- It lies in `.tierlock/evidence/<service>/<fingerprint12>-<suite12>.json`, each later run of the same pair
  beside it with its time; the results are the `.jsonl` of the same name. None is ever changed or removed.
- A record is exact: what is read and written again has the same bytes, and its outcome is that of its
  checks; else it was altered and is refused.
- Evidence speaks for the whole fingerprint and the whole digest in it, not for the 12 digits of its name.
- Pure: bytes and a source in, values out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Final

from governance.errors import NewerFormat, Unreadable
from governance.evals.model import Evidence
from governance.records import dataclass
from governance.values import Json
from governance.verdict import Check, Outcome, decide

if TYPE_CHECKING:
    from governance.adapters.files import FileSource

FORMAT: Final = "tierlock.evidence"
VERSION: Final = 1
FOLDER: Final = ".tierlock/evidence"
_PLAIN: Final = (
    *("service", "fingerprint", "suite", "suite_digest", "kind", "items", "answered", "scored", "passed"),
    *("endpoint", "model", "compared", "started_at", "ended_at", "tool", "results", "results_digest"),
)


@dataclass(frozen=True, slots=True)
class Filed:
    """One piece of evidence where it lies. `digest` is the SHA-256 of the file, 64 hex."""

    path: str
    digest: str
    evidence: Evidence


def path_of(service: str, fingerprint: str, suite_digest: str, at: str = "") -> str:
    """Where evidence lies. `at` is the time of a re-verification (`2026-11-30T09:00:00Z`), empty for the
    first.
    """
    stamp = f"-{at.replace('-', '').replace(':', '')}" if at else ""
    return f"{FOLDER}/{service}/{fingerprint[:12]}-{suite_digest[:12]}{stamp}.json"


def free_path(source: FileSource, service: str, fingerprint: str, suite_digest: str, *, at: str) -> str:
    """Where new evidence goes: the bare name when there is none yet, else the name with its time; a number
    behind it when that is taken too. No record is ever replaced.
    """
    bare, timed = (path_of(service, fingerprint, suite_digest, time) for time in ("", at))
    numbered = (timed.replace(".json", f"-{number}.json") for number in count(2))
    return next(path for path in chain((bare, timed), numbered) if not source.entries(path))


def results_path(path: str) -> str:
    """Where the results of the evidence at `path` lie."""
    return f"{path.removesuffix('.json')}.jsonl"


def evidence_for(
    source: FileSource, service: str, fingerprint: str, suite_digest: str = ""
) -> tuple[Evidence, ...]:
    """The evidence for a fingerprint (64 hex), and for one suite when its digest is given; the newest last.

    Raises `Unreadable` or `NewerFormat` for a record that cannot be believed.
    """
    return tuple(filed.evidence for filed in filed_for(source, service, fingerprint, suite_digest))


def filed_for(
    source: FileSource, service: str, fingerprint: str, suite_digest: str = ""
) -> tuple[Filed, ...]:
    """As `evidence_for`, each with its path and digest."""
    stem = f"{fingerprint[:12]}-{suite_digest[:12]}"
    found = []
    for entry in source.entries(f"{FOLDER}/{service}/"):
        name = entry.path.rpartition("/")[2]
        if not name.startswith(stem) or not name.endswith(".json"):
            continue
        data = source.read(entry.path)
        one = load(data, entry.path)
        if one.service != service:
            raise _altered(entry.path, f"it is of the service `{one.service}`")
        if one.fingerprint == fingerprint and suite_digest in ("", one.suite_digest):
            found.append(Filed(entry.path, hashlib.sha256(data).hexdigest(), one))
    return tuple(sorted(found, key=lambda filed: (filed.evidence.ended_at, len(filed.path), filed.path)))


def dump(evidence: Evidence) -> bytes:
    """The record as JSON text: sorted keys, two blanks, one newline at the end."""
    tree: dict[str, Json] = {name: getattr(evidence, name) for name in _PLAIN}
    tree |= {
        "schema": f"{FORMAT}/{VERSION}",
        "layers": dict(evidence.layers),
        "outcome": evidence.outcome.value,
        "checks": [
            {"name": check.name, "outcome": check.outcome.value, "detail": check.detail}
            for check in evidence.checks
        ],
        "tasks": {name: list(counts) for name, counts in evidence.tasks.items()},
        "differing": list(evidence.differing),
    }
    return (json.dumps(tree, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def load(data: bytes, path: str) -> Evidence:
    """The evidence in a record. Raises `NewerFormat`, or `Unreadable` for anything but a whole, unaltered
    one; both name `path`.
    """
    tree = _tree(data, path)
    try:
        found = _evidence(tree)
        again = dump(found)
    except (LookupError, TypeError, ValueError, AttributeError) as err:
        what = f"`{err.args[0]}` is missing" if isinstance(err, KeyError) else str(err)
        raise _altered(path, what) from err
    if again != data:
        raise _altered(path, "its bytes are not those that were written")
    if found.outcome is not decide(found.checks):
        raise _altered(path, f"its outcome `{found.outcome.value}` is not that of its checks")
    return found


def _evidence(tree: Mapping[str, Any]) -> Evidence:
    return Evidence(
        **{name: tree[name] for name in _PLAIN},
        layers={name: str(value) for name, value in tree["layers"].items()},
        outcome=Outcome(tree["outcome"]),
        checks=tuple(Check(one["name"], Outcome(one["outcome"]), one["detail"]) for one in tree["checks"]),
        tasks={name: (counts[0], counts[1]) for name, counts in tree["tasks"].items()},
        differing=tuple(tree["differing"]),
    )


def _tree(data: bytes, path: str) -> Mapping[str, Any]:
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise Unreadable(f"`{path}` is not JSON: {err}", where=path) from err
    told = str(tree.get("schema", "missing")) if isinstance(tree, dict) else "missing"
    name, _, version = told.partition("/")
    if name != FORMAT or not version.isdigit():
        raise Unreadable(f"`{path}` is no evidence: its `schema` is `{told}`", where=path)
    if int(version) > VERSION:
        raise NewerFormat(
            f"evidence format {version} is newer than this tool reads (up to {VERSION})",
            where=path,
            hint="upgrade tierlock",
        )
    return tree  # type: ignore[no-any-return]


def _altered(path: str, what: str) -> Unreadable:
    return Unreadable(
        f"the evidence `{path}` was altered: {what}",
        where=path,
        hint=f"git log -p -- {path}    (who changed it), then: tierlock eval run --record",
    )
