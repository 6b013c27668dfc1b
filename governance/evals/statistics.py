"""What a count of right answers says of a service: intervals, paired tests, and how many items are needed.

- Two runs of one suite are compared *by item*: only items that flipped say anything (`Pairs`).
- A difference is a *loss*: the share that was right and is wrong now, less the share that went the other way.
  Positive is worse.
- Intervals are two-sided at `confidence`; a bound is one end at its own `alpha`.
- Plain Python, so that a smoke eval and a rollback need no numpy; `distributions.py` has what needs scipy.
- Sources: Wilson 1927; Newcombe 1998 (Stat. Med. 17:2635); Tango 1998 (Stat. Med. 17:891); Fagerland,
  Lydersen, Laake 2013 (BMC Med. Res. Methodol. 13:91) and 2014 (Stat. Med. 33:2850); Connor 1987
  (Biometrics 43:207); Holm 1979 (Scand. J. Stat. 6:65).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb, copysign, exp, floor, fsum, inf, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import Final

from governance.records import dataclass

POWER: Final = 0.8
_NORMAL: Final = NormalDist()
_EXACT_BELOW: Final = 25
"""Discordant pairs below which McNemar's test is the exact conditional one."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends, of a rate or a difference of rates, as shares."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """How the items of two runs fell: right in `both`, `lost`, `gained`, right in `neither`.

    Whole numbers, unless `thinned`: then what dependent items are worth.
    """

    both: float
    lost: float
    gained: float
    neither: float

    @property
    def items(self) -> float:
        return self.both + self.lost + self.gained + self.neither

    @property
    def loss(self) -> float:
        """The share lost on balance; 0 when there is no item."""
        return (self.lost - self.gained) / self.items if self.items else 0.0

    @property
    def discordance(self) -> float:
        """The share of items that flipped either way; 0 when there is no item."""
        return (self.lost + self.gained) / self.items if self.items else 0.0

    def thinned(self, effect: float) -> Pairs:
        """The pairs as if so many independent items had brought them; `effect` is the design effect (Rao and
        Scott 1992, Biometrics 48:577).
        """
        return Pairs(self.both / effect, self.lost / effect, self.gained / effect, self.neither / effect)


def wilson(passed: float, of: float, *, confidence: float = 0.95) -> Interval:
    """The Wilson score interval of a rate; 0 to 1 when nothing was counted."""
    if of == 0:
        return Interval(0.0, 1.0)
    z2 = _z(confidence) ** 2
    middle = passed + z2 / 2
    half = sqrt(z2) * sqrt(passed * (of - passed) / of + z2 / 4)
    low = 0.0 if passed == 0 else (middle - half) / (of + z2)
    high = 1.0 if passed == of else (middle + half) / (of + z2)
    return Interval(low, high)


def items_for_rate(passed: int, of: int, *, bar: float, confidence: float = 0.95) -> int | None:
    """How many items in all would bring the Wilson interval clear of `bar` if the rate stays; None when it is
    on the bar, so that no number would, or when nothing was counted.
    """
    if of == 0 or passed / of == bar:
        return None
    z2 = _z(confidence) ** 2
    return ceil(z2 * bar * (1 - bar) / (passed / of - bar) ** 2)


def least_when_all(items: int, *, alpha: float = 0.05) -> float:
    """The rate that `items` of `items` prove, one-sided: alpha^(1/n). 20 clean items prove 86 %."""
    return alpha ** (1 / items) if items else 0.0


def newcombe(pairs: Pairs, *, confidence: float = 0.95) -> Interval:
    """Newcombe's square-and-add interval of the paired loss (his method 10): closed form, for planning and
    as a second opinion.
    """
    n = pairs.items
    if n == 0:
        return Interval(-1.0, 1.0)
    before, after = pairs.both + pairs.lost, pairs.both + pairs.gained
    p1, p2 = before / n, after / n
    one, two = wilson(before, n, confidence=confidence), wilson(after, n, confidence=confidence)
    phi = _phi(pairs)

    def reach(first: float, second: float) -> float:
        return sqrt(max(0.0, first * first - 2 * phi * first * second + second * second))

    low = pairs.loss - reach(p1 - one.low, two.high - p2)
    return Interval(low, pairs.loss + reach(one.high - p1, p2 - two.low))


def _phi(pairs: Pairs) -> float:
    """The correlation of the two runs, with Newcombe's continuity correction when it is positive."""
    a, b, c, d = pairs.both, pairs.lost, pairs.gained, pairs.neither
    below = (a + b) * (c + d) * (a + c) * (b + d)
    if below == 0:
        return 0.0
    above = a * d - b * c
    corrected = max(above - pairs.items / 2, 0) if above > 0 else above
    return corrected / sqrt(below)


def tango(pairs: Pairs, *, confidence: float = 0.95) -> Interval:
    """Tango's score interval of the paired loss: the one that verdicts are given by."""
    z = _z(confidence)
    return Interval(loss_bound(pairs, z=-z), loss_bound(pairs, z=z))


def loss_bound(pairs: Pairs, *, z: float) -> float:
    """The end of Tango's interval `z` standard errors above the loss, or below it when `z` is negative."""
    if pairs.items == 0:
        return copysign(1.0, z)
    near, far = pairs.loss, copysign(1.0, z)
    for _ in range(60):
        middle = (near + far) / 2
        if abs(loss_score(pairs, middle)) <= abs(z):
            near = middle
        else:
            far = middle
    return (near + far) / 2


def loss_at_most(pairs: Pairs, *, alpha: float = 0.05) -> float:
    """The one-sided upper bound of the true loss. With nothing gained it is also no less than the exact bound
    of the share lost: Tango's alone lets a loss pass in up to 6.8 % where 5 % were promised.
    """
    bound = loss_bound(pairs, z=_NORMAL.inv_cdf(1 - alpha))
    return (
        bound if pairs.gained else max(bound, rate_at_most(ceil(pairs.lost), floor(pairs.items), alpha=alpha))
    )


def rate_at_most(seen: int, of: int, *, alpha: float = 0.05) -> float:
    """The exact one-sided upper bound of a rate (Clopper and Pearson 1934); 1 when all were seen."""
    low, high = 0.0, 1.0
    while seen < of and high - low > 1e-9:
        middle = (low + high) / 2
        if _at_most(seen, of, middle) > alpha:
            low = middle
        else:
            high = middle
    return high


def _at_most(seen: int, of: int, rate: float) -> float:
    """The chance to see `seen` or fewer of `of`."""
    whole = lgamma(of + 1)
    return fsum(
        exp(whole - lgamma(k + 1) - lgamma(of - k + 1) + k * log(rate) + (of - k) * log1p(-rate))
        for k in range(seen + 1)
    )


def loss_score(pairs: Pairs, loss: float) -> float:
    """Tango's score statistic of the hypothesis that the true loss is `loss`; normal under it."""
    n, b, c = pairs.items, pairs.lost, pairs.gained
    above = b - c - n * loss
    first = (2 * n - b + c) * loss - b - c
    root = sqrt(max(0.0, first * first + 8 * n * c * loss * (1 - loss)))
    gained = max(0.0, (root - first) / (4 * n), -loss)
    variance = n * (2 * gained + loss * (1 - loss))
    if variance <= 0:
        return 0.0 if above == 0 else copysign(inf, above)
    return above / sqrt(variance)


@dataclass(frozen=True, slots=True)
class Mcnemar:
    """Two-sided p-values that as many would have flipped the one way. `judged` is the one to judge by: the
    exact one below 25 flips, where half a step matters, else the mid-p, which is less timid and keeps its
    level (Fagerland 2013).
    """

    exact: float
    mid: float
    judged: float


def mcnemar(pairs: Pairs) -> Mcnemar:
    """McNemar's test over the flips of `pairs`; 1 when nothing flipped."""
    most, least = round(max(pairs.lost, pairs.gained)), round(min(pairs.lost, pairs.gained))
    flips = most + least
    whole = 1 << flips
    at = tail = term = comb(flips, most)
    for count in range(most, flips):
        term = term * (flips - count) // (count + 1)
        tail += term
    exact = min(1.0, 2 * tail / whole)
    mid = min(1.0, (2 * tail - at) / whole)
    return Mcnemar(exact, mid, exact if flips < _EXACT_BELOW else mid)


def items_to_detect(
    loss: float, discordance: float, *, alpha: float = 0.05, power: float = POWER, sides: int = 2
) -> int:
    """How many items show a true `loss` to be one, when `discordance` is the share that flips (Connor 1987).

    `loss` and `discordance` are shares, 0 < loss <= discordance.
    """
    reach = _NORMAL.inv_cdf(1 - alpha / sides) * sqrt(discordance)
    reach += _NORMAL.inv_cdf(power) * sqrt(max(0.0, discordance - loss * loss))
    return ceil((reach / loss) ** 2)


def items_to_clear(
    margin: float, discordance: float, *, loss: float = 0.0, alpha: float = 0.05, power: float = POWER
) -> int:
    """How many items show that a true `loss` is below `margin`, one-sided; never fewer than would do it with
    not one item lost (the rule of three).
    """
    room = margin - loss
    reach = (_NORMAL.inv_cdf(1 - alpha) + _NORMAL.inv_cdf(power)) ** 2
    return max(
        ceil(reach * max(0.0, discordance - loss * loss) / (room * room)), items_when_none(margin, alpha)
    )


def items_when_none(margin: float, alpha: float = 0.05) -> int:
    """How many items without one loss show that fewer than `margin` are lost."""
    return ceil(log(alpha) / log(1 - margin))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for how many there are, in the order given; compare each with alpha as it is."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted = [1.0] * len(p_values)
    so_far = 0.0
    for rank, index in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = so_far
    return tuple(adjusted)


def _z(confidence: float) -> float:
    return _NORMAL.inv_cdf(0.5 + confidence / 2)
