"""The golden pointer, `tierlock.golden/1`: the release a service returns to, and those it returned to before.

- An entry says which release, by its fingerprint and by the SHA-256 of its record, and on what evidence.
- The former ones stay, newest last: each can be gone back to while nothing revoked it.
- A revoked entry stays where it is and is golden no more; nothing steps into its place by itself.
- Whether the evidence still says what it said is judged in `standing.py`; here is what was written down.
- A file is exact: bytes that tierlock would not write were edited, and are refused.
- Pure: bytes and a source in, values out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable, Usage
from governance.release import record as records
from governance.release.moving import hex_of, moment, open_record, optional, refused
from governance.release.record import Override
from governance.review import strict
from governance.values import Json, Tree

if TYPE_CHECKING:
    from governance.adapters.files import FileSource

FOLDER: Final = ".tierlock/golden/"
FORMAT: Final = "tierlock.golden"
WORD: Final = "golden"
"""What stands for the golden release where a release is named: `summarizer@golden`."""
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Proof:
    """One piece of eval evidence that an entry rests on: where it lies, the SHA-256 of its file, what it is
    of, and when its run ended.
    """

    path: str
    digest: str
    suite: str
    kind: str
    ended_at: str


@dataclass(frozen=True, slots=True)
class Revocation:
    """Why an entry is golden no more. `evidence` is the path of a run that failed; empty when a person
    decided.
    """

    at: str
    by: str
    reason: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One release that is or was golden. `record` is the SHA-256 of its release record's file."""

    release: str
    fingerprint: str
    record: str
    set_at: str
    by: str
    reason: str
    evidence: tuple[Proof, ...] = ()
    overrides: tuple[Override, ...] = ()
    revoked: Revocation | None = None

    @property
    def label(self) -> str:
        """`v38 9f2a66c01b7e`: how people call it."""
        return f"{self.release} {self.fingerprint[:12]}"

    @property
    def proven_at(self) -> str:
        """When the newest run that it rests on ended; empty when it rests on none."""
        return max((one.ended_at for one in self.evidence), default="")


@dataclass(frozen=True, slots=True)
class Golden:
    """The pointer of one service: `current` is None before the first, `history` has the oldest first."""

    service: str
    current: Entry | None = None
    history: tuple[Entry, ...] = ()

    @property
    def path(self) -> str:
        return path_of(self.service)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of them, the oldest first, the current one last."""
        return (*self.history, *((self.current,) if self.current else ()))

    @property
    def earlier(self) -> tuple[Entry, ...]:
        """What can be gone back to beside the current one: not revoked, each release once, the newest
        first.
        """
        now = self.current.release if self.current else ""
        found: dict[str, Entry] = {}
        for one in reversed(self.history):
            found.setdefault(one.release, one)
        return tuple(one for one in found.values() if one.release != now and one.revoked is None)

    def entry(self, release: str) -> Entry | None:
        """The newest entry of that release."""
        return next((one for one in reversed(self.entries) if one.release == release), None)


def path_of(service: str) -> str:
    """Where the golden pointer of a service lies."""
    return f"{FOLDER}{service}.json"


def read_golden(source: FileSource, service: str) -> Golden:
    """The golden pointer of `service` in `source`; without an entry where there is none. Raises as `load`."""
    path = path_of(service)
    return load(source.read(path), path) if source.entries(path) else Golden(service)


def golden_release(source: FileSource, service: str) -> str:
    """The release that is golden now. Raises `Unreadable` when none is or it was revoked, and as `load`."""
    current = read_golden(source, service).current
    if current is None or current.revoked is not None:
        why = "was revoked" if current else "is not set"
        raise Unreadable(
            f"the golden of service `{service}` {why}", hint=f"tierlock golden set {service} RELEASE"
        )
    return current.release


def pointed(golden: Golden, entry: Entry) -> Golden:
    """The pointer moved to `entry`; what was current becomes history."""
    return replace(golden, current=entry, history=golden.entries)


def revoked(golden: Golden, release: str, why: Revocation) -> Golden:
    """The pointer with the newest entry of `release` revoked. Raises `Usage` when there is none, or when it
    is revoked already.
    """
    found = golden.entry(release)
    if found is None:
        named = ", ".join(dict.fromkeys(one.release for one in golden.entries)) or "none"
        raise Usage(f"`{golden.service}@{release}` was never golden", hint=f"there are: {named}")
    if found.revoked is not None:
        raise Usage(
            f"{found.label} was revoked at {found.revoked.at} by {found.revoked.by}: {found.revoked.reason}",
            hint=f"tierlock golden show {golden.service}",
        )
    gone = replace(found, revoked=why)
    if golden.current is found:
        return replace(golden, current=gone)
    return replace(golden, history=tuple(gone if one is found else one for one in golden.history))


def dump(golden: Golden) -> bytes:
    """The pointer as the bytes of its file."""
    return records.text_of(
        {
            "schema": f"{FORMAT}/{VERSION}",
            "service": golden.service,
            "current": None if golden.current is None else _tree(golden.current),
            "history": [_tree(one) for one in golden.history],
        }
    )


def load(data: bytes, path: str) -> Golden:
    """The pointer in a file. Raises `NewerFormat`, or `Unreadable` for anything but a whole, unedited one."""
    with refused(path, "golden pointer"):
        tree = open_record(data, FORMAT, VERSION, ("schema", "service", "current", "history"))
        golden = Golden(
            strict.name_of(tree["service"], "service"),
            None if tree["current"] is None else _entry(tree["current"]),
            tuple(_entry(one) for one in strict.list_of(tree["history"], "history")),
        )
        if dump(golden) != data:
            raise ValueError("its bytes are not those that tierlock writes: it was edited")
        if path.startswith(FOLDER) and path != golden.path:
            raise ValueError(f"it is that of `{golden.service}`")
        return golden


def _tree(one: Entry) -> dict[str, Json]:
    return {
        "release": one.release,
        "fingerprint": one.fingerprint,
        "record": one.record,
        "set_at": one.set_at,
        "by": one.by,
        "reason": one.reason,
        "evidence": [
            {"path": p.path, "digest": p.digest, "suite": p.suite, "kind": p.kind, "ended_at": p.ended_at}
            for p in one.evidence
        ],
        "overrides": [{"check": o.check, "reason": o.reason, "by": o.by} for o in one.overrides],
        "revoked": None if one.revoked is None else _revocation_tree(one.revoked),
    }


def _revocation_tree(one: Revocation) -> dict[str, Json]:
    return {"at": one.at, "by": one.by, "reason": one.reason, "evidence": one.evidence or None}


_ENTRY: Final = {
    *("release", "fingerprint", "record", "set_at", "by", "reason", "evidence", "overrides", "revoked"),
}


def _entry(value: Json) -> Entry:
    tree = strict.object_of(value, "an entry")
    strict.exactly(tree, _ENTRY, "an entry")
    release = strict.text_of(tree["release"], "release")
    if records.number_of(release) is None:
        raise ValueError("`release` is not one, such as v41")
    return Entry(
        release,
        hex_of(tree["fingerprint"], "fingerprint"),
        hex_of(tree["record"], "record"),
        moment(tree["set_at"], "set_at"),
        strict.text_of(tree["by"], "by"),
        strict.text_of(tree["reason"], "reason"),
        tuple(_proof(one) for one in strict.list_of(tree["evidence"], "evidence")),
        tuple(_override(one) for one in strict.list_of(tree["overrides"], "overrides")),
        None if tree["revoked"] is None else _revocation(tree["revoked"]),
    )


def _proof(value: Json) -> Proof:
    tree: Tree = strict.object_of(value, "a piece of evidence")
    strict.exactly(tree, {"path", "digest", "suite", "kind", "ended_at"}, "a piece of evidence")
    return Proof(
        strict.text_of(tree["path"], "path"),
        hex_of(tree["digest"], "digest"),
        strict.text_of(tree["suite"], "suite"),
        strict.text_of(tree["kind"], "kind"),
        moment(tree["ended_at"], "ended_at"),
    )


def _override(value: Json) -> Override:
    tree = strict.object_of(value, "an override")
    strict.exactly(tree, {"check", "reason", "by"}, "an override")
    return Override(*(strict.text_of(tree[key], key) for key in ("check", "reason", "by")))


def _revocation(value: Json) -> Revocation:
    tree = strict.object_of(value, "`revoked`")
    strict.exactly(tree, {"at", "by", "reason", "evidence"}, "`revoked`")
    return Revocation(
        moment(tree["at"], "at"),
        strict.text_of(tree["by"], "by"),
        strict.reason_of(tree["reason"]),
        optional(tree["evidence"], "evidence"),
    )
