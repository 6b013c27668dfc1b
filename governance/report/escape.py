"""Text that is safe to show: what a reader could not see, or a terminal would obey, is spelled out.

- Control characters (a terminal would act on them), bidirectional controls, zero-width characters, line
  separators and lone surrogates become escapes: `\\x1b`, `\\u202e`, `\\udc80`.
- Every renderer runs user text through `plain` first and then escapes for its own medium.
- Ordinary text of any language is left alone; the joiner of an emoji is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from governance.values import ABSENT, Json, Unknown, Value

_HIDDEN = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x00AD,
    0x061C,
    0x180E,
    *range(0x200B, 0x200D),
    *range(0x200E, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
)
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(point: int) -> str:
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


@cache
def _escapes() -> dict[int, str]:
    """Built when first needed: most reports are ASCII."""
    points = (*_HIDDEN, *range(0xD800, 0xE000))
    return {point: _NAMED.get(chr(point), _escape(point)) for point in points}


def plain(text: str) -> str:
    """`text` on one line, with every character that does not show itself written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_escapes())


def cells(text: str) -> int:
    """How many terminal columns `text` takes; East Asian wide characters take two, marks take none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, width: int) -> str:
    """`text` filled with blanks up to `width` columns."""
    return text + " " * max(0, width - cells(text))


def show(value: Value) -> str:
    """A value as a reader should see it: `1`, `1.0`, `true` and the text `"1"` stay apart."""
    if value is ABSENT:
        return "not set"
    if isinstance(value, Unknown):
        return f"unknown ({plain(value.reason)})"
    if isinstance(value, str) and _bare(value):
        return plain(value)
    return plain(compact(value))


def compact(value: Value) -> str:
    """`value` as JSON on one line; an unknown is `{"unknown": reason}`."""
    import json

    return json.dumps(jsonable(value), ensure_ascii=False, separators=(", ", ": "))


def jsonable(value: Value) -> Json:
    """`value` as JSON: an unknown says why, an absent value is null (leave it out where you can)."""
    if isinstance(value, Unknown):
        return {"unknown": value.reason}
    if isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return None if value is ABSENT else value
    if isinstance(value, Mapping):
        return {key: jsonable(item) for key, item in value.items()}
    return [jsonable(item) for item in value]


def short(digest: str) -> str:
    """The first 12 hex digits of a digest; `sha256:` and the like keep their name; other text as it is."""
    recipe, _, digits = digest.rpartition(":")
    if len(digits) < 40 or not all(c in "0123456789abcdef" for c in digits):
        return digest
    return f"{recipe}:{digits[:12]}…" if recipe else digits[:12]


def shorten(text: str, width: int) -> str:
    """`text` cut to `width` characters with its length named, so that nobody takes the part for the whole."""
    if len(text) <= width:
        return text
    return f"{text[: max(1, width - 1)]}…"


def _bare(text: str) -> bool:
    """Whether `text` can stand without quotes and not be taken for a number, a word of JSON, or nothing."""
    if not text or text != text.strip() or text in ("true", "false", "null", "not set"):
        return False
    if text[0] in "\"'[{" or not text.isprintable():
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
