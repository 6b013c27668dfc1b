"""Two runs compared: what is paired, what stands apart, and what the report says of it."""

from __future__ import annotations

import pytest

from governance.errors import Unreadable
from governance.evals.comparing import Comparison, compare_runs
from governance.evals.comparison_checks import comparison_checks
from governance.evals.comparison_report import comparison_report
from governance.evals.model import Attempt, Result, Score, State
from governance.evals.moving import movement
from governance.records import replace
from governance.report.content import hidden
from governance.report.text import render
from governance.verdict import Outcome, Report
from tests.support.eval_runs import pairs, result, rights, run

RETRIED = (Attempt(State.FAILED, 503), Attempt(State.ANSWERED, 200))


def outcomes(found: Comparison) -> dict[str, Outcome]:
    return {check.name: check.outcome for check in comparison_checks(found)}


def shown(report: Report) -> str:
    """The text without line breaks."""
    return " ".join(render(hidden(report)).split())


class TestPairing:
    def test_items_are_paired_by_id_in_whatever_order_they_came(self) -> None:
        found = compare_runs(rights({"a": True, "b": False}), rights({"b": True, "a": False}))
        assert [item.item for item in found.lost] == ["a"]
        assert [item.item for item in found.gained] == ["b"]

    def test_another_suite_is_refused_by_its_digest(self) -> None:
        with pytest.raises(Unreadable, match="different suites"):
            compare_runs(rights([True]), rights([True], suite_digest="f" * 64))

    def test_what_was_not_answered_is_no_wrong_answer(self) -> None:
        after = run([*(result(f"i{n:04}") for n in range(99)), result("i0099", state=State.FAILED)])
        found = compare_runs(rights([True] * 100), after)
        assert (found.verdict.pairs.items, found.lost, found.missing) == (99, (), ("i0099",))
        assert "after: 1 failed of 100" in shown(comparison_report(found))

    def test_what_no_scorer_could_judge_is_no_wrong_answer(self) -> None:
        after = run([*(result(f"i{n:04}") for n in range(99)), result("i0099", None)])
        found = compare_runs(rights([True] * 100), after)
        assert (found.verdict.pairs.items, found.lost) == (99, ())
        assert "1 answered and not scored" in shown(comparison_report(found))

    def test_retried_items_are_a_stratum_of_their_own(self) -> None:
        before, after = pairs(200, 0, 0, 0)
        after[0] = result(before[0].item, False, attempts=RETRIED)
        found = compare_runs(run(before), run(after))
        assert (found.verdict.pairs.items, found.verdict.pairs.lost) == (199, 0)
        assert f"they were retried: 1 items, 1 lost, 0 gained: `{before[0].item}`" in shown(
            comparison_report(found)
        )

    def test_when_all_were_retried_nothing_is_compared_and_that_is_said(self) -> None:
        again = run(result(f"i{n}", attempts=RETRIED) for n in range(40))
        found = compare_runs(again, again)
        assert outcomes(found) == {"loss": Outcome.UNDECIDED}
        assert "all 40 were retried" in shown(comparison_report(found))

    def test_an_item_asked_several_times_is_one_item(self) -> None:
        def asked(*passed: bool) -> list[Result]:
            return [replace(result("a", one), repeat=number) for number, one in enumerate(passed)]

        found = compare_runs(run(asked(True, True, True)), run(asked(True, False, True)))
        assert (found.verdict.pairs.items, found.verdict.pairs.lost) == (1, 1)
        assert found.movement.answers == 3


class TestUndecided:
    def test_half_an_outage_decides_nothing_and_counts_what_failed(self) -> None:
        half = run(result(f"i{n:04}", state=State.ANSWERED if n % 2 else State.TIMED_OUT) for n in range(60))
        found = compare_runs(rights([True] * 60), half)
        assert outcomes(found) == {"coverage": Outcome.UNDECIDED}
        text = shown(comparison_report(found))
        assert "after: 30 of 60 were answered and scored (50.0 %, 95 % are needed); 30 timed out" in text
        assert "lost" not in text

    def test_a_run_that_was_broken_off_is_not_taken_for_whole(self) -> None:
        broken = rights([True] * 40, total=200, complete=False)
        found = compare_runs(broken, rights([True] * 200))
        assert outcomes(found) == {"coverage": Outcome.UNDECIDED}
        assert "before: 40 of 200" in shown(comparison_report(found))
        assert "160 never asked" in shown(comparison_report(found))

    def test_an_empty_run_is_undecided(self) -> None:
        found = compare_runs(rights([]), rights([]))
        assert set(outcomes(found).values()) == {Outcome.UNDECIDED}
        assert comparison_report(found).outcome is Outcome.UNDECIDED

    def test_answers_of_two_builds_are_a_mixture(self) -> None:
        mixed = run(result(f"i{n}", system_fingerprint=f"build-{n % 2}") for n in range(200))
        found = compare_runs(rights([True] * 200), replace(mixed, results=mixed.results))
        assert outcomes(compare_runs(mixed, mixed)) == {"servers": Outcome.UNDECIDED}
        assert "`build-0`, `build-1`" in shown(comparison_report(compare_runs(mixed, mixed)))
        assert found.sides[0].servers == ()

    def test_a_few_templates_decide_nothing_however_many_items_they_made(self) -> None:
        made = run(result(f"i{n:04}", tags=(f"cluster:t{n % 5}",)) for n in range(5000))
        found = compare_runs(made, made)
        assert outcomes(found)["loss"] is Outcome.UNDECIDED
        assert found.clusters == 5


class TestTasks:
    def test_a_task_that_falls_while_the_whole_does_not_is_found(self) -> None:
        old, new = pairs(60, 20, 0, 0, task="maths")
        more_old, more_new = pairs(2000, 0, 20, 80, task="code")
        found = compare_runs(run(old + more_old), run(new + more_new))
        assert outcomes(found) == {"loss": Outcome.PASS, "tasks": Outcome.BLOCK}
        report = comparison_report(found)
        assert {finding.code for finding in report.findings} == {"TL731"}
        assert "maths fell by 25.0 points, although the whole did not" in shown(report)

    def test_seven_tasks_raise_no_alarm_that_one_of_them_alone_would(self) -> None:
        """Six lost of six flips is p 0.031; among seven tasks it is 0.22."""
        names = ("maths", "code", "extraction", "summarising", "multi-turn", "question-answering", "x")
        old, new = [], []
        for name in names:
            one, two = pairs(60, 6 if name == "maths" else 0, 0, 0, task=name)
            old, new = old + one, new + two
        found = compare_runs(run(old), run(new))
        assert [task.fell for task in found.tasks] == [False] * 7
        assert found.tasks[0].verdict.chance == pytest.approx(0.03125)
        assert found.tasks[0].adjusted == pytest.approx(7 * 0.03125)


class TestMoved:
    def test_the_first_token_that_differs_is_told_with_how_likely_it_was(self) -> None:
        old = result("a", text="one two three", token_ids=(1, 2, 3), logprobs=(-0.1, -0.69, -0.1))
        new = result("a", text="one too many", token_ids=(1, 9, 8), logprobs=(-0.1, -0.71, -0.1))
        (moved,) = compare_runs(run([old]), run([new])).movement.moved
        assert (moved.unit, moved.at, moved.before_of) == ("token", 2, 3)
        assert moved.likely == pytest.approx((0.5, 0.49), abs=0.01)

    def test_without_token_ids_it_is_the_first_character(self) -> None:
        found = compare_runs(run([result("a", text="Paris.")]), run([result("a", text="Paris, France")]))
        (moved,) = found.movement.moved
        assert (moved.unit, moved.at) == ("character", 6)
        assert found.rate is None

    def test_an_answer_that_only_goes_on_parts_where_the_other_ends(self) -> None:
        old = result("a", text="one", token_ids=(1,))
        new = result("a", text="one two", token_ids=(1, 2))
        (moved,) = compare_runs(run([old]), run([new])).movement.moved
        assert (moved.unit, moved.at, moved.likely) == ("token", 2, None)

    def test_equal_text_has_not_moved_whatever_its_tokens(self) -> None:
        old, new = result("a", text="one", token_ids=(1, 2)), result("a", text="one", token_ids=(3,))
        assert compare_runs(run([old]), run([new])).movement.moved == ()

    def test_the_rate_counts_the_tokens_that_were_the_same_and_the_first_that_was_not(self) -> None:
        old = run(result(f"i{n}", text="x" * 9, token_ids=tuple(range(9))) for n in range(10))
        new = run(
            result(f"i{n}", text="x" * 8 + "y", token_ids=(*range(4), 99)) if n == 3 else one
            for n, one in enumerate(old.results)
        )
        found = compare_runs(old, new)
        assert (found.movement.tokens, found.movement.answers) == (9 * 9 + 5, 10)
        assert found.rate is not None
        assert found.rate.low < 1000 / 86 < found.rate.high

    def test_one_side_without_tokens_gives_no_rate(self) -> None:
        pairing = compare_runs(run([result("a", token_ids=(1,))]), run([result("a")])).items
        assert movement(pairing).tokens == 0


class TestReport:
    def test_answers_are_shown_only_to_who_asks_for_content(self) -> None:
        secret = result("a", False, text="Hippopotamus")
        report = comparison_report(compare_runs(run([result("a", text="Rhinoceros")]), run([secret])))
        assert "Hippopotamus" not in render(hidden(report))
        assert "Hippopotamus" in render(report)
        assert "(--show-content)" in render(hidden(report))

    def test_layers_of_both_runs_and_the_builds_stand_above(self) -> None:
        old = rights([True] * 3, layers={"base": "a" * 64, "sampling": "b" * 64})
        new = rights([True] * 3, layers={"base": "a" * 64, "sampling": "c" * 64, "weights": "d" * 64})
        old = replace(old, results=tuple(replace(one, system_fingerprint="b1") for one in old.results))
        new = replace(new, results=tuple(replace(one, system_fingerprint="b2") for one in new.results))
        report = comparison_report(compare_runs(old, new))
        states = {layer.name: layer.state for layer in report.layers}
        assert states == {"base": "same", "sampling": "changed", "weights": "unknown", "server": "changed"}

    def test_scores_come_with_interval_and_count(self) -> None:
        before, after = pairs(125, 22, 12, 39)
        text = shown(comparison_report(compare_runs(run(before), run(after))))
        assert "before 147 198 74.2 % 67.7 % to 79.8 %" in text
        assert "after 137 198 69.2 % 62.4 % to 75.2 %" in text

    def test_scores_between_0_and_1_have_their_mean_and_its_interval(self) -> None:
        old = run(replace(result(f"i{n}"), score=Score(0.9, True)) for n in range(50))
        new = run(replace(result(f"i{n}"), score=Score(0.8 + 0.01 * (n % 3), True)) for n in range(50))
        text = shown(comparison_report(compare_runs(old, new)))
        assert "mean score 0.900 → 0.810, difference -0.090 (95 % -0.093 to -0.088)" in text

    def test_lost_items_that_were_cut_off_are_told(self) -> None:
        cut = result("a", False, finish_reason="length")
        text = shown(comparison_report(compare_runs(run([result("a")]), run([cut]))))
        assert "1 of 1 lost items were cut off at the limit of tokens: `a`" in text

    def test_a_pass_says_what_it_means(self) -> None:
        same = rights([True] * 200)
        report = comparison_report(compare_runs(same, same))
        assert report.outcome is Outcome.PASS
        assert "PASS no worse than before by 2.0 points or more" in shown(report)

    def test_many_ids_are_cut_in_text_and_whole_in_the_data(self) -> None:
        before, after = pairs(0, 150, 0, 0)
        report = comparison_report(compare_runs(run(before), run(after)))
        assert "and 50 more (--format json has all)" in shown(report)
        assert isinstance(report.run["lost"], list)
        assert len(report.run["lost"]) == 150
