"""Laws of the tree diff: empty exactly when digests are equal, and enough to make one tree of the other."""

from __future__ import annotations

import copy
from itertools import combinations
from typing import Any

from deepdiff import DeepDiff
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.tiers.alignment import matches
from governance.tiers.canonical import digest
from governance.tiers.treediff import tree_changes
from governance.values import ABSENT, Json

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0, 1e21])
    | st.text("ab1", max_size=2)
)
KEYS = st.sampled_from(["a", "b", "name", "id", "x"])


def containers(children: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(children, max_size=4) | st.dictionaries(KEYS, children, max_size=4)


TREES = st.recursive(SCALARS, containers, max_leaves=12)


@st.composite
def edited(draw: st.DrawFn) -> tuple[Json, Json]:
    """A tree and the same tree with some spots replaced: near neighbours find more than strangers."""
    before = draw(TREES)
    after = copy.deepcopy(before)
    for _ in range(draw(st.integers(0, 3))):
        after = _edit(draw, after)
    return before, after


def _edit(draw: st.DrawFn, tree: Any) -> Any:
    if isinstance(tree, dict) and tree and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(tree)))
        return {**tree, key: _edit(draw, tree[key])}
    if isinstance(tree, list) and tree and draw(st.booleans()):
        at = draw(st.integers(0, len(tree) - 1))
        return [*tree[:at], _edit(draw, tree[at]), *tree[at + 1 :]]
    if isinstance(tree, list):
        at = draw(st.integers(0, len(tree)))
        return [*tree[:at], draw(SCALARS), *tree[at:]]
    return draw(TREES)


PAIRS = edited() | st.tuples(TREES, TREES)


@given(PAIRS)
@settings(max_examples=400, deadline=None)
def test_no_difference_by_value_exactly_when_digests_are_equal(pair: tuple[Json, Json]) -> None:
    before, after = pair
    assert (tree_changes(before, after, by_value=True) == ()) == (digest(before) == digest(after))


@given(PAIRS)
@settings(max_examples=400, deadline=None)
def test_no_exact_difference_exactly_when_kinds_and_values_are_equal(pair: tuple[Json, Json]) -> None:
    before, after = pair
    assert (tree_changes(before, after) == ()) == (_kinds(before) == _kinds(after))


def _kinds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _kinds(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_kinds(inner) for inner in value]
    return (type(value), value)


@given(TREES)
@settings(deadline=None)
def test_a_tree_does_not_differ_from_its_copy(tree: Json) -> None:
    assert tree_changes(tree, copy.deepcopy(tree)) == ()


@given(PAIRS)
@settings(max_examples=600, deadline=None)
def test_the_differences_make_the_newer_tree_of_the_older_one(pair: tuple[Json, Json]) -> None:
    """Nothing is left out, and every index counts in the list it is said to count in."""
    before, after = pair
    rebuilt = _apply(before, [(one.path, one.before, one.after) for one in tree_changes(before, after)])
    assert _kinds(rebuilt) == _kinds(after)


Edit = tuple[tuple[str | int, ...], Any, Any]


def _apply(tree: Any, edits: list[Edit]) -> Any:
    if any(path == () for path, _, _ in edits):
        ((_, old, new),) = edits
        assert _kinds(old) == _kinds(tree)
        return new
    if isinstance(tree, list):
        return _apply_to_list(tree, edits)
    rebuilt = dict(tree) if edits else tree
    for key in {path[0] for path, _, _ in edits}:
        inner = [(path[1:], old, new) for path, old, new in edits if path[0] == key]
        if len(inner) == 1 and inner[0][0] == () and inner[0][2] is ABSENT:
            assert _kinds(rebuilt.pop(key)) == _kinds(inner[0][1])
        elif len(inner) == 1 and inner[0][0] == () and inner[0][1] is ABSENT:
            assert key not in rebuilt
            rebuilt[key] = inner[0][2]
        else:
            rebuilt[key] = _apply(rebuilt[key], inner)
    return rebuilt


def _apply_to_list(tree: list[Any], edits: list[Edit]) -> list[Any]:
    gone = {path[0]: old for path, old, new in edits if len(path) == 1 and new is ABSENT}
    new_ones = {path[0]: new for path, old, new in edits if len(path) == 1 and old is ABSENT}
    assert all(_kinds(tree[at]) == _kinds(old) for at, old in gone.items())
    kept = [item for at, item in enumerate(tree) if at not in gone]
    rebuilt = []
    for at in range(len(kept) + len(new_ones)):
        if at in new_ones:
            rebuilt.append(new_ones[at])
            continue
        inner = [(p[1:], o, n) for p, o, n in edits if p[0] == at and (len(p) > 1 or ABSENT not in (o, n))]
        rebuilt.append(_apply(kept.pop(0), inner))
    return rebuilt


LEAF = st.integers(-3, 3) | st.text("ab", max_size=2) | st.none()
MAPPINGS = st.recursive(LEAF, lambda inner: st.dictionaries(KEYS, inner, max_size=4), max_leaves=16)


@given(MAPPINGS, MAPPINGS)
@settings(max_examples=300, deadline=None)
def test_on_mappings_we_find_what_deepdiff_finds(before: Json, after: Json) -> None:
    """Where no list has to be aligned there is one right answer, and an independent program gives it."""
    theirs: set[tuple[object, ...]] = set()
    for group in DeepDiff(before, after, view="tree", threshold_to_diff_deeper=0).values():
        theirs |= {tuple(one.path(output_format="list")) for one in group}
    assert {one.path for one in tree_changes(before, after)} == theirs


@given(st.lists(st.sampled_from("abc"), max_size=7), st.lists(st.sampled_from("abc"), max_size=7))
@settings(max_examples=300, deadline=None)
def test_on_lists_no_shorter_edit_is_missed(before: list[str], after: list[str]) -> None:
    """Against a search through all common subsequences."""
    longest = max(n for n in range(8) for part in combinations(before, n) if _is_subsequence(part, after))
    assert len(matches(before, after)) == longest


def _is_subsequence(part: tuple[str, ...], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)
