"""What the gate and its watcher see: mismatches, doubts, and what they left uncovered.

- A mismatch names layer, field, what is expected and what was found, where that was read, and whom it
  concerns: the server that runs, or the next one that starts here.
- A doubt is a layer that is known of the release and could not be looked at here. It never counts as equal.
- A layer that the release does not know is not covered: told, and nothing more.
- A change that shapes no answer is a note.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from governance.records import dataclass
from governance.values import ABSENT, Effect, Unknown, Value
from governance.verdict import Change, LayerState

NOT_COMPARABLE: Final = "TL810"
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


class Concerns(Enum):
    """Whom a mismatch is about."""

    SERVER = "this server"
    NEXT_START = "the next start"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One field of one layer that is not what the release says.

    `change` has what is expected as `before` and what was found as `after`. `since` is when it began, in
    seconds since the epoch, where something tells (the time of a file); None: when it was first seen.
    """

    code: str
    change: Change
    concerns: Concerns = Concerns.SERVER
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Doubt:
    """A layer that could not be compared, and why."""

    layer: str
    reason: str
    concerns: Concerns = Concerns.SERVER
    code: str = NOT_COMPARABLE


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look brought. `uncovered` pairs a layer with why the release says nothing of it."""

    layers: tuple[LayerState, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    uncovered: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether everything that the release knows was compared and is the same."""
        return not self.mismatches and not self.doubts


def together(looks: Iterable[Seen]) -> Seen:
    """All of `looks` as one."""
    found = tuple(looks)
    return Seen(
        layers=tuple(layer for one in found for layer in one.layers),
        mismatches=tuple(each for one in found for each in one.mismatches),
        doubts=tuple(each for one in found for each in one.doubts),
        uncovered=tuple(each for one in found for each in one.uncovered),
        notes=tuple(dict.fromkeys(note for one in found for note in one.notes)),
    )


def differing(
    code: str, changes: Iterable[Change], *, concerns: Concerns = Concerns.SERVER, since: float | None = None
) -> Seen:
    """Every one of `changes` as a mismatch; one with a side that is not known as a doubt."""
    mismatches: list[Mismatch] = []
    doubts: list[Doubt] = []
    for change in changes:
        unknown = next((side for side in (change.after, change.before) if isinstance(side, Unknown)), None)
        if unknown is None:
            mismatches.append(Mismatch(code, change, concerns, since))
        else:
            doubts.append(Doubt(change.layer, f"{change.key}: {unknown.reason}", concerns))
    return Seen(mismatches=tuple(mismatches), doubts=tuple(doubts))


def shaping(
    code: str, changes: Iterable[Change], *, concerns: Concerns = Concerns.SERVER, since: float | None = None
) -> Seen:
    """As `differing`, for what may differ harmlessly: a change that shapes no answer is a note."""
    listed = tuple(changes)
    grave = [change for change in listed if change.risk is Effect.OUTPUT]
    notes = tuple(
        f"shapes no answer: {sentence(change)}" for change in listed if change.risk is not Effect.OUTPUT
    )
    return together((differing(code, grave, concerns=concerns, since=since), Seen(notes=notes)))


def sentence(change: Change) -> str:
    """`sampling temperature: expected 0.1, found 0.9`."""
    expected, found = (shown(side) for side in (change.before, change.after))
    return f"{change.layer} {change.key}: expected {expected}, found {found}"


def duration(seconds: float) -> str:
    """`8 h 3 min`: the two largest units that say something."""
    whole = max(0, int(seconds))
    days, hours, minutes = whole // _DAY, whole % _DAY // _HOUR, whole % _HOUR // _MINUTE
    parts = ((days, "d"), (hours, "h"), (minutes, "min"), (whole % _MINUTE, "s"))
    first = next((at for at, (count, _) in enumerate(parts) if count), len(parts) - 1)
    told = [f"{count} {unit}" for count, unit in parts[first : first + 2] if count]
    return " ".join(told) or "0 s"


def shown(value: Value) -> str:
    """A value in a sentence."""
    if value is ABSENT:
        return "nothing"
    return f"unknown ({value.reason})" if isinstance(value, Unknown) else str(value)
