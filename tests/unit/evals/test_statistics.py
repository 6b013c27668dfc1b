"""The statistics against numbers that others published, and against scipy."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from governance.evals.statistics import (
    Interval,
    Pairs,
    holm,
    items_for_rate,
    items_to_clear,
    items_to_detect,
    items_when_none,
    least_when_all,
    loss_at_most,
    loss_score,
    mcnemar,
    newcombe,
    rate_at_most,
    tango,
    wilson,
)

# Airway hyper-responsiveness before and after stem cell transplantation, the example that Fagerland, Lydersen
# and Laake work through: 21 children, 7 change one way and 1 the other.
AIRWAYS = Pairs(both=1, lost=1, gained=7, neither=12)
SMALL = st.integers(0, 60)
ANY = st.builds(Pairs, SMALL, SMALL, SMALL, SMALL)


def near(low: float, high: float, *, within: float = 5e-4) -> Interval:
    return Interval(pytest.approx(low, abs=within), pytest.approx(high, abs=within))


def test_the_intervals_and_tests_of_the_published_example() -> None:
    """Fagerland 2014, table V, and 2013, table 3."""
    assert tango(AIRWAYS) == near(-0.517, -0.026)
    assert newcombe(AIRWAYS) == near(-0.507, -0.026)
    assert mcnemar(AIRWAYS).exact == pytest.approx(0.0703, abs=5e-5)
    assert mcnemar(AIRWAYS).mid == pytest.approx(0.0391, abs=5e-5)


@pytest.mark.parametrize(("passed", "of"), [(0, 10), (1, 10), (81, 263), (148, 148), (9_990, 10_000)])
def test_wilson_is_what_scipy_says(passed: int, of: int) -> None:
    ours = wilson(passed, of)
    theirs = stats.binomtest(passed, of).proportion_ci(method="wilson")
    assert ours == near(theirs.low, theirs.high, within=1e-12)


def test_no_item_says_nothing_of_a_rate_nor_of_a_loss() -> None:
    none = Pairs(0, 0, 0, 0)
    assert wilson(0, 0) == Interval(0.0, 1.0)
    assert tango(none) == newcombe(none) == Interval(-1.0, 1.0)
    assert mcnemar(none).judged == 1.0
    assert loss_at_most(none) == 1.0


@pytest.mark.parametrize(
    ("loss", "discordance", "items"),
    [(0.02, 0.1, 1960), (0.03, 0.1, 870), (0.05, 0.1, 312), (0.05, 0.2, 626), (0.1, 0.2, 155)],
)
def test_items_to_detect_are_those_of_connor(loss: float, discordance: float, items: int) -> None:
    assert items_to_detect(loss, discordance) == items


@pytest.mark.parametrize(
    ("margin", "discordance", "items"),
    [(0.02, 0.05, 773), (0.03, 0.05, 344), (0.03, 0.1, 687), (0.05, 0.1, 248)],
)
def test_items_to_clear_a_margin(margin: float, discordance: float, items: int) -> None:
    assert items_to_clear(margin, discordance) == items


def test_a_run_without_a_flip_still_needs_the_items_of_the_rule_of_three() -> None:
    assert items_to_clear(0.02, 0.0) == items_when_none(0.02) == 149
    assert loss_at_most(Pairs(148, 0, 0, 0)) > 0.02 > loss_at_most(Pairs(149, 0, 0, 0))


def test_a_clean_smoke_set_proves_little() -> None:
    told = [round(100 * least_when_all(items), 1) for items in (20, 50, 100, 200, 300, 1000)]
    assert told == [86.1, 94.2, 97.0, 98.5, 99.0, 99.7]


@pytest.mark.parametrize(("seen", "of"), [(0, 1), (0, 149), (2, 300), (40, 50), (3, 5000), (7, 7)])
def test_the_exact_bound_of_a_rate_is_what_scipy_says(seen: int, of: int) -> None:
    theirs = stats.binomtest(seen, of, alternative="less").proportion_ci(0.95, method="exact")
    assert rate_at_most(seen, of) == pytest.approx(theirs.high, abs=1e-8)


@pytest.mark.parametrize(("lost", "gained"), [(5, 0), (6, 0), (22, 12), (65, 8), (3, 3), (400, 350)])
def test_the_exact_mcnemar_is_the_binomial_test_of_scipy(lost: int, gained: int) -> None:
    found = mcnemar(Pairs(10, lost, gained, 10))
    assert found.exact == pytest.approx(stats.binomtest(lost, lost + gained).pvalue)
    assert found.mid < found.exact or lost == gained
    assert found.judged == (found.exact if lost + gained < 25 else found.mid)


@pytest.mark.parametrize(
    ("passed", "of", "bar"), [(147, 198, 0.7), (137, 198, 0.7), (19, 20, 0.9), (3, 9, 0.5)]
)
def test_the_items_that_a_rate_needs_bring_its_interval_clear_of_the_bar(
    passed: int, of: int, bar: float
) -> None:
    """The rate cannot always be kept to the item, so one item of slack on each side."""
    items = items_for_rate(passed, of, bar=bar)
    assert items is not None
    rate = passed / of
    above = rate > bar

    def clear(items: int) -> bool:
        found = wilson(round(rate * items), items)
        return found.low > bar if above else found.high < bar

    assert clear(round(items * 1.02) + of)
    assert not clear(round(items * 0.98) - 2)


def test_a_rate_on_the_bar_is_never_decided() -> None:
    assert items_for_rate(7, 10, bar=0.7) is None
    assert items_for_rate(0, 0, bar=0.7) is None


def test_holm_adjusts_in_the_order_given_and_never_orders_anew() -> None:
    """Against the worked example of R's `p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")`."""
    assert holm((0.01, 0.04, 0.03, 0.005)) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert holm(()) == ()
    assert holm((0.7, 0.9)) == (1.0, 1.0)


@given(ANY)
def test_an_interval_holds_its_estimate_and_turns_round_with_the_runs(pairs: Pairs) -> None:
    found = tango(pairs)
    assert -1 <= found.low <= pairs.loss <= found.high <= 1
    turned = tango(Pairs(pairs.both, pairs.gained, pairs.lost, pairs.neither))
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


@given(ANY)
def test_each_end_of_tango_is_where_its_score_is_the_normal_quantile(pairs: Pairs) -> None:
    found = tango(pairs)
    for end in (found.low, found.high):
        if abs(end) < 1 - 1e-9:
            assert abs(loss_score(pairs, end)) == pytest.approx(1.959964, abs=1e-3)


@given(ANY, st.sampled_from((0.01, 0.05, 0.1)))
def test_one_more_item_lost_never_lowers_the_bound(pairs: Pairs, alpha: float) -> None:
    worse = Pairs(max(pairs.both - 1, 0), pairs.lost + min(pairs.both, 1), pairs.gained, pairs.neither)
    assert loss_at_most(worse, alpha=alpha) >= loss_at_most(pairs, alpha=alpha) - 1e-9


@pytest.mark.parametrize(("items", "share"), list(product((60, 140, 300), (1.0, 1.3, 2.0, 5.0))))
def test_a_loss_as_large_as_the_margin_passes_in_five_of_a_hundred_at_most(items: int, share: float) -> None:
    """The exact chance, summed over every outcome that counts; `share` is discordance in margins.

    Tango's bound alone gives 6.0 % at 300 items and 6.6 % at 140 when nothing is gained.
    """
    margin = 0.02
    discordance = margin * share
    lost_share = (discordance + margin) / 2 / discordance
    chance = 0.0
    for flips in range(int(stats.binom.isf(1e-9, items, discordance)) + 1):
        weight = stats.binom.pmf(flips, items, discordance)
        for lost in range(flips + 1):
            if loss_at_most(Pairs(items - flips, lost, flips - lost, 0)) < margin:
                chance += weight * stats.binom.pmf(lost, flips, lost_share)
    assert chance <= 0.053
