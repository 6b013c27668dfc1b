"""JSON Schemas for editors (draft 2020-12), made from the compiled schema and the field table.

- Closed like the models, with ranges, forms, examples and a description per field.
- One thing JSON Schema cannot say: for it, 1.0 is an integer. tierlock refuses it as a whole number.
"""

from __future__ import annotations

from typing import Any

from governance.tiers.schemas.build import compiled, fields
from governance.tiers.schemas.forms import FORMS

_TITLES = {
    "base": "tierlock base config",
    "sampling": "tierlock sampling config",
    "prompts": "tierlock prompts config",
    "services": "tierlock.yaml",
    "few_shot": "one line of a tierlock few-shot file",
}


def json_schema(kind: str) -> dict[str, Any]:
    """The JSON Schema of one kind of file."""
    core = compiled()["kinds"][kind]["schema"]
    table = fields(kind)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:tierlock:schema:{kind}:1",
        "title": _TITLES[kind],
        **_convert(core["schema"], "", table),
        "$defs": {each["ref"]: _convert(each, "", {}) for each in core["definitions"]},
    }


def _convert(schema: dict[str, Any], path: str, table: dict[str, Any]) -> dict[str, Any]:
    kind = schema["type"]
    if kind == "typed-dict":
        return _object(schema, path, table)
    if kind == "definition-ref":
        return {"$ref": f"#/$defs/{schema['schema_ref']}"}
    if kind == "union":
        return {"anyOf": [_convert(each, path, table) for each in schema["choices"]]}
    if kind == "literal":
        return {"enum": schema["expected"]}
    if kind == "list":
        return {"type": "array", "items": _convert(schema["items_schema"], f"{path}[]", table)}
    if kind == "dict":
        names = _convert(schema["keys_schema"], "", {})
        names.pop("type", None)
        return {
            "type": "object",
            **({"propertyNames": names} if names else {}),
            "additionalProperties": _convert(schema["values_schema"], f"{path}.*", table),
        }
    return _leaf(schema)


def _object(schema: dict[str, Any], path: str, table: dict[str, Any]) -> dict[str, Any]:
    properties = {}
    for name, field in schema["fields"].items():
        key = f"{path}.{name}" if path else name
        properties[name] = {**_about(table.get(key)), **_convert(field["schema"], key, table)}
    required = [name for name, field in schema["fields"].items() if field["required"]]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _about(entry: dict[str, Any] | None) -> dict[str, Any]:
    if entry is None:
        return {}
    unit = f" Unit: {entry['unit']}." if entry["unit"] else ""
    text = f"{entry['reason'][0].upper()}{entry['reason'][1:]}.{unit} Effect: {entry['effect']}."
    example = {} if entry["example"] is None else {"examples": [entry["example"]]}
    return {"description": text, **example}


def _leaf(schema: dict[str, Any]) -> dict[str, Any]:
    names = {
        "int": "integer", "float": "number", "bool": "boolean", "str": "string",
        "ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum",
        "min_length": "minLength", "max_length": "maxLength", "pattern": "pattern",
    }  # fmt: skip
    limits = {names[name]: value for name, value in schema.items() if name in names}
    form = {"$comment": FORMS[schema["pattern"]]} if "pattern" in schema else {}
    return {"type": names[schema["type"]], **limits, **form}
