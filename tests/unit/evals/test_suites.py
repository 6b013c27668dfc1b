"""Suites: every fault is told with its place, and the digest follows what is asked and judged alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.files import MemoryTree, WorkTree
from governance.errors import Unreadable
from governance.evals.items import KEYS, as_mapping, read_item
from governance.evals.model import TASKS, Suite
from governance.evals.scorers.registry import SCORERS
from governance.evals.suites import load_suite, read_suite
from governance.tiers.reader import read_json
from governance.verdict import Finding, Severity

ROOT = Path(__file__).resolve().parents[3]
PATH = "evals/demo.jsonl"
ITEM: dict[str, Any] = {
    "id": "one",
    "task": "maths",
    "prompt": "What is 1 + 1?",
    "scorer": "numeric",
    "reference": 2,
}


def lines(*items: dict[str, Any]) -> bytes:
    return "".join(json.dumps(item) + "\n" for item in items).encode()


def item(**changed: Any) -> dict[str, Any]:
    return {key: value for key, value in {**ITEM, **changed}.items() if value is not None}


def read(*items: dict[str, Any]) -> Suite:
    suite, findings = read_suite(lines(*items), PATH)
    assert suite is not None, findings
    return suite


def faults(*items: dict[str, Any]) -> tuple[Finding, ...]:
    suite, findings = read_suite(lines(*items), PATH)
    assert suite is None or all(not finding.blocks for finding in findings)
    return findings


class TestItems:
    def test_an_item_is_read_with_every_key(self) -> None:
        whole = item(
            prompt=None,
            messages=[{"role": "user", "content": "1 + 1?"}],
            args={"tolerance": 0.5},
            repeats=3,
            overrides={"max_tokens": 8},
            tags=["quick", "v1.0"],
            difficulty="easy",
        )
        (found,) = read(whole).items
        assert (found.repeats, found.tags, found.line) == (3, ("quick", "v1.0"), 1)
        assert as_mapping(found) == whole

    def test_every_key_can_be_given(self) -> None:
        assert set(KEYS) == set(as_mapping(read(item()).items[0])) | {
            "args", "variables", "messages", "repeats", "overrides", "tags", "difficulty",
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("changed", "code", "key", "hint"),
        [
            ({"promt": "x"}, "TL703", "promt", "did you mean `prompt`?"),
            ({"question": "x"}, "TL703", "question", "did you mean `prompt`?"),
            ({"expected": 2}, "TL703", "expected", "did you mean `reference`?"),
            ({"id": None}, "TL704", "", "add it: name of the item"),
            ({"scorer": None}, "TL704", "", "add it: what judges it"),
            ({"prompt": None}, "TL704", "", "add one of messages, prompt, variables"),
            ({"id": 7}, "TL705", "id", 'write "7"'),
            ({"id": "a b"}, "TL705", "id", "name of the item"),
            ({"task": "math"}, "TL705", "task", "did you mean `maths`?"),
            ({"prompt": " "}, "TL705", "prompt", "one user message"),
            ({"repeats": 0}, "TL705", "repeats", "how often it is asked"),
            ({"repeats": True}, "TL705", "repeats", "how often it is asked"),
            ({"args": []}, "TL705", "args", "arguments of the scorer"),
            ({"tags": ["a", "a"]}, "TL705", "tags", "words to choose and group items by"),
            ({"variables": {"a": 1}}, "TL705", "variables", "keep one"),
            ({"overrides": {"temprature": 1}}, "TL705", "overrides.temprature", "did you"),
            ({"overrides": {"task": "x"}}, "TL705", "overrides.task", "all parameters are in"),
            ({"scorer": "numerical"}, "TL708", "scorer", "did you mean `numeric`?"),
            ({"args": {"tol": 1}}, "TL709", "args.tol", "its arguments: tolerance"),
            ({"prompt": None, "messages": [{"role": "bot", "content": ""}]}, "TL705", "messages[0].role", ""),
            ({"prompt": None, "messages": [{"role": "user"}]}, "TL705", "messages[0]", "add or correct it"),
            ({"prompt": None, "messages": ["hello"]}, "TL705", "messages[0]", 'write {"role"'),
        ],
    )  # fmt: skip
    def test_a_wrong_item_is_refused_with_its_place_and_what_to_do(
        self, changed: dict[str, Any], code: str, key: str, hint: str
    ) -> None:
        (finding,) = faults(item(), item(id="two", **changed) if "id" not in changed else item(**changed))
        assert (finding.code, finding.key, finding.line) == (code, key, 2)
        assert finding.hint.startswith(hint)
        assert finding.column >= 1
        assert finding.excerpt

    def test_all_faults_of_all_items_are_told_at_once(self) -> None:
        found = faults(item(task="math", args={"take": "lst"}), {"id": "two"}, item(scorer="numric", extra=1))
        assert [(finding.line, finding.code) for finding in found] == [
            (1, "TL705"), (1, "TL709"), (2, "TL704"), (2, "TL704"), (2, "TL704"), (3, "TL708"), (3, "TL703"),
        ]  # fmt: skip

    def test_a_line_that_is_no_mapping_or_no_json_is_told(self) -> None:
        for line, code in ((b"[1]\n", "TL705"), (b"{\n", "TL021"), (b'{"id": "a", "id": "b"}\n', "TL007")):
            suite, (finding, *_) = read_suite(lines(item()) + line, PATH)
            assert suite is None
            assert (finding.code, finding.line) == (code, 2)


class TestSuite:
    def test_no_items_is_no_suite(self) -> None:
        for nothing in (b"", b"\n", b"  \n\n"):
            suite, (finding,) = read_suite(nothing, PATH)
            assert suite is None
            assert finding.code == "TL702"

    def test_one_id_twice_is_refused_and_names_the_first(self) -> None:
        (finding,) = faults(item(), item(prompt="What is 1 + 2?"))
        assert (finding.code, finding.line, finding.message) == (
            "TL706",
            2,
            "the id `one` is taken by line 1",
        )

    def test_one_question_twice_is_a_warning(self) -> None:
        (finding,) = faults(item(), item(id="two", tags=["x"]))
        assert (finding.code, finding.severity) == ("TL707", Severity.WARNING)
        assert read(item(), item(id="two")).items

    def test_loading_says_the_first_fault_and_how_many_there_are(self) -> None:
        source = MemoryTree({PATH: lines(item(task="math"), item(id="b", repeats=0))})
        with pytest.raises(Unreadable) as caught:
            load_suite(source, "demo")
        assert caught.value.where == "evals/demo.jsonl:1:23"
        assert caught.value.message.endswith("(2 faults in all)")
        assert caught.value.hint == "tierlock check evals/demo.jsonl"

    def test_a_suite_that_is_not_there_names_those_that_are(self) -> None:
        source = MemoryTree({"evals/smoke.jsonl": lines(item())})
        with pytest.raises(Unreadable, match="there is no suite `smok`") as caught:
            load_suite(source, "smok")
        assert caught.value.hint == "the suites here are: smoke"
        assert load_suite(source, "smoke").name == "smoke"

    def test_a_pointer_of_git_lfs_is_not_a_suite(self) -> None:
        pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
        suite, (finding,) = read_suite(pointer, PATH)
        assert suite is None
        assert finding.code == "TL714"


class TestDigest:
    def test_order_layout_tags_and_difficulty_do_not_count(self) -> None:
        one, two = item(), item(id="two", prompt="What is 2 + 2?", reference=4)
        same = read(one, two).digest
        assert read(two, one).digest == same
        assert read(item(tags=["x"], difficulty="hard", repeats=1), two).digest == same
        spaced = lines(one, two).replace(b", ", b" ,  ").replace(b"2}", b"2.0}")
        assert read_suite(spaced, PATH)[0] == read_suite(lines(one, two), PATH)[0]
        assert len(same) == 64

    @pytest.mark.parametrize(
        "changed",
        [
            {"id": "other"},
            {"task": "code"},
            {"prompt": "What is 1 + 1? "},
            {"reference": 3},
            {"args": {"tolerance": 1}},
            {"scorer": "exact", "reference": "2"},
            {"repeats": 2},
            {"overrides": {"max_tokens": 8}},
            {"prompt": None, "messages": [{"role": "user", "content": "What is 1 + 1?"}]},
        ],
    )
    def test_what_is_asked_and_how_it_is_judged_counts(self, changed: dict[str, Any]) -> None:
        assert read(item(**changed)).digest != read(item()).digest

    def test_the_users_own_scorer_is_part_of_it(self) -> None:
        own = lines(item(scorer="python:own.rules:close"))
        digests = []
        for body in ("def close(a, i): return 1\n", "def close(a, i): return 0\n"):
            suite, findings = read_suite(own, PATH, MemoryTree({"own/rules.py": body.encode()}))
            assert suite is not None, findings
            digests.append(suite.digest)
        assert digests[0] != digests[1]

    @pytest.mark.parametrize(
        ("files", "why"),
        [
            ({}, "there is no such file"),
            ({"own/rules.py": b"def far(a, i): ...\n"}, "it defines no `close`"),
            ({"own/rules.py": b"def close(:\n"}, "it is no Python"),
        ],
    )
    def test_a_scorer_that_is_not_in_the_repository_is_told(self, files: dict[str, bytes], why: str) -> None:
        for own in (
            item(scorer="python:own.rules:close"),
            item(scorer="all-of", reference=None, args={"scorers": [{"scorer": "python:own.rules:close"}]}),
        ):
            suite, (finding,) = read_suite(lines(own), PATH, MemoryTree(files))
            assert suite is None
            assert finding.code == "TL713"
            assert why in finding.message

    @given(st.permutations(range(6)))
    def test_any_order_has_one_digest(self, order: list[int]) -> None:
        items = [item(id=f"i{n}", prompt=f"What is 1 + {n}?") for n in order]
        assert read(*items).digest == read(*sorted(items, key=lambda each: str(each["id"]))).digest

    @given(
        st.fixed_dictionaries(
            {"id": st.from_regex(r"[a-z]{1,9}", fullmatch=True), "reference": st.integers(-99, 99)},
            optional={
                "repeats": st.integers(1, 9),
                "tags": st.lists(st.from_regex(r"[a-z]{1,5}", fullmatch=True), unique=True, max_size=3),
                "args": st.fixed_dictionaries(
                    {}, optional={"tolerance": st.floats(0, 9), "take": st.just("last")}
                ),
            },
        )
    )
    def test_an_item_written_and_read_again_is_the_same(self, changed: dict[str, Any]) -> None:
        first = read(item(**changed))
        again = read(as_mapping(first.items[0]))
        assert again == first


class TestShipped:
    @pytest.mark.parametrize(("name", "least"), [("smoke", 6), ("full", 60)])
    def test_our_own_suites_are_whole(self, name: str, least: int) -> None:
        suite = load_suite(WorkTree(ROOT), name)
        assert len(suite.items) >= least
        findings = read_suite((ROOT / suite.path).read_bytes(), suite.path)[1]
        assert findings == ()

    def test_the_full_suite_covers_every_task_and_nearly_every_scorer(self) -> None:
        items = load_suite(WorkTree(ROOT), "full").items
        assert {each.task for each in items} == set(TASKS)
        assert {each.scorer for each in items} >= set(SCORERS) - {"contract"}

    def test_smoke_items_are_invariants(self) -> None:
        """A smoke item fails a release on its own: what a model may well get wrong does not belong there."""
        items = load_suite(WorkTree(ROOT), "smoke").items
        assert {each.scorer for each in items} <= {"all-of", "contains", "contract", "limits", "regex"}


def test_any_json_value_is_an_item_or_a_finding() -> None:
    for text in (
        "1",
        "[]",
        '"x"',
        "{}",
        '{"id": {}}',
        '{"messages": [[]], "scorer": [], "args": 1, "repeats": "x"}',
    ):
        found, findings = read_item(read_json(text.encode(), PATH))
        assert found is None
        assert findings
