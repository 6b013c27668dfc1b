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
        found = _key(text, start, end, f"{indent}{step}:") if isinstance(step, str) else None
        if found is None:
            return None
        key, line_end = found
        value = _VALUE.match(text, key + len(indent) + len(str(step)) + 1, line_end)
        if depth == len(path) - 1:
            at = value.start(1) if value else key + len(indent)
            return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        below = _INDENT.search(text, line_end + 1, end)
        if value or below is None or len(below[1]) <= len(indent):
            return None
        start, end = line_end + 1, _block_end(text, line_end + 1, len(indent), end)
        indent = below[1]
    return None


_VALUE = re.compile(r"[ ]+([^\s#])")
_INDENT = re.compile(r"^([ ]*)[^\s#]", re.MULTILINE)


def _key(text: str, start: int, end: int, key: str) -> tuple[int, int] | None:
    """Start and end of the one line in the range that begins with `key`; None for none or two."""
    at = start if text.startswith(key, start) else text.find(f"\n{key}", max(start - 1, 0), end) + 1
    if (at == 0 and start) or not text.startswith(key, at) or text.find(f"\n{key}", at, end) >= 0:
        return None
    after = text[at + len(key) : at + len(key) + 1]
    line_end = text.find("\n", at, end)
    return (at, end if line_end < 0 else line_end) if after in ("", " ", "\n") else None


def _block_end(text: str, start: int, indent: int, end: int) -> int:
    """Where the block that starts at `start` ends: at the first line that is indented no deeper."""
    for line in _INDENT.finditer(text, start, end):
        if len(line[1]) <= indent:
            return line.start()
    return end
