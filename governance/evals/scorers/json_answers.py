"""The JSON value an answer holds: the whole of it, in a code fence, or the first one in running text.

- Strict JSON: a duplicate key, NaN or text behind the value is no JSON.
"""

from __future__ import annotations

import json
import re
from typing import Final

from governance.values import ABSENT, Absent, Json

_FENCE: Final = re.compile(r"(?<!`)```[^\S\n]*([\w+-]*)[^`\n]*\n(.*?)(?:\n[^\S\n]*```|\Z)", re.DOTALL)
_OPENS: Final = re.compile(r"[{\[]")
_TRIES: Final = 200


class _NoJsonError(ValueError):
    pass


def fences(answer: str, *languages: str) -> list[str]:
    """The contents of the code fences of `answer`; of those marked as one of `languages` when any is."""
    found = [(match[1].lower(), match[2]) for match in _FENCE.finditer(answer)]
    marked = [text for language, text in found if language in languages]
    return marked or [text for _, text in found]


def value_in(answer: str, *, where: str = "fence") -> Json | Absent:
    """The JSON value of `answer`, ABSENT when there is none.

    `where`: `whole` is the whole answer; `fence` also takes one code fence around it; `first` also takes the
    first object or list in running text.
    """
    value = _parsed(answer.strip())
    if value is not ABSENT or where == "whole":
        return value
    for text in fences(answer, "json"):
        value = _parsed(text.strip())
        if value is not ABSENT:
            return value
    return _first(answer) if where == "first" else ABSENT


def _first(answer: str) -> Json | Absent:
    decoder = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_refuse)
    for count, sign in enumerate(_OPENS.finditer(answer)):
        if count >= _TRIES:
            break
        try:
            value: Json = decoder.raw_decode(answer, sign.start())[0]
        except (ValueError, RecursionError):
            continue
        return value
    return ABSENT


def _parsed(text: str) -> Json | Absent:
    try:
        value: Json = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return ABSENT
    return value


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise _NoJsonError
    return mapping


def _refuse(name: str) -> Json:
    raise _NoJsonError(name)
