"""The results of a run as rows: exact, of one run, each standing alone; what a kill leaves still reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.errors import NewerFormat, Unreadable
from governance.evals.model import NOT_SCORED, Attempt, Result, Run, Score, State
from governance.evals.results import dump_row, dump_run, lean, load_run
from governance.records import replace
from tests.support import evals

SUITE = evals.suite_of(evals.files(items=3))


def three() -> Run:
    results = [evals.result(f"q{number}", position=number) for number in range(3)]
    return evals.run(SUITE, results)


def test_what_is_written_is_read() -> None:
    run = three()
    again = load_run(dump_run(run), "r.jsonl")
    assert again == replace(run, ended_at="", complete=True)


def test_the_end_of_a_run_is_that_of_its_last_request() -> None:
    run = three()
    results = [replace(r, at=f"2026-11-30T09:00:0{r.position}Z") for r in run.results]
    assert load_run(dump_run(replace(run, results=tuple(results))), "r").ended_at == "2026-11-30T09:00:02Z"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.none() | st.integers(0, 10**6)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
ATTEMPTS = st.builds(Attempt, st.sampled_from(State), st.integers(0, 599), TEXT, FLOATS, TEXT)
RESULTS = st.builds(
    Result,
    item=TEXT,
    task=TEXT,
    state=st.sampled_from(State),
    score=st.builds(Score, st.none() | FLOATS, st.none() | st.booleans(), TEXT),
    text=st.none() | TEXT,
    repeat=st.integers(0, 3),
    tags=st.lists(TEXT, max_size=2).map(tuple),
    finish_reason=TEXT,
    prompt_tokens=NUMBERS,
    completion_tokens=NUMBERS,
    token_ids=st.lists(st.integers(0, 99), max_size=3).map(tuple),
    logprobs=st.lists(FLOATS, max_size=3).map(tuple),
    first_token_s=st.none() | FLOATS,
    attempts=st.lists(ATTEMPTS, max_size=2).map(tuple),
    model=TEXT,
    request=st.dictionaries(TEXT, JSONS, max_size=3),
    response=JSONS,
    position=st.integers(0, 9),
    at=TEXT,
)


@given(RESULTS, TEXT, TEXT)
def test_every_result_is_one_line_and_is_read_as_it_was(result: Result, service: str, endpoint: str) -> None:
    run = Run("s", "d" * 64, (result,), service, "f" * 64, {"base": "b"}, endpoint, "t", total=1)
    line = dump_row(result, run)
    assert line.count(b"\n") == 1
    again = load_run(line, "r.jsonl")
    assert dump_run(again) == line
    assert again.results == (result,)


def test_a_row_stands_alone_and_is_flat_where_tables_need_it() -> None:
    row = json.loads(dump_run(three()).splitlines()[0])
    nested = {name for name, value in row.items() if isinstance(value, dict | list)}
    assert nested == {"tags", "layers", "attempts", "token_ids", "logprobs", "request"}
    assert (row["suite_digest"], row["fingerprint"], row["schema"]) == (
        SUITE.digest,
        "f" * 64,
        "tierlock.result/1",
    )
    assert (row["item"], row["state"], row["passed"], row["status"], row["retried"]) == (
        "q0", "answered", True, 200, False,
    )  # fmt: skip


def test_a_line_that_a_kill_cut_is_passed_over_and_the_run_is_not_complete() -> None:
    data = dump_run(three())
    for end in (len(data) - 1, len(data) - 40):
        found = load_run(data[:end], "r.jsonl")
        assert [result.item for result in found.results] == ["q0", "q1"]
        assert not found.complete


def test_a_run_with_missing_results_is_not_complete() -> None:
    assert not load_run(dump_run(replace(three(), results=three().results[:2])), "r").complete


def test_rows_come_back_in_the_order_of_the_suite() -> None:
    lines = dump_run(three()).splitlines(keepends=True)
    assert [r.item for r in load_run(b"".join(reversed(lines)), "r").results] == ["q0", "q1", "q2"]


def test_a_result_that_was_asked_again_replaces_the_earlier_one() -> None:
    failed = evals.result("q0", state=State.FAILED)
    attempts = (*failed.attempts, Attempt(State.ANSWERED, 200, "", 0.1, "cd"))
    later = evals.result("q0")
    later = replace(later, attempts=attempts)
    run = evals.run(SUITE, [])
    found = load_run(dump_row(failed, run) + dump_row(later, run), "r")
    assert found.results == (later,)
    assert found.results[0].retried


def test_a_repeat_is_scored_later_when_the_last_of_them_was_answered() -> None:
    scored = evals.result("q0")
    run = evals.run(SUITE, [])
    found = load_run(dump_row(replace(scored, score=NOT_SCORED), run) + dump_row(scored, run), "r")
    assert found.results == (scored,)


def test_the_same_result_twice_is_refused() -> None:
    """Two files put together would count an item twice."""
    data = dump_run(three())
    with pytest.raises(Unreadable, match="`q0` is there twice") as error:
        load_run(data + data, "r.jsonl")
    assert error.value.where == "r.jsonl:4"


@pytest.mark.parametrize("field", ["suite", "suite_digest", "service", "fingerprint", "endpoint", "total"])
def test_rows_of_another_run_are_refused(field: str) -> None:
    other: Any = 7 if field == "total" else "other"
    stranger = replace(three(), **{field: other})
    data = dump_run(replace(three(), results=three().results[:1])) + dump_row(three().results[1], stranger)
    with pytest.raises(Unreadable, match=f"its `{field}` is") as error:
        load_run(data, "r.jsonl")
    assert error.value.where == "r.jsonl:2"


ALTERED = {
    "another layout": (b'", "', b'","'),
    "a key that is missing": (b'"tags": [], ', b""),
    "a key too many": (b'"tags": []', b'"tags": [], "note": 1'),
    "no JSON": (b'{"item"', b'{item"'),
    "another state": (b'"answered"', b'"great"'),
}


@pytest.mark.parametrize("case", ALTERED)
def test_a_row_that_was_altered_is_refused(case: str) -> None:
    before, after = ALTERED[case]
    data = dump_run(evals.run(SUITE, [evals.result("q0", passed=False)]))
    assert before in data
    changed = data.replace(before, after, 1)
    with pytest.raises(Unreadable):
        load_run(changed, "r.jsonl")


def test_a_later_format_asks_for_an_upgrade_and_another_file_is_named() -> None:
    data = dump_run(three())
    with pytest.raises(NewerFormat, match="format 2 is newer"):
        load_run(data.replace(b"tierlock.result/1", b"tierlock.result/2"), "r.jsonl")
    for other in (b'{"id": "q0"}\n', b"[1]\n"):
        with pytest.raises(Unreadable, match="no results file"):
            load_run(other, "r.jsonl")
    with pytest.raises(Unreadable, match="holds no result"):
        load_run(b"", "r.jsonl")


def test_a_repository_keeps_rows_without_raw_responses() -> None:
    run = three()
    run = replace(run, results=tuple(replace(r, response={"big": 1}) for r in run.results))
    kept = load_run(dump_run(lean(run)), "r")
    assert [result.response for result in kept.results] == [None] * 3
    assert all(result.attempts[0].body_digest for result in kept.results)
