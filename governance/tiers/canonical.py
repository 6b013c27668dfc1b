"""The one byte string of a value's meaning: RFC 8785 (JSON Canonicalization Scheme), and digests over it.

- Keys sorted by UTF-16 code units, no blanks, numbers as ECMAScript writes them: 1.0 is `1`, -0.0 is `0`.
- NaN, infinities, whole numbers beyond 2^53 - 1, half characters and keys that are no text raise `ValueError`
  naming the key path: they have no canonical form.
- Two ways, one result: orjson where its bytes are RFC 8785 once some floats are replaced, else plain Python.
- Pure. The scheme's name is part of every fingerprint, so another form would be another scheme.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from json.encoder import encode_basestring
from typing import Any, Final

from governance.values import Json, KeyPath, key_text

SCHEME: Final = "tl1-sha256"
MAX_DEPTH: Final = 200
MAX_INTEGER: Final = 2**53 - 1

_AS_THEY_ARE: Final = frozenset({str, int, bool, type(None)})


class _OtherWay(Exception):
    """orjson would not write the canonical bytes."""


_PLAINLY: Final = 32 * 1024
"""Bytes written in plain Python before orjson is worth its import: 20 ms, more than a hook digests in all."""

_written = [0]


def canonical(value: Json) -> bytes:
    """The RFC 8785 bytes of `value`; `ValueError` names the key path of what has none."""
    if _written[0] < _PLAINLY:
        plain = canonical_exactly(value)
        _written[0] += len(plain)
        return plain
    try:
        return _writer()(_prepared(value))
    except (_OtherWay, TypeError, RecursionError):
        return canonical_exactly(value)


@cache
def _writer() -> Callable[[Any], bytes]:
    """orjson's writer. Importing it takes 20 ms, which a run that digests nothing does not spend."""
    import orjson

    options = (
        orjson.OPT_SORT_KEYS
        | orjson.OPT_STRICT_INTEGER
        | orjson.OPT_PASSTHROUGH_DATACLASS
        | orjson.OPT_PASSTHROUGH_DATETIME
        | orjson.OPT_PASSTHROUGH_SUBCLASS
    )
    return partial(orjson.dumps, option=options)


def digest(value: Json) -> str:
    """The SHA-256 of the canonical bytes of `value`, 64 hex characters."""
    return hashlib.sha256(canonical(value)).hexdigest()


def text_digest(data: bytes) -> str:
    """The SHA-256 of `data` as it is, 64 hex characters: text and files enter a fingerprint byte-exact."""
    return hashlib.sha256(data).hexdigest()


def _prepared(value: Any) -> Any:
    """`value` with the floats replaced that orjson writes unlike ECMAScript; itself if there are none."""
    kind = type(value)
    if kind is dict:
        if not "".join(value).isascii():
            raise _OtherWay  # orjson sorts by UTF-8 bytes, RFC 8785 by UTF-16 code units
        changed = [
            (key, new)
            for key, each in value.items()
            if type(each) not in _AS_THEY_ARE and (new := _prepared(each)) is not each
        ]
        return {**value, **dict(changed)} if changed else value
    if kind is float:
        return _prepared_float(value)
    if kind is list or kind is tuple:
        if all(type(each) in _AS_THEY_ARE for each in value):
            return value
        return [each if type(each) in _AS_THEY_ARE else _prepared(each) for each in value]
    if kind in _AS_THEY_ARE:
        return value
    raise _OtherWay


def _prepared_float(value: float) -> Any:
    size = -value if value < 0 else value
    if value.is_integer():
        if size <= MAX_INTEGER:
            return int(value)
    elif 1e-4 <= size < 1e16:
        return value
    raise _OtherWay


def canonical_exactly(value: Json) -> bytes:
    """What `canonical` gives, without orjson."""
    parts: list[str] = []
    _write(value, (), parts)
    return "".join(parts).encode()


def _write(value: Any, path: KeyPath, parts: list[str]) -> None:
    if value is None or value is True or value is False:
        parts.append("null" if value is None else "true" if value else "false")
    elif isinstance(value, str):
        parts.append(_string(value, path))
    elif isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise ValueError(_at(path, "a whole number beyond 2^53 - 1"))
        parts.append(str(int(value)))
    elif isinstance(value, float):
        parts.append(number_text(value, path))
    elif len(path) >= MAX_DEPTH:
        raise ValueError(_at(path[:3], f"something nested deeper than {MAX_DEPTH} levels"))
    elif isinstance(value, Mapping):
        _write_mapping(value, path, parts)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        _write_sequence(value, path, parts)
    else:
        raise ValueError(_at(path, f"a {type(value).__name__}, which JSON does not know"))


def _write_mapping(value: Mapping[Any, Any], path: KeyPath, parts: list[str]) -> None:
    for key in value:
        if not isinstance(key, str):
            raise ValueError(_at(path, f"the key {key!r}, which is no text"))
    separator = "{"
    for key in sorted(value, key=_utf16):
        parts.append(separator + _string(key, (*path, key)) + ":")
        _write(value[key], (*path, key), parts)
        separator = ","
    parts.append("{}" if separator == "{" else "}")


def _write_sequence(value: Sequence[Any], path: KeyPath, parts: list[str]) -> None:
    parts.append("[")
    for number, item in enumerate(value):
        if number:
            parts.append(",")
        _write(item, (*path, number), parts)
    parts.append("]")


def _utf16(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def _string(text: str, path: KeyPath) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        where = (*path[:-1], text.encode(errors="replace").decode()) if path and path[-1] == text else path
        raise ValueError(_at(where, "half a character (a lone surrogate)")) from None
    return encode_basestring(str(text))


def number_text(value: float, path: KeyPath = ()) -> str:
    """`value` as ECMAScript writes it (ECMA-262 6.1.6.1.20), from the shortest digits (`repr`)."""
    if value - value != 0.0:
        raise ValueError(_at(path, f"{value!r}, which is no finite number"))
    if value == 0.0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    written = whole + fraction
    digits = written.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(written) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        body = digits.ljust(point, "0")
        body = body[:point] + ("." + body[point:] if len(body) > point else "")
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        body = digits[0] + ("." + digits[1:] if len(digits) > 1 else "") + f"e{point - 1:+d}"
    return ("-" if value < 0 else "") + body


def _at(path: KeyPath, what: str) -> str:
    return f"`{key_text(path) or 'the value'}` holds {what}; it has no canonical form"
