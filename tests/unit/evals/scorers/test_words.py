"""Sentences, words and the compared form: contracts and limits are judged by these counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.evals.scorers.languages import language_of
from governance.evals.scorers.words import paragraphs, plain, sentences, words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n", 0),
        ("...", 0),
        ("One", 1),
        ("One.", 1),
        ("One. Two. Three.", 3),
        ("Is it? Yes! Good.", 3),
        ("Really?! Yes.", 2),
        ("It rose by 3.5 percent. Then it fell.", 2),
        ("Dr. Low met Mrs. Hay. They spoke.", 2),
        ("The U.S. economy grew. Prices fell.", 2),
        ("He lives in the U.S. She does not.", 2),
        ("Tools, e.g. hammers, are sold at 5 p.m. daily.", 1),
        ("It was written by J. R. R. Tolkien.", 1),
        ("No. It is not.", 2),
        ("See No. 5 for that.", 1),
        ("Apples, pears, etc. are fruit.", 1),
        ("We sell apples, pears, etc. They are fresh.", 2),
        ('He said "Stop." Then he left.', 2),
        ("He waited… Then he left.", 2),
        ("1. Wash it.\n2. Dry it.", 2),
        ("- tea\n- milk\n- bread", 3),
        ("First\n\nSecond", 2),
        ("On 11.5. it opens", 1),
        ("これは本です。あれはペンです。", 2),
        ("你好！你是谁？", 2),
        ("It is I. Open the door.", 2),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, count: int) -> None:
    assert len(sentences(text)) == count, sentences(text)


@given(st.text(max_size=300))
def test_sentences_lose_no_word(text: str) -> None:
    assert [word for each in sentences(text) for word in words(each)] == words(text)


@given(st.lists(st.sampled_from(["The bridge is closed.", "Who came?", "It cost 3.5 euros!"]), max_size=8))
def test_plain_sentences_are_counted_one_by_one(parts: list[str]) -> None:
    assert sentences(" ".join(parts)) == parts


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("one two", 2),
        ("don't", 1),
        ("e-mail 3.14", 2),
        ("a - b", 2),
        ("日本語", 3),
        ("größer", 1),
        ("—", 0),
    ],
)
def test_words_are_what_a_reader_counts(text: str, count: int) -> None:
    assert len(words(text)) == count


def test_paragraphs_are_parts_between_empty_lines() -> None:
    assert paragraphs("a\nb\n\n\n c \n \nd\n") == ["a\nb", "c", "d"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("The Eiffel Tower.", "eiffel tower"),
        ("  a  b ", "A B"),
        ("ＡＢＣ", "abc"),
        ("Straße", "STRASSE"),
        ("it’s", "its"),
        ("well-known", "well known"),
        ("“Yes”", "yes"),
    ],
)
def test_what_does_not_count_is_dropped(left: str, right: str) -> None:
    assert plain(left) == plain(right)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("3.5", "35"),
        ("-5", "5"),
        ("5%", "5"),
        ("$5", "5"),
        ("a", "the"),
        ("1/2", "12"),
        ("C++", "C"),
        ("café", "cafe"),
    ],
)
def test_what_does_count_stays(left: str, right: str) -> None:
    assert plain(left, articles=True) != plain(right, articles=True)


def test_an_answer_that_is_only_an_article_is_still_an_answer() -> None:
    assert plain("A") == "a"


@given(st.text(max_size=100))
def test_the_compared_form_is_its_own_compared_form(text: str) -> None:
    assert plain(plain(text, articles=True), articles=True) == plain(text, articles=True)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The council of the city has decided that the bridge is to be closed for repairs in May.", "en"),
        ("Die Stadt hat beschlossen, dass die Brücke im Mai für die Arbeiten nicht offen ist.", "de"),
        ("La ville a décidé que le pont sera fermé pour des travaux dans le mois de mai.", "fr"),
        ("El ayuntamiento ha decidido que el puente se cierra en mayo para las obras de la ciudad.", "es"),
        ("Die Brücke", ""),
        ("これは本です。", "ja"),
        ("这是一本书。", "zh"),
        ("이것은 책입니다", "ko"),
        ("12345", ""),
        ("", ""),
    ],
)
def test_a_language_is_told_only_where_it_is_sure(text: str, language: str) -> None:
    assert language_of(text) == language
