"""The one byte string of a value's meaning: RFC 8785 (JSON Canonicalization Scheme), and digests over it.

- Keys sorted by UTF-16 code units, no blanks, numbers as ECMAScript writes them: 1.0 is `1`, -0.0 is `0`.
- NaN, infinities, whole numbers beyond 2^53 - 1, half characters and keys that are no text raise `ValueError`
  naming the key path: they have no canonical form.
- Pure. The scheme's name is part of every fingerprint, so another form would be another scheme.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Final

from governance.tiers.scalars import MAX_INTEGER
from governance.values import Json, KeyPath, key_text

SCHEME: Final = "tl1-sha256"
MAX_DEPTH: Final = 200


def canonical(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`; `ValueError` names the key path of what has none."""
    parts: list[str] = []
    _write(value, (), parts)
    return "".join(parts).encode()


def digest(value: Json) -> str:
    """The SHA-256 of the canonical bytes of `value`, 64 hex characters."""
    return hashlib.sha256(canonical(value)).hexdigest()


def text_digest(data: bytes) -> str:
    """The SHA-256 of `data` as it is, 64 hex characters: text and files enter a fingerprint byte-exact."""
    return hashlib.sha256(data).hexdigest()


def _write(value: Json, path: KeyPath, parts: list[str]) -> None:
    if value is None or value is True or value is False:
        parts.append({None: "null", True: "true", False: "false"}[value])
    elif isinstance(value, str):
        parts.append(_string(value, path))
    elif isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise ValueError(_at(path, "a whole number beyond 2^53 - 1"))
        parts.append(str(int(value)))
    elif isinstance(value, float):
        parts.append(_number(value, path))
    elif len(path) >= MAX_DEPTH:
        raise ValueError(_at(path[:3], f"nested deeper than {MAX_DEPTH} levels"))
    elif isinstance(value, Mapping):
        _write_mapping(value, path, parts)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        _write_sequence(value, path, parts)
    else:
        raise ValueError(_at(path, f"a {type(value).__name__}"))


def _write_mapping(value: Mapping[str, Json], path: KeyPath, parts: list[str]) -> None:
    for key in value:
        if not isinstance(key, str):  # type: ignore[redundant-expr]  # callers are not all typed
            raise ValueError(_at(path, f"the key {key!r}, which is no text"))
    separator = "{"
    for key in sorted(value, key=lambda k: k.encode("utf-16-be", "surrogatepass")):
        parts.append(separator + _string(key, (*path, key)) + ":")
        _write(value[key], (*path, key), parts)
        separator = ","
    parts.append("{}" if separator == "{" else "}")


def _write_sequence(value: Sequence[Json], path: KeyPath, parts: list[str]) -> None:
    parts.append("[")
    for number, item in enumerate(value):
        if number:
            parts.append(",")
        _write(item, (*path, number), parts)
    parts.append("]")


def _string(text: str, path: KeyPath) -> str:
    quoted = encode_basestring(text)
    if not quoted.isascii():
        try:
            quoted.encode()
        except UnicodeEncodeError:
            raise ValueError(_at(path[:-1], "half a character (a lone surrogate) in text")) from None
    return quoted


def _number(value: float, path: KeyPath) -> str:
    """As ECMAScript writes it (ECMA-262 6.1.6.1.20), from the shortest digits that read back (`repr`)."""
    if value - value != 0.0:
        raise ValueError(_at(path, f"{value!r}, which is no finite number"))
    if value == 0.0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len((whole + fraction).lstrip("0")))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if 0 < point <= 21:
        body = digits.ljust(point, "0")
        body = body[:point] + ("." + body[point:] if len(body) > point else "")
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        body = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return sign + body


def _at(path: KeyPath, what: str) -> str:
    return f"`{key_text(path) or 'the value'}` holds {what}; it has no canonical form"
