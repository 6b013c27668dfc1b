"""Whether the service answers worse than before: two runs of one suite, compared item by item.

- Only items answered and scored on both sides are compared (`pairing.py`); fewer than `min_coverage` of what
  the suite asks for on either side, and nothing is decided.
- The loss is decided as a whole and per task. A task that falls while the whole does not is found; the tasks
  share one `alpha` (Holm), so that seven of them raise no more alarms than one.
- An unchanged service is blocked in at most `alpha` of the comparisons: half of it goes to the whole, half to
  the tasks, for both tests are two-sided and only a loss blocks.
- Answers that more than one server gave are a mixture and decide nothing.
- Pure but for scipy, which is asked for its distributions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.evals.deciding import ALPHA, MARGIN, Verdict, decide, design_effect
from governance.evals.distributions import mean_difference, rate_per
from governance.evals.model import Run
from governance.evals.moving import Movement, movement
from governance.evals.pairing import Paired, Side, counts, losses, pair, side_of
from governance.evals.statistics import Interval, holm
from governance.records import dataclass

MIN_COVERAGE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Task:
    """One bucket: its verdict alone, and its chance once all buckets are looked at."""

    name: str
    verdict: Verdict
    adjusted: float
    fell: bool


@dataclass(frozen=True, slots=True)
class Means:
    """The mean score before and after over the compared items, with the interval of the difference."""

    before: float
    after: float
    difference: Interval


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared. `verdict` is on the items in `items`; `retried` had no part in it.

    `means` is None when every score is 0 or 1, for then the counts say it all. `rate` is how often answers
    part per 1,000 tokens, None without token ids. `clusters` is 0 when every item stands alone.
    """

    suite: str
    before: Run
    after: Run
    sides: tuple[Side, Side]
    items: tuple[Paired, ...]
    retried: tuple[Paired, ...]
    missing: tuple[str, ...]
    verdict: Verdict
    tasks: tuple[Task, ...]
    movement: Movement
    means: Means | None
    rate: Interval | None
    clusters: int
    margin: float
    alpha: float
    min_coverage: float

    @property
    def lost(self) -> tuple[Paired, ...]:
        return tuple(item for item in self.items if item.lost)

    @property
    def gained(self) -> tuple[Paired, ...]:
        return tuple(item for item in self.items if item.gained)

    @property
    def still_wrong(self) -> tuple[Paired, ...]:
        return tuple(item for item in self.items if not item.was_right and not item.is_right)


def compare_runs(
    before: Run,
    after: Run,
    *,
    margin: float = MARGIN,
    alpha: float = ALPHA,
    min_coverage: float = MIN_COVERAGE,
) -> Comparison:
    """The two runs, compared. Raises `Unreadable` when they are of different suites, `MissingTool` without
    scipy.
    """
    pairing = pair(before, after)
    items = pairing.compared
    moved = movement(items)
    return Comparison(
        suite=after.suite,
        before=before,
        after=after,
        sides=(side_of(before), side_of(after)),
        items=items,
        retried=pairing.retried,
        missing=pairing.missing,
        verdict=_decide(items, margin, alpha),
        tasks=_tasks(items, margin, alpha),
        movement=moved,
        means=_means(items),
        rate=rate_per(len(moved.moved), moved.tokens) if moved.tokens else None,
        clusters=_clusters(items),
        margin=margin,
        alpha=alpha,
        min_coverage=min_coverage,
    )


def _decide(items: tuple[Paired, ...], margin: float, alpha: float) -> Verdict:
    effect = design_effect(losses(items), [item.cluster for item in items]) if _clusters(items) else 1.0
    return decide(counts(items), margin=margin, alpha=alpha, effect=effect)


def _clusters(items: tuple[Paired, ...]) -> int:
    found = {item.cluster for item in items}
    return len(found) if len(found) < len(items) else 0


def _tasks(items: tuple[Paired, ...], margin: float, alpha: float) -> tuple[Task, ...]:
    groups: dict[str, list[Paired]] = {}
    for item in items:
        groups.setdefault(item.task, []).append(item)
    if len(groups) < 2:
        return ()
    verdicts = {name: _decide(tuple(group), margin, alpha) for name, group in groups.items()}
    adjusted = holm([one.chance if one.pairs.loss > 0 else 1.0 for one in verdicts.values()])
    return tuple(
        Task(name, one, chance, chance <= alpha and one.pairs.loss >= margin)
        for (name, one), chance in zip(verdicts.items(), adjusted, strict=True)
    )


def _means(items: tuple[Paired, ...]) -> Means | None:
    """Over the items that have a score on both sides."""
    scored = [(old, new, item.cluster) for item in items for old, new in _values(item)]
    old, new = [one[0] for one in scored], [one[1] for one in scored]
    if all(value in (0.0, 1.0) for value in (*old, *new)):
        return None
    difference = mean_difference(old, new, [one[2] for one in scored])
    return Means(sum(old) / len(old), sum(new) / len(new), difference)


def _values(item: Paired) -> Iterator[tuple[float, float]]:
    """The mean score of the item on both sides; nothing when an answer has none."""
    sides = []
    for results in (item.before, item.after):
        values = [result.score.value for result in results if result.score.value is not None]
        if len(values) < len(results):
            return
        sides.append(sum(values) / len(values))
    yield sides[0], sides[1]
