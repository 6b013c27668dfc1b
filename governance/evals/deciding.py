"""Whether one run is worse than another: pass, block or undecided, with the items that would settle it.

- *Pass*: the one-sided upper bound of the loss at `alpha` is below `margin`. That a loss was not found is no
  pass.
- *Block*: as many flips the one way have a two-sided chance of at most `alpha`, and the loss reaches the
  margin. So a service that did not change is blocked in `alpha`/2 of the cases at most, whatever the margin.
- *Undecided*: neither. The items still needed are those that show the loss seen (or the lack of one) with a
  chance of 80 %.
- Items that stem from one template or conversation are no independent witnesses: their counts are divided by
  the design effect before anything is decided.
- Pure, and plain Python.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

from governance.evals.statistics import (
    Interval,
    Pairs,
    items_to_clear,
    items_to_detect,
    loss_at_most,
    loss_score,
    mcnemar,
    tango,
)
from governance.records import dataclass
from governance.verdict import Outcome

MARGIN: Final = 0.02
ALPHA: Final = 0.05
FEWEST_CLUSTERS: Final = 10
"""Below this the spread between clusters is a guess."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a number of pairs says. `interval` is two-sided at 1 - alpha, `at_most` the one-sided bound,
    `chance` the two-sided p-value of McNemar's test that was judged by. `more` is how many items are still
    needed; None when it is decided or no number can be given.
    """

    outcome: Outcome
    pairs: Pairs
    interval: Interval
    at_most: float
    chance: float
    effect: float = 1.0
    more: int | None = None


def decide(pairs: Pairs, *, margin: float = MARGIN, alpha: float = ALPHA, effect: float = 1.0) -> Verdict:
    """The verdict on `pairs`; `margin` is the loss that is accepted, `effect` the design effect."""
    counted = pairs.thinned(effect)
    interval = tango(counted, confidence=1 - alpha)
    at_most, chance = loss_at_most(counted, alpha=alpha), _chance(pairs, counted, effect)

    def verdict(outcome: Outcome, more: int | None = None) -> Verdict:
        return Verdict(outcome, pairs, interval, at_most, chance, effect, more)

    if pairs.items and at_most < margin:
        return verdict(Outcome.PASS)
    if chance <= alpha and pairs.loss >= margin:
        return verdict(Outcome.BLOCK)
    return verdict(Outcome.UNDECIDED, _more(pairs, margin, alpha, effect))


def _more(pairs: Pairs, margin: float, alpha: float, effect: float) -> int | None:
    loss = max(0.0, pairs.loss)
    if pairs.items == 0 or loss == margin == 0:
        return None
    if pairs.loss < margin:
        needed = items_to_clear(margin, pairs.discordance, loss=loss, alpha=alpha)
    else:
        needed = items_to_detect(pairs.loss, pairs.discordance, alpha=alpha)
    return max(1, round(needed * effect - pairs.items))


def _chance(pairs: Pairs, counted: Pairs, effect: float) -> float:
    if effect == 1.0:
        return mcnemar(pairs).judged
    return 2 * (1 - NormalDist().cdf(abs(loss_score(counted, 0.0))))


def design_effect(losses: Sequence[int], clusters: Sequence[str]) -> float:
    """How many times larger the variance of the mean loss is than with independent items; 1 at least.

    `losses` has 1 for an item lost, -1 for one gained, else 0; `clusters` says where each belongs. Without
    a flip nothing can be seen of it, so the worst is taken: as if a cluster were one item.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for loss, cluster in zip(losses, clusters, strict=True):
        groups[cluster].append(loss)
    n, count = len(losses), len(groups)
    if n == count or count < 2:
        return 1.0 if n == count else float(n)
    worst = sum(len(group) ** 2 for group in groups.values()) / n
    mean = sum(losses) / n
    alone = sum((loss - mean) ** 2 for loss in losses) / (n - 1) * n
    if alone == 0:
        return worst
    together = sum((sum(group) - mean * len(group)) ** 2 for group in groups.values())
    return min(max(1.0, together * count / (count - 1) / alone), worst)
