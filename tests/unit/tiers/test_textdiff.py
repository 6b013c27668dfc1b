"""A diff of prompts shows what reaches the model: words, signs, and everything an editor hides."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from governance.tiers.textdiff import LIMIT, text_changes
from governance.tiers.textpieces import LONGEST, Piece, Unit, pieces, shorten, units

CLEAN = "You answer questions about parcels.\nReply politely.\nNever guess.\n"


def test_a_changed_word_is_marked_inside_its_line() -> None:
    after = CLEAN.replace("politely", "briefly and politely")
    assert text_changes(CLEAN, after) == (
        "     1  You answer questions about parcels.",
        "~    2  Reply {+briefly and +}politely.",
        "     3  Never guess.",
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("a", "a\n", "+ newline added at end of file"),
        ("a\n", "a", "- newline removed at end of file"),
        ("a\n", "a\n\n\n", "+ 2 newlines added at end of file"),
        ("a", "b\n", "+ newline added at end of file"),
    ],
)
def test_a_newline_at_the_end_is_said_in_words(before: str, after: str, said: str) -> None:
    """A04, C10: it reached the prompt, and the diff was blank."""
    assert text_changes(before, after, what="file")[-1] == said


def test_blanks_at_line_ends_are_seen() -> None:
    """C10: trail.yaml has two trailing blanks inside."""
    assert "~    2  Reply politely.{+␠␠+}" in text_changes(CLEAN, CLEAN.replace("ely.\n", "ely.  \n"))


@pytest.mark.parametrize(
    ("char", "seen"),
    [
        ("\u200b", r"\u200b"),
        ("\u00a0", r"\xa0"),
        ("\u202e", r"\u202e"),
        ("\u3000", r"\u3000"),
        ("\t", r"\t"),
        ("\ufeff", r"\ufeff"),
        ("\r", r"\r"),
    ],
)
def test_invisible_characters_are_shown_as_escapes(char: str, seen: str) -> None:
    """C11: never two lines that look alike."""
    shown = "\n".join(text_changes(CLEAN, CLEAN.replace("about", f"about{char}")))
    assert seen in shown
    assert char not in shown


def test_look_alikes_and_other_forms_of_a_letter_are_told_apart() -> None:
    (gone, come) = text_changes("c\u043errect", "correct")
    assert (gone, come) == (r"-    1  c\u043errect", "+    1  correct")
    nfc, nfd = text_changes("e\u0301tude", "\u00e9tude")
    assert nfc[8:] != nfd[8:]
    assert nfc.isascii()


def test_the_variants_of_one_prompt_never_look_alike() -> None:
    """Every pair of the look-alike variants in C11 differs in what is printed."""
    variants = ["reply in", "reply\u00a0in", "reply\u200b in", "reply\u3000in", "reply\tin", "reply\u202e in"]
    for before, after in permutations(variants, 2):
        lines = text_changes(before, after)
        assert lines
        gone = [line[8:] for line in lines if line[0] == "-"]
        come = [line[8:] for line in lines if line[0] == "+"]
        assert all(line[0] == "~" for line in lines) or gone != come


def test_only_line_ends_changed_is_one_sentence() -> None:
    crlf = CLEAN.replace("\n", "\r\n")
    assert text_changes(CLEAN, crlf, what="file") == ("~ line ends: 3 lines of this file from LF to CRLF",)
    assert text_changes(crlf, CLEAN) == ("~ line ends: 3 lines of this text from CRLF to LF",)
    mixed = CLEAN.replace("\n", "\r\n", 1)
    assert text_changes(mixed, crlf) == ("~ line ends: 1 → 3 lines of this text end in CRLF",)


def test_chinese_is_compared_character_by_character() -> None:
    assert text_changes("请用中文回答问题。", "请用英文回答问题。") == (
        "~    1  请用[-中-]{+英+}文回答问题。",
    )


@pytest.mark.parametrize("unit", ["word", "token"])
def test_words_that_share_too_little_are_compared_by_token(unit: Unit) -> None:
    assert text_changes("temperature:0.1;top_p=0.9", "temperature:0.2;top_p=0.9", unit=unit) == (
        "~    1  temperature:0.[-1-]{+2+};top_p=0.9",
    )


def test_tokens_are_finer_than_words() -> None:
    before, after = "Keep it short, please: {{ article }}", "Keep it short; please: {{ article }}"
    assert text_changes(before, after)[0] == "~    1  Keep it [-short,-]{+short;+} please: {{ article }}"
    assert (
        text_changes(before, after, unit="token")[0]
        == "~    1  Keep it short[-,-]{+;+} please: {{ article }}"
    )


def test_inserted_lines_do_not_drag_their_neighbours_along() -> None:
    before = "You are kind.\nNever lie about things.\nEnd."
    after = "You are very kind.\nAlways.\nSecond.\nNever lie about many things.\nEnd."
    assert text_changes(before, after) == (
        "~    1  You are {+very +}kind.",
        "+    2  Always.",
        "+    3  Second.",
        "~    4  Never lie about{+ many+} things.",
        "     5  End.",
    )


def test_reflowed_lines_show_only_the_break() -> None:
    assert text_changes("a b\nc d\n", "a b c d\n") == (
        r"~    1  a b[-\n-]{+ +}c d".replace("{+ +}", "{+␠+}"),
    )
    assert text_changes("a b c d\n", "a b\nc d\n") == (r"~    1  a b[-␠-]{+\n+}", "     2  c d")


def test_unchanged_lines_far_away_are_counted() -> None:
    before = "\n".join(f"line number {n}" for n in range(50))
    after = before.replace("number 20\n", "number twenty\n")
    assert text_changes(before, after) == (
        "  … 19 unchanged lines",
        "    20  line number 19",
        "~   21  line number [-20-]{+twenty+}",
        "    22  line number 21",
        "  … 28 unchanged lines",
    )


def test_a_change_in_a_very_long_line_shows_its_neighbourhood() -> None:
    before = "many words of a prompt on one line " * 100
    after = before[:1750] + "CHANGED " + before[1750:]
    (line,) = text_changes(before, after)
    assert "{+CHANGED" in line
    assert len(line) < 120


def test_long_runs_without_blanks_still_show_where_they_differ() -> None:
    gone, come = text_changes("x" * 500 + "a" + "y" * 500, "x" * 500 + "b" + "y" * 500)
    assert "xxxay" in gone
    assert "xxxby" in come
    shorter, longer = text_changes("x" * 500, "x" * 501)
    assert shorter[8:] != longer[8:]


def test_a_text_that_holds_our_marks_is_shown_in_whole_lines() -> None:
    assert text_changes("a [-b-] c", "a [-b-] d") == ("-    1  a [-b-] c", "+    1  a [-b-] d")


def test_the_output_is_bounded_and_says_how_much_is_left_out() -> None:
    before = "\n".join(f"a{n}" for n in range(300))
    after = "\n".join(f"b{n}" for n in range(300))
    lines = text_changes(before, after)
    assert len(lines) == LIMIT
    assert lines[-1] == "… 561 more changed lines (--all)"
    assert len(text_changes(before, after, limit=10**9)) == 600


def test_bytes_that_are_no_text_are_told_by_their_first_difference() -> None:
    assert text_changes(b"\xff\x00abc", b"\xff\x01abc") == (
        "~ not UTF-8 text: 5 → 5 bytes, first difference at byte 1",
        "- ff 00 61 62 63",
        "+ ff 01 61 62 63",
    )
    assert text_changes(b"\xff", b"\xff") == ()
    assert text_changes(b"\xff", b"")[1:] == ("- ff", "+ end")
    assert text_changes("\ud800", b"\xff")


def test_a_text_that_appeared_or_went_is_shown_whole() -> None:
    assert text_changes("", "new\ntext") == ("+    1  new", "+    2  text")
    assert text_changes("old", "") == ("-    1  old",)


TEXTS = st.text(st.sampled_from("ab \n\t.\u200b\u00a0中ée\u0301\u043eo\r"), max_size=14)


@given(TEXTS, TEXTS, st.sampled_from(["word", "token"]))
@settings(max_examples=500, deadline=None)
def test_a_diff_is_empty_only_for_equal_texts(before: str, after: str, unit: Unit) -> None:
    lines = text_changes(before, after, unit=unit)
    assert (lines == ()) == (before == after)
    assert all("\n" not in line for line in lines)
    assert before == after or any(line[0] in "~+-" for line in lines)


@given(TEXTS, TEXTS, st.sampled_from(["word", "token"]))
@settings(deadline=None)
def test_pieces_put_together_give_both_texts(before: str, after: str, unit: Unit) -> None:
    found = pieces(before, after, unit)
    assert "".join(piece.text for piece in found if piece.kind != "+") == before
    assert "".join(piece.text for piece in found if piece.kind != "-") == after
    assert "".join(units(before, unit)) == before


def test_pieces_join_what_belongs_together() -> None:
    assert pieces("a b c", "x y c", "word") == [Piece("-", "a b"), Piece("+", "x y"), Piece(" ", " c")]


def test_shortening_keeps_short_lines_and_starts_before_the_difference() -> None:
    assert shorten("short") == "short"
    long = "a" * 1000
    assert shorten(long, long[:600] + "b") != shorten(long[:600] + "b" * 400, long)
    assert len(shorten(long, long[:600] + "b")) < LONGEST + 60
