"""The place of a key by its lines is the place the composed file gives; in doubt the lines say nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import corpus
from governance.tiers.places import _by_lines, place_of
from governance.tiers.reader import read_yaml
from governance.values import Json, KeyPath

TEXT = """\
# top: 0
kind: base
model:
  id: x/y      # id: z
  tokenizer:

    # a comment
    revision: "0123"
  files: {a: "1", b: "2"}
text: |
  model:
    id: in a block
other:
- id: 1
- id: 2
"quoted": 1
wide:   value
last:
  key: end"""


def paths(tree: Json, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Json]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for step, value in items:
        yield (*path, step), value
        yield from paths(value, (*path, step))


@pytest.mark.parametrize("text", [TEXT, corpus.bindings(3)])
def test_lines_and_marks_agree(text: str) -> None:
    reading = read_yaml(text.encode(), "x.yaml")
    assert reading.tree is not None
    told = 0
    for path, value in paths(reading.tree):
        found = _by_lines(text, path)
        mark = reading.marks.nearest(path)
        assert mark is not None
        if found is not None and not isinstance(value, dict | list):
            assert found == (mark.line, mark.column), path
            told += 1
        elif found is not None:
            assert found[0] in (mark.line, reading.marks.key(path)[0])  # type: ignore[index]
        if not isinstance(value, dict | list):
            assert place_of(reading, path) == (mark.line, mark.column)
    assert told > 5


@pytest.mark.parametrize(
    "path", [("model", "files", "a"), ("other", 1, "id"), ("quoted",), ("missing",), ("model", "idx"), ()]
)
def test_in_doubt_the_lines_say_nothing(path: KeyPath) -> None:
    assert _by_lines(TEXT, path) is None


def test_a_key_that_could_be_two_lines_is_left_to_the_marks() -> None:
    text = 'x:\n  y: "first\n  b: second"\n  b: 1\n'
    reading = read_yaml(text.encode(), "x.yaml")
    assert _by_lines(text, ("x", "b")) is None
    assert place_of(reading, ("x", "b")) == (4, 6)


def test_what_is_not_there_has_the_place_of_what_holds_it() -> None:
    reading = read_yaml(TEXT.encode(), "x.yaml")
    assert place_of(reading, ("model", "gone", "deeper"))[0] in (3, 4)
