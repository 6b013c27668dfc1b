"""Whether the server that is evaluated is the one that was declared: read back before and after the run.

- What shapes answers must be as declared, both times: evidence about another server is no evidence.
- What moves only the speed is told and blocks nothing.
- A server that shows nothing, cannot be reached for it, or was started anew in the middle leaves it open.
- Pure: what was observed in, checks out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from governance.engines.drift import drift
from governance.engines.keys import look
from governance.engines.services import generation_config
from governance.errors import TierlockError
from governance.evals.tally import listed
from governance.records import dataclass
from governance.values import ABSENT, Effect, Unknown, Value
from governance.verdict import Change, Check, Outcome

if TYPE_CHECKING:
    from governance.engines.observe import Observation
    from governance.tiers.config import Service

Look = Callable[[str, str], "Observation"]
"""Observes the server, given the declared engine and its version. Raises `Unreachable`."""

NAME: Final = "read back"
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at the server: how many values were compared, which were not as declared, when the process
    started. `missing` says why there was nothing to see.
    """

    compared: int = 0
    moved: tuple[Change, ...] = ()
    started_at: float | Unknown | None = None
    missing: str = ""

    @property
    def wrong(self) -> tuple[Change, ...]:
        """The differences that shape answers."""
        return tuple(change for change in self.moved if change.risk is Effect.OUTPUT)


def read_back(service: Service, look_at: Look) -> Seen:
    """What the running server shows beside what `service` declares."""
    if service.base is None or service.sampling is None:
        return Seen(missing=f"a config of `{service.name}` does not load")
    base = service.base.tree
    engine, version = (look(base, f"engine.{key}") for key in ("name", "version"))
    try:
        seen = look_at(engine if isinstance(engine, str) else "", version if isinstance(version, str) else "")
        found = drift(base, service.sampling.tree, generation_config(service.base), seen)
    except TierlockError as err:
        return Seen(missing=err.message)
    compared = len(found.same) + len(found.changes)
    missing = "" if compared else "the server shows nothing that could be compared"
    return Seen(compared, found.changes, seen.started_at, missing)


def judge_server(before: Seen, after: Seen) -> Check:
    """Whether both looks show the declared server."""
    for when, seen in (("before", before), ("after", after)):
        if seen.wrong:
            told = "; ".join(_told(change) for change in seen.wrong[:_SHOWN])
            more = f"; {len(seen.wrong) - _SHOWN} more" if len(seen.wrong) > _SHOWN else ""
            return Check(NAME, Outcome.BLOCK, f"the server is not as declared {when} the run: {told}{more}")
    for when, seen in (("before", before), ("after", after)):
        if seen.missing:
            return Check(NAME, Outcome.UNDECIDED, f"{when} the run: {seen.missing}")
    if _moved(before.started_at, after.started_at):
        return Check(NAME, Outcome.UNDECIDED, "the server was started anew during the run")
    told = f"{after.compared} of {after.compared} values as declared, before and after"
    if after.moved:
        names = listed(change.key for change in after.moved)
        told = (
            f"{after.compared - len(after.moved)} of {after.compared} values as declared; speed only: {names}"
        )
    return Check(NAME, Outcome.PASS, told)


def differing(before: Seen, after: Seen) -> tuple[str, ...]:
    """The keys that were not as declared, in either look."""
    return tuple(dict.fromkeys(change.key for change in (*before.moved, *after.moved)))


def _moved(before: float | Unknown | None, after: float | Unknown | None) -> bool:
    """Whether the process surely is another one; seconds are rounded differently from look to look."""
    return isinstance(before, float) and isinstance(after, float) and abs(before - after) > 1.0


def _told(change: Change) -> str:
    return f"{change.key} is {_text(change.after)}, declared {_text(change.before)}"


def _text(value: Value) -> str:
    return "nothing" if value is ABSENT else f"`{value}`"
