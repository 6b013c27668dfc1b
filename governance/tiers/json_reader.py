"""Strict JSON: what `json.loads` gives when nothing is doubtful; every fault with its place otherwise.

- Duplicate keys, NaN, infinities, overflow, whole numbers beyond 2^53 - 1 and half characters are faults.
- Depth is bounded before anything recursive runs.
- The fast way accepts only what the exact way would accept with the same value (a law in the tests).
"""

from __future__ import annotations

import json.decoder
import re
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder
from typing import Final, NoReturn

from governance.tiers.exact import MAX_DEPTH, MAX_NODES, Composed
from governance.tiers.faults import Fault, token
from governance.tiers.marks import Place, Places
from governance.tiers.scalars import Refusal, finite, resolve
from governance.tiers.text import key_spot
from governance.values import Json, KeyPath, key_text

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[-+.\w]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKET = re.compile(r'["\[\]{}]')
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_CONSTANTS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}


# the C scanner of the standard library, also behind `json.loads`; typeshed leaves it out
_scan_string: Callable[[str, int, bool], tuple[str, int]] = json.decoder.scanstring  # type: ignore[attr-defined]


class _DoubtError(Exception):
    """The fast way is not sure; the exact way decides."""


def _doubt(_: object) -> NoReturn:
    raise _DoubtError


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    mapping = dict(pairs)
    names = "".join(mapping)
    if len(mapping) != len(pairs) or not (names.isascii() and names.isprintable()):
        raise _DoubtError
    return mapping


def _int(text: str) -> int:
    if len(text) > 15:
        raise _DoubtError
    return int(text)


def _float(text: str) -> float:
    if len(text) > 24 or "e" in text or "E" in text:
        raise _DoubtError
    return float(text)


_DECODER = JSONDecoder(
    object_pairs_hook=_pairs, parse_constant=_doubt, parse_int=_int, parse_float=_float, strict=True
)


def quick(text: str) -> Json:
    """The value of `text` where it is surely right; None where it is doubtful (null included)."""
    if too_deep(text) is not None or "\\u" in text or _may_be_too_many(text):
        return None
    try:
        value: Json = _DECODER.decode(text)
    except (_DoubtError, JSONDecodeError):
        return None
    return value


def _may_be_too_many(text: str) -> bool:
    """Every value but the first comes after a comma, or opens a collection."""
    return len(text) > MAX_NODES and sum(map(text.count, ",[{")) >= MAX_NODES


def too_deep(text: str) -> int | None:
    """The offset where nesting goes beyond the bound, or None."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return None
    depth, offset = 0, 0
    while found := _BRACKET.search(text, offset):
        offset = found.end()
        sign = found[0]
        if sign == '"':
            string = _STRING.match(text, found.start())
            if string is None:
                return None
            offset = string.end()
            continue
        depth += 1 if sign in "[{" else -1
        if depth > MAX_DEPTH:
            return found.start()
    return None


class _RefusedError(Exception):
    """Reading ends here."""


class Scanner:
    """Reads one JSON value with places. It recurses, within `MAX_DEPTH`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.faults: list[Fault] = []
        self.values: dict[KeyPath, Place] = {}
        self.keys: dict[KeyPath, Place] = {}
        self.nodes = 0
        self.line_starts = _line_starts(text)

    def run(self) -> Composed:
        """The whole text as one value."""
        tree: Json = None
        try:
            tree = self.value_at(())
            self.skip()
            if self.at < len(self.text):
                self.stop("something follows the end of the JSON value", "keep one value in the file")
        except _RefusedError:
            pass
        return Composed(None if self.faults else tree, Places(self.values, self.keys), self.faults)

    def value_at(self, path: KeyPath) -> Json:
        """The value that starts here. Recursion is bounded by `MAX_DEPTH`."""
        self.skip()
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.stop(f"more than {MAX_NODES:,} values in one file", "split the file", code="TL016")
        start = self.at
        sign = self.text[start : start + 1]
        if sign in {"{", "["}:
            if len(path) >= MAX_DEPTH:
                self.stop(f"nested deeper than {MAX_DEPTH} levels", "flatten the file", code="TL015")
            self.at += 1
            value: Json = self.object_at(path) if sign == "{" else self.array_at(path)
        elif sign == '"':
            value = self.string(path)
        else:
            value = self.atom(path)
        self.values[path] = self.place(start, sign if sign in {"{", "[", '"'} else "")
        return value

    def object_at(self, path: KeyPath) -> dict[str, Json]:
        """The members up to the closing brace."""
        mapping: dict[str, Json] = {}
        if self.take("}"):
            return mapping
        while True:
            self.skip()
            start = self.at
            if self.text[start : start + 1] != '"':
                self.stop(
                    "a key in double quotes is expected", "quote the key; no comma before the closing brace"
                )
            key = self.string(path)
            self.key_seen(path, key, start, mapping)
            if not self.take(":"):
                self.stop("`:` is expected after a key")
            mapping[key] = self.value_at((*path, key))
            if self.take("}"):
                return mapping
            if not self.take(","):
                self.stop("`,` or `}` is expected")

    def key_seen(self, path: KeyPath, key: str, start: int, mapping: dict[str, Json]) -> None:
        """Record where the key stands; a fault when it stands there twice."""
        full, place = (*path, key), self.place(start, '"')
        if key in mapping:
            first = self.keys[full].line
            self.faults.append(
                Fault(
                    "TL007",
                    f"key `{token(key_text(full), 80)}` is here and on line {first}",
                    start,
                    place.end - start,
                    full,
                    "remove one of the two; most readers keep the last without a word",
                )
            )
        self.keys[full] = place
        spot = key_spot(key)
        if spot is not None:
            message = f"key `{token(key)}`: {spot.message}"
            self.faults.append(
                Fault(spot.code, message, start, place.end - start, full, "type the key again")
            )

    def array_at(self, path: KeyPath) -> list[Json]:
        """The items up to the closing bracket."""
        items: list[Json] = []
        if self.take("]"):
            return items
        while True:
            items.append(self.value_at((*path, len(items))))
            if self.take("]"):
                return items
            if not self.take(","):
                self.stop("`,` or `]` is expected")

    def string(self, path: KeyPath) -> str:
        """The string that starts at the quote here."""
        start = self.at
        try:
            text, self.at = _scan_string(self.text, start + 1, True)
        except JSONDecodeError as error:
            self.at = error.pos
            self.stop(
                f"{error.msg.split(' at')[0].lower()}",
                "close the quotes; write control characters as escapes",
            )
        if not text.isascii() and _SURROGATE.search(text):
            self.faults.append(
                Fault(
                    "TL025",
                    "an escape here yields half a character",
                    start,
                    self.at - start,
                    path,
                    "write the character itself",
                )
            )
        return text

    def atom(self, path: KeyPath) -> Json:
        """A number or one of the three words."""
        start = self.at
        found = _WORD.match(self.text, start)
        word = found[0] if found else ""
        self.at += len(word)
        if word in _CONSTANTS:
            return _CONSTANTS[word]
        number = _NUMBER.fullmatch(word)
        if number is None:
            self.at = start
            self.not_an_atom(word, path)
        value: Json | Refusal = finite(word) if number[1] or number[2] else resolve(word)
        if isinstance(value, Refusal):
            self.faults.append(Fault(value.code, value.message, start, len(word), path, value.hint))
            return None
        return value

    def not_an_atom(self, word: str, path: KeyPath) -> NoReturn:
        """Word the refusal of something that is no JSON value."""
        if word.lstrip("+-").lower() in {"nan", "inf", "infinity"}:
            hint = "write a finite number, or leave the key out"
            self.stop(f"`{word}` is not a finite number", hint, code="TL012", width=len(word), path=path)
        if word:
            self.stop(f"`{token(word)}` is not a JSON value", "quote text", width=len(word), path=path)
        found = self.text[self.at : self.at + 1]
        self.stop(
            f"a value is expected, not `{token(found)}`"
            if found
            else "the text ends where a value is expected"
        )

    def stop(
        self, message: str, hint: str = "", *, code: str = "TL021", width: int = 1, path: KeyPath = ()
    ) -> NoReturn:
        """Keep the fault that ends reading."""
        self.faults.append(Fault(code, message, self.at, width, path, hint))
        raise _RefusedError

    def skip(self) -> None:
        """Go past blanks."""
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, sign: str) -> bool:
        """Go past `sign` if it is next."""
        self.skip()
        if self.text.startswith(sign, self.at):
            self.at += 1
            return True
        return False

    def place(self, start: int, style: str) -> Place:
        """The place from `start` to here."""
        from bisect import bisect_right

        line = bisect_right(self.line_starts, start)
        return Place(line, start - self.line_starts[line - 1] + 1, start, self.at, style)


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in re.finditer("\n", text))]


def compose(text: str) -> Composed:
    """The tree of `text`, its places and every fault found."""
    deep = too_deep(text)
    if deep is not None:
        fault = Fault("TL015", f"nested deeper than {MAX_DEPTH} levels", deep, 1, (), "flatten the file")
        return Composed(None, Places(), [fault])
    return Scanner(text).run()


def places(text: str) -> Places:
    """The places of `text`."""
    return compose(text).places
