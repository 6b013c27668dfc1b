"""Laws of reading: two paths, one meaning; what was written reads back; nothing is raised.

Most files are read by the fast path, whose answer nobody checks again. It may refuse to judge, but it may
never accept what the exact path refuses, nor see another tree than a YAML 1.2 reader sees.
"""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import corpus
from governance.tiers import exact, json_reader, plain
from governance.tiers.reader import read_foreign_yaml, read_json, read_jsonl, read_yaml
from governance.tiers.text import key_spot
from governance.tiers.writer import dump
from governance.values import Json
from scripts import fuzz_reader

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
TRICKY = st.sampled_from(
    [
        *fuzz_reader.PIECES, *fuzz_reader.SOUND, "a: b", "- x", "# c", "x #y", " lead", "trail ", "a\nb",
        "a\n", "\na", "a\n\n", "a\n b\n", " a\nb", "|", "${X}", "x\n${X}", "$(X)", "\\", "\\n", "'", "''",
        "a\r\nb", "tab\there", "null", "",
    ]
)  # fmt: skip
KEYS = st.one_of(TEXT, TRICKY).filter(lambda key: len(key) <= 60 and key_spot(key) is None)
WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
NUMBERS = st.one_of(WHOLE, st.floats(allow_nan=False, allow_infinity=False))
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, TEXT, TRICKY)
TREES: st.SearchStrategy[Any] = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
        max_leaves=12,
    ),
    min_size=1,
    max_size=5,
)
# The signs of YAML, so that any mixture of them is near to something that means something.
YAML_TEXT = st.lists(
    st.sampled_from(
        [*"ab1.0-e_ \n:#'\"[]{},|>&*!%?$<=~", "a: ", "\n  ", "- ", "\na: ", ": |\n  ", "\n", "x"]
    ),
    max_size=40,
).map("".join)


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_what_is_written_reads_back(tree: dict[str, Any]) -> None:
    reading = read_yaml(dump(tree).encode(), "f.yaml")
    assert reading.findings == ()
    assert repr(reading.tree) == repr(tree)


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_what_is_written_means_the_same_to_a_yaml_11_reader(tree: dict[str, Any]) -> None:
    """The other half of the promise that versions agree: PyYAML reads 1.1, and so do many engines."""
    loaded = yaml.safe_load(dump(tree))
    assert repr(loaded) == repr(tree)


@settings(max_examples=800, deadline=None)
@given(YAML_TEXT)
def test_the_fast_path_accepts_only_what_the_exact_path_and_ruamel_read_alike(text: str) -> None:
    fuzz_reader.agreement(text.encode())


@settings(max_examples=800, deadline=None)
@given(YAML_TEXT)
def test_what_the_reader_accepts_a_yaml_11_reader_reads_alike(text: str) -> None:
    tree = read_yaml(text.encode(), "f.yaml").tree
    if tree is not None:
        assert repr(yaml.safe_load(text)) == repr(tree)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=300), YAML_TEXT.map(str.encode), TEXT.map(str.encode)))
def test_any_bytes_give_a_tree_or_a_blocking_finding(data: bytes) -> None:
    for reading in (
        read_yaml(data, "f.yaml"),
        read_json(data, "f.json"),
        *read_jsonl(data, "f.jsonl"),
        *read_foreign_yaml(data, "f.yaml"),
    ):
        fuzz_reader.one_of_both(reading)
        fuzz_reader.located(reading)


@pytest.mark.parametrize("name", fuzz_reader.MAKERS)
def test_the_promises_hold_on_generated_files(name: str) -> None:
    """A few of the inputs of `scripts/fuzz_reader.py`, which tries a hundred thousand."""
    for number in range(150):
        random = Random(f"law/{name}/{number}")
        fuzz_reader.judge(fuzz_reader.MAKERS[name](random), random)


@pytest.mark.parametrize("maker", [corpus.base, corpus.sampling, corpus.prompts])
def test_realistic_files_take_the_fast_path(maker: Any) -> None:
    """A fast path that is never sure would break no other law."""
    for number in range(60):
        text = maker(Random(number))
        tree = plain.parse(text)
        assert tree is not None
        assert repr(tree) == repr(exact.compose(text).tree)


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_json_written_by_the_standard_library_reads_back(tree: dict[str, Any]) -> None:
    for text in (json.dumps(tree), json.dumps(tree, ensure_ascii=False, indent=2)):
        reading = read_json(text.encode(), "f.json")
        assert reading.findings == ()
        assert repr(reading.tree) == repr(tree)
        assert repr(json_reader.compose(text).tree) == repr(tree)


@settings(max_examples=300, deadline=None)
@given(TREES)
def test_every_key_and_value_has_a_place_that_shows_it(tree: dict[str, Any]) -> None:
    reading = read_yaml(dump(tree).encode(), "f.yaml")
    for path, value in _leaves(tree, ()):
        place = reading.marks.places.values[path]
        assert place.line == reading.text.count("\n", 0, place.start) + 1
        if isinstance(value, int | float) and not isinstance(value, bool):
            assert float(reading.text[place.start : place.end]) == value


def _leaves(value: Json, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Json]]:
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    found = [(path, value)]
    for key, each in children:
        found += _leaves(each, (*path, key))
    return found


@settings(max_examples=400, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_reads_as_the_nearest_double(number: float) -> None:
    text = f"a: {number:.17e}\n"
    value = read_yaml(text.encode(), "f.yaml").tree
    assert isinstance(value, dict)
    assert value["a"] == number
    assert math.copysign(1, value["a"]) == math.copysign(1, number)
