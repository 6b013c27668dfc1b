"""Differences of trees: exact on kinds, small on lists, whole on subtrees."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from governance.tiers.alignment import MAX_CELLS, matches
from governance.tiers.treediff import Difference, leaves, tree_changes
from governance.values import ABSENT, Json, KeyPath


def pairs(before: Json, after: Json) -> list[tuple[KeyPath, object, object]]:
    return [tuple(one) for one in tree_changes(before, after)]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": 2}, [(("a",), 1, 2)]),
        ({"a": 1}, {"a": 1.0}, [(("a",), 1, 1.0)]),
        ({"a": 1}, {"a": True}, [(("a",), 1, True)]),
        ({"a": 0.0}, {"a": False}, [(("a",), 0.0, False)]),
        ({"a": 1}, {"a": "1"}, [(("a",), 1, "1")]),
        ({"a": None}, {}, [(("a",), None, ABSENT)]),
        ({}, {"a": None}, [(("a",), ABSENT, None)]),
        ({"a": 0.0}, {"a": -0.0}, []),
        ({"a": {}}, {"a": []}, [(("a",), {}, [])]),
        ({"a": {"b": {"c": 1}}}, {"a": {}}, [(("a", "b"), {"c": 1}, ABSENT)]),
        ({"a": {"b": 1}}, {"a": 1}, [(("a",), {"b": 1}, 1)]),
        ({"a": [1, 2]}, {"a": [1, 2.0]}, [(("a", 1), 2, 2.0)]),
        ({"a": [True]}, {"a": [1]}, [(("a", 0), True, 1)]),
        ({"a": ["1"]}, {"a": [1]}, [(("a", 0), "1", 1)]),
        ([{"a": [[1]]}], [{"a": [[2]]}], [((0, "a", 0, 0), 1, 2)]),
        (1, 2, [((), 1, 2)]),
        ("x", "x", []),
    ],
)
def test_differences_are_exact(before: Json, after: Json, expected: list[object]) -> None:
    assert pairs(before, after) == expected
    assert [type(one.before) for one in tree_changes(before, after)] == [type(e[1]) for e in expected]


def test_by_value_takes_equal_numbers_as_equal_and_keeps_true_apart() -> None:
    """C13: `temperature: 1` and `1.0` are one value; true is not 1."""
    before: Json = {"a": 1, "b": [1, 2], "c": 1, "d": [{"x": 1}], "e": [1, "y"]}
    after: Json = {"a": 1.0, "b": [1.0, 2], "c": True, "d": [{"x": 1.0}], "e": [1.0, "y"]}
    assert tree_changes(before, after, by_value=True) == (Difference(("c",), 1, True),)
    assert len(tree_changes(before, after)) == 5
    assert tree_changes({"a": [1]}, {"a": [True]}, by_value=True) == (Difference(("a", 0), 1, True),)


def test_absence_of_a_whole_tree_is_a_difference_at_the_root() -> None:
    assert tree_changes(ABSENT, {"a": 1}) == (Difference((), ABSENT, {"a": 1}),)
    assert tree_changes(None, ABSENT) == (Difference((), None, ABSENT),)
    assert tree_changes(ABSENT, ABSENT) == ()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("abc", "xabc", [((0,), ABSENT, "x")]),
        ("abc", "abxc", [((2,), ABSENT, "x")]),
        ("abc", "ac", [((1,), "b", ABSENT)]),
        ("abc", "axc", [((1,), "b", "x")]),
        ("abc", "xab", [((0,), ABSENT, "x"), ((2,), "c", ABSENT)]),
        ("ab", "ba", [((0,), "a", ABSENT), ((1,), ABSENT, "a")]),
        ("aab", "ab", [((1,), "a", ABSENT)]),
        ("", "a", [((0,), ABSENT, "a")]),
        ("abcd", "xy", [((0,), "a", "x"), ((1,), "b", "y"), ((2,), "c", ABSENT), ((3,), "d", ABSENT)]),
    ],
)
def test_one_insertion_into_a_list_is_one_difference(before: str, after: str, expected: list[object]) -> None:
    assert pairs(list(before), list(after)) == expected


def test_elements_with_a_name_are_compared_by_name() -> None:
    """An adapter put in front of another does not change every adapter."""
    before: Json = [{"name": "a", "rank": 8}, {"name": "b", "rank": 8}]
    after: Json = [{"name": "new", "rank": 1}, {"name": "a", "rank": 16}, {"name": "b", "rank": 8}]
    assert pairs(before, after) == [((0,), ABSENT, {"name": "new", "rank": 1}), ((1, "rank"), 8, 16)]


def test_a_changed_order_of_named_elements_is_a_difference() -> None:
    before: Json = [{"match": "lm_head", "bits": 8}, {"match": "*", "bits": 4}]
    assert pairs(before, [before[1], before[0]]) == [  # type: ignore[index]
        ((0,), {"match": "lm_head", "bits": 8}, ABSENT),
        ((1,), ABSENT, {"match": "lm_head", "bits": 8}),
    ]


def test_names_that_repeat_are_not_trusted() -> None:
    before: Json = [{"name": "a", "x": 1}, {"name": "a", "x": 2}]
    after: Json = [{"name": "a", "x": 1}, {"name": "a", "x": 3}]
    assert pairs(before, after) == [((1, "x"), 2, 3)]


def test_changed_elements_of_lists_of_unlike_length_are_paired_with_the_nearest() -> None:
    """A few-shot example was added in front and another one reworded."""
    pytest.importorskip("deepdiff")
    one = {"input": "the first question", "output": "an answer", "lang": "en"}
    two = {"input": "the second question", "output": "another answer", "lang": "de"}
    before: Json = [one, two]
    after: Json = [
        {"input": "brand new", "output": "what", "lang": "fr"},
        {**one, "output": "a better answer"},
        {**two, "output": "a better one too"},
    ]
    assert [(one.path, one.before) for one in tree_changes(before, after)] == [
        ((1, "output"), "an answer"),
        ((2, "output"), "another answer"),
        ((0,), ABSENT),
    ]


def test_a_set_has_no_order_but_counts_repetition() -> None:
    """A19: stop id 32007 went; the order of stop ids means nothing."""

    def is_set(path: KeyPath) -> bool:
        return path == ("eos_token_id",)

    before: Json = {"eos_token_id": [2, 32007, 32000]}
    assert tree_changes(before, {"eos_token_id": [32000, 2, 32007]}, is_set=is_set) == ()
    assert tree_changes(before, {"eos_token_id": [32000, 2]}, is_set=is_set) == (
        Difference(("eos_token_id", 1), 32007, ABSENT),
    )
    assert tree_changes(before, {"eos_token_id": [2, 32000, 7, 32007, 2]}, is_set=is_set) == (
        Difference(("eos_token_id", 2), ABSENT, 7),
        Difference(("eos_token_id", 4), ABSENT, 2),
    )
    assert tree_changes({"eos_token_id": 2}, {"eos_token_id": [2]}, is_set=is_set) == (
        Difference(("eos_token_id",), 2, [2]),
    )


def test_other_mappings_and_tuples_compare_like_dicts_and_lists() -> None:
    frozen = MappingProxyType({"a": (1, 2), "b": MappingProxyType({"c": 1})})
    assert tree_changes(frozen, {"a": [1, 2], "b": {"c": 1}}) == ()
    assert pairs(frozen, {"a": [1, 3], "b": {"c": 2}}) == [(("a", 1), 2, 3), (("b", "c"), 1, 2)]


def test_a_long_list_is_aligned_without_comparing_all_with_all() -> None:
    before = list(range(20_000))
    after = [-1, *before[:5000], -2, *before[5001:19_999]]
    found = tree_changes(before, after)
    assert [tuple(one) for one in found] == [
        ((0,), ABSENT, -1),
        ((5001,), 5000, -2),
        ((19_999,), 19_999, ABSENT),
    ]


def test_a_long_stretch_with_nothing_in_common_is_not_searched() -> None:
    size = int(MAX_CELLS**0.5) + 1
    assert matches(["a", *"x" * size, "b"], ["a", *"y" * size, "b"]) == [(0, 0), (size + 1, size + 1)]
    assert matches(list("x" * 2 * size), [*"x" * size, "y"])[0] == (0, 0)


def test_matches_rise_on_both_sides() -> None:
    before, after = list("abcabba"), list("cbabac")
    found = matches(before, after)
    assert [before[i] for i, _ in found] == [after[j] for _, j in found]
    assert len(found) == 4
    assert found == sorted(found)


def test_leaves_take_a_subtree_apart_and_keep_lists_of_scalars_whole() -> None:
    tree: Json = {"a": {"b": 1, "c": [1, 2]}, "d": [{"e": 1}], "f": {}, "g": [], "h": [[1], []]}
    assert list(leaves(tree, ("x",))) == [
        (("x", "a", "b"), 1),
        (("x", "a", "c"), [1, 2]),
        (("x", "d", 0, "e"), 1),
        (("x", "f"), {}),
        (("x", "g"), []),
        (("x", "h", 0), [1]),
        (("x", "h", 1), []),
    ]


def test_comparing_imports_no_deepdiff() -> None:
    """Importing it costs more than any comparison here."""
    import subprocess

    code = (
        "import sys; from governance.tiers.treediff import tree_changes;"
        "tree_changes([{'a': 1}, {'b': 2}], [{'a': 2}, {'b': 3}]); sys.exit('deepdiff' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[3], check=False)
    assert done.returncode == 0


def test_twenty_thousand_leaves_with_twenty_changes_yield_twenty_differences() -> None:
    before = {f"g{g}": {f"s{s}": {f"k{k}": k + s for k in range(10)} for s in range(20)} for g in range(100)}
    after = json.loads(json.dumps(before))
    for g in range(20):
        after[f"g{g}"]["s3"]["k4"] = "changed"
    assert [one.path for one in tree_changes(before, after)] == [(f"g{g}", "s3", "k4") for g in range(20)]
