"""Laws of scoring: whatever a server answers, a scorer gives a score or a reason, and not too late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.evals.model import Item, Score
from governance.evals.scorers.model import Context
from governance.evals.scorers.registry import SCORERS, score_item

# `code` starts a process for each answer; its answers are in tests/unit/evals/scorers.
NAMES = [name for name in SCORERS if name != "code"]
PIECES = [
    "```",
    "json",
    "\n",
    " ",
    ".",
    "- ",
    '{"a": ',
    "}",
    "[",
    "]",
    '"',
    "1",
    ",",
    "-",
    "/",
    "Dr",
    "A",
    "(B)",
]
PIECES += ["answer is ", "####", "\\boxed{", "é", "日", "\u202f", "\u0301", "½", "and", "Oslo", "four"]
ANSWERS = st.one_of(st.text(max_size=120), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))


def asked(name: str) -> tuple[Item, Context]:
    example = SCORERS[name].examples[0]
    item = Item("x", "code", name, args=example.args, reference=example.reference, prompt="?")
    return item, Context(contract={"language": "same-as-input", "max_sentences": 2, "format": "json"})


def holds(score: Score) -> bool:
    if score.value is None:
        return score.passed is None and bool(score.reason)
    return 0 <= score.value <= 1 and isinstance(score.passed, bool) and (score.passed or bool(score.reason))


@pytest.mark.parametrize("name", NAMES)
@given(answers=st.lists(ANSWERS, min_size=1, max_size=3))
def test_every_answer_has_a_score_or_a_reason(name: str, answers: list[str]) -> None:
    item, context = asked(name)
    first, again = score_item(item, answers, context), score_item(item, answers, context)
    assert holds(first)
    assert first == again


@pytest.mark.parametrize("name", [name for name in NAMES if name != "repeats"])
@given(answers=st.lists(ANSWERS, min_size=2, max_size=3))
def test_several_answers_pass_exactly_when_each_of_them_does(name: str, answers: list[str]) -> None:
    item, context = asked(name)
    alone = [score_item(item, [answer], context) for answer in answers]
    together = score_item(item, answers, context)
    assert (together.passed is True) == all(score.passed for score in alone)
    if any(score.passed is False for score in alone):
        assert together.passed is False


ENDLESS = [
    "." * 20_000 + "x", " " * 20_000 + "x", "\n" * 20_000 + "x", "\n " * 10_000, "1" * 20_000, "1," * 10_000,
    "[" * 20_000, '{"a":' * 4_000, "```\n" * 5_000, "```a " * 4_000, "`" * 20_000, "answer is " * 2_000,
    "A " * 10_000, '."' * 10_000, " and " * 4_000, "Dr. " * 5_000, "\\boxed{" * 3_000,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_long_answer_of_one_piece_is_scored(name: str) -> None:
    """A model that repeats itself to its limit must not stall the run: quadratic work here takes minutes."""
    item, context = asked(name)
    assert all(holds(score_item(item, [answer, answer], context)) for answer in ENDLESS)
