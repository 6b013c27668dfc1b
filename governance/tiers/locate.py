"""Where a value stands in a plain block-style file, found by its indentation: a shortcut to `Marks`.

- Composing a file for its marks costs milliseconds; ten thousand files with a warning each would cost a
  minute.
- It answers only when it is certain: one line of that key at that depth, a scalar on the same line, no
  second way of writing the key in sight. Else it is None, and the marks are asked. A test holds both to the
  same answers.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from governance.tiers.marks import Place
from governance.values import KeyPath

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./@+-](?:[A-Za-z0-9_./@+:,-]|(?<!:) (?![#\s]))*(?=\s*(?:\n|\Z| #))")
_QUOTED: Final = re.compile(r"\"[^\"\\\n]*\"|'[^'\n]*'(?!')")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_REST: Final = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_LINE: Final = re.compile(r"\n( *)(?![\s#])")


def quick_place(text: str, path: KeyPath, *, on_key: bool = False) -> Place | None:
    """The place of the scalar (or, with `on_key`, of the key) at `path` in `text`; None when uncertain."""
    if not path:
        return None
    start, end, indent, at = 0, len(text), 0, -1
    for depth, step in enumerate(path):
        if not isinstance(step, str) or not _WORD.match(step):
            return None
        at = _line_of(text, step, indent, start, end)
        if at < 0:
            return None
        if depth + 1 < len(path):
            region = _block(text, at + len(step) + 1, indent, end)
            if region is None:
                return None
            start, end, indent = region
    last = str(path[-1])
    return _key_place(text, at, last) if on_key else _value_place(text, at + len(last) + 1, indent)


def _line_of(text: str, step: str, indent: int, start: int, end: int) -> int:
    """The offset of the one key `step` at `indent` between `start` and `end`; -1 unless it is there once."""
    wanted = "\n" + " " * indent + step + ":"
    if start == 0 and text.startswith(wanted[1:]):
        at = indent
    else:
        found = text.find(wanted, max(0, start - 1), end)
        if found < 0:
            return -1
        at = found + 1 + indent
    after = at + len(step) + 1
    if text.find(wanted, after, end) >= 0 or text[after : after + 1] not in {" ", "\n"}:
        return -1
    for other in (f'"{step}"', f"'{step}'", f"{step} :"):
        if text.find(other, start, end) >= 0:
            return -1
    return at


def _block(text: str, after: int, indent: int, end: int) -> tuple[int, int, int] | None:
    """Start, end and indentation of the block below a key whose value begins on the next line."""
    line_end = text.find("\n", after, end)
    if line_end < 0:
        return None
    rest = text[after:line_end].strip()
    if rest and not rest.startswith("#"):
        return None
    first = _LINE.search(text, line_end)
    if first is None or first.start() >= end or len(first[1]) <= indent:
        return None
    inner = len(first[1])
    close = _closing(inner).search(text, first.end(), end)
    return first.start() + 1, close.start() + 1 if close else end, inner


@lru_cache(maxsize=64)
def _closing(indent: int) -> re.Pattern[str]:
    return re.compile(rf"\n {{0,{indent - 1}}}(?![\s#])")


def _position(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def _key_place(text: str, at: int, key: str) -> Place:
    line, column = _position(text, at)
    return Place(line, column, at, at + len(key))


def _value_place(text: str, after: int, indent: int) -> Place | None:
    while text[after : after + 1] == " ":
        after += 1
    token = _QUOTED.match(text, after)
    style = token[0][0] if token else ""
    token = token or _PLAIN.match(text, after)
    if token is None or not _REST.match(text, token.end()):
        return None
    following = _LINE.search(text, token.end())
    if following is not None and len(following[1]) > indent:
        return None
    line, column = _position(text, after)
    return Place(line, column, after, token.end(), style)
