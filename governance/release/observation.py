"""Whether what runs is what was restored: judged from the running servers, never from the files.

- A server counts when it runs the image of the release, shows the values of its configs, and started after
  the files were restored, or carries the fingerprint that the driver started it under.
- Restored files beside a server of before are "restored on disk, not live". A server that is older than the
  files and shows nothing is "cannot verify": it is not taken for the old one and not for the new one.
- Each server of several is judged by its name; where they differ from one another it is a mixture, and what
  an eval over it would say is worth nothing.
- What is not seen counts as nothing. No server at all blocks.
- Pure: what was seen in, checks out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from governance.records import dataclass
from governance.values import ABSENT, Absent, Effect, Unknown, Value
from governance.verdict import Change, Check, Outcome

OBSERVE: Final = "observe"
_SHOWN: Final = 3
_ROUNDED: Final = 1.0
"""Seconds: the kernel and container engines round start times down."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What shall run. `images` are the digests (`sha256:…`) by which its one image goes, none when the
    release has no image; `restored_at` is when the files began to move (seconds since the epoch), None when
    none had to.
    """

    release: str
    fingerprint: str
    images: tuple[str, ...] = ()
    restored_at: float | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """One server as it was seen: by its runtime, and by what it shows of itself.

    `label` is the fingerprint the driver started it under, empty when it carries none. `compared` values were
    held against the configs, `moved` were not equal; `missing` says why there was nothing to compare.
    """

    name: str
    started_at: float | Unknown
    image: str | Unknown | Absent = ABSENT
    label: str = ""
    compared: int = 0
    moved: tuple[Change, ...] = ()
    missing: str = ""

    @property
    def wrong(self) -> tuple[Change, ...]:
        """The differences that shape answers."""
        return tuple(change for change in self.moved if change.risk is Effect.OUTPUT)


def judge(expected: Expected, found: Sequence[Running] | Unknown) -> tuple[Check, ...]:
    """One check per server, and one on all of them when there are several."""
    if isinstance(found, Unknown):
        return (Check(OBSERVE, Outcome.UNDECIDED, f"cannot verify what runs: {found.reason}"),)
    if not found:
        return (Check(OBSERVE, Outcome.BLOCK, "no server of this service runs"),)
    if len(found) == 1:
        outcome, told = _one(expected, found[0])
        return (Check(OBSERVE, outcome, told),)
    judged = [(one.name, *_one(expected, one)) for one in found]
    each = tuple(Check(f"{OBSERVE} {name}", outcome, told) for name, outcome, told in judged)
    return (*each, _together(judged))


def is_mixture(found: Sequence[Running] | Unknown, expected: Expected) -> bool:
    """Whether the servers are not all in one state: an eval over them says nothing."""
    if isinstance(found, Unknown):
        return False
    return len({_one(expected, one)[0] for one in found}) > 1 or len({_state(one) for one in found}) > 1


def _together(judged: Sequence[tuple[str, Outcome, str]]) -> Check:
    outcomes = {outcome for _, outcome, _ in judged}
    names = {outcome: [name for name, one, _ in judged if one is outcome] for outcome in Outcome}
    if outcomes == {Outcome.PASS}:
        return Check(OBSERVE, Outcome.PASS, f"all {len(judged)} servers are as released")
    if len(outcomes) > 1:
        parts = {
            Outcome.PASS: "as released",
            Outcome.BLOCK: "not as released",
            Outcome.UNDECIDED: "not verified",
        }
        told = ", ".join(f"{', '.join(names[one])} {word}" for one, word in parts.items() if names[one])
        worst = Outcome.BLOCK if Outcome.BLOCK in outcomes else Outcome.UNDECIDED
        return Check(OBSERVE, worst, f"a mixture of servers: {told}")
    worst = outcomes.pop()
    return Check(OBSERVE, worst, f"none of {len(judged)} servers is seen to be as released")


def _one(expected: Expected, one: Running) -> tuple[Outcome, str]:
    """The outcome of one server, and the sentence about it: the worst first."""
    old = _is_old(expected, one)
    if faults := list(_faults(expected, one)):
        anew = not old and not isinstance(one.started_at, Unknown)
        lead = "started anew, not as restored: " if anew else "restored on disk, not live: "
        return Outcome.BLOCK, (lead if expected.restored_at is not None else "") + "; ".join(faults)
    if opened := list(_open(expected, one, old=old)):
        return Outcome.UNDECIDED, "cannot verify: " + "; ".join(opened)
    return Outcome.PASS, _good(expected, one)


def _faults(expected: Expected, one: Running) -> Iterator[str]:
    if expected.images and isinstance(one.image, str) and one.image not in expected.images:
        runs, has = _brief(one.image), _brief(expected.images[0])
        yield f"files restored, image not: it runs {runs}, {expected.release} has {has}"
    for change in one.wrong[:_SHOWN]:
        yield f"{change.key} is {_text(change.after)}, {expected.release} has {_text(change.before)}"
    if len(one.wrong) > _SHOWN:
        yield f"{len(one.wrong) - _SHOWN} more values differ"
    if one.label and one.label != expected.fingerprint:
        yield f"it was started as {one.label[:12]}, {expected.release} is {expected.fingerprint[:12]}"


def _open(expected: Expected, one: Running, *, old: bool) -> Iterator[str]:
    if old:
        yield "the process is older than the files"
    if expected.restored_at is not None and isinstance(one.started_at, Unknown) and not one.label:
        yield f"when it started is not known: {one.started_at.reason}"
    if expected.images and not isinstance(one.image, str):
        why = one.image.reason if isinstance(one.image, Unknown) else "it runs in none"
        yield f"which image it runs is not known: {why}"
    if not one.compared:
        yield one.missing or "it shows nothing that could be compared"


def _is_old(expected: Expected, one: Running) -> bool:
    """Whether it surely started before the files came, and nothing says that it runs the release all the
    same.
    """
    if expected.restored_at is None or isinstance(one.started_at, Unknown):
        return False
    return one.started_at < expected.restored_at - _ROUNDED and one.label != expected.fingerprint


def _good(expected: Expected, one: Running) -> str:
    same = one.compared - len(one.moved)
    told = f"read back {same} of {one.compared} values equal to {expected.release}"
    if one.moved:
        told += f"; speed only: {', '.join(change.key for change in one.moved[:_SHOWN])}"
    return told + (f"; image {_brief(expected.images[0])}" if expected.images else "")


def _state(one: Running) -> tuple[object, ...]:
    """What two servers of one state have in common."""
    moved = tuple((change.key, str(change.after)) for change in one.wrong)
    return (one.image if isinstance(one.image, str) else "", one.label, moved)


def _brief(digest: str) -> str:
    algorithm, _, digits = digest.partition(":")
    return f"{algorithm}:{digits[:12]}"


def _text(value: Value) -> str:
    return "nothing" if value is ABSENT else str(value)
