"""Text in columns: broken at blanks, run on, cut. Widths are those of a terminal, not of Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from governance.report.escape import cells


def flow(items: Sequence[str], width: int) -> Iterator[str]:
    """The items one after the other, each whole, as many to a line as fit."""
    line = " "
    for number, item in enumerate(items):
        piece = item if number == len(items) - 1 else f"{item} ·"
        if line.strip() and cells(line) + 1 + cells(piece) > width:
            yield line
            line = " "
        line += f" {piece}"
    yield line


def clip(text: str, width: int) -> str:
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    """`text` broken at blanks so that lines fit `width`; a word longer than a line stays whole."""
    lines, line = [], first
    empty = True
    for word in _words(text):
        if not empty and cells(line) + cells(word) > width:
            lines.append(line.rstrip())
            line, word = rest, word.lstrip(" ")
        line += word
        empty = False
    return [*lines, line if empty else line.rstrip()]


def _words(text: str) -> Iterable[str]:
    """The words of `text`, each with the blanks before it, so that columns inside a sentence survive."""
    start = 0
    for index in range(1, len(text)):
        if text[index] == " " and text[index - 1] != " ":
            yield text[start:index]
            start = index
    if text:
        yield text[start:]
