"""Texts cut into sentences, paragraphs and words, and brought into the one form that is compared.

- A sentence ends at `.`, `!`, `?`, `…` or their CJK forms, before a blank or the end, at an empty line, and
  before the next entry of a list. Not after an abbreviation, an initial, or the number of a list entry; a
  decimal point ends nothing.
- A paragraph ends at an empty line. The lines of a list are one paragraph.
- A CJK or Thai letter counts as a word of its own: there are no blanks between words.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_END: Final = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s|$)|[。！？]+[」』”）]*|\n\s*\n|\n(?=[^\S\n]*(?:[-*•–]|\d{1,3}[.)])\s)"
)
_LAST_WORD: Final = re.compile(r"(?:^|[\s(\[\"'“])([^\W\d_]+(?:\.[^\W\d_]+)*)$")
_LIST_NUMBER: Final = re.compile(r"(?:^|\n)\s*\d{1,3}$")
_TITLES: Final = frozenset({"Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Gen", "Col", "Sen", "Rep", "Gov", "Capt",
    "Lt", "Sgt", "Rev", "Mme", "Mlle", "Sr", "Sra", "vs", "cf"})  # fmt: skip
_NUMBERED: Final = frozenset({"No", "Nos", "Nr", "Fig", "Art", "Abs", "Sec", "p", "pp", "vol", "ca", "approx",
    "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Sept", "Oct", "Nov", "Dec"})  # fmt: skip
_SHORT: Final = frozenset({"etc", "al", "Inc", "Ltd", "Co", "Corp", "Jr", "ed", "eds", "est", "bzw", "usw",
    "Ud", "max", "min", "incl"})  # fmt: skip
_WORD: Final = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]|[^\W_]+(?:['’.,-][^\W_]+)*"
)
_LOOK_BACK: Final = 40
_ARTICLES: Final = re.compile(r"\b(?:a|an|the)\b")


def sentences(text: str) -> list[str]:
    """The sentences of `text`; a text without an end mark is one sentence."""
    found, start = [], 0
    for mark in _END.finditer(text):
        before = text[start : mark.start()]
        if mark[0] == "." and _goes_on(before, text[mark.end() :].lstrip()[:1]):
            continue
        found.append(text[start : mark.end()])
        start = mark.end()
    found.append(text[start:])
    return [each.strip() for each in found if words(each)]


def _goes_on(before: str, after: str) -> bool:
    """Whether a full stop behind `before` ends no sentence; `after` is the next letter, if any."""
    before = before if len(before) <= _LOOK_BACK else f"x{before[-_LOOK_BACK:]}"
    if _LIST_NUMBER.search(before):
        return True
    if before[-1:].isdigit():
        return after.islower()
    found = _LAST_WORD.search(before)
    word = found[1] if found else ""
    if word in _TITLES:
        return True
    if word in _NUMBERED:
        return after.isdigit()
    if word in _SHORT or "." in word:
        return bool(after) and not after.isupper()
    return len(word) == 1 and word.isupper() and word != "I"


def paragraphs(text: str) -> list[str]:
    """The parts of `text` between empty lines."""
    return [each.strip() for each in re.split(r"\n[^\S\n]*\n", text) if each.strip()]


def words(text: str) -> list[str]:
    """The words of `text`; `3.14`, `don't` and `e-mail` are one word each."""
    return _WORD.findall(text)


def plain(text: str, *, articles: bool = False) -> str:
    """`text` in composed compatibility form, case-folded, without punctuation, single blanks.

    English articles are dropped unless `articles` is set: the form in which SQuAD compares answers
    (Rajpurkar et al. 2016). Signs between digits stay, so that 3.5 and 35 differ, and so does a minus.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    kept = "".join(char if _stays(folded, at) else " " for at, char in enumerate(folded))
    without = kept if articles else _ARTICLES.sub(" ", kept)
    return " ".join(without.split()) or " ".join(kept.split())


def _stays(text: str, at: int) -> bool:
    char = text[at]
    if char.isalnum() or char == "%" or unicodedata.category(char) in {"Mn", "Mc", "Nd", "Sc", "Sm", "So"}:
        return True
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if char in ".,:/-" and before.isdigit():
        return after.isdigit()
    return char == "-" and after.isdigit() and not before.isalpha()


def tokens(text: str) -> list[str]:
    """The words of `plain(text)`."""
    return plain(text).split()
