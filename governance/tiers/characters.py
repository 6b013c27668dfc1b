"""What single characters are and where they are at home: scripts, emoji, joiners, look-alike letters.

- Tables and questions about one character and its neighbours; no text is scanned here.
- Names come from the Unicode database of the interpreter; control characters, which have none, from a table.
"""

from __future__ import annotations

import unicodedata
from typing import Final

CONTROL_NAMES: Final = {
    "\0": "null", "\x07": "bell", "\x08": "backspace", "\t": "tab", "\x0b": "line tabulation",
    "\x0c": "form feed",
    "\r": "carriage return", "\x1b": "escape", "\x7f": "delete", "\x85": "next line",
}  # fmt: skip

BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
DIRECTION_MARKS: Final = frozenset("\u061c\u200e\u200f")

# Printable by category, yet nothing is drawn: fillers, joiners, variation selectors, blank Braille.
UNSEEN: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)

_CYRILLIC = "асеорхуіјѕһԁԛԝӏѵкАВСЕНІЈКМОРЅТХҮУ"
_AS_LATIN = "aceopxyijshdqwlvkABCEHIJKMOPSTXYY"
_GREEK, _GREEK_AS_LATIN = "ονυιΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovuiABEZHIKMNOPTYX"
_ARMENIAN, _ARMENIAN_AS_LATIN = "օհսո", "ohun"

LOOK_ALIKE: Final[dict[str, str]] = dict(
    zip(_CYRILLIC + _GREEK + _ARMENIAN, _AS_LATIN + _GREEK_AS_LATIN + _ARMENIAN_AS_LATIN, strict=True)
)
LOOK_ALIKE_LATIN: Final = frozenset(LOOK_ALIKE.values())

_MAX_INDENT: Final = 8
_MAX_FLAG_TAGS: Final = 8

Ranges = tuple[tuple[int, int], ...]
_LATIN: Ranges = ((0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x1E00, 0x1EFF))
_SCRIPTS: Final[dict[str, Ranges]] = {
    "Cyrillic": ((0x400, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF), (0xA640, 0xA69F)),
    "Greek": ((0x370, 0x3FF), (0x1F00, 0x1FFF)),
    "Armenian": ((0x530, 0x58F),),
}
_JOINED_SCRIPTS: Ranges = ((0x600, 0xFFF), (0x1000, 0x109F), (0x1780, 0x18AF), (0xA840, 0xABFF))
_UNSPACED_SCRIPTS: Ranges = ((0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF))
_CJK: Ranges = (
    (0x1100, 0x11FF), (0x2E80, 0x2FDF), (0x3001, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF),
    (0xF900, 0xFAFF), (0xFE30, 0xFE4F), (0xFF01, 0xFFEF), (0x20000, 0x3FFFF),
)  # fmt: skip
_EMOJI: Ranges = ((0x1F000, 0x1FAFF), (0x2190, 0x2BFF), (0x3030, 0x3030), (0x303D, 0x303D), (0x3297, 0x3299))


def within(char: str, ranges: Ranges) -> bool:
    """Whether the code point of `char` (empty: no) lies in one of `ranges`."""
    return bool(char) and any(low <= ord(char) <= high for low, high in ranges)


def is_cjk(char: str) -> bool:
    return within(char, _CJK)


def is_emoji(char: str) -> bool:
    return within(char, _EMOJI) or char in {"©", "®"}


def is_latin(char: str) -> bool:
    return within(char, _LATIN) and char not in {"×", "÷"}


def script_of(char: str) -> str:
    """`Cyrillic`, `Greek` or `Armenian`, else empty."""
    return next((name for name, ranges in _SCRIPTS.items() if within(char, ranges)), "")


def is_right_to_left(char: str) -> bool:
    return unicodedata.bidirectional(char) in {"R", "AL"} and char not in BIDI


def name_of(char: str) -> str:
    """`zero width space (U+200B)`."""
    name = CONTROL_NAMES.get(char) or unicodedata.name(char, "").lower()
    if not name:
        kind = {"Cc": "control character", "Co": "private-use character", "Cs": "half a character"}
        name = kind.get(unicodedata.category(char), "unassigned character")
    return f"{name} (U+{ord(char):04X})"


def is_odd(char: str) -> bool:
    """Whether `char` may be invisible or look like another; what is legitimate depends on its neighbours."""
    return char != "\n" and (not char.isprintable() or char in UNSEEN)


def has_a_home(char: str) -> bool:
    """Whether there is any place where the odd character `char` is legitimate."""
    return char in "\u200b\u200c\u200d\u3000\u180b\u180c\u180d\u180f" or (
        "\ufe00" <= char <= "\ufe0f"
        or "\U000e0020" <= char <= "\U000e007f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def at_home(text: str, index: int) -> bool:
    """Whether the odd character at `index` is where its script or an emoji needs it."""
    char = text[index]
    before, after = text[index - 1 : index] if index else "", text[index + 1 : index + 2]
    if char in "\u200c\u200d":
        return _joiner_at_home(text, index, before, after)
    if char == "\u200b":
        return within(before, _UNSPACED_SCRIPTS) and within(after, _UNSPACED_SCRIPTS)
    if char == "\u3000":
        return _ideographic_space_at_home(text, index)
    if "\ufe00" <= char <= "\ufe0f":
        return (
            is_emoji(before)
            or before in set("#*0123456789")
            or unicodedata.category(before or " ") == "Sm"
            or is_cjk(before)
        )
    if "\U000e0100" <= char <= "\U000e01ef":
        return is_cjk(before)
    if char in "\u180b\u180c\u180d\u180f":
        return within(before, ((0x1800, 0x18AF),))
    if "\U000e0020" <= char <= "\U000e007f":
        return _in_flag(text, index)
    return False


def _joiner_at_home(text: str, index: int, before: str, after: str) -> bool:
    if within(before, _JOINED_SCRIPTS):
        return True
    if text[index] == "\u200c" or not is_emoji(after):
        return False
    start = index - 1
    while start > 0 and (text[start] == "\ufe0f" or "\U0001f3fb" <= text[start] <= "\U0001f3ff"):
        start -= 1
    return start >= 0 and is_emoji(text[start])


def _ideographic_space_at_home(text: str, index: int) -> bool:
    """Before a Chinese or Japanese letter, alone or at most `_MAX_INDENT` of them, and after one or none."""
    start, end = index, index + 1
    while start and text[start - 1] == "\u3000" and index - start < _MAX_INDENT:
        start -= 1
    while text[end : end + 1] == "\u3000" and end - index < _MAX_INDENT:
        end += 1
    at_line_start = start == 0 or text[start - 1] == "\n"
    return is_cjk(text[end : end + 1]) and (at_line_start or is_cjk(text[start - 1]))


def _in_flag(text: str, index: int) -> bool:
    """Between a black flag and the cancel tag, as in the flag of Wales: at most `_MAX_FLAG_TAGS` letters."""
    start = index
    while start and "\U000e0020" <= text[start - 1] <= "\U000e007f" and index - start <= _MAX_FLAG_TAGS:
        start -= 1
    end = text.find("\U000e007f", index, start + _MAX_FLAG_TAGS + 1)
    return start > 0 and text[start - 1] == "\U0001f3f4" and end >= 0
