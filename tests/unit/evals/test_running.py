"""A run against real servers on loopback: outages, slow servers, cut streams, and going on after a kill."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import pytest

from governance.errors import Unreadable, Usage
from governance.evals.endpoint import endpoint_of
from governance.evals.judging import judge
from governance.evals.model import NOT_SCORED, Run, State, Suite
from governance.evals.results import dump_run, load_run
from governance.evals.running import RunOptions, run_suite
from governance.records import replace
from governance.tiers.config import Service
from governance.values import Json
from governance.verdict import Outcome, decide
from tests.support import evals
from tests.support.completions_server import CompletionsServer, Replies, Say, serving


def quick(**given: Any) -> RunOptions:
    ticks = count()
    told: dict[str, Any] = {
        "backoff_s": 0.0,
        "tool": "tierlock 0",
        "now": lambda: f"2026-11-30T09:{next(ticks) // 60:02}:00Z",
        **given,
    }
    return RunOptions(**told)


def ask(
    replies: Replies,
    *,
    items: int = 10,
    service: Mapping[str, Json] | None = None,
    options: RunOptions | None = None,
    **given: Any,
) -> tuple[Run, Suite, CompletionsServer]:
    with serving(replies) as server:
        endpoint = {"url": server.url, "timeout_s": 2, "concurrency": 4}
        files = evals.files(items=items, service={"endpoint": endpoint, **(service or {})})
        declared, suite = evals.service_of(files), evals.suite_of(files)
        run = run_suite(
            suite,
            declared,
            endpoint_of(declared, {}),
            score=evals.exact,
            options=options or quick(),
            **given,
        )
        return run, suite, server


def judged(run: Run, suite: Suite) -> tuple[Outcome, str]:
    checks = judge(run, suite, kind="smoke")
    return decide(checks), checks[0].detail


@pytest.mark.parametrize("stream", [True, False])
def test_every_item_is_asked_once_and_scored(stream: bool) -> None:
    run, suite, server = ask(evals.right, options=quick(stream=stream))
    assert judged(run, suite) == (Outcome.PASS, "10 of 10 items answered")
    assert [result.item for result in run.results] == [item.id for item in suite.items]
    assert len(server.asked) == 10
    assert all(body["stream"] is stream for body in server.asked)
    assert (run.complete, run.total, run.service) == (True, 10, "helper")
    first = run.results[0]
    assert (first.text, first.score.passed, first.completion_tokens) == ("answer 0", True, 2)
    assert (first.first_token_s is not None) is stream
    assert first.request["repeat_penalty"] == 1.1


def test_the_run_speaks_for_the_three_configs_and_the_suite() -> None:
    run, suite, _ = ask(evals.right, items=2)
    other, _, _ = ask(evals.right, items=2)
    assert len(run.fingerprint) == 64
    assert run.fingerprint == other.fingerprint
    assert set(run.layers) >= {"base", "sampling", "prompts"}
    assert run.suite_digest == suite.digest


OUTAGES: dict[str, tuple[Say, State, str]] = {
    "all 500": (Say(status=500, body={"error": "dead"}), State.FAILED, "10 failed (HTTP 500: dead)"),
    "a model that is not there": (
        Say(status=404, body={"error": {"message": "The model `x` does not exist."}}),
        State.REFUSED,
        "10 refused (HTTP 404: The model `x` does not exist.)",
    ),
    "dropped connections": (Say(drop=True), State.UNREACHABLE, "10 unreachable (server disconnected)"),
    "streams that are cut": (
        Say("one two three", cut=1), State.BROKEN,
        "10 broken (the connection ended in the middle of the answer)",
    ),
    "a slow server": (Say("late", after=0.9), State.TIMED_OUT, "10 timed out (no whole answer within 0.3 s)"),
}  # fmt: skip


@pytest.mark.parametrize("case", OUTAGES)
def test_an_outage_is_not_evaluated_and_names_its_reason(case: str) -> None:
    say, state, told = OUTAGES[case]
    service = {"endpoint": {"url": "http://127.0.0.1:9/v1", "timeout_s": 0.3, "concurrency": 10}}
    with serving(lambda number, body: say) as server:
        service["endpoint"]["url"] = server.url
        files = evals.files(service=service)
        declared, suite = evals.service_of(files), evals.suite_of(files)
        run = run_suite(
            suite, declared, endpoint_of(declared, {}), score=evals.exact, options=quick(retries=0)
        )
    assert {result.state for result in run.results} == {state}
    assert all(result.score == NOT_SCORED and result.text is None for result in run.results)
    assert judged(run, suite) == (Outcome.UNDECIDED, f"not evaluated: none of 10 items was answered, {told}")


def test_half_an_outage_is_inconclusive_and_the_answers_stand() -> None:
    def half(number: int, body: Mapping[str, Any]) -> Say:
        odd = evals.asked(body) % 2
        return Say(status=500, body={"error": "down"}) if odd else evals.right(number, body)

    run, suite, _ = ask(half)
    outcome, told = judged(run, suite)
    assert outcome is Outcome.UNDECIDED
    assert "5 of 10 items answered, coverage 0.500" in told
    assert sum(result.score.passed is True for result in run.results) == 5


def test_a_server_that_answers_nothing_is_given_up() -> None:
    """A suite of thousands with three tries each would take an hour to say that the server is down."""
    run, suite, server = ask(
        lambda number, body: Say(status=500, body={}), items=60, options=quick(give_up_after=8)
    )
    assert len(server.asked) < 16
    assert not run.complete
    assert "not asked" in judged(run, suite)[1]


def test_a_server_that_answered_once_is_not_given_up() -> None:
    def first(number: int, body: Mapping[str, Any]) -> Say:
        return evals.right(number, body) if number == 0 else Say(status=500, body={})

    run, _, server = ask(first, items=30, options=quick(give_up_after=4))
    assert len(run.results) == len(server.asked) == 30


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_by_itself_is_tried_again_and_is_a_stratum_of_its_own(status: int) -> None:
    seen: dict[int, int] = {}

    def busy(number: int, body: Mapping[str, Any]) -> Say:
        name = evals.asked(body)
        seen[name] = seen.get(name, 0) + 1
        return (
            Say(status=status, body={"error": "busy"})
            if seen[name] == 1 and name < 2
            else evals.right(number, body)
        )

    run, suite, _ = ask(busy, items=4)
    assert judged(run, suite)[0] is Outcome.PASS
    assert [result.retried for result in run.results] == [True, True, False, False]
    assert [attempt.status for attempt in run.results[0].attempts] == [status, 200]
    assert any(check.name == "retried" for check in judge(run, suite, kind="smoke"))


@pytest.mark.parametrize("status", [400, 401, 402, 404, 422, 500])
def test_what_will_not_pass_is_asked_once(status: int) -> None:
    _, _, server = ask(lambda number, body: Say(status=status, body={}), items=4)
    assert len(server.asked) == 4


def test_tries_end_and_the_last_one_counts() -> None:
    run, _, server = ask(lambda number, body: Say(status=503, body={}), items=2, options=quick(retries=2))
    assert len(server.asked) == 6
    assert [len(result.attempts) for result in run.results] == [3, 3]
    assert {result.state for result in run.results} == {State.FAILED}


def test_a_server_may_say_how_long_to_wait() -> None:
    def patient(number: int, body: Mapping[str, Any]) -> Say:
        return (
            Say(status=429, body={}, headers={"Retry-After": "0"})
            if number == 0
            else evals.right(number, body)
        )

    run, _, _ = ask(patient, items=1, options=quick(backoff_s=60.0))
    assert run.results[0].answered


def test_as_many_requests_are_under_way_as_the_endpoint_says() -> None:
    """The server answers only once four requests have come; a client that sent fewer would never be done."""
    run, suite, server = ask(lambda number, body: held(evals.right(number, body)), items=12)
    assert judged(run, suite)[0] is Outcome.PASS
    assert server.most == 4


def held(say: Say) -> Say:
    return Say(say.text, together=4)


def test_an_item_asked_several_times_is_scored_once_over_all_answers() -> None:
    with serving(lambda number, body: Say("same")) as server:
        files = evals.files(server.url, items=2)
        service, suite = evals.service_of(files), evals.suite_of(files)
        suite = replace(suite, items=tuple(replace(item, repeats=3) for item in suite.items))
        given: list[tuple[str, ...]] = []

        def score(item: Any, answers: Any) -> Any:
            given.append(tuple(answers))
            return evals.exact(item, answers)

        run = run_suite(suite, service, endpoint_of(service, {}), score=score, options=quick())
    assert given == [("same",) * 3] * 2
    assert [(result.item, result.repeat) for result in run.results] == [
        (name, repeat) for name in ("q0", "q1") for repeat in range(3)
    ]
    assert run.complete
    assert run.total == 6


def test_an_item_with_a_repeat_that_failed_has_no_score() -> None:
    def second(number: int, body: Mapping[str, Any]) -> Say:
        return Say(status=500, body={}) if number == 1 else Say("same")

    with serving(second) as server:
        files = evals.files(server.url, items=1)
        service, suite = evals.service_of(files), evals.suite_of(files)
        suite = replace(suite, items=tuple(replace(item, repeats=3) for item in suite.items))
        run = run_suite(suite, service, endpoint_of(service, {}), score=evals.exact, options=quick())
    assert [result.score for result in run.results] == [NOT_SCORED] * 3


def test_results_come_in_pieces_as_they_are_answered() -> None:
    pieces: list[Run] = []
    run, _, _ = ask(evals.right, sink=pieces.append)
    assert sum(len(piece.results) for piece in pieces) == 10
    assert load_run(b"".join(map(dump_run, pieces)), "r").results == run.results


def test_only_what_has_no_answer_is_asked_again() -> None:
    down = [True]

    def mended(number: int, body: Mapping[str, Any]) -> Say:
        return Say(status=500, body={}) if down[0] and evals.asked(body) > 6 else evals.right(number, body)

    with serving(mended) as server:
        files = evals.files(server.url)
        service, suite = evals.service_of(files), evals.suite_of(files)

        def go(**given: Any) -> Run:
            return run_suite(
                suite, service, endpoint_of(service, {}), score=evals.exact, options=quick(), **given
            )

        rows: list[bytes] = []
        broken = go(sink=lambda piece: rows.append(dump_run(piece)))
        down[0] = False
        before = len(server.asked)
        whole = go(resume=load_run(b"".join(rows), "r"), sink=lambda piece: rows.append(dump_run(piece)))
        assert len(server.asked) - before == 3
    assert judged(broken, suite)[0] is Outcome.UNDECIDED
    assert judged(whole, suite)[0] is Outcome.PASS
    assert [result.retried for result in whole.results] == [False] * 7 + [True] * 3
    assert load_run(b"".join(rows), "r").results == whole.results


STRANGERS: dict[str, dict[str, Any]] = {
    "another suite": {"suite_digest": "0" * 64},
    "other configs": {"fingerprint": "0" * 64},
    "another server": {"endpoint": "http://127.0.0.1:1/v1"},
    "another service": {"service": "other"},
}


@pytest.mark.parametrize("case", STRANGERS)
def test_results_of_another_run_are_not_gone_on_with(case: str) -> None:
    run, _, _ = ask(evals.right, items=2)
    with pytest.raises(Unreadable, match="of another run"):
        ask(evals.right, items=2, resume=replace(run, **STRANGERS[case]))


def test_an_item_the_service_cannot_be_asked_is_told_before_the_first_request() -> None:
    with serving(evals.right) as server:
        files = evals.files(server.url, items=3)
        service, suite = evals.service_of(files), evals.suite_of(files)
        bad = replace(suite.items[2], variables={"topic": "x"})
        suite = replace(suite, items=(*suite.items[:2], bad))
        with pytest.raises(Unreadable, match="`q2`"):
            run_suite(suite, service, endpoint_of(service, {}), score=evals.exact, options=quick())
        assert not server.asked


def test_a_part_of_a_suite_is_no_whole_run() -> None:
    run, _, server = ask(evals.right, options=quick(limit=3))
    assert len(server.asked) == 3
    assert not run.complete


def test_secrets_are_looked_up_when_they_are_sent_and_are_in_no_result() -> None:
    endpoint: dict[str, Json] = {
        "api_key": "env:EVAL_KEY",
        "headers": {"X-Team": "env:EVAL_TEAM", "X-Plain": "p"},
    }
    with serving(evals.right) as server:
        files = evals.files(items=1, service={"endpoint": {"url": server.url, **endpoint}})
        service, suite = evals.service_of(files), evals.suite_of(files)
        place = endpoint_of(service, {"EVAL_KEY": "s3cret", "EVAL_TEAM": "t3am"})
        run = run_suite(suite, service, place, score=evals.exact, options=quick())
        sent = server.headers[0]
    assert (sent["Authorization"], sent["X-Team"], sent["X-Plain"]) == ("Bearer s3cret", "t3am", "p")
    assert b"s3cret" not in dump_run(run)
    assert "s3cret" not in repr(place)
    with pytest.raises(Unreadable, match="the variable `EVAL_"):
        endpoint_of(service, {})


def test_a_service_without_an_address_asks_for_one() -> None:
    service = evals.service_of(evals.files())
    tree = {key: value for key, value in service.tree.items() if key != "endpoint"}
    without = Service(service.name, service.base, service.sampling, service.prompts, tree)
    with pytest.raises(Usage, match="names no endpoint"):
        endpoint_of(without, {})
    assert endpoint_of(without, {}, url="http://127.0.0.1:1/v1/").url == "http://127.0.0.1:1/v1"
