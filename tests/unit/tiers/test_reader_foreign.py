"""YAML that others wrote, read for importing: everything in it, within bounds, doubts told."""

from __future__ import annotations

import itertools
import time
import tracemalloc

import pytest

from governance.tiers.reader import Reading, read_foreign_yaml
from governance.values import Json
from governance.verdict import Finding, Severity


def read(text: str) -> tuple[Reading, ...]:
    return read_foreign_yaml(text.encode(), "values.yaml")


def tree(text: str) -> Json:
    (reading,) = read(text)
    assert not [found for found in reading.findings if found.blocks], reading.findings
    return reading.tree


def refusal(text: str) -> Finding:
    reading = read(text)[-1]
    assert reading.tree is None
    return next(found for found in reading.findings if found.blocks)


def test_every_document_is_read_and_empty_ones_are_left_out() -> None:
    readings = read("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n---\n- c\n")
    assert [reading.tree for reading in readings] == [{"a": 1}, {"b": 2}, ["c"]]


def test_a_finding_in_a_later_document_has_the_line_of_the_file() -> None:
    warned = read("a: 1\n---\nb: 2\nc: no\n")[1]
    assert [(f.code, f.line, f.key, f.severity) for f in warned.findings] == [
        ("TL004", 4, "c", Severity.WARNING)
    ]


def test_documents_before_a_broken_one_stand() -> None:
    readings = read("a: 1\n---\nb: [1\n")
    assert readings[0].tree == {"a": 1}
    assert (readings[1].tree, readings[1].findings[0].code) == (None, "TL005")


RESOLVED: dict[str, tuple[str, Json]] = {
    "an alias": ("a: &x {b: 1}\nc: *x\n", {"a": {"b": 1}, "c": {"b": 1}}),
    "an alias of a scalar": ("a: &x 0.2\nc: [*x, *x]\n", {"a": 0.2, "c": [0.2, 0.2]}),
    "an anchor given twice": ("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", {"a": 1, "b": 1, "c": 2, "d": 2}),
    "a merge key": ("a: &x {b: 1}\nd:\n  <<: *x\n  c: 3\n", {"a": {"b": 1}, "d": {"b": 1, "c": 3}}),
    "a merge key after the others": ("a: &x {c: 2}\nd:\n  c: 3\n  <<: *x\n", {"a": {"c": 2}, "d": {"c": 3}}),
    "a merge of several": (
        "a: &a {x: 1}\nb: &b {x: 2, y: 3}\nc: {<<: [*a, *b]}\n",
        {"a": {"x": 1}, "b": {"x": 2, "y": 3}, "c": {"x": 1, "y": 3}},
    ),
    "a quoted merge key": ('"<<": 1\n', {"<<": 1}),
    "an alias as a key": ("a: &x k\n*x : 1\n", {"a": "k", "k": 1}),
    "a tag": ("a: !Custom {b: 1}\n", {"a": {"b": 1}}),
    "the tag of text": ("a: !!str 0.2\n", {"a": "0.2"}),
    "a number for a key": ("8080: x\n", {"8080": "x"}),
    "a directive": ("%YAML 1.1\n---\na: 1\n", {"a": 1}),
    "CRLF": ("a: 1\r\nb: |\r\n  x\r\n", {"a": 1, "b": "x\n"}),
    "interpolation of a template": ("a: ${HOME}\n", {"a": "${HOME}"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), RESOLVED.values(), ids=RESOLVED)
def test_what_others_write_is_resolved(text: str, value: Json) -> None:
    assert tree(text) == value


DOUBTFUL: dict[str, Json] = {
    "no": "no", "On": "On", "1e-5": 0.00001, "90e-2": 0.9, "0192117": 192117, "0o10": 8, "0777": 777,
    "12:30": "12:30", "2024-01-02": "2024-01-02", "1_000": "1_000", ".inf": ".inf", ".nan": ".nan",
    "9007199254740993": "9007199254740993",
}  # fmt: skip


@pytest.mark.parametrize("scalar", DOUBTFUL)
def test_a_doubtful_scalar_gets_the_yaml_12_reading_and_a_warning(scalar: str) -> None:
    (reading,) = read(f"a: {scalar}\n")
    assert isinstance(reading.tree, dict)
    assert repr(reading.tree["a"]) == repr(DOUBTFUL[scalar])
    (found,) = reading.findings
    assert found.severity is Severity.WARNING
    assert (found.line, found.column, found.key) == (1, 4, "a")


REFUSED = {
    "an alias inside its own value": ("a: &a\n  b: *a\n", "TL023", 2, 6),
    "an alias without an anchor": ("a: *nowhere\n", "TL024", 1, 4),
    "an alias to a later anchor": ("a: *x\nb: &x 1\n", "TL024", 1, 4),
    "an anchor of another document": ("a: &x 1\n---\nb: *x\n", "TL024", 3, 4),
    "a duplicate key": ("a: 1\na: 2\n", "TL007", 2, 1),
    "nothing": ("", "TL019", 1, 1),
    "deep nesting": ("[" * 5000, "TL015", 1, 65),
    "an alias as a key that is no text": ("a: &x [1]\n*x : 1\n", "TL011", 2, 1),
    "no YAML": ("a: [", "TL005", 1, 5),
    "a control character": ("a: x\x07\n", "TL005", 1, 5),
}


@pytest.mark.parametrize(("text", "code", "line", "column"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_code_and_place(text: str, code: str, line: int, column: int) -> None:
    found = refusal(text)
    assert (found.code, found.line, found.column) == (code, line, column)


def bomb(levels: int, width: int) -> str:
    names = [f"n{level}" for level in range(levels)]
    lines = [f"{names[0]}: &{names[0]} [{','.join('x' * width)}]"]
    for below, name in itertools.pairwise(names):
        lines.append(f"{name}: &{name} [{','.join([f'*{below}'] * width)}]")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("text", [bomb(9, 9), bomb(60, 2), bomb(3, 400)], ids=["wide", "tall", "flat"])
def test_an_alias_bomb_is_refused_in_time_and_space(text: str) -> None:
    tracemalloc.start()
    start = time.process_time()
    found = refusal(text)
    spent, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.code in {"TL015", "TL016"}
    assert "aliases" in found.message
    assert spent < 2
    assert peak < 100 << 20


def test_a_chain_of_merges_is_counted() -> None:
    lines = ["a0: &a0 {k0: 1, l0: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], k{n}: 1}}" for n in range(1, 40)]
    assert refusal("\n".join(lines)).code in {"TL015", "TL016"}


def test_warnings_are_bounded() -> None:
    (reading,) = read("".join(f"k{n}: no\n" for n in range(2000)))
    assert isinstance(reading.tree, dict)
    assert len(reading.tree) == 2000
    assert len(reading.findings) <= 100


def test_many_documents_are_bounded() -> None:
    readings = read("a: 1\n---\n" * 3000)
    assert len(readings) <= 1001
    assert readings[-1].findings[0].code == "TL016"
