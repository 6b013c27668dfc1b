"""The unit tests of a policy: what they can say, and that a mistake in them is no pass."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from governance.review.cases import run
from governance.review.policy import Policy
from governance.verdict import Outcome, Report

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)
POLICY = Policy.of({
    "version": 1,
    "review": {
        "people": {"a": {}, "b": {}, "c": {}},
        "roles": {"platform": ["a", "b"]},
        "sampling": {"approvals": 1, "from": ["platform"]},
        "base": {"approvals": 1, "from": ["platform"], "on_output_change": 2},
    },
})  # fmt: skip


def judged(text: str) -> Report:
    return run(text.encode(), "review-tests.yaml", POLICY, now=NOW)


def one(**keys: str) -> str:
    rest = "".join(f"    {key}: {value}\n" for key, value in keys.items())
    return f"cases:\n  - name: x\n{rest}"


class TestOutcome:
    @pytest.mark.parametrize(
        ("keys", "expect"),
        [
            ({"change": "sampling/x", "approvals": "[a]"}, "pass"),
            ({"change": "sampling/x", "approvals": "[a]", "authors": "[a]"}, "block"),
            ({"change": "sampling/x", "approvals": "[c]"}, "block"),
            ({"change": "base/x", "approvals": "[a]"}, "block"),
            ({"change": "base/x", "approvals": "[a, a]"}, "block"),
            ({"change": "base/x", "approvals": "[a, b]"}, "pass"),
            ({"change": "base/x", "approvals": "[a]", "effect": "latency"}, "pass"),
            ({"change": "policy", "approvals": "[a]", "missing": "1"}, "block"),
            ({"change": "service/s", "approvals": "[a, b]", "missing": "0"}, "pass"),
        ],
    )
    def test_a_case_is_decided_as_a_change_is(self, keys: dict[str, str], expect: str) -> None:
        other = {"pass": "block", "block": "pass"}[expect]
        assert judged(one(**keys, expect=expect)).outcome is Outcome.PASS
        wrong = judged(one(**keys, expect=other))
        assert wrong.outcome is Outcome.BLOCK
        assert (wrong.findings[0].code, wrong.findings[0].path) == ("TL510", "review-tests.yaml")
        assert wrong.findings[0].line > 1


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (one(change="sampling/x", expect="maybe"), "pass or block"),
            (one(change="sampling/x"), "`expect` is missing"),
            (one(change="elsewhere/x", expect="pass"), "is no change"),
            (one(change="sampling/x", expect="pass", approvals="[zoe]"), "nobody in the policy"),
            (one(change="sampling/x", expect="pass", approvers="[a]"), "unknown key `approvers`"),
            (one(change="sampling/x", expect="pass", effect="huge"), "`effect`"),
            (one(change="sampling/x", expect="pass", missing="many"), "`missing`"),
            (one(change="sampling/x", expect="pass", authors="a"), "not a list"),
            ("cases: 3\n", "not a list"),
            ("cases:\n  - a\n", "is a mapping"),
            ("casess: []\ncases: []\n", "unknown key `casess`"),
        ],
    )
    def test_a_mistaken_case_is_undecided_and_says_where(self, text: str, told: str) -> None:
        report = judged(text)
        assert report.outcome is Outcome.UNDECIDED
        assert any(told in finding.message for finding in report.findings), report.findings

    @pytest.mark.parametrize("text", ["cases: []\n", "", "cases: [\n", "a: &x 1\n"])
    def test_no_case_is_no_pass(self, text: str) -> None:
        assert judged(text).outcome is Outcome.UNDECIDED
