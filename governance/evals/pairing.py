"""Two runs of one suite, item by item: which items can be compared, which not and why.

- An item is compared when it was answered and scored on both sides, at the first try. What was not answered,
  or could not be scored, is no wrong answer; it is counted apart.
- An item that needed a retry on either side is a stratum of its own: a retry mostly meets a warm cache.
- An item asked several times is one item: right when each of its compared answers is right.
- A tag `cluster:NAME` marks items that stem from one template or conversation.
- Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from governance.errors import Unreadable
from governance.evals.model import Result, Run, State
from governance.evals.statistics import Pairs
from governance.records import dataclass

CLUSTER: Final = "cluster:"
LENGTH: Final = "length"
"""The finish reason of an answer that was cut off at the limit of tokens."""


@dataclass(frozen=True, slots=True)
class Paired:
    """One item on both sides. `before` and `after` are its results by repeat, those of both sides only."""

    item: str
    task: str
    cluster: str
    before: tuple[Result, ...]
    after: tuple[Result, ...]

    @property
    def was_right(self) -> bool:
        return all(result.score.passed for result in self.before)

    @property
    def is_right(self) -> bool:
        return all(result.score.passed for result in self.after)

    @property
    def lost(self) -> bool:
        return self.was_right and not self.is_right

    @property
    def gained(self) -> bool:
        return self.is_right and not self.was_right

    @property
    def retried(self) -> bool:
        return any(result.retried for result in (*self.before, *self.after))

    @property
    def cut_off(self) -> bool:
        """Whether an answer was cut off that was not before."""
        return not _any_cut(self.before) and _any_cut(self.after)


@dataclass(frozen=True, slots=True)
class Side:
    """What one run brought, in results: how many the suite asks for and how many came, by state; of those
    that were answered how many have no score, were cut off or were retried; `servers` are the builds and
    models that answered.
    """

    asked: int
    states: Mapping[State, int]
    unscored: int
    cut_off: int
    retried: int
    servers: tuple[str, ...]

    @property
    def answered(self) -> int:
        return self.states.get(State.ANSWERED, 0)

    @property
    def scored(self) -> int:
        return self.answered - self.unscored

    @property
    def coverage(self) -> float:
        """The share of what the suite asks for that was answered and scored."""
        return self.scored / self.asked if self.asked else 0.0


@dataclass(frozen=True, slots=True)
class Pairing:
    """All items: `compared` at the first try, `retried` apart, `missing` by id on either side."""

    compared: tuple[Paired, ...]
    retried: tuple[Paired, ...]
    missing: tuple[str, ...]


def pair(before: Run, after: Run) -> Pairing:
    """The items of two runs of one suite, in its order. Raises `Unreadable` when the suites differ."""
    _refuse_other_suite(before, after)
    old, new = _by_item(before.results), _by_item(after.results)
    compared: list[Paired] = []
    retried: list[Paired] = []
    missing: list[str] = []
    for item in dict.fromkeys((*old, *new)):
        found = _paired(item, old.get(item, {}), new.get(item, {}))
        if found is None:
            missing.append(item)
        else:
            (retried if found.retried else compared).append(found)
    return Pairing(tuple(compared), tuple(retried), tuple(missing))


def side_of(run: Run) -> Side:
    """What `run` brought, in numbers."""
    answered = [result for result in run.results if result.answered]
    servers = {name for result in answered if (name := _server(result))}
    return Side(
        asked=max(run.total, len(run.results)),
        states=Counter(result.state for result in run.results),
        unscored=sum(result.score.passed is None for result in answered),
        cut_off=sum(result.finish_reason == LENGTH for result in answered),
        retried=sum(result.retried for result in answered),
        servers=tuple(sorted(servers)),
    )


def counts(items: Iterable[Paired]) -> Pairs:
    """How the items fell."""
    fell = Counter((item.was_right, item.is_right) for item in items)
    return Pairs(fell[True, True], fell[True, False], fell[False, True], fell[False, False])


def losses(items: Sequence[Paired]) -> tuple[int, ...]:
    """1 for an item lost, -1 for one gained, else 0."""
    return tuple(int(item.lost) - int(item.gained) for item in items)


def _paired(item: str, old: Mapping[int, Result], new: Mapping[int, Result]) -> Paired | None:
    repeats = sorted(old.keys() & new.keys())
    if not repeats:
        return None
    first = old[repeats[0]]
    cluster = next((tag.removeprefix(CLUSTER) for tag in first.tags if tag.startswith(CLUSTER)), f"={item}")
    sides = tuple(old[repeat] for repeat in repeats), tuple(new[repeat] for repeat in repeats)
    return Paired(item, first.task, cluster, *sides)


def _by_item(results: Iterable[Result]) -> dict[str, dict[int, Result]]:
    """The results that count, by item and repeat; an item of which none counts is there and empty."""
    found: dict[str, dict[int, Result]] = {}
    for result in results:
        repeats = found.setdefault(result.item, {})
        if result.answered and result.score.passed is not None:
            repeats[result.repeat] = result
    return found


def _refuse_other_suite(before: Run, after: Run) -> None:
    if before.suite_digest != after.suite_digest:
        raise Unreadable(
            f"the runs are of different suites: `{before.suite}` {before.suite_digest[:12]} and "
            f"`{after.suite}` {after.suite_digest[:12]}; their scores say nothing of each other",
            hint=f"tierlock eval run {after.service or 'SERVICE'} --suite {before.suite} --at REV, with the "
            "suite of the first run",
        )


def _any_cut(results: Iterable[Result]) -> bool:
    return any(result.finish_reason == LENGTH for result in results)


def _server(result: Result) -> str:
    """What the server calls itself; of a path only the file, for the folder is that of one host."""
    model = result.model.rpartition("/")[2] if result.model.startswith("/") else result.model
    return " ".join(part for part in (model, result.system_fingerprint) if part)
