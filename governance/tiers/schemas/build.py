"""What is made from the schema models: the compiled schema and the field table.

- The models are the one source. Everything else here is derived from them, shipped, and compared in a test.
- Runs when tierlock is built, never when it judges: this is the only module that imports the models.
- The compiled schema is plain data for pydantic-core: closed typed dictionaries, exact types, no Python code.
  A model that needs Python code to validate cannot be compiled and is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from governance.tiers.schemas.base import Base
from governance.tiers.schemas.field import Spec
from governance.tiers.schemas.prompts import Example, Prompts
from governance.tiers.schemas.sampling import Sampling
from governance.tiers.schemas.services import Services
from governance.tiers.wording import range_words, type_words

MODELS: Final[Mapping[str, type[BaseModel]]] = {
    "base": Base,
    "sampling": Sampling,
    "prompts": Prompts,
    "services": Services,
    "few_shot": Example,
}
FORMAT: Final = 1
# What a leaf may say; anything else would be lost on the way, so it is refused.
_LEAVES: Final = {
    "literal": ("expected",),
    "bool": (),
    "int": ("ge", "le", "gt", "lt"),
    "float": ("ge", "le", "gt", "lt", "allow_inf_nan"),
    "str": ("pattern", "min_length", "max_length"),
}
_IGNORED: Final = frozenset({"type", "ref", "metadata", "serialization"})


def compiled() -> dict[str, Any]:
    """The compiled schemas of all kinds, and which of their lists are sets."""
    kinds = {}
    for kind, model in MODELS.items():
        kinds[kind] = {"schema": compile_model(model), "unordered": _unordered(kind)}
    return {"format": FORMAT, "kinds": kinds}


def compile_model(model: type[BaseModel]) -> dict[str, Any]:
    """The plain core schema of `model`. TypeError when Python code or an open model would be lost in it."""
    builder = _Builder(model)
    schema = builder.plain(builder.root)
    return {"type": "definitions", "schema": schema, "definitions": builder.definitions()}


def fields(kind: str) -> dict[str, dict[str, Any]]:
    """The field table of one kind: key path text (`*` any name, `[]` any item) to what is known of it."""
    builder = _Builder(MODELS[kind])
    table: dict[str, dict[str, Any]] = {}
    builder.describe(builder.root, "", table)
    return table


class _Builder:
    """Walks the core schema pydantic made for one model."""

    def __init__(self, model: type[BaseModel]) -> None:
        schema: Any = model.__pydantic_core_schema__
        self._known: dict[str, Any] = {}
        if schema["type"] == "definitions":
            self._known = {_ref(each["ref"]): each for each in schema["definitions"]}
            schema = schema["schema"]
        self.root = schema

    def definitions(self) -> list[dict[str, Any]]:
        """The shared parts, by name."""
        return [{**self.plain(self._known[name]), "ref": name} for name in sorted(self._known)]

    def plain(self, schema: Any) -> dict[str, Any]:
        """`schema` without classes: what pydantic-core can load from JSON."""
        kind = schema["type"]
        if kind in _LEAVES:
            return _leaf(schema)
        if kind == "default":
            return self.plain(schema["schema"])
        if kind == "model" and schema["root_model"]:
            return self.plain(schema["schema"])
        if kind == "model":
            return self._typed_dict(schema)
        if kind == "definition-ref":
            return {"type": kind, "schema_ref": _ref(schema["schema_ref"])}
        if kind == "union":
            return {"type": kind, "choices": [self.plain(each) for each in schema["choices"]],
                    "mode": schema.get("mode", "smart"), "strict": True}  # fmt: skip
        if kind == "list":
            return {"type": kind, "items_schema": self.plain(schema["items_schema"]), "strict": True}
        if kind == "dict":
            return {"type": kind, "keys_schema": self.plain(schema["keys_schema"]),
                    "values_schema": self.plain(schema["values_schema"]), "strict": True}  # fmt: skip
        raise TypeError(f"cannot compile a schema of type `{kind}`")

    def _typed_dict(self, schema: Any) -> dict[str, Any]:
        inner = schema["schema"]
        if (
            inner["type"] != "model-fields"
            or schema["custom_init"]
            or schema["config"].get("extra_fields_behavior") != "forbid"
        ):
            raise TypeError(f"cannot compile `{schema['cls'].__name__}`: not a plain closed model")
        return {
            "type": "typed-dict",
            "fields": {
                _key(name, field): {
                    "type": "typed-dict-field",
                    "schema": self.plain(field["schema"]),
                    "required": field["schema"]["type"] != "default",
                }
                for name, field in inner["fields"].items()
            },
            "extra_behavior": "forbid",
            "strict": True,
        }

    def describe(self, schema: Any, path: str, table: dict[str, dict[str, Any]]) -> None:
        """Fill `table` with everything below `path`."""
        schema = self.resolved(schema)
        if schema["type"] == "model" and schema["root_model"]:
            self.describe(schema["schema"], path, table)
        elif schema["type"] == "model":
            for name, field in schema["schema"]["fields"].items():
                self._describe_field(schema["cls"], name, field, path, table)
        elif schema["type"] == "union":
            for choice in schema["choices"]:
                self.describe(choice, path, table)
        elif schema["type"] in ("list", "dict"):
            inner = schema["items_schema"] if schema["type"] == "list" else schema["values_schema"]
            below = f"{path}[]" if schema["type"] == "list" else f"{path}.*"
            parent = table[path]
            table.setdefault(
                below, {**parent, **self._shape(inner), "required": False, "also": [], "example": None}
            )
            if not self._is_free(inner):
                self.describe(inner, below, table)

    def _describe_field(
        self, owner: type[BaseModel], name: str, field: Any, path: str, table: dict[str, dict[str, Any]]
    ) -> None:
        spec = next((each for each in owner.model_fields[name].metadata if isinstance(each, Spec)), None)
        if spec is None:
            raise TypeError(f"`{owner.__name__}.{name}` has no Spec")
        key = f"{path}.{_key(name, field)}" if path else _key(name, field)
        table[key] = {
            **self._shape(field["schema"]),
            "unit": spec.unit,
            "effect": spec.effect.value,
            "reason": spec.reason,
            "also": list(spec.also),
            "required": field["schema"]["type"] != "default",
            "example": spec.example,
            "unordered": spec.unordered,
        }
        self.describe(field["schema"], key, table)

    def resolved(self, schema: Any) -> Any:
        """`schema` without the wrapping of defaults and references."""
        while schema["type"] in ("default", "definition-ref"):
            schema = (
                schema["schema"] if schema["type"] == "default" else self._known[_ref(schema["schema_ref"])]
            )
        return schema

    def _is_free(self, schema: Any) -> bool:
        return schema["type"] == "definition-ref" and _ref(schema["schema_ref"]) == "JsonValue"

    def _shape(self, schema: Any) -> dict[str, Any]:
        plain = self.plain(schema)
        shared = {name: self.plain(each) for name, each in self._known.items()}
        return {"type": type_words(plain, shared), "range": range_words(plain)}


def _leaf(schema: Any) -> dict[str, Any]:
    kind = schema["type"]
    unknown = set(schema) - set(_LEAVES[kind]) - _IGNORED - {"strict"}
    if unknown:
        raise TypeError(f"cannot compile `{kind}` with {sorted(unknown)}")
    kept = {name: schema[name] for name in _LEAVES[kind] if name in schema}
    if kind == "float" and kept.get("allow_inf_nan") is not False:
        raise TypeError("a number must refuse infinity and NaN")
    return {"type": kind, **kept} if kind == "literal" else {"type": kind, **kept, "strict": True}


def _unordered(kind: str) -> list[list[str]]:
    """The key paths of lists that are sets, one step each: `["adapters", "[]", "target_modules"]`."""
    return [
        path.replace("[]", ".[]").split(".") for path, entry in fields(kind).items()
        if entry["unordered"] and not path.endswith("[]")
    ]  # fmt: skip


def _key(name: str, field: Any) -> str:
    return str(field.get("validation_alias", name))


def _ref(name: str) -> str:
    """`governance.tiers.schemas.field.JsonValue:140` as `JsonValue`: the number is a memory address."""
    return name.split(":")[0].rsplit(".", 1)[-1]
