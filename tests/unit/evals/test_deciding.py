"""The verdict on paired counts: three of them, and what it takes to leave the third."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.evals.deciding import decide, design_effect
from governance.evals.statistics import Pairs
from governance.verdict import Outcome

COUNT = st.integers(0, 80)
ANY = st.builds(Pairs, COUNT, COUNT, COUNT, COUNT)


@pytest.mark.parametrize(
    ("pairs", "outcome"),
    [
        (Pairs(900, 3, 3, 94), Outcome.PASS),
        (Pairs(149, 0, 0, 0), Outcome.PASS),
        (Pairs(148, 0, 0, 0), Outcome.UNDECIDED),
        (Pairs(125, 22, 12, 39), Outcome.UNDECIDED),
        (Pairs(397, 65, 8, 30), Outcome.BLOCK),
        (Pairs(94, 6, 0, 0), Outcome.BLOCK),
        (Pairs(95, 5, 0, 0), Outcome.UNDECIDED),
        (Pairs(0, 0, 0, 0), Outcome.UNDECIDED),
        (Pairs(0, 0, 20, 0), Outcome.PASS),
    ],
)
def test_the_verdict(pairs: Pairs, outcome: Outcome) -> None:
    assert decide(pairs).outcome is outcome


def test_a_loss_that_is_proven_and_below_the_margin_does_not_block() -> None:
    """10,000 items show a loss of one point beyond doubt; two are accepted."""
    proven = Pairs(9000, 150, 50, 800)
    assert decide(proven, margin=0.02).outcome is Outcome.PASS
    assert decide(proven, margin=0.02).chance < 1e-9
    assert decide(proven, margin=0.005).outcome is Outcome.BLOCK


def test_a_real_loss_below_the_margin_whose_bound_is_above_it_is_undecided() -> None:
    verdict = decide(Pairs(800, 28, 10, 162), margin=0.02)
    assert verdict.chance < 0.05
    assert verdict.pairs.loss < 0.02 < verdict.at_most
    assert verdict.outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("pairs", "more"), [(Pairs(125, 22, 12, 39), 329), (Pairs(12, 0, 0, 0), 137), (Pairs(0, 0, 0, 0), None)]
)
def test_the_items_still_needed(pairs: Pairs, more: int | None) -> None:
    assert decide(pairs).more == more


def test_with_the_items_it_asks_for_the_same_shares_are_decided() -> None:
    """The items were computed for a chance of 80 %, so what is typical is decided."""
    for pairs in (Pairs(125, 22, 12, 39), Pairs(180, 3, 2, 15), Pairs(280, 6, 6, 8), Pairs(40, 0, 0, 10)):
        verdict = decide(pairs)
        assert verdict.more is not None
        larger = pairs.thinned(pairs.items / (pairs.items + verdict.more))
        whole = Pairs(*(round(one) for one in (larger.both, larger.lost, larger.gained, larger.neither)))
        assert decide(whole).outcome is not Outcome.UNDECIDED


def test_a_margin_of_nothing_passes_only_what_is_proven_better() -> None:
    assert decide(Pairs(500, 0, 0, 0), margin=0.0).outcome is Outcome.UNDECIDED
    assert decide(Pairs(500, 0, 0, 0), margin=0.0).more is None
    assert decide(Pairs(500, 0, 30, 0), margin=0.0).outcome is Outcome.PASS
    assert decide(Pairs(500, 30, 0, 0), margin=0.0).outcome is Outcome.BLOCK


@given(ANY, st.sampled_from((0.01, 0.02, 0.05)))
def test_a_loss_moved_to_a_gain_never_makes_a_verdict_worse(pairs: Pairs, margin: float) -> None:
    rank = {Outcome.PASS: 0, Outcome.UNDECIDED: 1, Outcome.BLOCK: 2}
    if pairs.lost:
        better = Pairs(pairs.both, pairs.lost - 1, pairs.gained + 1, pairs.neither)
        assert rank[decide(better, margin=margin).outcome] <= rank[decide(pairs, margin=margin).outcome]


@given(ANY)
def test_every_undecided_verdict_on_items_says_how_many_more(pairs: Pairs) -> None:
    verdict = decide(pairs)
    needs = verdict.outcome is Outcome.UNDECIDED and pairs.items > 0
    assert (verdict.more is not None) == needs
    assert verdict.more is None or verdict.more >= 1


class TestClusters:
    def test_items_that_stand_alone_count_whole(self) -> None:
        assert design_effect([1, 0, -1, 0], ["a", "b", "c", "d"]) == 1.0

    def test_items_that_fall_together_count_as_one(self) -> None:
        losses = [1] * 5 + [0] * 45
        clusters = [f"c{index // 5}" for index in range(50)]
        assert design_effect(losses, clusters) == pytest.approx(5.0)

    def test_without_a_flip_the_worst_is_taken(self) -> None:
        clusters = [f"c{index // 4}" for index in range(160)]
        assert design_effect([0] * 160, clusters) == 4.0
        assert decide(Pairs(160, 0, 0, 0), effect=4.0).outcome is Outcome.UNDECIDED

    def test_one_cluster_is_one_item(self) -> None:
        assert design_effect([1, 0, 0, 0], ["a"] * 4) == 4.0

    def test_clusters_that_flip_by_chance_give_no_more_alarms_than_promised(self) -> None:
        """60 conversations of 5 turns that fall or rise as one: counted as 300 items they are
        blocked in one case of five.
        """
        random, clusters = Random(5), [f"c{index // 5}" for index in range(300)]
        naive = clustered = 0
        for _ in range(400):
            losses = [random.choice((1, -1, 0, 0)) for _ in range(60)]
            each = [loss for loss in losses for _ in range(5)]
            pairs = Pairs(each.count(0), each.count(1), each.count(-1), 0)
            naive += decide(pairs).outcome is Outcome.BLOCK
            effect = design_effect(each, clusters)
            clustered += decide(pairs, effect=effect).outcome is Outcome.BLOCK
        assert naive / 400 > 0.15
        assert clustered / 400 <= 0.05
