"""Strict reading of JSON that people sign: a value is what it must be, or a `ValueError` says why not."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from governance.values import Json

MAX_REASON: Final = 2000
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def reason_fault(reason: str) -> str:
    """Why a text cannot be the reason of an approval; empty when it can."""
    if not reason.strip():
        return "it is empty"
    if len(reason) > MAX_REASON:
        return f"it has {len(reason)} characters, at most {MAX_REASON} are kept"
    odd = next((one for one in reason if (ord(one) < 32 and one != "\n") or 0xD800 <= ord(one) < 0xE000), "")
    return f"it contains U+{ord(odd):04X}" if odd else ""


def reason_of(value: Json) -> str:
    """The reason of an approval."""
    reason = text_of(value, "reason")
    if fault := reason_fault(reason):
        raise ValueError(f"`reason` cannot be one: {fault}")
    return reason


def name_of(value: Json, key: str) -> str:
    """A name that is safe in a path: no step out of the folder, nothing a terminal would obey."""
    name = text_of(value, key)
    parts = name.split("/")
    if not name.isprintable() or len(name) > 300 or "\\" in name or any(p[:1] in ("", ".") for p in parts):
        raise ValueError(f"`{key}` is not a name")
    return name


def person_of(value: Json) -> str:
    """The name of a person, as the policy writes it."""
    name = name_of(value, "person")
    if "/" in name:
        raise ValueError("`person` is not a name")
    return name


def time_of(value: Json, key: str) -> datetime:
    """A moment as records write it."""
    text = text_of(value, key)
    if not _TIME.fullmatch(text) or not text.isascii():
        raise ValueError(f"`{key}` is not a time as 2026-11-30T09:00:00Z")
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def digest_of(value: Json, key: str) -> str | None:
    """64 hex digits, or None for null."""
    if value is None:
        return None
    text = text_of(value, key)
    if not _HEX.fullmatch(text):
        raise ValueError(f"`{key}` is not 64 hex digits")
    return text


def text_of(value: Json, key: str) -> str:
    """Text."""
    if not isinstance(value, str):
        raise ValueError(f"`{key}` is not text")
    return value


def list_of(value: Json, key: str) -> list[Json]:
    """A list."""
    if not isinstance(value, list):
        raise ValueError(f"`{key}` is not a list")
    return value


def object_of(value: Json, what: str) -> Mapping[str, Json]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")
    return value


def exactly(tree: Mapping[str, Json], wanted: set[str], what: str) -> None:
    """Nothing, when the keys of `tree` are exactly `wanted`."""
    if missing := sorted(wanted - tree.keys()):
        raise ValueError(f"{what} has no `{missing[0]}`")
    if more := sorted(tree.keys() - wanted):
        raise ValueError(f"{what} has a key that is not known: {more[0]!a}")


def json_of(data: bytes) -> Json:
    """The JSON in `data`; no key is there twice."""
    try:
        tree: Json = json.loads(data, object_pairs_hook=_unique)
    except RecursionError as err:
        raise ValueError("it is nested too deeply") from err
    return tree


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def base64_of(text: str) -> bytes:
    """The bytes of base64 in its one spelling."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as err:
        raise ValueError("`payload` is not base64") from err
    if base64.b64encode(data).decode() != text:
        raise ValueError("`payload` is not base64 in its one spelling")
    return data
