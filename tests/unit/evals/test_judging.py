"""What a run says: errors are no wrong answers, a smoke suite holds invariants, a score has its interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import pytest

from governance.evals.judging import Bar, bar_of, judge, kind_of
from governance.evals.model import Result, Run, State, Suite
from governance.evals.tally import tally
from governance.records import replace
from governance.verdict import Check, Outcome, decide
from tests.support import evals


def suite(count: int) -> Suite:
    return evals.suite_of(evals.files(items=count))


def run(of: Suite, *parts: Sequence[Result]) -> Run:
    return evals.run(of, [result for part in parts for result in part])


def right(first: int, last: int) -> list[Result]:
    return [evals.result(f"q{number}") for number in range(first, last)]


def wrong(first: int, last: int) -> list[Result]:
    return [evals.result(f"q{number}", passed=False) for number in range(first, last)]


def lost(state: State, first: int, last: int) -> list[Result]:
    return [evals.result(f"q{number}", state=state) for number in range(first, last)]


def named(checks: Sequence[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


def test_a_smoke_suite_passes_when_every_item_does() -> None:
    checks = judge(run(suite(8), right(0, 8)), suite(8), kind="smoke")
    assert decide(checks) is Outcome.PASS
    assert named(checks, "answered").detail == "8 of 8 items answered"
    assert named(checks, "items").detail == "8 of 8 right"


def test_one_failing_item_blocks_a_smoke_suite_by_name() -> None:
    checks = judge(run(suite(8), right(0, 7), wrong(7, 8)), suite(8), kind="smoke")
    assert decide(checks) is Outcome.BLOCK
    assert named(checks, "items").detail == "7 of 8 right, failing: q7"


@pytest.mark.parametrize("state", [state for state in State if state is not State.ANSWERED])
def test_a_run_without_one_answer_is_not_evaluated_and_has_no_score(state: State) -> None:
    checks = judge(run(suite(4), lost(state, 0, 4)), suite(4), kind="full", bar=Bar(min_score=0.5))
    assert [check.outcome for check in checks] == [Outcome.UNDECIDED]
    assert checks[0].detail == f"not evaluated: none of 4 items was answered, 4 {state.value} (HTTP 500)"


def test_nothing_asked_is_not_evaluated() -> None:
    checks = judge(run(suite(4)), suite(4), kind="smoke")
    assert checks[0].detail == "not evaluated: none of 4 items was answered, 4 not asked"
    empty = replace(suite(4), items=())
    assert "the suite has no item" in judge(run(empty), empty, kind="smoke")[0].detail


def test_too_few_answers_are_inconclusive_whatever_they_are_worth() -> None:
    of = suite(20)
    checks = judge(run(of, right(0, 18), lost(State.TIMED_OUT, 18, 20)), of, kind="smoke")
    assert decide(checks) is Outcome.UNDECIDED
    assert "18 of 20 items answered, coverage 0.900" in named(checks, "answered").detail
    assert "2 timed out" in named(checks, "answered").detail


def test_a_known_fault_is_not_hidden_by_missing_answers() -> None:
    of = suite(20)
    checks = judge(run(of, right(0, 17), wrong(17, 18), lost(State.FAILED, 18, 20)), of, kind="smoke")
    assert decide(checks) is Outcome.BLOCK


def test_answers_at_the_floor_of_coverage_are_enough_and_the_rest_is_told() -> None:
    of = suite(20)
    checks = judge(run(of, right(0, 19), lost(State.BROKEN, 19, 20)), of, kind="smoke")
    assert decide(checks) is Outcome.PASS
    assert named(checks, "answered").detail == "19 of 20 items answered, 1 broken (HTTP 500)"


def test_an_item_is_answered_when_all_its_repeats_are() -> None:
    of = suite(2)
    of = replace(of, items=tuple(replace(item, repeats=2) for item in of.items))
    results = [evals.result("q0", repeat=0), evals.result("q0", repeat=1), evals.result("q1", repeat=0)]
    seen = tally(run(of, results), of)
    assert (seen.answered, seen.states) == (1, {"not asked": 1})


SCORES = {
    "the whole interval above the bar": (200, 180, 0.8, Outcome.PASS, "0.900 (0.851 to 0.934)"),
    "the whole interval below the bar": (200, 120, 0.8, Outcome.BLOCK, "0.600 (0.531 to 0.665)"),
    "a bar inside the interval": (50, 42, 0.8, Outcome.UNDECIDED, "more items needed to tell"),
    "a score on the bar": (50, 40, 0.8, Outcome.UNDECIDED, "no number of items would tell"),
    "no bar": (50, 50, None, Outcome.UNDECIDED, "no bar is set: `evals.min_score`"),
}


@pytest.mark.parametrize("case", SCORES)
def test_a_score_is_judged_by_its_interval(case: str) -> None:
    count, passed, bar, outcome, told = SCORES[case]
    of = suite(count)
    checks = judge(run(of, right(0, passed), wrong(passed, count)), of, kind="full", bar=Bar(min_score=bar))
    assert named(checks, "score").outcome is outcome
    assert told in named(checks, "score").detail


def test_as_many_items_as_are_named_would_tell() -> None:
    of = suite(50)
    checks = judge(run(of, right(0, 42), wrong(42, 50)), of, kind="full", bar=Bar(min_score=0.8))
    more = int(named(checks, "score").detail.split("; ")[1].split()[0])
    factor = (50 + more) / 50
    larger = suite(50 + more)
    passed = ceil(42 * factor)
    checks = judge(
        run(larger, right(0, passed), wrong(passed, 50 + more)), larger, kind="full", bar=Bar(min_score=0.8)
    )
    assert decide(checks) is Outcome.PASS


def test_a_score_over_too_few_answers_is_told_and_not_judged() -> None:
    of = suite(100)
    checks = judge(
        run(of, right(0, 90), lost(State.FAILED, 90, 100)), of, kind="full", bar=Bar(min_score=0.5)
    )
    assert named(checks, "score").outcome is Outcome.UNDECIDED
    assert "90 of 90 right: 1.000" in named(checks, "score").detail
    assert "too few items were answered" in named(checks, "score").detail


def test_answers_of_several_servers_are_a_mixture() -> None:
    """One replica behind a balancer that still runs the old build answers half the items."""
    of = suite(4)
    results = [replace(r, system_fingerprint=f"fp_{n % 2}", model="m") for n, r in enumerate(right(0, 4))]
    checks = judge(run(of, results), of, kind="smoke")
    assert decide(checks) is Outcome.UNDECIDED
    assert named(checks, "one server").detail == (
        "a mixture: the answers come from 2 servers: `m fp_0` (2), `m fp_1` (2)"
    )


def test_what_could_not_be_scored_leaves_a_smoke_suite_open() -> None:
    of = suite(4)
    checks = judge(run(of, right(0, 3), [evals.result("q3", passed=None)]), of, kind="smoke")
    assert decide(checks) is Outcome.UNDECIDED
    assert "q3" in named(checks, "scored").detail


def test_few_unscored_answers_of_a_large_suite_are_told() -> None:
    of = suite(100)
    results = run(of, right(0, 99), [evals.result("q99", passed=None)])
    checks = judge(results, of, kind="full", bar=Bar(min_score=0.5))
    assert decide(checks) is Outcome.PASS
    assert named(checks, "scored").outcome is Outcome.PASS


def test_cut_and_retried_answers_are_told() -> None:
    of = suite(2)
    first, second = right(0, 2)
    cut = replace(first, finish_reason="length")
    again = replace(second, attempts=(*second.attempts, *second.attempts))
    checks = judge(run(of, [cut, again]), of, kind="smoke")
    assert decide(checks) is Outcome.PASS
    assert named(checks, "cut answers").detail == "1 cut at the limit of tokens: q0"
    assert named(checks, "retried").detail == "1 tried again: q1"


def test_results_of_another_suite_are_not_judged() -> None:
    (check,) = judge(run(suite(3), right(0, 3)), suite(4), kind="smoke")
    assert (check.name, check.outcome) == ("suite", Outcome.UNDECIDED)


def test_beside_golden_only_what_golden_passes_can_be_lost() -> None:
    of = suite(4)
    golden = run(of, right(0, 3), wrong(3, 4))
    same = judge(run(of, right(0, 3), wrong(3, 4)), of, kind="smoke", golden=golden)
    assert decide(same) is Outcome.PASS
    assert named(same, "items").detail == "3 of 4 right, golden 3, 0 lost; failing in golden too: q3"
    fewer = judge(run(of, right(0, 2), wrong(2, 4)), of, kind="smoke", golden=golden)
    assert decide(fewer) is Outcome.BLOCK
    assert "1 lost: q2" in named(fewer, "items").detail


def test_an_item_that_golden_never_scored_is_an_invariant() -> None:
    of = suite(2)
    golden = run(of, right(0, 1), [evals.result("q1", passed=None)])
    checks = judge(run(of, right(0, 1), wrong(1, 2)), of, kind="smoke", golden=golden)
    assert decide(checks) is Outcome.BLOCK


def test_a_snapshot_of_another_suite_says_nothing() -> None:
    of = suite(2)
    golden = replace(run(of, right(0, 2)), suite_digest="0" * 64)
    checks = judge(run(of, right(0, 2)), of, kind="smoke", golden=golden)
    assert decide(checks) is Outcome.UNDECIDED
    assert "another suite" in named(checks, "golden").detail


DROPS = {
    "nothing lost": (0, Outcome.PASS),
    "a few lost": (8, Outcome.UNDECIDED),
    "many lost": (60, Outcome.BLOCK),
}


@pytest.mark.parametrize("case", DROPS)
def test_a_drop_against_golden_is_judged_by_its_bound(case: str) -> None:
    gone, outcome = DROPS[case]
    of = suite(200)
    golden = run(of, right(0, 200))
    now = run(of, right(0, 200 - gone), wrong(200 - gone, 200))
    checks = judge(now, of, kind="full", bar=Bar(min_score=0.1, max_drop=0.05), golden=golden)
    assert named(checks, "golden").outcome is outcome, checks
    assert f"{gone} lost, 0 gained" in named(checks, "golden").detail


def test_without_a_limit_the_drop_is_told() -> None:
    of = suite(20)
    golden = run(of, right(0, 20))
    checks = judge(
        run(of, right(0, 18), wrong(18, 20)), of, kind="full", bar=Bar(min_score=0.1), golden=golden
    )
    assert named(checks, "golden") == Check(
        "golden", Outcome.PASS, "2 lost, 0 gained against golden; lost: q18, q19"
    )


def test_the_bar_is_that_of_the_service() -> None:
    told = {"evals": {"smoke": "s", "full": "f", "min_score": 0.5, "min_coverage": 0.9, "max_drop": 0.02}}
    service = evals.service_of(evals.files(service=told))
    assert bar_of(service) == Bar(0.9, 0.5, 0.02)
    assert bar_of(evals.service_of(evals.files())) == Bar(0.95, None, None)
    assert [kind_of(service, name) for name in ("s", "f", "x")] == ["smoke", "full", "x"]
