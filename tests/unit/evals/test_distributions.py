"""What needs scipy: exact chances of a verdict, resampled means, rates of rare events."""

from __future__ import annotations

import subprocess
import sys

import pytest

from governance.evals.distributions import chances, mean_difference, rate_per
from governance.verdict import Outcome


def test_the_power_that_was_planned_is_there() -> None:
    """312 items show a loss of 5 points at 10 % flips, 870 one of 3: Connor's numbers, summed exactly."""
    assert chances(312, loss=0.05, discordance=0.1)[Outcome.BLOCK] >= 0.8
    assert chances(870, loss=0.03, discordance=0.1)[Outcome.BLOCK] >= 0.8


@pytest.mark.parametrize("items", [50, 200, 500])
@pytest.mark.parametrize("flips", [0.02, 0.1, 0.3])
def test_an_unchanged_service_is_blocked_in_half_of_alpha_at_most(items: int, flips: float) -> None:
    assert chances(items, loss=0.0, discordance=flips)[Outcome.BLOCK] <= 0.026


def test_the_chances_are_all_there_is() -> None:
    assert sum(chances(120, loss=0.02, discordance=0.1).values()) == pytest.approx(1, abs=1e-6)
    assert chances(200, loss=0.0, discordance=0.0)[Outcome.PASS] == pytest.approx(1)


def test_a_rate_of_rare_events_has_its_exact_interval() -> None:
    """Garwood's table: 0 events go up to 3.689, 5 from 1.623 to 11.668."""
    none, five = rate_per(0, 1000), rate_per(5, 1000)
    assert (none.low, none.high) == (0.0, pytest.approx(3.689, abs=1e-3))
    assert (five.low, five.high) == pytest.approx((1.623, 11.668), abs=1e-3)


BEFORE = tuple(0.5 + 0.01 * (index % 7) for index in range(200))
AFTER = tuple(one - 0.1 + 0.02 * (index % 5) for index, one in enumerate(BEFORE))
ALONE = tuple(str(index) for index in range(200))


class TestMeans:
    def test_the_interval_is_near_that_of_the_t_test(self) -> None:
        from scipy import stats

        found = mean_difference(BEFORE, AFTER, ALONE)
        theirs = stats.ttest_rel(AFTER, BEFORE).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=5e-4)

    def test_the_same_runs_give_the_same_interval(self) -> None:
        first, again = (mean_difference(BEFORE, AFTER, ALONE) for _ in range(2))
        assert first == again

    def test_clusters_that_move_together_widen_it(self) -> None:
        after = [one + (0.2 if index // 10 % 2 else -0.2) for index, one in enumerate(BEFORE)]
        clusters = [str(index // 10) for index in range(200)]
        alone = mean_difference(BEFORE, after, ALONE)
        together = mean_difference(BEFORE, after, clusters)
        assert together.high - together.low > 2.5 * (alone.high - alone.low)

    def test_one_cluster_says_nothing(self) -> None:
        found = mean_difference([0.5, 0.6], [0.5, 0.6], ["a", "a"])
        assert (found.low, found.high) == (-1.0, 1.0)


def test_without_scipy_the_hint_says_what_to_install() -> None:
    """In a process of its own whose scipy cannot be imported, as where the extra is not installed."""
    program = (
        "import sys; sys.modules['scipy'] = None\n"
        "from governance.errors import MissingTool\n"
        "from governance.evals.distributions import rate_per\n"
        "try: rate_per(1, 2)\n"
        "except MissingTool as err: print(err.hint)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pip install 'tierlock[checkup]'"


def test_a_verdict_needs_neither_numpy_nor_scipy() -> None:
    """A smoke eval and a rollback run where the extra is not installed."""
    program = (
        "import sys; sys.modules['scipy'] = sys.modules['numpy'] = None\n"
        "from governance.evals.deciding import decide\n"
        "from governance.evals.statistics import Pairs\n"
        "print(decide(Pairs(149, 0, 0, 0)).outcome.value)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pass"
