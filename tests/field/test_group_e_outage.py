"""E01 of the field cases: an outage is scored as an accuracy.

Each row of the public case is served by a real server that does what happened then: it refuses with that
status, keeps silent until the client gives up, or answers with the choice that was parsed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from governance.values import Json
from tests.support import evals
from tests.support.command import Ran, Tierlock
from tests.support.completions_server import Say, serving

CASE = Path(__file__).parent / "cases" / "E01"
ROWS = [json.loads(line) for line in (CASE / "results.jsonl").read_text().splitlines()]
POLICY = json.loads((CASE / "policy.json").read_text())


def reply(row: Mapping[str, Any]) -> Say:
    """What the server of the case did for this row."""
    if row["http"] == 200:
        return Say(str(row["parsed_choice"]))
    if row["http"] is None:
        return Say("never", after=0.6)
    return Say(status=row["http"], body={"error": {"message": row["error"]}})


def item(row: Mapping[str, Any]) -> dict[str, Json]:
    """The item of this row: its reference is the choice that was right, or another when that was wrong."""
    choice = row["parsed_choice"] or 0
    return {
        "id": row["id"],
        "task": "question-answering",
        "variables": {"question": row["id"].removeprefix("q")},
        "scorer": "exact",
        "reference": str(choice if row["correct"] else choice + 1),
    }


def run(tierlock: Tierlock, arm: str, tmp_path: Path) -> Ran:
    rows = [row for row in ROWS if row["arm"] == arm]
    assert len(rows) == 60
    with serving(lambda number, body: reply(rows[evals.asked(body)])) as server:
        files = evals.files(
            service={
                "endpoint": {"url": server.url, "timeout_s": 0.3, "concurrency": 8},
                "evals": {
                    "full": "choices",
                    "min_coverage": POLICY["min_coverage"],
                    "min_score": POLICY["min_accuracy"],
                },
            }
        )
        files["evals/choices.jsonl"] = "".join(json.dumps(item(row)) + "\n" for row in rows)
        evals.repository(tmp_path / "repo", files)
        command = ("eval", "run", evals.NAME, "--suite", "choices", "--unobserved", "--out", "results.jsonl")
        return tierlock.run(*command, cwd=tmp_path / "repo")


@pytest.fixture
def tierlock(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    return Tierlock(tmp_path, capsys, monkeypatch)


def words(text: str) -> str:
    return " ".join(text.split())


def test_an_outage_has_no_score_and_is_not_evaluated(tierlock: Tierlock, tmp_path: Path) -> None:
    said = run(tierlock, "A", tmp_path)
    assert said.code == 3
    assert "not evaluated: none of 60 items was answered" in words(said.out)
    assert "refused" in said.out
    assert "HTTP 402: payment required" in words(said.out)
    assert "16.7" not in said.out
    assert "0.167" not in said.out
    assert "right" not in said.out


def test_a_run_with_timeouts_is_inconclusive_and_its_answers_are_scored_alone(
    tierlock: Tierlock, tmp_path: Path
) -> None:
    said = run(tierlock, "B", tmp_path)
    assert said.code == 3
    text = words(said.out)
    assert (
        "inconclusive: 53 of 60 items answered, coverage 0.883, at least 0.95 is needed: 7 timed out" in text
    )
    assert "48 of 53 right: 0.906" in text
    assert "0.800 (" not in text
    rows = [json.loads(line) for line in (tmp_path / "repo/results.jsonl").read_text().splitlines()]
    failed = [row for row in rows if row["state"] != "answered"]
    wrong = [row for row in rows if row["passed"] is False]
    assert (len(failed), len(wrong)) == (7, 5)
    assert all(row["passed"] is None and row["score"] is None and row["text"] is None for row in failed)
