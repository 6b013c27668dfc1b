"""JSON and JSONL read strictly: same rules about keys, numbers and depth as the tier files."""

from __future__ import annotations

import time

import pytest

from governance.tiers import json_reader
from governance.tiers.reader import Reading, finding_at, read_json, read_jsonl
from governance.values import Json
from governance.verdict import Finding, Severity


def read(text: str) -> Reading:
    return read_json(text.encode("utf-8", "surrogatepass"), "schema.json")


def only(reading: Reading) -> Finding:
    assert len(reading.findings) == 1, reading.findings
    return reading.findings[0]


VALUES: dict[str, Json] = {
    '{"a": 1, "b": [1.5, true, null, "x"]}': {"a": 1, "b": [1.5, True, None, "x"]},
    "[]": [],
    "{}": {},
    "0": 0,
    '""': "",
    "false": False,
    " \n\t[1]\r\n": [1],
    "-0.0": -0.0,
    "1e5": 100000.0,
    "1E-05": 0.00001,
    "9007199254740991": 2**53 - 1,
    '"\\u00e9\\ud83d\\ude00\\n"': "é😀\n",
    '"\u2028 stands for itself"': "\u2028 stands for itself",
    '{"": 1, "ключ": 2}': {"": 1, "ключ": 2},
}


@pytest.mark.parametrize("text", VALUES)
def test_sound_json_is_its_value_without_a_finding(text: str) -> None:
    reading = read(text)
    assert repr(reading.tree) == repr(VALUES[text])
    assert reading.findings == ()


REFUSED = {
    "a duplicate key": ('{"t": 1,\n "p": 2,\n "t": 3}', "TL007", 3, 2, "t"),
    "a duplicate key, one escaped": ('{"t": 1, "\\u0074": 3}', "TL007", 1, 10, "t"),
    "a duplicate key, nested": ('{"a": [{"x": 1, "x": 2}]}', "TL007", 1, 17, "a[0].x"),
    "NaN": ('{"t": NaN}', "TL012", 1, 7, "t"),
    "Infinity": ('{"t": [Infinity]}', "TL012", 1, 8, "t[0]"),
    "-Infinity": ("-Infinity", "TL012", 1, 1, ""),
    "a number that overflows": ('{"t": 1e400}', "TL012", 1, 7, "t"),
    "a number that vanishes": ('{"t": 1e-400}', "TL012", 1, 7, "t"),
    "a big integer": ('{"t": 9007199254740992}', "TL013", 1, 7, "t"),
    "a very big integer": ("9" * 5000, "TL013", 1, 1, ""),
    "half a character": ('{"t": "\\ud83d"}', "TL025", 1, 7, "t"),
    "half a character for a key": ('{"\\ud83d": 1}', "TL025", 1, 2, ""),
    "null": ("null", "TL019", 1, 1, ""),
    "nothing": ("", "TL021", 1, 1, ""),
    "a comma too many": ('{"a": 1,}', "TL021", 1, 9, ""),
    "a comma too many in a list": ("[1,]", "TL021", 1, 4, ""),
    "single quotes": ("{'a': 1}", "TL021", 1, 2, ""),
    "a comment": ('{"a": 1} // one', "TL021", 1, 10, ""),
    "two values": ('{"a": 1}\n{"b": 2}', "TL021", 2, 1, ""),
    "a leading zero": ('{"a": 012}', "TL021", 1, 7, "a"),
    "a bare word": ('{"a": yes}', "TL021", 1, 7, "a"),
    "a point alone": ("[.5]", "TL021", 1, 2, "[0]"),
    "a plus": ("[+5]", "TL021", 1, 2, "[0]"),
    "an open string": ('{"a": "x', "TL021", 1, 7, ""),
    "an open object": ('{"a": 1', "TL021", 1, 8, ""),
    "no colon": ('{"a" 1}', "TL021", 1, 6, ""),
    "no comma": ("[1 2]", "TL021", 1, 4, ""),
    "a raw line end in a string": ('"a\nb"', "TL021", 1, 3, ""),
    "a bad escape": ('"\\x41"', "TL021", 1, 2, ""),
    "a no-break space in a key": ('{"top_p\u00a0": 1}', "TL403", 1, 2, '"top_p\u00a0"'),
    "a look-alike letter in a key": ('{"t\u043ep_p": 1}', "TL404", 1, 2, "t\u043ep_p"),
}


@pytest.mark.parametrize(("text", "code", "line", "column", "key"), REFUSED.values(), ids=REFUSED)
def test_it_is_refused_with_code_and_place(text: str, code: str, line: int, column: int, key: str) -> None:
    reading = read(text)
    first = reading.findings[0]
    assert reading.tree is None
    assert (first.code, first.line, first.column, first.key) == (code, line, column, key)
    assert first.message.isprintable()
    assert first.message[0] == first.message[0].lower()


def test_a_duplicate_key_is_told_with_both_lines() -> None:
    found = only(read('{"temperature": 0.2,\n"temperature": 0.9}'))
    assert "`temperature` is here and on line 1" in found.message
    assert found.line == 2


def test_one_leading_byte_order_mark_is_a_note() -> None:
    reading = read('\ufeff{"temperature": 0.2}')
    assert reading.tree == {"temperature": 0.2}
    assert [(f.code, f.severity) for f in reading.findings] == [("TL002", Severity.NOTE)]


def test_a_second_byte_order_mark_is_refused() -> None:
    assert read('\ufeff\ufeff{"temperature": 0.2}').tree is None


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
def test_the_encoding_is_utf8(encoding: str) -> None:
    reading = read_json('\ufeff{"a": "é"}'.encode(encoding), "f.json")
    assert reading.tree is None
    assert reading.findings[-1].code in {"TL001", "TL021"}


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, '{"a":' * 5000 + "1" + "}" * 5000, "[" * 200_000])
def test_the_depth_is_bounded_before_anything_recurses(text: str) -> None:
    start = time.process_time()
    found = only(read(text))
    assert found.code in {"TL015", "TL021"}
    assert time.process_time() - start < 2


def test_brackets_in_strings_are_no_depth() -> None:
    assert read('["' + "[{" * 500 + '"]').tree == ["[{" * 500]


def test_the_number_of_values_is_bounded() -> None:
    for item in ("1,", "1e0,", "[[]],"):
        assert [f.code for f in read("[" + item * 110_000 + "1]").findings] == ["TL016"]


def test_commas_in_strings_are_no_values() -> None:
    assert read('["' + "a, " * 110_000 + '"]').tree == ["a, " * 110_000]


@pytest.mark.parametrize(
    "text", ['"' * 100_000, "[" + '"\\' * 50_000, "-" * 100_000, " " * 100_000, "[" + "1" * 100_000]
)
def test_no_text_makes_reading_slow_or_crash(text: str) -> None:
    start = time.process_time()
    assert read(text).tree is None
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", ['{"a": {"b": [1, 2]}}', "[1.5]", '{"name": "x", "list": []}'])
def test_the_fast_way_takes_what_people_write(text: str) -> None:
    assert json_reader.quick(text) is not None


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":2}', '["\\u0041"]', "[NaN]", "[1e5]", '{"é": 1}', "[99999999999999999]", "null", "["]
)
def test_the_fast_way_leaves_what_is_doubtful(text: str) -> None:
    assert json_reader.quick(text) is None


def test_marks_give_line_and_column_of_keys_and_values() -> None:
    marks = read('{\n  "a": {"b": [1, "x"]}\n}').marks
    assert marks.key(("a",)) == (2, 3)
    assert marks.value(("a", "b")) == (2, 14)
    assert marks.value(("a", "b", 1)) == (2, 18)
    assert marks.value(()) == (1, 1)
    assert marks.value(("c",)) is None


def test_each_line_of_a_jsonl_file_is_a_reading_that_knows_its_line() -> None:
    readings = read_jsonl(b'{"input": "a"}\n{"input": 1e999}\n{"input": "c"}\n', "few_shot.jsonl")
    assert [reading.tree for reading in readings] == [{"input": "a"}, None, {"input": "c"}]
    found = only(readings[1])
    assert (found.code, found.line, found.column) == ("TL012", 2, 11)
    assert found.excerpt == '{"input": 1e999}'
    assert finding_at(readings[2], "TL999", "odd", ("input",)).line == 3


@pytest.mark.parametrize(
    "data", [b'{"a": 1}\r\n{"b": 2}\r\n', b'{"a": 1}\n{"b": 2}', b'{"a": 1}\n{"b": 2}\n']
)
def test_line_ends_of_a_jsonl_file_are_no_values(data: bytes) -> None:
    assert [reading.tree for reading in read_jsonl(data, "f.jsonl")] == [{"a": 1}, {"b": 2}]


def test_an_empty_line_of_a_jsonl_file_is_refused() -> None:
    readings = read_jsonl(b'{"a": 1}\n\n{"b": 2}\n', "f.jsonl")
    assert [[f.code for f in reading.findings] for reading in readings] == [[], ["TL022"], []]
    assert readings[1].findings[0].line == 2


def test_an_empty_jsonl_file_is_refused() -> None:
    assert [r.findings[0].code for r in read_jsonl(b"", "f.jsonl")] == ["TL019"]


def test_line_separators_inside_a_string_do_not_end_a_line_of_jsonl() -> None:
    assert [r.tree for r in read_jsonl('["a\u2028b\u0085c"]\n'.encode(), "f.jsonl")] == [["a\u2028b\u0085c"]]


def test_a_file_that_is_no_jsonl_is_told_a_few_times_and_not_read_on() -> None:
    assert len(read_jsonl(b"not json\n" * 100_000, "f.jsonl")) <= 20


def test_a_jsonl_file_with_a_byte_order_mark_has_one_note() -> None:
    readings = read_jsonl(b'\xef\xbb\xbf{"a": 1}\n{"b": 2}\n', "f.jsonl")
    assert [[f.code for f in reading.findings] for reading in readings] == [["TL002"], []]
    assert readings[0].tree == {"a": 1}


def test_the_number_of_lines_is_bounded() -> None:
    readings = read_jsonl(b"[1]\n" * 100_005, "f.jsonl")
    assert len(readings) == 100_001
    assert (only(readings[-1]).code, only(readings[-1]).line) == ("TL016", 100_001)
    assert all(reading.tree for reading in readings[:-1])
