"""E03 of the field cases: a small set misses a threshold by two questions, a big set really falls.

The lists of the public case are read as results files by one mapping: a row is an item that was answered and
is right or wrong.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from governance.evals.judging import Bar, judge
from governance.evals.model import Item, Suite
from governance.evals.results import dump_run, load_run
from governance.evals.statistics import wilson
from governance.verdict import Outcome, decide
from tests.support.command import Ran, Tierlock
from tests.support.eval_runs import result, run

CASE = Path(__file__).parent / "cases" / "E03"


def mapped(name: str) -> bytes:
    """A list of ids and passes as the results of a run."""
    with (CASE / name).open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return dump_run(run(result(row["id"], row["pass"] == "1", task="question-answering") for row in rows))


@pytest.fixture
def tierlock(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    return Tierlock(tmp_path, capsys, monkeypatch)


def compared(tierlock: Tierlock, size: str, *options: str) -> Ran:
    for side in ("baseline", "candidate"):
        (tierlock.folder / f"{side}.jsonl").write_bytes(mapped(f"{size}_{side}.csv"))
    return tierlock.run("eval", "compare", "baseline.jsonl", "candidate.jsonl", *options)


def test_the_small_set_is_neither_a_hard_red_nor_a_quiet_green(tierlock: Tierlock) -> None:
    said = compared(tierlock, "small")
    assert said.code == 3
    assert "UNDECIDED  22 lost, 12 gained of 198" in said.out
    assert "0.12" in said.out
    assert "more items needed" in " ".join(said.out.split())


def test_the_interval_of_the_small_candidate_spans_the_threshold() -> None:
    threshold = json.loads((CASE / "policy.json").read_text())["threshold"]
    ends = wilson(137, 198)
    assert ends.low < threshold < ends.high


def test_the_threshold_itself_is_neither_met_nor_missed() -> None:
    """Two items below a fixed bar: the bar is inside the interval, so more items are asked for."""
    candidate = load_run(mapped("small_candidate.csv"), "candidate.jsonl")
    items = tuple(Item(one.item, one.task, "exact", reference="x") for one in candidate.results)
    suite = Suite("full", "evals/full.jsonl", items, candidate.suite_digest)
    bar = Bar(min_score=json.loads((CASE / "policy.json").read_text())["threshold"])
    checks = judge(candidate, suite, kind="full", bar=bar)
    assert decide(checks) is Outcome.UNDECIDED
    assert any("more items" in check.detail for check in checks)


def test_the_big_fall_blocks_and_names_every_id_that_was_lost(tierlock: Tierlock) -> None:
    said = compared(tierlock, "big")
    assert said.code == 1
    assert "BLOCK  65 lost, 8 gained of 500" in said.out
    assert "p < 0.0001" in said.out
    assert [name for name in (f"b{number:03}" for number in range(65)) if f"`{name}`" not in said.out] == []


def test_the_sets_of_failing_items_are_told_apart_item_by_item(tierlock: Tierlock) -> None:
    told = compared(tierlock, "big", "--format", "json").json["run"]
    before, after = set(told["failed_before"]), set(told["failed_after"])
    assert (len(before), len(after), told["items"]) == (38, 95, 500)
    assert set(told["lost"]) == after - before
    assert set(told["gained"]) == before - after


def test_a_wide_margin_does_not_let_the_big_drop_through(tierlock: Tierlock) -> None:
    assert compared(tierlock, "big", "--margin", "0.1").code == 1
