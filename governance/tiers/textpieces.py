"""Runs of words or tokens that two texts share and that only one has, and how they are marked in lines.

- A word is a run between blanks; a token is a run of letters and digits, a run of blanks, or one sign.
  Chinese and Japanese characters are words of their own; Hangul syllables are tokens of their own.
- A blank between two changes belongs to the change: `[-a b-]{+c d+}` reads better than two changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Final, Literal, NamedTuple

from governance.tiers.alignment import matches
from governance.tiers.text import visible, visible_pair

Unit = Literal["word", "token"]

NEARBY: Final = 36  # unchanged characters shown around a change within a line
LONGEST: Final = 240  # characters of one changed piece or of one line that are shown

_SINGLE: Final = "\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_ONE_BLANK: Final = re.compile("(?<=[^␠])␠$")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")


class Piece(NamedTuple):
    """A run of text: in both (`kind` is a blank), only in the older one (`-`) or only in the newer (`+`)."""

    kind: str
    text: str


def units(text: str, unit: Unit) -> list[str]:
    """`text` cut into words or tokens; joined they are `text` again."""
    wide = not text.isascii() and max(text) >= "\u2e80"
    return _pattern(unit, wide=wide).findall(text)


@cache
def _pattern(unit: Unit, *, wide: bool) -> re.Pattern[str]:
    """The expression of one unit; `wide` knows Chinese and Japanese, and takes 2 ms to compile."""
    blanks = r"\n|[^\S\n]+"
    if unit == "word":
        return re.compile(rf"{blanks}|[{_SINGLE}]|[^\s{_SINGLE}]+" if wide else rf"{blanks}|\S+")
    if not wide:
        return re.compile(rf"{blanks}|\w+|[^\w\s]")
    return re.compile(rf"{blanks}|[{_SINGLE}\uac00-\ud7af]|[^\W{_SINGLE}\uac00-\ud7af]+|[^\w\s]")


def pieces(before: str, after: str, unit: Unit) -> list[Piece]:
    """Both texts as one sequence of runs."""
    return list(_absorbed(_runs(units(before, unit), units(after, unit))))


def shared_length(found: Iterable[Piece]) -> int:
    """Characters that are in both texts, blanks around runs not counted."""
    return sum(len(piece.text.strip()) for piece in found if piece.kind == " ")


def shown_pair(before: str, after: str) -> tuple[str, str]:
    """Both texts made visible and never alike; escapes alone tell ASCII texts apart."""
    if before.isascii() and after.isascii():
        return visible(before), visible(after)
    return visible_pair(before, after)


def joined_lines(found: Sequence[Piece], at_old: int, at_new: int) -> Iterator[tuple[str, int, str]]:
    """The pieces as lines: sign, line number, and the marked text."""
    line: list[Piece] = []
    for piece in _cut_at_newlines(found):
        line.append(piece)
        whole = {one.kind for one in line}
        if piece.text.endswith("\n") and (piece.kind != "-" or whole == {"-"}):
            yield _line(line, at_old if whole == {"-"} else at_new)
            at_new += piece.kind != "-"
            at_old += sum(one.text.endswith("\n") for one in line if one.kind != "+")
            line = []
    if line:
        yield _line(line, at_old if {one.kind for one in line} == {"-"} else at_new)


def shorten(shown: str, other: str = "") -> str:
    """At most `LONGEST` characters of `shown`, from shortly before the place where `other` differs."""
    if len(shown) <= LONGEST:
        return shown
    differs = next((n for n, (one, two) in enumerate(zip(shown, other, strict=False)) if one != two), 0)
    start = max(0, min(differs or min(len(shown), len(other)), len(shown) - LONGEST // 2) - NEARBY)
    left = f"…{start} characters… " if start else ""
    rest = len(shown) - start - LONGEST
    return f"{left}{shown[start : start + LONGEST]}{f' …{rest} more characters' if rest > 0 else ''}"


def _runs(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    i = j = 0
    for next_i, next_j in [*matches(old, new), (len(old), len(new))]:
        if next_i > i:
            yield Piece("-", "".join(old[i:next_i]))
        if next_j > j:
            yield Piece("+", "".join(new[j:next_j]))
        if next_i < len(old):
            yield Piece(" ", old[next_i])
        i, j = next_i + 1, next_j + 1


def _absorbed(found: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind joined, blanks between two changes made part of the change."""
    gone = come = kept = ""
    for piece in found:
        if piece.kind == " ":
            kept += piece.text
            continue
        if kept and not (kept.isspace() and "\n" not in kept and (gone or come)):
            yield from _present(("-", gone), ("+", come), (" ", kept))
            gone = come = kept = ""
        gone, come, kept = gone + kept, come + kept, ""
        if piece.kind == "-":
            gone += piece.text
        else:
            come += piece.text
    yield from _present(("-", gone), ("+", come), (" ", kept))


def _present(*found: tuple[str, str]) -> Iterator[Piece]:
    return (Piece(kind, text) for kind, text in found if text)


def _cut_at_newlines(found: Iterable[Piece]) -> Iterator[Piece]:
    for kind, text in found:
        yield from (Piece(kind, part) for part in _LINES.findall(text))


def _line(line: Sequence[Piece], number: int) -> tuple[str, int, str]:
    kinds = {piece.kind for piece in line}
    if len(kinds) == 1:
        text = "".join(piece.text for piece in line).removesuffix("\n")
        return kinds.pop(), number, shorten(visible(text))
    merged = list(_absorbed(line))
    shown = ""
    for at, piece in enumerate(merged):
        last = at == len(merged) - 1
        if piece.kind == " ":
            shown += _context(piece.text.removesuffix("\n"), start=at == 0, end=last)
        else:
            shown += _mark(merged, at)
    return "~", number, shown


def _mark(line: Sequence[Piece], at: int) -> str:
    """One changed piece in its brackets, never looking like the piece it replaces."""
    kind, text = line[at]
    beside = at + 1 if kind == "-" else at - 1
    other = line[beside].text if 0 <= beside < len(line) and line[beside].kind in "-+" else ""
    shown, against = shown_pair(text, other) if other else (visible(text), "")
    if at + 1 < len(line):
        shown = _ONE_BLANK.sub(" ", shown)  # within a line the bracket shows it
    flat = shorten(shown.replace("\n", "\\n"), against.replace("\n", "\\n"))
    return f"[-{flat}-]" if kind == "-" else f"{{+{flat}+}}"


def _context(text: str, *, start: bool, end: bool) -> str:
    """An unchanged run beside a change: only its ends, blanks shown where they end the line."""
    shown = visible(text) if end else visible(f"{text}|")[:-1]
    if len(shown) <= NEARBY * (2 - start - end) + 3:
        return shown
    left = "" if start else shown[:NEARBY]
    right = "" if end else shown[-NEARBY:]
    return f"{left}…{right}"
