"""What is wrong with a tree that the compiled schema refused, in words and with the fix.

- Walks the same compiled schema that refused the tree, so the two cannot drift apart; laws in the tests hold
  them together: a refused tree always has at least one flaw, an accepted one has none.
- Of the alternatives a value may be, the one it was meant to be is explained: the one of its own type, then
  the one with the fewest flaws.
- Values of secret fields are never repeated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from governance.tiers import hints
from governance.tiers.faults import token
from governance.tiers.fields import spec
from governance.tiers.schemas import forms
from governance.tiers.wording import range_words, type_words
from governance.values import Json, KeyPath, key_text

# The forms of these hold, or may hold, a secret: neither value nor source line is shown.
SECRET_FORMS: Final = frozenset({forms.SECRET.pattern, forms.URL.pattern})


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing wrong at `path`; `on_key` when the key is to be marked and not the value.

    `quote` asks for a hint made from the source: `quote it: "0.10"`, which the tree no longer knows.
    """

    path: KeyPath
    code: str
    message: str
    hint: str = ""
    on_key: bool = False
    quote: bool = False
    secret: bool = False


def explain(kind: str, schema: Mapping[str, Any], tree: Json) -> tuple[Flaw, ...]:
    """Every flaw of `tree` against the compiled `schema` of `kind`, in the order of the file."""
    shared = {each["ref"]: each for each in schema["definitions"]}
    return tuple(_Walk(kind, shared).flaws(schema["schema"], tree, ()))


class _Walk:
    def __init__(self, kind: str, shared: Mapping[str, Any]) -> None:
        self._kind = kind
        self._shared = shared

    def flaws(self, schema: Mapping[str, Any], value: Json, path: KeyPath) -> list[Flaw]:
        """What is wrong with `value` against this part of the schema."""
        kind = schema["type"]
        if kind == "definition-ref":
            return self.flaws(self._shared[schema["schema_ref"]], value, path)
        if value is None:
            return [self._null(schema, path)]
        if kind == "union":
            return self._union(schema, value, path)
        if not _same_type(kind, value):
            return [self._wrong_type(schema, value, path)]
        if kind == "typed-dict" and isinstance(value, Mapping):
            return self._mapping(schema, value, path)
        if kind == "dict" and isinstance(value, Mapping):
            return self._free_mapping(schema, value, path)
        if kind == "list" and isinstance(value, list):
            items = schema["items_schema"]
            return [flaw for at, each in enumerate(value) for flaw in self.flaws(items, each, (*path, at))]
        if kind == "literal":
            return [] if value in schema["expected"] else [self._no_choice(schema["expected"], value, path)]
        if kind == "str" and isinstance(value, str):
            return _text(schema, value, path)
        if kind in ("int", "float") and isinstance(value, int | float):
            return _number(self._kind, schema, value, path)
        return []

    def _mapping(self, schema: Mapping[str, Any], value: Mapping[str, Json], path: KeyPath) -> list[Flaw]:
        fields = schema["fields"]
        found: list[Flaw] = []
        for name, each in value.items():
            if name in fields:
                below = (*path, name)
                wrong = self._kind_flaw(each) if below == ("kind",) else None
                found += [wrong] if wrong else self.flaws(fields[name]["schema"], each, below)
            else:
                hint = hints.for_unknown_key(self._kind, path, name, fields)
                found.append(Flaw((*path, name), "TL103", f"unknown key `{token(name)}`", hint, on_key=True))
        for name, field in fields.items():
            if field["required"] and name not in value:
                found.append(self._missing((*path, name)))
        return found

    def _free_mapping(
        self, schema: Mapping[str, Any], value: Mapping[str, Json], path: KeyPath
    ) -> list[Flaw]:
        found: list[Flaw] = []
        for name, each in value.items():
            if self.flaws(schema["keys_schema"], name, (*path, name)):
                words = type_words(schema["keys_schema"], self._shared)
                found.append(Flaw((*path, name), "TL110", f"`{token(name)}` must be {words}", on_key=True))
            found += self.flaws(schema["values_schema"], each, (*path, name))
        return found

    def _union(self, schema: Mapping[str, Any], value: Json, path: KeyPath) -> list[Flaw]:
        choices = [self._resolved(each) for each in schema["choices"]]
        tried = [(each, self.flaws(each, value, path)) for each in choices]
        if not all(flaws for _, flaws in tried):
            return []
        own = [(each, flaws) for each, flaws in tried if _same_type(each["type"], value)]
        expected = [word for each in choices if each["type"] == "literal" for word in each["expected"]]
        meant = [flaws for each, flaws in own if each["type"] != "literal"]
        if meant:
            return min(meant, key=len)
        if own and (len(own) == len(choices) or hints.nearest(str(value), map(str, expected))):
            return [self._no_choice(expected, value, path)]
        return [self._wrong_type(schema, value, path)]

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while schema["type"] == "definition-ref":
            schema = self._shared[schema["schema_ref"]]
        return schema

    def _kind_flaw(self, value: Json) -> Flaw | None:
        if self._kind == "services" or value == self._kind or not isinstance(value, str):
            return None
        known = value in ("base", "sampling", "prompts")
        move = f", or move the file to configs/{value}/" if known else ""
        message = f"`kind` is `{token(value)}`, and the file lies in configs/{self._kind}/"
        return Flaw(("kind",), "TL106", message, f"write `kind: {self._kind}`{move}")

    def _missing(self, path: KeyPath) -> Flaw:
        return Flaw(path, "TL101", f"`{key_text(path)}` is missing", hints.for_missing(self._kind, path))

    def _null(self, schema: Mapping[str, Any], path: KeyPath) -> Flaw:
        choices = schema["choices"] if schema["type"] == "union" else [schema]
        inherit = any(each["type"] == "literal" and "inherit" in each["expected"] for each in choices)
        hint = "leave the key out, or write inherit" if inherit else "leave the key out, or give it a value"
        if path and isinstance(path[-1], int):
            hint = "remove the item, or give it a value"
        return Flaw(path, "TL107", f"`{key_text(path)}` has no value (null)", hint)

    def _wrong_type(self, schema: Mapping[str, Any], value: Json, path: KeyPath) -> Flaw:
        wanted = type_words(schema, self._shared)
        message = f"`{key_text(path) or 'the file'}` is {_shown(value)}, and must be {wanted}"
        choices = [self._resolved(each) for each in schema.get("choices", [schema])]
        kinds = {each["type"] for each in choices}
        quote = isinstance(value, bool | int | float) and any(_would_fit(each, value) for each in choices)
        secret = any(each.get("pattern") in SECRET_FORMS for each in choices)
        return Flaw(path, "TL102", message, _type_hint(kinds, value), quote=quote, secret=secret)

    def _no_choice(self, expected: Sequence[Any], value: Json, path: KeyPath) -> Flaw:
        words = [str(each) for each in expected]
        hint = hints.for_choice(self._kind, str(value), words)
        return Flaw(path, "TL105", f"`{key_text(path)}` is {_shown(value)}, which is not a choice", hint)


def _same_type(kind: str, value: Json) -> bool:
    if isinstance(value, bool):
        return kind == "bool"
    if isinstance(value, int):
        return kind in ("int", "float")
    if isinstance(value, float):
        return kind == "float"
    if isinstance(value, str):
        return kind in ("str", "literal")
    if isinstance(value, list):
        return kind == "list"
    return kind in ("typed-dict", "dict")


def _would_fit(schema: Mapping[str, Any], value: float) -> bool:
    """Whether the scalar `value`, quoted, would be right."""
    if schema["type"] == "literal":
        return str(value) in schema["expected"]
    return schema["type"] == "str" and re.fullmatch(schema.get("pattern", ".*"), str(value)) is not None


def _shown(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'the text "{token(value)}"' if value else "empty text"
    if isinstance(value, int | float):
        return repr(value)
    return "a list" if isinstance(value, list) else "a mapping"


def _type_hint(kinds: set[str], value: Json) -> str:
    if isinstance(value, str):
        if "${" in value:
            return "values are not taken from the environment here; write the value itself"
        if kinds & {"int", "float"} and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value):
            return f"write it without quotes: {value}"
        if "bool" in kinds and value in ("true", "false"):
            return f"write it without quotes: {value}"
    if isinstance(value, float) and math.isfinite(value) and "int" in kinds and "float" not in kinds:
        whole = int(value)
        return f"write {whole}" if whole == value else f"write a whole number: {whole} or {whole + 1}"
    if isinstance(value, bool) and kinds & {"int", "float"}:
        return "true and false are no numbers here"
    if "list" in kinds and not isinstance(value, Mapping):
        return f"write a list: [{token(str(value))}]"
    return ""


def _text(schema: Mapping[str, Any], value: str, path: KeyPath) -> list[Flaw]:
    name = key_text(path)
    most = schema.get("max_length")
    secret = schema.get("pattern") in SECRET_FORMS
    if not value and (schema.get("min_length") or "pattern" in schema):
        return [Flaw(path, "TL109", f"`{name}` is empty", "leave the key out, or give it a value")]
    if most is not None and len(value) > most:
        return [
            Flaw(
                path,
                "TL109",
                f"`{name}` has {len(value)} characters, at most {most} are allowed",
                secret=secret,
            )
        ]
    if "pattern" in schema and not re.fullmatch(schema["pattern"], value):
        words = forms.FORMS[schema["pattern"]]
        return [
            Flaw(
                path,
                "TL108",
                f"`{name}` must be {words}",
                hints.for_form(schema["pattern"], value),
                secret=secret,
            )
        ]
    return []


def _number(kind: str, schema: Mapping[str, Any], value: float, path: KeyPath) -> list[Flaw]:
    low, over, high = schema.get("ge"), schema.get("gt"), schema.get("le")
    inside = (
        (low is None or value >= low) and (over is None or value > over) and (high is None or value <= high)
    )
    if math.isfinite(value) and inside:
        return []
    allowed = range_words(schema) or "a finite number of at most 53 bits"
    known = spec(kind, path)
    hint = known.reason if known else ""
    return [Flaw(path, "TL104", f"`{key_text(path)}` is {_shown(value)}, allowed is {allowed}", hint)]
