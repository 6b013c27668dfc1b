"""What a reviewer cannot see in a text, told with code point and place, and made visible in diffs."""

from __future__ import annotations

import time
import unicodedata

import pytest

from governance.tiers.reader import read_json, read_yaml
from governance.tiers.text import (
    MAX_FINDINGS,
    from_visible,
    key_spot,
    scan_reading,
    scan_text,
    visible,
    visible_pair,
)
from governance.verdict import Finding, Severity


def only(findings: tuple[Finding, ...]) -> Finding:
    assert len(findings) == 1, findings
    return findings[0]


ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

ODD = {
    "a no-break space": ("the order\u00a0id", "TL403", WARNING, 10, "U+00A0"),
    "a narrow no-break space": ("12\u202f000", "TL403", WARNING, 3, "U+202F"),
    "an em space": ("a\u2003b", "TL403", WARNING, 2, "U+2003"),
    "an ideographic space in English": ("limit:\u3000500", "TL403", WARNING, 7, "U+3000"),
    "a zero-width space": ("on\u200bly", "TL402", WARNING, 3, "U+200B"),
    "a joiner in a word": ("on\u200dly", "TL402", WARNING, 3, "U+200D"),
    "a word joiner": ("on\u2060ly", "TL402", WARNING, 3, "U+2060"),
    "a soft hyphen": ("on\u00adly", "TL402", WARNING, 3, "U+00AD"),
    "a Hangul filler": ("on\u3164ly", "TL402", WARNING, 3, "U+3164"),
    "a variation selector on a letter": ("a\ufe0fb", "TL402", WARNING, 2, "U+FE0F"),
    "a hidden tag": ("hi\U000e0041\U000e0042", "TL402", ERROR, 3, "U+E0041"),
    "a right-to-left override": ("limit \u202e005\u202c", "TL401", ERROR, 7, "U+202E"),
    "an isolate": ("x \u2066y\u2069", "TL401", ERROR, 3, "U+2066"),
    "a direction mark in English": ("x\u200fy", "TL401", ERROR, 2, "U+200F"),
    "a byte order mark": ("\ufeffYou are", "TL409", ERROR, 1, "U+FEFF"),
    "a tab": ("the\torder", "TL405", WARNING, 4, "U+0009"),
    "a bell": ("a\x07b", "TL406", ERROR, 2, "U+0007"),
    "an escape sequence": ("a\x1b[31mb", "TL406", ERROR, 2, "U+001B"),
    "a null": ("a\x00b", "TL406", ERROR, 2, "U+0000"),
    "a lone carriage return": ("a\rb", "TL406", ERROR, 2, "U+000D"),
    "a CRLF": ("a\r\nb", "TL406", WARNING, 2, "U+000D"),
    "a line separator": ("a\u2028b", "TL406", ERROR, 2, "U+2028"),
    "a private-use character": ("a\ue000b", "TL407", WARNING, 2, "U+E000"),
    "an unassigned character": ("a\u0378b", "TL407", WARNING, 2, "U+0378"),
    "a decomposed letter": ("cafe\u0301", "TL408", NOTE, 5, "U+0301"),
    "a Cyrillic letter in a Latin word": ("the \u043erder", "TL404", WARNING, 5, "U+043E"),
    "a Greek letter in a Latin word": ("the \u03bfrder", "TL404", WARNING, 5, "U+03BF"),
    "a Latin letter in a Cyrillic word": ("a \u0441\u043bo\u0432\u043e", "TL404", WARNING, 5, "U+006F"),
    "a word of look-alikes only": ("Pay by \u0441\u0430\u0440", "TL404", WARNING, 8, "U+0441"),
}


@pytest.mark.parametrize(("text", "code", "severity", "column", "named"), ODD.values(), ids=ODD)
def test_an_odd_character_is_named_with_its_place(
    text: str, code: str, severity: Severity, column: int, named: str
) -> None:
    found = next(f for f in scan_text("first line\n" + text, "system.md") if f.severity is severity)
    assert (found.code, found.line, found.column) == (code, 2, column)
    assert named in found.message
    assert found.message.isprintable()
    assert found.excerpt.isprintable()
    assert found.path == "system.md"


SOUND = {
    "English": "Answer “only” with facts – 5 € at 20 °C; naïve café.\n\n  - x = {y: 1}\n",
    "Chinese with full-width punctuation": "请先回复订单号，不要解释。退款上限：500元。",
    "a Chinese paragraph with its indent": "\u3000\u3000第一段。\n\u3000\u3000第二段。",
    "a Chinese name spelt apart": "李\u3000明",
    "Japanese": "「はい」とだけ答えてください。カタカナー",
    "Korean": "한국어로 대답하십시오.",
    "Arabic": "أجب باللغة العربية.",
    "Persian with its non-joiner": "می\u200cخواهم",
    "Hebrew": "ענה בעברית.",
    "Hindi with its joiner": "नमस्\u200dते क्\u200cष",
    "Thai with break marks": "สวัส\u200bดี",
    "Russian": "Отвечай только фактами. Ответ: да, нет.",
    "Russian and English words": "Модель vLLM отвечает: OK, нет.",
    "Greek": "Απάντησε μόνο με γεγονότα.",
    "Greek letters in formulas": "Use β = 0.9, Δx and µm.",
    "a family emoji": "结尾请加 👨‍👩‍👧",
    "an emoji with a skin tone and a profession": "👩🏽‍🔬 writes",
    "an emoji with a presentation selector": "❤️ ☎️ ©️ 1️⃣",
    "a flag of letters": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Vietnamese": "Trả lời bằng tiếng Việt.",
    "a chat template": "<|im_start|>system\n{{ messages[0]['content'] }}<|im_end|>",
    "nothing": "",
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_what_a_language_needs_is_no_finding(text: str) -> None:
    """A check that cries at full-width commas is switched off, and then sees nothing at all."""
    assert scan_text(unicodedata.normalize("NFC", text), "system.md") == ()


def test_a_direction_mark_in_hebrew_is_a_warning() -> None:
    assert only(scan_text("\u05e9\u05dc\u05d5\u05dd \u200f!", "system.md")).severity is WARNING


def test_a_repeated_character_is_told_once_with_the_number_of_further_places() -> None:
    found = only(scan_text("a\u00a0b\nc\u00a0d\u00a0e", "system.md"))
    assert (found.line, found.column) == (1, 2)
    assert found.message.endswith("and 2 more in this text")


def test_only_the_strays_of_a_character_that_has_a_home_are_told() -> None:
    found = only(scan_text("👨‍👩‍👧 on\u200dly", "system.md"))
    assert (found.column, "more" in found.message) == (9, False)


def test_a_text_inside_a_file_keeps_its_place_there() -> None:
    first, second = scan_text("a\u00a0b\n\u200bc", "few.jsonl", line=7, column=20)
    assert [(first.line, first.column), (second.line, second.column)] == [(7, 21), (8, 1)]


def test_the_number_of_findings_is_bounded() -> None:
    text = "".join(f"{chr(code)}x" for code in range(0xE000, 0xE000 + 500))
    assert len(scan_text(text, "system.md")) == MAX_FINDINGS


LONG = {
    "zero-width spaces": "\u200b",
    "joiners": "\u200d",
    "ideographic spaces": "\u3000",
    "hidden tags": "\U000e0041",
    "carriage returns": "\r",
    "decomposed letters": "e\u0301",
    "marks in and out of order": "\u0301\u0327",
    "look-alike words": "\u043ea ",
    "one look-alike word": "\u043ea",
    "emoji": "👩\u200d",
    "blanks": " ",
    "backslashes": "\\n",
}


@pytest.mark.parametrize("piece", LONG.values(), ids=LONG)
def test_a_long_text_is_scanned_and_shown_in_time(piece: str) -> None:
    text = "a" + piece * (30_000 // len(piece))
    start = time.process_time()
    scan_text(text, "system.md")
    assert from_visible(visible(text)) == text
    visible_pair(text, text + "x")
    assert time.process_time() - start < 10


def test_a_long_odd_word_is_shown_in_part() -> None:
    found = only(scan_text("a" * 300 + "\u043e" + "a" * 300, "system.md"))
    assert "\\u043e" in found.message
    assert len(found.message) < 200


def test_a_value_of_a_file_is_scanned_where_it_stands() -> None:
    reading = read_yaml('kind: prompts\nsystem: "Reply with the order\u00a0id"\n'.encode(), "p.yaml")
    found = only(scan_reading(reading))
    assert (found.code, found.line, found.column, found.key) == ("TL403", 2, 30, "system")


def test_an_escape_in_quotes_is_marked_where_the_escape_stands() -> None:
    reading = read_yaml(b'stop: [a, "x\\u200by"]\n', "s.yaml")
    found = only(scan_reading(reading))
    assert (found.code, found.line, found.column, found.key) == ("TL402", 1, 13, "stop[1]")


def test_block_text_is_scanned_line_by_line() -> None:
    reading = read_yaml("system: |\n  one\n  two\u200b\n".encode(), "p.yaml")
    assert (only(scan_reading(reading)).line, only(scan_reading(reading)).column) == (3, 6)


def test_a_json_value_is_scanned_where_it_stands() -> None:
    found = only(scan_reading(read_json('{"a":\n ["x\u202ey"]}'.encode(), "f.json")))
    assert (found.code, found.line, found.column, found.key) == ("TL401", 2, 5, "a[0]")


def test_a_direction_control_in_a_comment_is_an_error() -> None:
    """A comment that reverses a line makes the reviewer read another file than the server does."""
    found = only(scan_reading(read_yaml("temperature: 0.2 # \u202e9.0 :\n".encode(), "s.yaml")))
    assert (found.code, found.line, found.column, found.severity) == ("TL401", 1, 20, ERROR)


def test_a_plain_file_is_scanned_without_asking_for_marks() -> None:
    reading = read_yaml(b"kind: sampling\nstop: [a]\n", "s.yaml")
    assert scan_reading(reading) == ()
    assert reading.marks._places is None


@pytest.mark.parametrize("key", ["temperature", "n", "ключ", "键", "model.safetensors", "a b"])
def test_an_honest_key_has_nothing_odd(key: str) -> None:
    assert key_spot(key) is None


@pytest.mark.parametrize("key", ["top_p\u00a0", "to\u200bp", "t\u043ep", "a\tb", "\u202ea", "\ufeffkind"])
def test_an_odd_key_is_told(key: str) -> None:
    assert key_spot(key) is not None


VISIBLE = {
    "plain text": ("a b", "a b"),
    "a final newline": ("a\n", "a\\n"),
    "two final newlines": ("a\n\n", "a\\n\\n"),
    "trailing blanks": ("a  \nb", "a␠␠\nb"),
    "trailing blanks at the very end": ("a ", "a␠"),
    "only newlines": ("\n", "\\n"),
    "a tab": ("a\tb", "a\\tb"),
    "a carriage return": ("a\r\nb", "a\\r\nb"),
    "a zero-width space": ("a\u200bb", "a\\u200bb"),
    "a no-break space": ("a\u00a0b", "a\\xa0b"),
    "a hidden tag": ("a\U000e0041", "a\\U000e0041"),
    "a look-alike letter": ("\u043erder", "\\u043erder"),
    "a decomposed letter": ("e\u0301", "e\\u0301"),
    "a backslash that means itself": ("^\\d+$", "^\\d+$"),
    "a backslash before an n": ("a\\nb", "a\\\\nb"),
    "the sign for a blank": ("a␠", "a\\u2420"),
    "Chinese": ("请回复。", "请回复。"),
    "an emoji": ("👨‍👩‍👧", "👨‍👩‍👧"),
}


@pytest.mark.parametrize(("text", "shown"), VISIBLE.values(), ids=VISIBLE)
def test_what_cannot_be_seen_is_shown_and_reads_back(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert from_visible(shown) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b", "a\u00a0b"), ("only", "on\u200bly"), ("a", "a\n"), ("a", "a "), ("\u00e9", "e\u0301"),
        ("order", "\u043erder"), ("cap", "\u0441\u0430\u0440"), ("\u2126", "\u03a9"), ("ﬁ", "fi"), ("𝐚", "a"),
        ("👨‍👩", "👨👩"), ("中\u3000文", "中 文"), ("\uff11", "1"), ("a\\n", "a\n"),
    ],
)  # fmt: skip
def test_two_texts_that_differ_are_never_shown_alike(before: str, after: str) -> None:
    left, right = visible_pair(before, after)
    assert left != right
    seen = [unicodedata.normalize("NFKC", side.replace("\u200d", "")) for side in (left, right)]
    assert seen[0] != seen[1]
