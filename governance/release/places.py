"""Where a key of a config stands, without composing the file again where its lines tell.

- Composing a file takes 4 ms, and a release touches hundreds. In block style a key is the one line of its
  parent's block that starts with it, so lines decide; any doubt (a list, flow style, a quoted key, two
  candidates) goes to the marks.
- Pure.
"""

from __future__ import annotations

import re

from governance.tiers.reader import Reading
from governance.values import KeyPath


def place_of(reading: Reading, path: KeyPath) -> tuple[int, int]:
    """Line and column, from 1, of the value at `path`, or of the nearest thing above it that is there."""
    if (found := _by_lines(reading.text, path)) is not None:
        return found[0] + reading.first_line - 1, found[1]
    place = reading.marks.nearest(path)
    return (place.line, place.column) if place else (0, 0)


def _by_lines(text: str, path: KeyPath) -> tuple[int, int] | None:
    """The place of a value beside its key, else of the key; every step a plain key in block style."""
    start, end, indent = 0, len(text), ""
    for depth, step in enumerate(path):
        if not isinstance(step, str):
            return None
        pattern = re.compile(
            rf"^{indent}{re.escape(step)}:(?:[ ]+(?P<value>[^\s#].*))?[ ]*(?:[ ]#.*)?$", re.MULTILINE
        )
        matches = list(pattern.finditer(text, start, end))
        if len(matches) != 1:
            return None
        match = matches[0]
        value = match["value"]
        if depth == len(path) - 1:
            at = match.start("value") if value is not None else match.start() + len(indent)
            return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        if value is not None:
            return None
        start = match.end() + 1
        end = _block_end(text, start, len(indent), end)
        below = re.compile(r"[ ]*(?=[^\s#])").match(text, _first_line(text, start, end))
        if below is None or len(below[0]) <= len(indent):
            return None
        indent = below[0]
    return None


def _first_line(text: str, start: int, end: int) -> int:
    """The start of the first line that is neither empty nor a comment."""
    found = re.compile(r"^[ ]*[^\s#]", re.MULTILINE).search(text, start, end)
    return found.start() if found else start


def _block_end(text: str, start: int, indent: int, end: int) -> int:
    """Where the block that starts at `start` ends: at the first line that is indented no deeper."""
    found = re.compile(rf"^[ ]{{0,{indent}}}[^\s#]", re.MULTILINE).search(text, start, end)
    return found.start() if found else end
