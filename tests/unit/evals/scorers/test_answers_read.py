"""How answers are read: choices, entities, JSON, code, contracts, and the user's own functions."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from governance.evals.model import Item, Score
from governance.evals.scorers.json_answers import value_in
from governance.evals.scorers.model import Context
from governance.evals.scorers.registry import score_item
from governance.values import ABSENT, Absent, Json


def score(scorer: str, *answers: str, reference: Json | Absent = ABSENT, **args: Json) -> Score:
    return score_item(Item("x", "code", scorer, args=args, reference=reference, prompt="?"), answers)


class TestChoice:
    LETTERS: Json = ["A", "B", "C", "D"]  # noqa: RUF012

    @pytest.mark.parametrize(
        ("answer", "chosen"),
        [
            ("B", "B"),
            ("b", "B"),
            ("(B)", "B"),
            ("B.", "B"),
            ("**B**", "B"),
            ("B) because A is wrong", "B"),
            ("The answer is B", "B"),
            ("The answer is: (B).", "B"),
            ("Answer: A. No: Answer: B", "B"),
            (r"\boxed{B}", "B"),
            ("I would take option B", "B"),
            ("A dog cannot fly, so it must be B", "B"),
            ("A", "A"),
            ("Either A) or B)", ""),
            ("Both B and C", ""),
            ("none", ""),
            ("", ""),
            ("Because", ""),
        ],
    )
    def test_the_choice_is_found_in_the_words_around_it(self, answer: str, chosen: str) -> None:
        right = [
            letter
            for letter in ("A", "B", "C", "D")
            if score("choice", answer, reference=letter, choices=self.LETTERS).passed
        ]
        assert "".join(right) == chosen

    def test_words_are_chosen_whole(self) -> None:
        choices: Json = ["positive", "negative"]
        assert score("choice", "Sentiment: negative", reference="negative", choices=choices).passed
        assert not score("choice", "nonnegative", reference="negative", choices=choices).passed
        assert not score("choice", "not positive but negative", reference="negative", choices=choices).passed

    def test_several_may_be_right(self) -> None:
        assert score("choice", "C", reference=["B", "C"], choices=self.LETTERS).passed


class TestEntities:
    @pytest.mark.parametrize(
        "answer",
        [
            '["Oslo", "Bergen"]',
            '```json\n["Bergen", "Oslo"]\n```',
            "- Oslo\n- Bergen",
            "1. Oslo\n2. Bergen",
            "Oslo\nBergen",
            "Cities:\nOslo\nBergen",
            "Oslo, Bergen",
            "Oslo and Bergen.",
            "The cities are: Oslo, and Bergen.",
            "oslo; BERGEN; Oslo",
        ],
    )
    def test_a_list_is_read_in_every_form_it_comes_in(self, answer: str) -> None:
        found = score("entities", answer, reference=["Oslo", "Bergen"])
        assert found.passed, found.reason

    def test_missing_and_invented_entries_are_named(self) -> None:
        found = score("entities", "Oslo, Rome", reference=["Oslo", "Bergen"])
        assert (found.value, found.passed) == (0.5, False)
        assert found.reason == "missing bergen; not asked for: Rome"

    def test_nothing_can_be_right(self) -> None:
        assert score("entities", "None", reference=[]).passed
        assert score("entities", "[]", reference=[]).passed
        assert not score("entities", "Oslo", reference=[]).passed
        assert not score("entities", "none", reference=["Oslo"]).passed

    def test_precision_and_recall_can_be_asked_for_alone(self) -> None:
        more = "Oslo, Bergen, Rome"
        assert score("entities", more, reference=["Oslo", "Bergen"], min_recall=1).passed
        assert not score("entities", more, reference=["Oslo", "Bergen"], min_precision=0.9).passed
        assert score("entities", "Oslo", reference=["Oslo", "Bergen"], min_precision=1).passed

    def test_fields_are_compared_as_pairs(self) -> None:
        wanted: Json = {"name": "Ada Lovelace", "born": 1815, "tags": ["maths", "code"]}
        given = '{"tags": ["code", "maths"], "born": 1815.0, "name": "ada lovelace"}'
        assert score("entities", f"Sure: {given}", reference=wanted).passed
        swapped = '{"name": "maths", "born": 1815, "tags": ["Ada Lovelace", "code"]}'
        assert not score("entities", swapped, reference=wanted).passed
        assert score("entities", "no object", reference=wanted).reason == "no JSON object in 'no object'"


class TestJson:
    @pytest.mark.parametrize(
        ("answer", "where", "value"),
        [
            ("1", "whole", 1),
            ("null", "whole", None),
            (' {"a": 1}\n', "whole", {"a": 1}),
            ('```json\n{"a": 1}\n```', "fence", {"a": 1}),
            ('Here:\n```\n{"a": 1}\n```\nDone.', "fence", {"a": 1}),
            ('```json\n{"a": 1}\n```', "whole", ABSENT),
            ('It is {"a": 1} so', "first", {"a": 1}),
            ('It is {"a": 1} so', "fence", ABSENT),
            ('{"a": 1, "a": 2}', "first", ABSENT),
            ("NaN", "whole", ABSENT),
            ('{"a": 1} {"b": 2}', "fence", ABSENT),
            ("[" * 100_000, "first", ABSENT),
            ("", "first", ABSENT),
        ],
    )
    def test_a_value_is_taken_from_where_it_may_stand(self, answer: str, where: str, value: object) -> None:
        assert value_in(answer, where=where) == value

    def test_values_are_compared_as_json_has_them(self) -> None:
        schema: Json = {}
        assert score(
            "json-schema", '{"b": [1.0], "a": true}', reference={"a": True, "b": [1]}, schema=schema
        ).passed
        assert not score("json-schema", '{"a": 1}', reference={"a": True}, schema=schema).passed
        assert not score("json-schema", "[1, 2]", reference=[2, 1], schema=schema).passed

    def test_the_gravest_breach_is_told_with_its_place(self) -> None:
        schema: Json = {"properties": {"a": {"items": {"type": "integer"}}}}
        assert (
            score("json-schema", '{"a": [1, "x"]}', schema=schema).reason
            == "`a[1]`: 'x' is not of type 'integer'"
        )


class TestCode:
    TESTS = "assert f(2) == 4"

    @pytest.mark.parametrize(
        ("answer", "passed"),
        [
            ("def f(x):\n    return x * 2", True),
            ("Sure:\n```python\ndef f(x):\n    return x * 2\n```\nThis doubles x.", True),
            ("```python\nimport math\n```\nand\n```python\ndef f(x):\n    return x * 2\n```", True),
            ("```sh\npip install x\n```\n```python\ndef f(x):\n    return x * 2\n```", True),
            ("def f(x):\n    return x", False),
            ("def g(x):\n    return 4", False),
            ("I cannot help with that.", False),
            ("import sys\ndef f(x): sys.exit(0)", False),
            ("def f(x):\n    while True: pass", False),
            ("print('done')\nraise SystemExit(0)", False),
            ("", False),
        ],
    )
    def test_only_a_program_that_passes_its_tests_is_right(self, answer: str, *, passed: bool) -> None:
        assert score("code", answer, tests=self.TESTS, timeout_s=2).passed is passed

    def test_the_reason_names_the_failure_and_its_line(self) -> None:
        assert score("code", "def f(x):\n    return 1 / 0", tests=self.TESTS).reason == (
            "ZeroDivisionError: division by zero (answer, line 2)"
        )
        assert score("code", "x = 1", tests="assert x == 2").reason == "AssertionError (tests, line 1)"
        slow = score("code", "while True: pass", tests="x", timeout_s=0.3)
        assert slow.reason == "it ran longer than 0.3 s"

    def test_output_is_compared_line_by_line(self) -> None:
        assert score("code", "print(1); print('2  ')", reference="1\n2").passed
        assert score("code", "print(input()[::-1])", reference="cba", stdin="abc\n").passed
        assert score("code", "print(1)", reference="2").reason == "it printed '1', not '2'"

    def test_a_program_for_main_runs_its_main(self) -> None:
        assert score("code", "if __name__ == '__main__':\n    print('hi')", reference="hi").passed


SLOW = r"^(.*?,){30}P"  # as many ways to match as there are ways to choose 30 of 40 commas


class TestRegex:
    def test_a_pattern_that_takes_too_long_gives_no_score(self) -> None:
        found = score("regex", "1," * 40, pattern=SLOW)
        assert (found.passed, found.reason) == (None, "the pattern took more than 1 s on this answer")

    def test_the_group_is_compared_in_compared_form(self) -> None:
        assert score("regex", "Total: 12 EUR.", pattern=r"Total: (.*)", reference="12 eur").passed
        assert score("regex", "Total: 13", pattern=r"Total: (\d+)", reference="12").reason == (
            "the group has '13', not '12'"
        )


class TestContract:
    def judged(
        self, answer: str, *, question: str = "", files: dict[str, bytes] | None = None, **contract: Json
    ) -> Score:
        item = Item("x", "summarising", "contract", prompt=question)
        return score_item(item, [answer], Context("", contract, files or {}))

    def test_every_term_is_judged(self) -> None:
        told = self.judged(
            "Sure! I see. It is.", max_sentences=2, must_contain=["x"], must_not_contain=["Sure"]
        )
        assert told.reason == "3 sentences, at most 2; no 'x'; has 'Sure'"
        assert self.judged("ab", regex="a|b").reason == "does not match `a|b`"
        assert self.judged("[1]", format="json").passed
        assert self.judged("x", format="json").reason == "no JSON: 'x'"

    def test_the_schema_is_that_of_the_prompts_config(self) -> None:
        files = {"schema.json": b'{"type": "array"}'}
        named: Json = {"file": "schema.json"}
        assert self.judged("[]", files=files, schema=named).passed
        assert self.judged("{}", files=files, schema=named).reason == "{} is not of type 'array'"
        assert self.judged("[]", schema=named).passed is None

    def test_the_language_is_that_of_the_question(self) -> None:
        german = "Die Stadt hat beschlossen, dass die Brücke im Mai für die Arbeiten nicht offen ist."
        english = "The council of the city has decided that the bridge is to be closed in May."
        assert (
            self.judged(english, question=german, language="same-as-input").reason == "in `en`, not in `de`"
        )
        assert self.judged(german, question=german, language="same-as-input").passed
        assert self.judged("Ja", question=german, language="same-as-input").passed
        assert self.judged(german, language="en-GB").passed is False

    def test_a_service_without_a_contract_gives_no_score(self) -> None:
        assert self.judged("x").passed is None


class TestEntryPoint:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "own").mkdir()
        (tmp_path / "own" / "helper.py").write_text("BAR = 3\n")
        (tmp_path / "own" / "scorers.py").write_text(
            textwrap.dedent(
                """
                from own.helper import BAR
                print("noise")

                def longer(answer, item):
                    print("more noise")
                    return len(answer) > item["args"].get("than", BAR)

                def half(answer, item): return 0.5
                def told(answer, item): return 0.25, "a quarter"
                def mapped(answer, item): return {"value": 0.9, "passed": False, "reason": "no"}
                def silent(answer, item): return None
                def broken(answer, item): return {}["x"]
                def odd(answer, item): return "yes"
                def beyond(answer, item): return 1.5
                def whole(answer, item): return item["args"] == {"x": 1} and item["prompt"] == "?"
                """
            )
        )
        return tmp_path

    def judged(self, root: Path, function: str, answer: str = "abcdef", **args: Json) -> Score:
        item = Item("x", "code", f"python:own.scorers:{function}", args=args, prompt="?")
        return score_item(item, [answer], Context(str(root)))

    def test_what_it_returns_is_the_score(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.judged(root, "longer").passed is True
        assert self.judged(root, "longer", than=9).passed is False
        assert self.judged(root, "half") == Score(0.5, True)
        assert self.judged(root, "half", pass_at=0.6).passed is False
        assert self.judged(root, "told") == Score(0.25, False, "a quarter")
        assert self.judged(root, "mapped") == Score(0.9, False, "no")
        assert self.judged(root, "whole", x=1).passed is True
        assert capsys.readouterr().out == ""

    def test_what_it_cannot_judge_and_what_it_breaks_at_is_no_score(self, root: Path) -> None:
        reasons = {name: self.judged(root, name) for name in ("silent", "broken", "odd", "beyond", "missing")}
        assert {score.passed for score in reasons.values()} == {None}
        assert reasons["broken"].reason == "`python:own.scorers:broken` raised KeyError: 'x'"
        assert reasons["odd"].reason == "`python:own.scorers:odd` returned 'yes', no value from 0 to 1"
        assert reasons["missing"].reason == "`scorers.py` defines no function `missing`"

    def test_a_module_that_is_not_there_or_does_not_import_is_no_score(self, root: Path) -> None:
        (root / "bad.py").write_text("1 / 0\n")
        for name in ("python:nowhere:f", "python:bad:f"):
            assert score_item(Item("x", "code", name, prompt="?"), ["a"], Context(str(root))).passed is None
        assert score_item(Item("x", "code", "python:bad:f", prompt="?"), ["a"]).passed is None

    def test_the_repository_stays_clean_and_the_path_as_it_was(self, root: Path) -> None:
        before = list(sys.path)
        self.judged(root, "longer")
        assert sys.path == before
        assert not list(root.rglob("__pycache__"))


class TestRepeats:
    def test_thresholds(self) -> None:
        assert score("repeats", "a", "a", "a").passed
        assert score("repeats", "a", "a", "b", identical=0.6).passed
        told = score("repeats", "one two three", "one two four")
        assert told.reason == "2 different answers of 2, the first difference at word 3"
        assert score("repeats", "one two three", "one two four", similarity=0.6).value == pytest.approx(2 / 3)
        assert not score("repeats", "one two three", "one two four", similarity=0.7).passed

    def test_one_answer_is_no_score(self) -> None:
        assert score("repeats", "a").passed is None
