"""The strict reader of tier files: what it refuses, with which code, where, and with what fix."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest

from governance.tiers import plain
from governance.tiers.reader import (
    MAX_TIER_BYTES,
    Reading,
    finding_at,
    read_foreign_yaml,
    read_yaml,
    size_finding,
)
from governance.tiers.reader_codes import CODES
from governance.values import Json
from governance.verdict import Finding, Severity


def read(text: str) -> Reading:
    return read_yaml(text.encode(), "configs/sampling/factual.yaml")


def only(reading: Reading) -> Finding:
    assert len(reading.findings) == 1, reading.findings
    return reading.findings[0]


AMBIGUOUS = [
    "no", "No", "NO", "yes", "Yes", "YES", "on", "On", "ON", "off", "Off", "OFF", "y", "Y", "n", "N",
    "1e-5", "1e5", "1E1", "90e-2", "1.5e3", "1.5E3", "-1e5", "+1e5", "-.5", "+.5",
    "010", "0192117", "00", "-017", "0o10", "0b101", "-0x1F", "0x1_F", "1_000", "1_000.5", "1_0e-3",
    "12:30", "190:20:30", "190:20:30.15", "0:59",
    "2024-01-02", "2024-01-02T03:04:05Z", "2024-1-2 3:04:05.5 +01:00", "=", "<<",
]  # fmt: skip


@pytest.mark.parametrize("scalar", AMBIGUOUS)
@pytest.mark.parametrize("text", ["a: x\nkey: {}\n", "a: x\nkey:\n  - {}\n", "a: x\nkey: [1, {}]\n"])
def test_a_scalar_that_yaml_versions_read_differently_is_refused_where_it_stands(
    scalar: str, text: str
) -> None:
    found = only(read(text.format(scalar)))
    line = text[: text.index("{}")].count("\n") + 1
    assert (found.code, found.line) == ("TL004", line)
    assert found.excerpt[found.column - 1 : found.column - 1 + found.width] == scalar
    assert found.key.startswith("key")
    assert f'"{scalar}"' in found.hint


@pytest.mark.parametrize("scalar", AMBIGUOUS)
def test_quoting_an_ambiguous_scalar_makes_it_text(scalar: str) -> None:
    assert read(f"a: \"{scalar}\"\nb: '{scalar}'\n").tree == {"a": scalar, "b": scalar}


@pytest.mark.parametrize("scalar", sorted(set(AMBIGUOUS) - {"y", "Y", "n", "N", "<<"}))
def test_an_ambiguous_key_is_refused(scalar: str) -> None:
    found = only(read(f"{scalar}: 1\n"))
    assert (found.code, found.line, found.column) == ("TL004", 1, 1)


def test_n_is_a_key_because_every_engine_has_that_parameter() -> None:
    assert read("n: 1\n").tree == {"n": 1}


@pytest.mark.parametrize(
    ("scalar", "fix"),
    [
        ("1e-1", "write 0.1,"),
        ("5e-2", "write 0.05,"),
        ("1E1", "write 10.0,"),
        ("1e5", "write 100000.0,"),
        ("1e-5", "write 0.00001,"),
        ("1_000", "write 1000,"),
        ("1_000.50", "write 1000.50,"),
        ("0o17", "write 15,"),
        ("yes", "write true,"),
        ("Off", "write false,"),
        ("1e-999", "quote it:"),
        ("1e" + "9" * 40, "quote it:"),
        ("0" * 25 + "1", "quote it:"),
    ],
)
def test_the_fix_is_spelt_out(scalar: str, fix: str) -> None:
    assert only(read(f"a: {scalar}\n")).hint.startswith(fix)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("+7", 7), ("9007199254740991", 2**53 - 1), ("0x1F", 31),
        ("0.1", 0.1), ("1.", 1.0), (".5", 0.5), ("1.0e-1", 0.1), ("5.12e+2", 512.0), ("-0.0", 0.0),
        ("01.5", 1.5), ("0.30000000000000004", 0.30000000000000004), ("true", True), ("True", True),
        ("FALSE", False), ("null", None), ("~", None), ("Null", None), ("text", "text"),
        ("two words", "two words"), ("0.8.2", "0.8.2"), ("12fd25f7", "12fd25f7"), ("1e", "1e"),
        ("123e4567a", "123e4567a"), ("b10434", "b10434"), ("nO", "nO"), ("12:75", "12:75"),
        ("8080:80", "8080:80"), ("inf", "inf"), ("nan", "nan"), ("-", "-"), ("1-2", "1-2"),
        ("2024-13", "2024-13"), ("US$5", "US$5"), ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("a#b", "a#b"), ("a:b", "a:b"), ("<|end|>", "<|end|>"), ("'it''s'", "it's"),
        ('"a\\nb\\u00e9"', "a\nbé"), ("文字", "文字"), ("env:HF_TOKEN", "env:HF_TOKEN"), ("[]", []),
        ("{}", {}), ("[a, 1, 'b, c']", ["a", 1, "b, c"]), ("{a: {b: [c]}}", {"a": {"b": ["c"]}}),
    ],
)  # fmt: skip
def test_a_scalar_that_both_versions_read_alike_is_that_value(scalar: str, value: Json) -> None:
    tree = read(f"a: {scalar}\n" if scalar != "-" else 'a: "-"\n').tree
    assert tree == {"a": value}
    assert isinstance(tree, dict)
    assert type(tree["a"]) is type(value)


LONG_NUMBERS = [
    "0o" + "7" * 6000, "0x" + "f" * 6000, "0" * 6000, "0" * 6000 + "1", "1_" * 6000 + "1", "1:" * 6000 + "1",
    "1" * 6000 + "e5", "1e" + "9" * 6000, "." + "1" * 6000 + "e5", "0b" + "1" * 6000, "9" * 6000,
    "1.0e+" + "9" * 6000, "1_0.0e+" + "9" * 6000, "-0x" + "f" * 6000,
]  # fmt: skip


@pytest.mark.parametrize("scalar", LONG_NUMBERS, ids=lambda scalar: scalar[:6])
def test_a_number_of_thousands_of_digits_is_refused_in_a_few_words(scalar: str) -> None:
    """Python itself refuses to write such a number out, which must not end the check."""
    found = only(read(f"a: {scalar}\n"))
    assert found.code in {"TL004", "TL012", "TL013"}
    assert len(found.message + found.hint) < 300
    (foreign,) = read_foreign_yaml(f"a: {scalar}\n".encode(), "f.yaml")
    assert foreign.tree is not None


REFUSED = {
    "a duplicate key": ("a: 1\nb: 2\na: 3\n", "TL007", 3, 1, "a"),
    "a duplicate key, one quoted": ('"a": 1\na: 2\n', "TL007", 2, 1, "a"),
    "a duplicate key, nested": ("m:\n  id: a\n  id: b\n", "TL007", 3, 3, "m.id"),
    "a duplicate key in a flow mapping": ("m: {x: 1, x: 2}\n", "TL007", 1, 11, "m.x"),
    "an empty repeat that wipes a block": ("s:\n  t: 1\np: 2\ns:\n", "TL007", 4, 1, "s"),
    "a second document": ("a: 1\n---\nb: 2\n", "TL006", 2, 1, ""),
    "a document after an end mark": ("a: 1\n...\nb: 2\n", "TL006", 3, 1, ""),
    "an empty last document": ("a: 1\n---\n", "TL006", 2, 1, ""),
    "an anchor": ("a: &x 1\n", "TL008", 1, 4, "a"),
    "a merge key": ("a: 1\n<<: {b: 2}\n", "TL008", 2, 1, '"<<"'),
    "a tag": ("a: !!int '3'\n", "TL009", 1, 4, "a"),
    "a tag of another program": ("a: !ENV x\n", "TL009", 1, 4, "a"),
    "a directive": ("# 5%\n%YAML 1.1\n---\na: 1\n", "TL018", 2, 1, ""),
    "interpolation": ("a:\n  b: ${TEMP:-0.2}\n", "TL010", 2, 6, "a.b"),
    "interpolation in quotes": ('a: ["x ${TEMP} y"]\n', "TL010", 1, 5, "a[0]"),
    "a bare variable": ("a: $TEMP\n", "TL010", 1, 4, "a"),
    "a variable of a manifest": ("a: $(TEMP)\n", "TL010", 1, 4, "a"),
    "a number for a key": ("bias:\n  123: 1\n", "TL011", 2, 3, 'bias.123'),
    "a boolean for a key": ("true: 1\n", "TL011", 1, 1, "true"),
    "null for a key": ("~: 1\n", "TL011", 1, 1, '"~"'),
    "a list for a key": ("? [a]\n: 1\n", "TL011", 1, 3, ""),
    "infinity": ("a: -.inf\n", "TL012", 1, 4, "a"),
    "not a number": ("a: .NaN\n", "TL012", 1, 4, "a"),
    "a number that overflows": ("a: 1.0e+400\n", "TL012", 1, 4, "a"),
    "a number that vanishes": ("a: 1.0e-400\n", "TL012", 1, 4, "a"),
    "a big integer": ("a: 9007199254740992\n", "TL013", 1, 4, "a"),
    "a very big integer": ("a: " + "9" * 5000 + "\n", "TL013", 1, 4, "a"),
    "a raw control character": ("a: x\x07y\n", "TL017", 1, 5, ""),
    "a line separator": ("a: 'x\u2028y'\n", "TL017", 1, 6, ""),
    "a byte order mark inside": ("a: x\ufeff\n", "TL002", 1, 5, ""),
    "an empty file": ("", "TL019", 1, 1, ""),
    "only comments": ("# nothing\n", "TL019", 1, 1, ""),
    "null": ("null\n", "TL019", 1, 1, ""),
    "a list": ("- a\n", "TL020", 1, 1, ""),
    "a word": ("hello\n", "TL020", 1, 1, ""),
    "half a character": ('a: "\\ud83d"\n', "TL025", 1, 4, "a"),
    "no line end after kept text": ("a: |\n  x", "TL026", 1, 4, "a"),
    "a mixture of line ends": ("a: 1\r\nb: 2\n", "TL003", 2, 5, ""),
    "a lone carriage return": ("a: 1\rb: 2\n", "TL003", 1, 5, ""),
    "a tab for indentation": ("a:\n\tb: 1\n", "TL005", 2, 1, ""),
    "an open quote": ('a: "x\n', "TL005", 2, 1, ""),
    "an open bracket": ("a: [1, 2\n", "TL005", 2, 1, ""),
    "a colon in a value": ("a: b: c\n", "TL005", 1, 5, ""),
    "a no-break space in a key": ("top_p\u00a0: 0.9\n", "TL403", 1, 1, '"top_p\u00a0"'),
    "a zero-width space in a key": ("top_\u200bp: 0.9\n", "TL402", 1, 1, '"top_\u200bp"'),
    "a look-alike letter in a key": ("t\u043ep_p: 0.9\n", "TL404", 1, 1, "t\u043ep_p"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "code", "line", "column", "key"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_code_and_place(text: str, code: str, line: int, column: int, key: str) -> None:
    reading = read(text)
    first = reading.findings[0]
    assert reading.tree is None
    assert (first.code, first.line, first.column, first.key) == (code, line, column, key)
    assert first.path == "configs/sampling/factual.yaml"
    assert first.blocks


@pytest.mark.parametrize("text", [case[0] for case in REFUSED.values()], ids=REFUSED)
def test_a_message_is_one_sentence_that_shows_nothing_unprintable(text: str) -> None:
    for found in read(text).findings:
        assert found.message.isprintable()
        assert found.excerpt.isprintable()
        assert found.message[0] == found.message[0].lower()
        assert not found.message.endswith(".")
        assert len(found.message) < 240


def test_a_duplicate_key_is_told_with_both_lines() -> None:
    found = only(read("temperature: 0.2\ntop_p: 0.9\ntemperature: 0.9\n"))
    assert "`temperature`" in found.message
    assert "line 1" in found.message
    assert found.line == 3


def test_every_fault_of_a_file_is_told_at_once() -> None:
    codes = [found.code for found in read("a: no\nb: ${X}\nc: 010\nd: .inf\nc: 1\n").findings]
    assert codes == ["TL004", "TL010", "TL004", "TL012", "TL007"]


def test_faults_of_a_hostile_file_are_bounded() -> None:
    reading = read("a: [" + "no, " * 5000 + "]\n")
    assert reading.tree is None
    assert len(reading.findings) == 20


def test_an_alias_is_told_once() -> None:
    reading = read("a: &x [1]\nb: [" + "*x, " * 5000 + "]\n")
    assert [(f.line, f.code) for f in reading.findings] == [(1, "TL008"), (2, "TL008")]


def test_text_that_looks_like_interpolation_is_left_alone_where_it_is_text() -> None:
    text = 'stop: ["$END", "US$5", "{{ user }}"]\nsystem: |\n  echo ${HOME}\nregex: "^a{2}$"\n'
    assert read(text).tree == {
        "stop": ["$END", "US$5", "{{ user }}"],
        "system": "echo ${HOME}\n",
        "regex": "^a{2}$",
    }


def test_one_leading_byte_order_mark_is_a_note() -> None:
    reading = read_yaml(b"\xef\xbb\xbftemperature: 0.2\n", "f.yaml")
    assert reading.tree == {"temperature": 0.2}
    assert [(f.code, f.severity) for f in reading.findings] == [("TL002", Severity.NOTE)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_another_encoding_is_named_and_never_read_as_garbage(encoding: str) -> None:
    reading = read_yaml("\ufefftemperature: 0.2\n".encode(encoding), "f.yaml")
    assert reading.tree is None
    assert reading.findings[0].code == "TL001"
    assert "UTF-" in reading.findings[0].message


def test_a_byte_that_is_not_utf8_is_named_with_its_place() -> None:
    found = only(read_yaml("a: 1\nbé: caf".encode() + b"\xe9\n", "f.yaml"))
    assert (found.code, found.line, found.column) == ("TL001", 2, 8)
    assert "0xe9" in found.message


def test_uniform_crlf_reads_as_lf() -> None:
    text = "a: 1\nsystem: |\n  one\n  two\nstop:\n  - x\n"
    assert read(text.replace("\n", "\r\n")).tree == read(text).tree
    assert read(text.replace("\n", "\r\n")).findings == ()


BLOCK_TEXT = {
    "clip": ("|", "Answer.\nBe polite.\n"),
    "strip": ("|-", "Answer.\nBe polite."),
    "keep": ("|+", "Answer.\nBe polite.\n\n"),
    "fold": (">", "Answer. Be polite.\n"),
    "fold and strip": (">-", "Answer. Be polite."),
    "fold and keep": (">+", "Answer. Be polite.\n\n"),
    "indented": ("|1-", " Answer.\n Be polite."),
}


@pytest.mark.parametrize(("header", "value"), BLOCK_TEXT.values(), ids=BLOCK_TEXT)
def test_block_text_is_byte_exact(header: str, value: str) -> None:
    text = f"system: {header}\n  Answer.\n  Be polite.\n\nformat: text\n"
    assert read(text).tree == {"system": value, "format": "text"}
    assert plain.parse(text) == {"system": value, "format": "text"}


@pytest.mark.parametrize(
    ("item", "value"), [("-  # c", None), ("-", None), ("- # c", None), ("-   a # c", "a"), ("-  [a]", ["a"])]
)
def test_blanks_after_a_dash_mean_nothing(item: str, value: Json) -> None:
    assert read(f"k:\n  {item}\n").tree == {"k": [value]}


@pytest.mark.parametrize("text", ["{}: 1\n", '"{}": 1\n', "a: {{{}: 1}}\n"])
def test_a_key_longer_than_yaml_allows_is_refused_and_one_within_is_read(text: str) -> None:
    assert only(read(text.format("k" * 1100))).code == "TL005"
    assert read(text.format("k" * 990)).tree is not None


def test_dashes_in_block_text_are_no_document() -> None:
    assert read("system: |-\n  one\n  ---\n  two\n").tree == {"system": "one\n---\ntwo"}


def test_a_leading_document_mark_changes_nothing() -> None:
    assert read("---\na: 1\n").tree == read("# c\n---\na: 1\n").tree == read("a: 1\n").tree


def test_the_depth_is_bounded() -> None:
    assert read("a: " + "[" * 63 + "]" * 63).tree is not None
    assert [f.code for f in read("a: " + "[" * 5000 + "]" * 5000).findings] == ["TL015"]


def test_the_number_of_values_is_bounded() -> None:
    assert [f.code for f in read("a: [" + "1," * 120_000 + "]\n").findings] == ["TL016"]


def test_a_large_file_is_refused_by_its_size_alone() -> None:
    found = size_finding(100 << 20, "big.yaml")
    assert found is not None
    assert (found.code, found.path) == ("TL014", "big.yaml")
    assert size_finding(MAX_TIER_BYTES, "f.yaml") is None
    assert only(read_yaml(b"#" * (MAX_TIER_BYTES + 1), "f.yaml")).code == "TL014"


def test_an_alias_bomb_is_refused_at_once() -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    start = time.process_time()
    reading = read("\n".join(lines) + "\n")
    assert time.process_time() - start < 2
    assert reading.tree is None
    assert {found.code for found in reading.findings} == {"TL008"}


NASTY = {
    "brackets": "[" * 200_000,
    "braces": "{" * 200_000,
    "quotes": '"' * 200_000,
    "escaped quotes": 'a: "' + '\\"' * 100_000,
    "dashes": "- " * 100_000,
    "colons": "a: " * 60_000,
    "digits": "a: " + "1:" * 100_000,
    "underscores": "a: " + "1_" * 100_000,
    "dollars": 'a: "' + "${" * 100_000 + '"',
    "blanks": " " * 200_000,
    "question marks": "? " * 100_000,
    "staircase": "".join(" " * i + "a:\n" for i in range(600)),
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_no_text_makes_reading_slow_or_crash(text: str) -> None:
    start = time.process_time()
    reading = read(text)
    assert time.process_time() - start < 5
    assert (reading.tree is None) == any(found.blocks for found in reading.findings)


def test_marks_give_line_and_column_of_keys_and_values() -> None:
    marks = read("# c\na:\n  b: 1\n  c: [x, {d: yes it is}]\n").marks
    assert marks.key(("a", "b")) == (3, 3)
    assert marks.value(("a", "b")) == (3, 6)
    assert marks.value(("a", "c", 1, "d")) == (4, 14)
    assert marks.value(()) == (2, 1)
    assert marks.value(("nothing",)) is None


def test_a_finding_about_a_value_shows_its_line() -> None:
    reading = read("a:\n  b: hello\n")
    found = finding_at(reading, "TL999", "this will not do", ("a", "b"), hint="try again")
    assert (found.line, found.column, found.width, found.key) == (2, 6, 5, "a.b")
    assert found.excerpt == "  b: hello"
    assert found.hint == "try again"


def test_a_finding_about_a_key_marks_the_key() -> None:
    found = finding_at(read("a:\n  b: hello\n"), "TL999", "no such key", ("a", "b"), on_key=True)
    assert (found.line, found.column, found.width) == (2, 3, 1)


def test_a_finding_about_something_missing_marks_what_should_hold_it() -> None:
    found = finding_at(read("x: 1\nmodel:\n  id: m\n"), "TL999", "missing", ("model", "revision"))
    assert (found.line, found.column, found.key) == (2, 1, "model.revision")


def test_a_finding_about_a_whole_file_has_a_place() -> None:
    found = finding_at(read("x: 1\n"), "TL999", "missing", ("kind",))
    assert (found.line, found.column) == (1, 1)


def test_a_finding_about_block_text_underlines_its_header() -> None:
    found = finding_at(read("x:\n  y: |-\n    long text\n    more\n"), "TL999", "too long", ("x", "y"))
    assert (found.line, found.column, found.width, found.excerpt) == (2, 6, 2, "  y: |-")


def test_reading_a_good_file_imports_no_yaml_library() -> None:
    """The hook reads good files all day; ruamel costs more to import than all of them to read."""
    code = (
        "import sys; from governance.tiers.reader import read_yaml; "
        "assert read_yaml(b'kind: sampling\\nstop: [a]\\n', 'f').tree; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'ruamel', 'yaml', 'pydantic', 'json'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_repeated_line_does_not_share_its_value_between_files() -> None:
    first, second = read("stop: [a, b]\n").tree, read("stop: [a, b]\n").tree
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert first["stop"] is not second["stop"]


def test_the_memory_of_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MAX_REMEMBERED", 10)
    for number in range(50):
        assert read(f"key{number}: {number}\n").tree == {f"key{number}": number}
    assert len(plain._remembered) <= 10


def test_every_code_the_readers_use_is_documented() -> None:
    from pathlib import Path

    folder = Path(plain.__file__).parent
    used = set()
    for file in ("reader", "decode", "exact", "foreign", "json_reader", "scalars", "text"):
        used |= set(re.findall(r'"(TL\d{3})"', (folder / f"{file}.py").read_text(encoding="utf-8")))
    assert used == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_documented_code_says_what_why_and_how_to_mend(code: str) -> None:
    doc = CODES[code]
    assert re.fullmatch(r"TL(0\d\d|40\d)", code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", doc.name)
    assert all(part.endswith(".") for part in (doc.what, doc.why)), code
    assert json.dumps(doc.fix)
