"""What needs scipy and numpy: exact chances of a verdict, resampled means, rates of rare events.

- Resampling is seeded: the same runs give the same interval on every machine.
- Whole clusters are resampled, never items out of them: items of one template or conversation move together.
- Raises `MissingTool` when scipy is not installed; nothing here is needed for a smoke eval or a rollback.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from governance.errors import MissingTool
from governance.evals.deciding import ALPHA, MARGIN, decide
from governance.evals.statistics import Interval, Pairs
from governance.verdict import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES: Final = 4000
_RARE: Final = 1e-10
"""Outcomes rarer than this change no digit that is shown."""


def rate_per(events: int, exposure: float, *, per: float = 1000.0, confidence: float = 0.95) -> Interval:
    """The exact Poisson interval of a rate of `events` per `per` units of `exposure` (Garwood 1936).

    With no event the upper end is 3.69/T: 10,000 tokens without a divergence still allow one in 2,700.
    """
    stats = _stats()
    tail = (1 - confidence) / 2
    low = stats.chi2.ppf(tail, 2 * events) / 2 if events else 0.0
    high = stats.chi2.ppf(1 - tail, 2 * events + 2) / 2
    return Interval(float(low) / exposure * per, float(high) / exposure * per)


def mean_difference(
    before: Sequence[float], after: Sequence[float], clusters: Sequence[str], *, confidence: float = 0.95
) -> Interval:
    """The bootstrap interval of the mean of `after` less `before`, item by item, over whole clusters.

    Percentile ends, 4,000 resamples, a fixed seed. Two clusters are the least that can be resampled; with
    fewer it is the whole of -1 to 1.
    """
    groups: dict[str, list[float]] = defaultdict(list)
    for old, new, cluster in zip(before, after, clusters, strict=True):
        groups[cluster].append(new - old)
    if len(groups) < 2:
        return Interval(-1.0, 1.0)
    numpy = _numpy()
    sums = numpy.array([sum(group) for group in groups.values()])
    sizes = numpy.array([len(group) for group in groups.values()])
    means = _resampled(sums, sizes, numpy)
    low, high = numpy.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(low), float(high))


def _resampled(sums: NDArray[np.float64], sizes: NDArray[np.int64], numpy: Any) -> NDArray[np.float64]:
    """The means of resamples, drawn in parts so that memory stays small."""
    random = numpy.random.default_rng(20260101)
    part = max(1, 2_000_000 // len(sums))
    means = []
    for start in range(0, RESAMPLES, part):
        drawn = random.integers(0, len(sums), size=(min(part, RESAMPLES - start), len(sums)))
        means.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return numpy.concatenate(means)  # type: ignore[no-any-return]


def chances(
    items: int, *, loss: float, discordance: float, margin: float = MARGIN, alpha: float = ALPHA
) -> Mapping[Outcome, float]:
    """How likely each verdict is for a service with a true `loss` of which `discordance` of the items flip.

    Exact: the chances of every count of flips, and of losses among them, summed by the verdict on it.
    """
    binom = _stats().binom
    found = dict.fromkeys(Outcome, 0.0)
    lost_share = (discordance + loss) / (2 * discordance) if discordance else 0.0
    for flips in range(items + 1):
        weight = float(binom.pmf(flips, items, discordance))
        if weight < _RARE:
            continue
        for lost, chance in enumerate(binom.pmf(range(flips + 1), flips, lost_share)):
            if weight * chance >= _RARE / items:
                pairs = Pairs(items - flips, lost, flips - lost, 0)
                found[decide(pairs, margin=margin, alpha=alpha).outcome] += weight * float(chance)
    return found


def _stats() -> Any:
    try:
        from scipy import stats
    except ImportError as err:
        raise _missing("scipy") from err
    return stats


def _numpy() -> Any:
    try:
        import numpy
    except ImportError as err:
        raise _missing("numpy") from err
    return numpy


def _missing(name: str) -> MissingTool:
    return MissingTool(f"comparing runs needs `{name}`", hint="pip install 'tierlock[checkup]'")
