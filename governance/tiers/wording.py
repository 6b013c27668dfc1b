"""Types and ranges of the compiled schema in words, for messages and documentation.

- Pure: a part of the compiled schema in, words out. Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from governance.tiers.schemas.forms import FORMS

SAFE: Final = 2**53 - 1
_TYPES: Final = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "typed-dict": "a mapping",
}


def type_words(schema: Mapping[str, Any], shared: Mapping[str, Any]) -> str:
    """What a value may be: `a number or inherit`; `shared` holds the definitions of the schema."""
    kind = schema["type"]
    if kind == "definitions":
        return type_words(schema["schema"], shared)
    if kind == "definition-ref":
        name = schema["schema_ref"]
        return "any value but null" if name == "JsonValue" else type_words(shared[name], shared)
    if kind == "union":
        return either([type_words(each, shared) for each in schema["choices"]])
    if kind == "literal":
        return either([f"`{each}`" for each in schema["expected"]])
    if kind == "str" and "pattern" in schema:
        return FORMS[schema["pattern"]]
    if kind == "list":
        return f"a list: {_plural(type_words(schema['items_schema'], shared))}"
    if kind == "dict":
        return f"a mapping: each value {type_words(schema['values_schema'], shared)}"
    return _TYPES[kind]


def range_words(schema: Mapping[str, Any]) -> str:
    """What limits a value, empty when nothing does: `0 to 5`, `at least 1`, `at most 2000 characters`."""
    kind = schema["type"]
    if kind == "union":
        return next((words for each in schema["choices"] if (words := range_words(each))), "")
    if kind in ("int", "float"):
        return _number_range(schema)
    if kind == "str" and "pattern" not in schema:
        return _length_words(schema)
    return ""


def _number_range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("ge"), schema.get("le")
    over = schema.get("gt")
    high = None if high == SAFE else high
    low = None if low == -SAFE else low
    if over is not None:
        return f"above {over:g}" + (f", at most {high:g}" if high is not None else "")
    if low is not None and high is not None:
        return f"{low:g}" if low == high else f"{_plain(low)} to {_plain(high)}"
    if low is not None:
        return f"at least {_plain(low)}"
    return f"at most {_plain(high)}" if high is not None else ""


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)


def _length_words(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("min_length"), schema.get("max_length")
    if most is not None:
        return f"at most {most} characters, not empty" if least else f"at most {most} characters"
    return "not empty" if least else ""


def either(words: list[str]) -> str:
    """`a`, `a or b`, `a, b or c`, each once."""
    bool_words = _TYPES["bool"]
    parts = [part for each in words for part in (each.split(" or ") if each == bool_words else [each])]
    unique = list(dict.fromkeys(parts))
    if len(unique) == 1:
        return unique[0]
    return f"{', '.join(unique[:-1])} or {unique[-1]}"


def _plural(words: str) -> str:
    return f"each {words}"
