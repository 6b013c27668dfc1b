"""What a JSON Schema asks of an answer: whether it is a schema, its shortest answer, what breaks it.

- Covers the keywords that structured decoding engines support (draft 2020-12 subset). What it does not know
  it does not judge: an unknown keyword never makes an answer wrong.
- References are followed inside the schema only; a cycle has no shortest answer here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from governance.values import Json, KeyPath, Tree

_TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_SUBSCHEMAS: Final = (
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
)
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_PAIRS: Final = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))
_DEEPEST: Final = 40


def schema_faults(schema: Json, path: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Each place where `schema` is no valid JSON Schema, with what is wrong there."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield path, "a schema is a mapping, true or false"
        return
    yield from _type_faults(schema, path)
    yield from _value_faults(schema, path)
    for key in _SUBSCHEMAS:
        if key in schema and len(path) < _DEEPEST:
            yield from schema_faults(schema[key], (*path, key))
    for key in _LISTS:
        options = schema.get(key)
        if options is None:
            continue
        if not isinstance(options, list) or not options:
            yield (*path, key), f"`{key}` is a list of schemas, with one at least"
            continue
        for index, option in enumerate(options):
            yield from schema_faults(option, (*path, key, index))
    for key in _MAPS:
        entries = schema.get(key)
        if entries is None:
            continue
        if not isinstance(entries, dict):
            yield (*path, key), f"`{key}` is a mapping of names to schemas"
            continue
        for name, entry in entries.items():
            yield from schema_faults(entry, (*path, key, name))


def _type_faults(schema: Tree, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    kind = schema.get("type")
    for name in kind if isinstance(kind, list) else [kind] if kind is not None else []:
        if name not in _TYPES:
            yield (*path, "type"), f"`{name}` is no type; the types are {', '.join(sorted(_TYPES))}"
    required = schema.get("required")
    if required is not None and not (
        isinstance(required, list) and all(isinstance(r, str) for r in required)
    ):
        yield (*path, "required"), "`required` is a list of names"
    elif isinstance(required, list):
        names = schema.get("properties")
        unknown = [r for r in required if isinstance(names, dict) and r not in names]
        if unknown and schema.get("additionalProperties") is False:
            yield (*path, "required"), f"`{unknown[0]}` is required and no property: no answer can be right"


def _value_faults(schema: Tree, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    choices = schema.get("enum")
    if choices is not None and not (isinstance(choices, list) and choices):
        yield (*path, "enum"), "`enum` is a list with one value at least"
    for key in _COUNTS:
        count = schema.get(key)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            yield (*path, key), f"`{key}` is a count"
    for low, high in _PAIRS:
        least, most = schema.get(low), schema.get(high)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            yield (*path, low), f"`{low}` is above `{high}`: no answer can be right"
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        try:
            re.compile(pattern)
        except re.error as error:
            yield (*path, "pattern"), f"`pattern` is no regular expression: {error}"


def resolve(schema: Json, root: Json) -> Json:
    """`schema`, or what its local `$ref` names in `root`; None when that is not there."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        target = schema["$ref"]
        if not isinstance(target, str) or not target.startswith("#"):
            return None
        found: Json = root
        for step in target.lstrip("#").strip("/").split("/") if target.strip("#/") else []:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        schema = found
    return None


def shortest(schema: Json, root: Json, depth: int = 0) -> int | None:
    """The number of characters of the shortest JSON text that keeps `schema`; None when it cannot be told."""
    schema = resolve(schema, root)
    if depth > _DEEPEST or schema is None or schema is False:
        return None
    if not isinstance(schema, dict):
        return 1
    if "const" in schema:
        return len(_dump(schema["const"]))
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return min(len(_dump(choice)) for choice in choices)
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and options:
            known = [n for option in options if (n := shortest(option, root, depth + 1)) is not None]
            return min(known) if known else None
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    lengths = [n for k in kinds if (n := _shortest_of(str(k), schema, root, depth)) is not None]
    return min(lengths) if lengths else None


def _shortest_of(kind: str, schema: Tree, root: Json, depth: int) -> int | None:
    if kind == "object" or (kind == "None" and "properties" in schema):
        return _shortest_object(schema, root, depth)
    if kind == "array":
        count = schema.get("minItems")
        if not isinstance(count, int) or count == 0:
            return 2
        item = shortest(schema.get("items", True), root, depth + 1)
        return None if item is None else 2 + count * item + count - 1
    if kind == "string":
        least = schema.get("minLength")
        return 2 + (least if isinstance(least, int) else 0)
    return 4 if kind in {"boolean", "null"} else 1


def _shortest_object(schema: Tree, root: Json, depth: int) -> int | None:
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(required, list):
        return 2
    total = 2 + max(0, len(required) - 1)
    for name in required:
        inner = properties.get(name, True) if isinstance(properties, dict) and isinstance(name, str) else True
        length = shortest(inner, root, depth + 1)
        if length is None:
            return None
        total += len(_dump(name)) + 1 + length
    return total


def _dump(value: Json) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def breaks(value: Json, schema: Json, root: Json, path: str = "", depth: int = 0) -> str:
    """Why `value` does not keep `schema`, as one sentence; empty when it does or cannot be judged."""
    schema = resolve(schema, root)
    if depth > _DEEPEST or not isinstance(schema, dict):
        return "no value is allowed there" if schema is False else ""
    here = f"`{path}` " if path else "the answer "
    if "const" in schema and value != schema["const"]:
        return f"{here}is not {_dump(schema['const'])}"
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        return f"{here}is none of {_dump(choices)}"
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind] if kind is not None else []
    if kinds and not any(_is(value, str(k)) for k in kinds):
        return f"{here}is no {' or '.join(str(k) for k in kinds)}"
    fault = _breaks_inside(value, schema, root, path, depth) or _breaks_bounds(value, schema, here)
    if fault:
        return fault
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, list) and all(
            breaks(value, option, root, path, depth + 1) for option in options
        ):
            return f"{here}keeps none of the schemas in `{key}`"
    parts = schema.get("allOf")
    found = (
        breaks(value, part, root, path, depth + 1) for part in (parts if isinstance(parts, list) else ())
    )
    return next((fault for fault in found if fault), "")


def _is(value: Json, kind: str) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    if kind == "number":
        return not isinstance(value, bool) and isinstance(value, int | float)
    wanted: dict[str, type] = {"object": dict, "array": list, "string": str, "null": type(None)}
    return isinstance(value, wanted.get(kind, object))


def _breaks_inside(value: Json, schema: Tree, root: Json, path: str, depth: int) -> str:
    if isinstance(value, list):
        item = schema.get("items")
        faults = (
            breaks(v, item, root, f"{path}[{i}]", depth + 1) for i, v in enumerate(value) if item is not None
        )
        return next((fault for fault in faults if fault), "")
    if not isinstance(value, dict):
        return ""
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            return f"`{name}` is missing"
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    for name, inner in value.items():
        at = f"{path}.{name}" if path else name
        if name in known:
            fault = breaks(inner, known[name], root, at, depth + 1)
            if fault:
                return fault
        elif schema.get("additionalProperties") is False and "patternProperties" not in schema:
            return f"`{at}` is not in the schema"
    return ""


def _breaks_bounds(value: Json, schema: Tree, here: str) -> str:
    size = len(value) if isinstance(value, str | list) else value
    low, high = ("minLength", "maxLength") if isinstance(value, str) else ("minimum", "maximum")
    if isinstance(value, list):
        low, high = "minItems", "maxItems"
    if isinstance(size, int | float) and not isinstance(size, bool):
        least, most = schema.get(low), schema.get(high)
        if isinstance(least, int | float) and size < least:
            return f"{here}is below `{low}: {least}`"
        if isinstance(most, int | float) and size > most:
            return f"{here}is above `{high}: {most}`"
    pattern = schema.get("pattern")
    if isinstance(value, str) and isinstance(pattern, str) and matches(pattern, value) is False:
        return f"{here}does not match `{pattern}`"
    return ""


def matches(pattern: str, text: str, *, whole: bool = False) -> bool | None:
    """Whether `text` matches; None when the pattern is none, or could take too long on a text so long.

    A repeated group can take exponential time, several repeats polynomial time: such texts are not tried.
    """
    repeats = len(re.findall(r"[*+]|\{\d*,\d*\}", pattern))
    repeated_group = re.search(r"\)[*+{?]*[*+{]", pattern) is not None
    longest = 20 if repeated_group else 2000 if repeats <= 2 else 200 if repeats == 3 else 50
    if len(text) > longest:
        return None
    try:
        found = re.fullmatch(pattern, text, re.DOTALL) if whole else re.search(pattern, text)
    except (re.error, RecursionError):
        return None
    return found is not None
