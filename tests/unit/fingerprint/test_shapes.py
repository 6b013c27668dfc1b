"""The tables a digest is made by agree with the schemas and with what is said about variables."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from governance.fingerprint.left_out import is_noise, is_secret_name, left_out
from governance.fingerprint.shapes import SHAPES, Shape
from governance.tiers.rules.variables import EXACT, FAMILIES, classify
from governance.tiers.schemas.base import Base
from governance.tiers.schemas.field import FileReference, JsonValue, Spec
from governance.tiers.schemas.prompts import Prompts
from governance.tiers.schemas.sampling import Sampling

MODELS: dict[str, type[BaseModel]] = {"base": Base, "sampling": Sampling, "prompts": Prompts}
NO_FILE_OF_THE_CONFIG = {"model.projector.file"}


def walk(kind: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(key, what is special about it) for everything below an annotation."""
    if kind is JsonValue:
        yield ".".join(path), "open"
        return
    origin = get_origin(kind)
    if origin is Annotated:
        yield from walk(get_args(kind)[0], path)
    elif origin in (typing.Union, types.UnionType):
        for part in get_args(kind):
            yield from walk(part, path)
    elif origin in (list, dict):
        yield from walk(get_args(kind)[-1], (*path, "*"))
    elif isinstance(kind, type) and issubclass(kind, FileReference):
        yield ".".join(path), "file"
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from walk_model(kind, path)


def walk_model(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, field in model.model_fields.items():
        here = (*path, field.alias or name)
        for mark in field.metadata:
            if isinstance(mark, Spec):
                if mark.unordered:
                    yield ".".join(here), "set"
                yield ".".join(here), f"effect {mark.effect.value}"
        if here[-1] == "file":
            yield ".".join(path), "file"
        else:
            yield from walk(field.annotation, here)


def marks(tier: str) -> set[tuple[str, str]]:
    return set(walk_model(MODELS[tier], ()))


def shape_at(tier: str, key: str) -> Shape | None:
    return SHAPES[tier].get(key)


@pytest.mark.parametrize("tier", MODELS)
def test_every_set_of_the_schema_is_a_set_in_the_digest(tier: str) -> None:
    sets = {key for key, what in marks(tier) if what == "set"}
    assert {key for key in sets if shape_at(tier, key) is not Shape.SET} == set()
    assert {key for key, shape in SHAPES[tier].items() if shape is Shape.SET} == sets


@pytest.mark.parametrize("tier", MODELS)
def test_every_file_of_the_schema_enters_by_its_bytes(tier: str) -> None:
    files = {key for key, what in marks(tier) if what == "file"} - {
        k.rpartition(".")[0] for k in NO_FILE_OF_THE_CONFIG
    }
    assert {key for key in files if shape_at(tier, key) not in (Shape.FILE, Shape.TEXT)} == set()


@pytest.mark.parametrize("tier", MODELS)
def test_wherever_the_schema_leaves_the_type_open_1_and_1_0_differ(tier: str) -> None:
    opened = {key.removesuffix(".*") for key, what in marks(tier) if what == "open"}
    missing = {k for k in opened if shape_at(tier, k) not in (Shape.OPEN, Shape.OUT)}
    assert missing == set()


@pytest.mark.parametrize("tier", MODELS)
def test_a_key_is_left_out_only_when_the_schema_says_that_it_shapes_nothing(tier: str) -> None:
    harmless = {key for key, what in marks(tier) if what == "effect none"}
    out = {key for key, shape in SHAPES[tier].items() if shape is Shape.OUT}
    assert out <= harmless


def test_a_variable_is_left_out_exactly_when_the_rules_call_it_noise() -> None:
    names = [*EXACT, *(f"{prefix}X" for prefix in FAMILIES)]
    ours = {name for name in names if is_noise(name)}
    theirs = {name for name in names if classify(name) == "noise"}
    assert ours == theirs


SECRETS = [
    "HF_TOKEN",
    "UPLOAD_PASSWORD",
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "DB_PASSWD",
    "X_CREDENTIALS",
]
NOT_SECRETS = ["TOKENIZERS_PARALLELISM", "MAX_TOTAL_TOKENS", "VLLM_ATTENTION_BACKEND", "KEYBOARD", "MONKEY"]


@pytest.mark.parametrize("name", [*SECRETS, *NOT_SECRETS, *EXACT])
def test_a_variable_is_a_secret_exactly_when_the_rules_call_it_one(name: str) -> None:
    assert is_secret_name(name) is (classify(name) == "secret")


def test_everything_left_out_says_why() -> None:
    entries = list(left_out())
    assert all(entry.what and entry.why for entry in entries)
    assert {entry.layer for entry in entries} >= {
        "base",
        "packages",
        "platform",
        "weights",
        "image",
        "effective",
    }
