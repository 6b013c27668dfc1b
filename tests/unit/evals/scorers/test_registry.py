"""Every scorer is documented by examples that hold, and the one door to a score keeps its promises."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from governance.evals.model import NOT_SCORED, Item, Score
from governance.evals.scorers.model import Context, Example, Need
from governance.evals.scorers.registry import SCORERS, find, item_faults, score_item
from governance.values import ABSENT, Json


def item(scorer: str, reference: object = ABSENT, repeats: int = 1, **args: Json) -> Item:
    return Item("x", "code", scorer, args=args, reference=reference, prompt="?", repeats=repeats)  # type: ignore[arg-type]


def examples() -> Iterator[object]:
    for name, scorer in SCORERS.items():
        for number, example in enumerate(scorer.examples, 1):
            yield pytest.param(name, example, id=f"{name}-{number}")


@pytest.mark.parametrize(("name", "example"), list(examples()))
def test_an_example_of_the_documentation_is_judged_as_it_says(name: str, example: Example) -> None:
    asked = item(name, example.reference, max(1, len(example.answers)), **example.args)
    assert list(item_faults(asked)) == []
    score = score_item(asked, example.answers, Context(contract=example.contract))
    assert score.passed is example.passed, score.reason
    assert score.value is not None
    assert 0 <= score.value <= 1


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_has_an_example_that_passes_and_one_that_does_not(name: str) -> None:
    scorer = SCORERS[name]
    assert {example.passed for example in scorer.examples} == {True, False}
    assert (scorer.judge is None) is not (scorer.together is None)
    assert scorer.what.endswith(".")
    assert all(argument.what for argument in scorer.arguments.values())


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("answer", ["", " \n", "\0", "\ud800", "[" * 2000])
def test_no_answer_makes_a_scorer_fail(name: str, answer: str) -> None:
    """An answer is whatever a server sends. Right, wrong or not judged: never our error."""
    example = SCORERS[name].examples[0]
    asked = item(name, example.reference, **example.args)
    score = score_item(asked, [answer, answer], Context(contract=example.contract))
    assert isinstance(score, Score)
    assert score.passed is not None or score.reason


@pytest.mark.parametrize(
    "name", [name for name in SCORERS if name not in {"limits", "repeats", "contains", "regex"}]
)
def test_an_empty_answer_is_wrong_and_says_so(name: str) -> None:
    example = next(each for each in SCORERS[name].examples if each.passed)
    score = score_item(
        item(name, example.reference, **example.args), [""], Context(contract=example.contract)
    )
    assert score.passed is False
    assert score.reason


def test_no_answer_at_all_is_no_score() -> None:
    assert score_item(item("exact", "x"), []) == NOT_SCORED


def test_a_scorer_that_does_not_exist_gives_no_score_and_names_the_nearest() -> None:
    assert score_item(item("exakt", "x"), ["x"]).passed is None
    (fault,) = item_faults(item("exakt", "x"))
    assert (fault.key, fault.hint) == (("scorer",), "did you mean `exact`?")
    assert find("exakt") is None


class TestRepeats:
    def test_one_wrong_answer_of_several_is_wrong_and_says_which(self) -> None:
        score = score_item(item("exact", "4"), ["4", "5", "4"])
        assert (score.value, score.passed) == (2 / 3, False)
        assert score.reason == "1 of 3 answers wrong, the first is number 2: '5' is not '4'"

    def test_all_right_is_right(self) -> None:
        assert score_item(item("exact", "4"), ["4", "4"]) == Score(1.0, True)

    def test_what_could_not_be_judged_leaves_no_score_unless_another_is_wrong(self) -> None:
        slow = item("regex", pattern=r"^(.*?,){30}P", absent=True)
        hard, right, wrong = "1," * 40, "1", "," * 30 + "P"
        assert score_item(slow, [right, hard]).passed is None
        assert score_item(slow, [wrong, hard]).passed is False


class TestFaults:
    def faults(self, asked: Item) -> list[str]:
        return [fault.message for fault in item_faults(asked)]

    def test_an_unknown_argument_is_named_with_the_nearest(self) -> None:
        (fault,) = item_faults(item("numeric", 3, tolerence=1))
        assert fault.key == ("args", "tolerence")
        assert fault.on_key
        assert fault.hint == "did you mean `tolerance`?"

    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            (item("numeric"), "`numeric` needs a reference"),
            (
                item("numeric", "no number"),
                "the reference of `numeric` must be a number, or a text that is one",
            ),
            (item("numeric", True), "the reference of `numeric` must be a number, or a text that is one"),
            (item("numeric", 3, tolerance="1"), "`tolerance` must be a number"),
            (item("numeric", 3, tolerance=-1), "`tolerance` is below zero"),
            (item("numeric", 3, take="final"), "`final` is no value of `take`"),
            (item("exact", []), "the reference of `exact` must be a text, or a list of texts"),
            (item("contains"), "`contains` looks for nothing"),
            (item("contains", "x", all="x"), "`contains` looks at no reference"),
            (item("contains", all=["x", " "]), "an empty text is in every answer"),
            (item("regex", pattern="("), "`(` is no regular expression: missing ) at position 1"),
            (
                item("regex", "x", pattern="y"),
                "the reference is held against the first group of the pattern, which has none",
            ),
            (item("regex"), "`regex` needs the argument `pattern`"),
            (
                item("json-schema", schema={"type": "objekt"}),
                "the schema is none: `type`: 'objekt' is not valid under any of the given schemas",
            ),
            (
                item("json-schema", schema={"$ref": "https://schemas.example/a"}),
                "the schema is none: `$ref: https://schemas.example/a` leads out of the schema",
            ),
            (
                item("json-schema", {"a": 1}, schema={"type": "array"}),
                "the reference does not keep the schema: {'a': 1} is not of type 'array'",
            ),
            (item("limits"), "no limit is given"),
            (item("limits", max_words=3, min_words=4), "`min_words` is above `max_words`"),
            (item("code"), "nothing says when the program is right"),
            (item("code", tests="def"), "the tests are no Python: invalid syntax (tests.py, line 1)"),
            (item("code", "1", timeout_s=0), "`timeout_s` must be above 0 and at most 120"),
            (item("choice", "E", choices=["A", "B"]), "the reference `E` is none of the choices"),
            (item("choice", "A", choices=["A", "a"]), "`a` is two choices at once"),
            (
                item("choice", "A", choices=["A"]),
                "`choices` must be a list of texts, or a mapping of texts to texts",
            ),
            (item("repeats"), "one answer says nothing about repeats"),
            (
                item("entities", {"a": 1}, read="mentions"),
                "fields with values cannot be looked for in running text",
            ),
            (item("entities", ["-"]), "an entry has no letter and no digit"),
            (item("python:evals.mine"), "`python:evals.mine` names no function"),
            (
                item("all-of", scorers=[]),
                "`scorers` must be a list of mappings with `scorer`, `args` and `reference`",
            ),
            (
                item("all-of", scorers=[{"scorer": "all-of", "args": {"scorers": [{}]}}]),
                "`all-of` inside `all-of`",
            ),
            (item("all-of", scorers=[{"scorer": "exact"}]), "`exact` needs a reference"),
        ],
    )
    def test_what_could_not_be_judged_as_meant_is_refused(self, asked: Item, message: str) -> None:
        assert self.faults(asked) == [message]

    def test_the_place_of_a_fault_inside_all_of_is_its_own(self) -> None:
        parts: list[Json] = [
            {"scorer": "contract"},
            {"scorer": "numeric", "reference": 1, "args": {"takes": "x"}},
        ]
        (fault,) = item_faults(item("all-of", scorers=parts))
        assert fault.key == ("args", "scorers", 1, "args", "takes")

    def test_references_where_none_is_looked_at_are_refused(self) -> None:
        for name, scorer in SCORERS.items():
            if scorer.reference is Need.NONE:
                example = scorer.examples[0]
                asked = item(name, "x", max(2, len(example.answers)), **example.args)
                assert f"`{name}` looks at no reference" in self.faults(asked)
