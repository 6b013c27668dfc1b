"""The schema models and everything generated from them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, RootModel, field_validator

from governance.tiers import compiled
from governance.tiers.fields import spec, specs
from governance.tiers.references import REFERENCES
from governance.tiers.schemas import forms
from governance.tiers.schemas.build import MODELS, compile_model
from governance.tiers.schemas.field import Closed, Spec
from governance.tiers.schemas.shipped import generated
from governance.values import Effect
from tests.support.trees import EXAMPLES, random_tree

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "governance/tiers/schemas"


def models(model: type[BaseModel], seen: set[type[BaseModel]]) -> Iterator[type[BaseModel]]:
    """`model` and every model in its fields."""
    if model in seen:
        return
    seen.add(model)
    yield model
    for field in model.model_fields.values():
        for each in re_models(field.annotation):
            yield from models(each, seen)


def re_models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in getattr(annotation, "__args__", ()):
        yield from re_models(each)


SEEN: set[type[BaseModel]] = set()
ALL_MODELS = [
    each for model in MODELS.values() for each in models(model, SEEN) if not issubclass(each, RootModel)
]


@pytest.mark.parametrize("name", sorted(generated()))
def test_shipped_files_are_what_the_models_generate(name: str) -> None:
    """A model that changes without `python scripts/generate_schemas.py` would not be what runs."""
    assert (SHIPPED / name).read_bytes() == generated()[name], "run scripts/generate_schemas.py"


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: model.__name__)
def test_every_model_is_closed_strict_and_frozen(model: type[BaseModel]) -> None:
    assert model.model_config["extra"] == "forbid"
    assert model.model_config["strict"] is True
    assert model.model_config["frozen"] is True


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: model.__name__)
def test_every_field_says_what_it_does(model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        found = [each for each in field.metadata if isinstance(each, Spec)]
        assert len(found) == 1, f"{model.__name__}.{name} needs one Spec"
        reason = found[0].reason
        assert reason, name
        assert "\n" not in reason, name
        assert not reason.endswith("."), f"{name}: the reason is a part of a sentence"
        assert len(reason) <= 110, f"{name}: {len(reason)} characters"


def test_every_example_of_a_field_is_accepted_by_it() -> None:
    """The examples stand in the documentation, in messages and in editors."""
    for kind in MODELS:
        for key, known in specs(kind).items():
            if known.example is None or "…" in json.dumps(known.example, ensure_ascii=False):
                continue
            assert accepts(kind, key, known.example), f"{kind} {key}: {known.example!r}"


def accepts(kind: str, key: str, value: Any) -> bool:
    """Whether the part of the schema at the generic key path `key` takes `value`."""
    schema = compiled.schema(kind)
    shared = {each["ref"]: each for each in schema["definitions"]}
    parts = [schema["schema"]]
    for step in key.replace("[]", ".[]").split("."):
        parts = [below for part in parts for below in descend(part, step, shared)]
    whole = [{"type": "definitions", "schema": part, "definitions": list(shared.values())} for part in parts]
    return any(fits(each, value) for each in whole)


def descend(schema: dict[str, Any], step: str, shared: dict[str, Any]) -> list[dict[str, Any]]:
    kind = schema["type"]
    if kind == "definition-ref":
        return descend(shared[schema["schema_ref"]], step, shared)
    if kind == "union":
        return [below for each in schema["choices"] for below in descend(each, step, shared)]
    if kind == "typed-dict" and step in schema["fields"]:
        return [schema["fields"][step]["schema"]]
    if kind == "list" and step == "[]":
        return [schema["items_schema"]]
    return [schema["values_schema"]] if kind == "dict" and step == "*" else []


def fits(schema: dict[str, Any], value: Any) -> bool:
    try:
        compiled.core().SchemaValidator(schema).validate_python(value)
    except compiled.core().ValidationError:
        return False
    return True


def test_every_form_has_an_example_that_has_it() -> None:
    assert EXAMPLES.keys() == forms.FORMS.keys()
    for pattern, texts in EXAMPLES.items():
        assert all(re.fullmatch(pattern, text) for text in texts), pattern


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (forms.DIGEST, "sha256:" + "AB" * 32),
        (forms.DIGEST, "ab" * 32),
        (forms.DATE, "2026-13-01"),
        (forms.NAME, "-x"),
        (forms.NAME, "a b"),
        (forms.NAME, "a\u200bb"),
        (forms.NAME, "a/b"),
        (forms.LINE, "two\nlines"),
        (forms.SECRET, "hunter2"),
        (forms.URL, "http://user:password@host/v1"),
        (forms.URL, "http://host/v1?key=1"),
        (forms.VERSION_RANGE, "535"),
        (forms.OPTION, "--max-model-len"),
    ],
)
def test_text_without_the_form_is_refused(form: forms.Form, text: str) -> None:
    assert re.fullmatch(form.pattern, text) is None
    assert not fits({"type": "str", "pattern": form.pattern}, text)


def test_every_reference_of_the_schema_is_followed() -> None:
    """A file that a config names and nobody reads would be in no fingerprint."""
    for kind in ("base", "sampling", "prompts"):
        listed = {".".join(steps).replace(".[]", "[]") for steps, _ in REFERENCES[kind]}
        named = {key for key in specs(kind) if key.endswith(".file")}
        # the projector is named by its digest and lies with the weights
        assert named - {"model.projector.file"} <= listed
        assert {key for key in listed if key not in named} <= {"environment.packages"}


def test_sets_are_known_to_the_compiled_schema() -> None:
    assert ("stop_token_ids",) in compiled.unordered("sampling")
    assert ("model", "adapters", "[]", "target_modules") in compiled.unordered("base")
    assert not any("stop" in path for path in compiled.unordered("sampling")), "stop strings keep their order"


@pytest.mark.parametrize(
    ("kind", "key", "generic", "effect"),
    [
        ("sampling", ("temperature",), "temperature", Effect.OUTPUT),
        ("sampling", ("stop", 2), "stop[]", Effect.OUTPUT),
        ("sampling", ("logprobs",), "logprobs", Effect.LATENCY),
        ("sampling", ("extra", "anything", "below"), "extra.*", Effect.OUTPUT),
        ("base", ("engine", "options", "max_model_len"), "engine.options.max_model_len", Effect.OUTPUT),
        ("base", ("model", "adapters", 0, "rank"), "model.adapters[].rank", Effect.OUTPUT),
        ("base", ("model", "weights", "files", "a.b"), "model.weights.files.*", Effect.OUTPUT),
        ("services", ("services", "s", "endpoint", "url"), "services.*.endpoint.url", Effect.NONE),
    ],
)
def test_a_key_path_finds_its_field(
    kind: str, key: tuple[str | int, ...], generic: str, effect: Effect
) -> None:
    found = spec(kind, key)
    assert found is not None
    assert (found.key, found.effect) == (generic, effect)


def test_a_key_path_outside_the_schema_finds_nothing() -> None:
    assert spec("sampling", ("nothing",)) is None
    assert spec("nothing", ("temperature",)) is None
    assert spec("sampling", ()) is None


def test_the_field_of_temperature_says_everything() -> None:
    found = spec("sampling", ("temperature",))
    assert found is not None
    assert found.type == "a number or `inherit`"
    assert found.range == "0 to 5"
    assert found.reason.startswith("flatter token distribution")


@pytest.mark.parametrize("kind", list(MODELS))
def test_editor_schemas_are_valid_and_accept_what_the_compiled_schema_accepts(kind: str) -> None:
    import random

    from jsonschema import Draft202012Validator

    schema = json.loads((SHIPPED / f"json/{kind}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    rng = random.Random(3)
    for _ in range(100):
        assert validator.is_valid(random_tree(kind, rng, density=0.4))


@pytest.mark.parametrize(
    ("kind", "tree"),
    [
        ("sampling", {"kind": "sampling", "tempurature": 0.1}),
        ("sampling", {"kind": "sampling", "temperature": "0.1"}),
        ("sampling", {"kind": "sampling", "temperature": 9}),
        ("sampling", {"kind": "sampling", "temperature": None}),
        ("sampling", {"kind": "base"}),
        ("base", {"kind": "base", "model": {"id": "x"}, "engine": {"name": "vlm", "version": "1"}}),
        ("services", {"version": True}),
    ],
)
def test_editor_schemas_refuse_common_mistakes(kind: str, tree: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads((SHIPPED / f"json/{kind}.schema.json").read_text(encoding="utf-8"))
    assert not Draft202012Validator(schema).is_valid(tree)


class Open(BaseModel):
    temperature: Annotated[float, Field(allow_inf_nan=False)]


class Checked(Closed):
    temperature: Annotated[float, Field(allow_inf_nan=False)]

    @field_validator("temperature")
    @classmethod
    def check(cls, value: float) -> float:
        return value


class Infinite(Closed):
    temperature: float


class Multiple(Closed):
    threads: Annotated[int, Field(multiple_of=2)]


@pytest.mark.parametrize("model", [Open, Checked, Infinite, Multiple], ids=lambda model: model.__name__)
def test_a_model_that_plain_data_cannot_carry_is_not_compiled(model: type[BaseModel]) -> None:
    """What the compiled schema leaves out would pass at run time and fail in the models."""
    with pytest.raises(TypeError):
        compile_model(model)
