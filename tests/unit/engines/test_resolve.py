"""What a service will really use, and where each value comes from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.engines.resolve import (
    effect_of,
    effective_tree,
    engine_of,
    pinned,
    project,
    reason_of,
    resolve,
    server_values,
)
from governance.errors import Usage
from governance.values import ABSENT, Effect, Json, Tree, Unknown
from governance.verdict import EffectiveValue
from tests.support.llama_server import BASE, METADATA, SAMPLING

# A01: only the engine version changes; the new one takes every unset key from the model's own file.
FILE: dict[str, Json] = {
    "bos_token_id": 1,
    "do_sample": True,
    "eos_token_id": [2, 32007],
    "repetition_penalty": 1.05,
    "temperature": 0.7,
    "top_k": 20,
    "top_p": 0.8,
}


def vllm(version: str) -> dict[str, Json]:
    return {"model": {"id": "acme/tern-7b-chat"}, "engine": {"name": "vllm", "version": version}}


def values(base: Tree, sampling: Tree, file: Tree | None = None) -> dict[str, EffectiveValue]:
    return {value.key: value for value in resolve(base, sampling, ABSENT if file is None else file)}


def test_an_upgrade_that_begins_to_read_the_models_file_moves_what_is_not_pinned() -> None:
    sampling: dict[str, Json] = {"temperature": 0.2, "max_tokens": 512}
    old, new = values(vllm("0.7.2"), sampling, FILE), values(vllm("0.8.4"), sampling, FILE)
    moved = {
        key: (old[key].value, new[key].value)
        for key in ("sampling.top_p", "sampling.top_k", "sampling.repetition_penalty", "sampling.temperature")
        if old[key].value != new[key].value
    }
    assert moved == {
        "sampling.top_p": (1.0, 0.8),
        "sampling.top_k": (-1, 20),
        "sampling.repetition_penalty": (1.0, 1.05),
    }
    assert new["sampling.top_p"].provenance == "generation_config.json of the model"
    assert new["sampling.temperature"].value == 0.2


def test_a_value_of_the_config_is_the_configs_and_an_inherited_one_the_servers() -> None:
    found = values(BASE, {"temperature": 0.1, "top_k": "inherit"}, METADATA)
    assert (found["sampling.temperature"].value, found["sampling.temperature"].provenance) == (0.1, "config")
    inherited = found["sampling.top_k"]
    assert (inherited.value, inherited.source) == (40, "inherit")
    assert inherited.provenance == "engine default (llama.cpp b10068)"
    floating = found["sampling.min_p"]
    assert (floating.value, floating.source) == (0.05, ABSENT)


def test_an_inherited_group_is_inherited_in_every_part() -> None:
    found = values(BASE, {"dry": "inherit"}, METADATA)
    assert found["sampling.dry.multiplier"].source == "inherit"
    assert found["sampling.dry.base"].value == 1.75
    set_in_part = values(BASE, {"dry": {"multiplier": 0.5}}, METADATA)
    assert set_in_part["sampling.dry.multiplier"].provenance == "config"
    assert set_in_part["sampling.dry.base"].provenance.startswith("engine default")


@pytest.mark.parametrize("key", ["top_a", "best_of", "min_tokens", "no_repeat_ngram_size"])
def test_a_parameter_the_engine_does_not_know_is_said_to_have_no_effect(key: str) -> None:
    found = values(BASE, {key: 1}, METADATA)[f"sampling.{key}"]
    assert found.value is ABSENT
    assert found.source == 1
    assert found.provenance == "not applied by llama.cpp"


def test_what_the_api_takes_beside_the_vocabulary_is_sent_as_it_is() -> None:
    found = values(BASE, {"extra": {"adaptive_target": 0.5}}, METADATA)
    assert found["sampling.extra.adaptive_target"].value == 0.5


def test_values_come_sorted_and_each_key_once() -> None:
    keys = [value.key for value in resolve(BASE, SAMPLING, METADATA)]
    assert keys == sorted(set(keys))


def test_every_value_has_a_provenance() -> None:
    assert [value.key for value in resolve(BASE, SAMPLING, METADATA) if not value.provenance] == []


def test_the_effect_is_the_schemas() -> None:
    assert effect_of("sampling.temperature") is Effect.OUTPUT
    assert effect_of("engine.options.served_model_name") is Effect.NONE
    assert effect_of("engine.options.cache_ram_mib") is Effect.LATENCY
    assert effect_of("engine.options.rope.factor") is Effect.OUTPUT
    assert effect_of("sampling.dry.multiplier") is Effect.OUTPUT
    assert "greedy" in reason_of("sampling.temperature")


def test_a_key_no_schema_knows_is_taken_for_one_that_shapes_answers() -> None:
    assert effect_of("engine.surprise") is Effect.OUTPUT


def test_the_shipped_shape_of_a_config_resolves_without_a_doubt() -> None:
    """The demo needs an effective layer that is a digest: nothing in it may be unknown."""
    found = effective_tree(resolve(BASE, SAMPLING, METADATA))
    assert [key for key, value in found.items() if isinstance(value, Unknown)] == []
    assert found["precision.kv_cache.dtype"] == "f16"


def test_projecting_keeps_the_named_keys_only() -> None:
    found = project(resolve(BASE, SAMPLING, METADATA), {"sampling.top_k", "sampling.nothing"})
    assert [value.key for value in found] == ["sampling.top_k"]


def test_what_a_server_shows_is_its_own_default_whatever_requests_send() -> None:
    shown = {value.key: value.value for value in server_values(BASE, METADATA)}
    assert shown["sampling.temperature"] == 0.8
    assert pinned(SAMPLING) >= {"sampling.temperature", "sampling.seed"}
    assert "sampling.top_k" not in pinned(SAMPLING)


@pytest.mark.parametrize("base", [{}, {"engine": {}}, {"engine": {"name": "gpt4all"}}])
def test_a_config_without_a_known_engine_is_refused(base: Tree) -> None:
    with pytest.raises(Usage):
        engine_of(base)


@given(st.permutations(sorted(SAMPLING)))
def test_the_order_of_keys_changes_no_value(order: list[str]) -> None:
    shuffled = {key: SAMPLING[key] for key in order}
    assert effective_tree(resolve(BASE, shuffled, METADATA)) == effective_tree(
        resolve(BASE, SAMPLING, METADATA)
    )
