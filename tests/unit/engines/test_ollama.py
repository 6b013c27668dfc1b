"""Ollama: Modelfile parameters, server variables, and the context nobody set."""

from __future__ import annotations

import pytest

from governance.engines import ollama
from governance.engines.keys import look
from governance.engines.resolve import resolve
from governance.errors import Usage
from governance.values import ABSENT, Absent, Json, Tree, Unknown
from governance.verdict import EffectiveValue


def base_of(version: str = "0.32.15", **options: Json) -> dict[str, Json]:
    engine: dict[str, Json] = {"name": "ollama", "version": version, "options": dict(options)}
    return {"model": {"id": "tern-chat:14b"}, "engine": engine}


def values(base: Tree, sampling: Tree, own: Tree | Unknown | Absent) -> dict[str, EffectiveValue]:
    return {value.key: value for value in resolve(base, sampling, own)}


def test_the_parameters_of_a_modelfile_are_taken_over_exactly() -> None:
    """A14: repeat_penalty 1 is a float, the stop text is kept byte for byte, the context is not set."""
    pairs = [
        ("temperature", "0.6"),
        ("top_k", "20"),
        ("repeat_penalty", "1"),
        ("stop", "<|im_end|>"),
        ("stop", "完"),
    ]
    found = ollama.parameters(pairs)
    assert found.findings == ()
    assert found.sampling == {
        "temperature": 0.6,
        "top_k": 20,
        "repetition_penalty": 1.0,
        "stop": ["<|im_end|>", "完"],
    }
    assert isinstance(found.sampling["repetition_penalty"], float)


def test_a_context_nobody_set_is_left_open_and_not_filled_in() -> None:
    found = ollama.parameters([("temperature", "0.6")])
    assert look(found.base, "engine.options.max_model_len") is ABSENT
    opened = {one.key: one for one in found.left_open}
    assert "cut without a word" in opened["base: engine.options.max_model_len"].reason
    set_there = ollama.parameters([("num_ctx", "8192")])
    assert look(set_there.base, "engine.options.max_model_len") == 8192
    assert "base: engine.options.max_model_len" not in {one.key for one in set_there.left_open}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("temprature", "0.6", "no Modelfile parameter"),
        ("top_k", "twenty", "not a number"),
        ("temperature", "nan", "not finite"),
        ("use_mmap", "maybe", "neither true nor false"),
    ],
)
def test_a_parameter_that_is_none_is_a_finding(name: str, text: str, said: str) -> None:
    found = ollama.parameters([(name, text)])
    assert said in found.findings[0].message
    assert found.sampling == {}


def test_the_openai_route_fills_in_temperature_and_top_p_over_the_modelfile() -> None:
    """A Modelfile's temperature never reaches a client of /v1 that leaves it out."""
    base = base_of(generation_overrides={"temperature": 0.2, "top_k": 7})
    found = values(base, {}, {})
    assert (found["sampling.temperature"].value, found["sampling.top_p"].value) == (1.0, 1.0)
    assert "whatever the Modelfile says" in found["sampling.temperature"].note
    assert (found["sampling.top_k"].value, found["sampling.top_k"].provenance) == (7, "config")


def test_what_the_models_own_modelfile_sets_is_unknown_until_it_is_kept() -> None:
    assert isinstance(values(base_of(), {}, ABSENT)["sampling.top_k"].value, Unknown)
    assert values(base_of(), {}, {})["sampling.top_k"].value == 40
    kept = values(base_of(), {}, {"top_k": 20})["sampling.top_k"]
    assert (kept.value, kept.provenance) == (20, "Modelfile of the model")


def test_upgrades_moved_the_repeat_penalty_and_the_context() -> None:
    old, new = values(base_of("0.30.11"), {}, {}), values(base_of("0.32.15"), {}, {})
    assert (old["sampling.repetition_penalty"].value, new["sampling.repetition_penalty"].value) == (1.1, 1.0)
    lengths = [
        ollama.engine_values(base_of(v))["engine.options.max_model_len"].value
        for v in ("0.4.7", "0.5.13", "0.9.6")
    ]
    assert lengths == [2048, 2048, 4096]
    assert isinstance(ollama.engine_values(base_of())["engine.options.max_model_len"].value, Unknown)


def test_server_variables_are_read_and_written() -> None:
    base = base_of(max_model_len=8192, max_num_seqs=2, attention="flash", keep_alive="10m")
    base["precision"] = {"kv_cache": {"dtype": "q8_0"}}
    launch = ollama.render(base, host="127.0.0.1", port=11434)
    assert launch.environment["OLLAMA_HOST"] == "127.0.0.1:11434"
    found = ollama.parse(launch.argv, launch.environment)
    assert look(found.base, "engine.options") == look(base, "engine.options")
    assert look(found.base, "precision.kv_cache.dtype") == "q8_0"
    valued = ollama.engine_values(
        {**base_of(), "environment": {"variables": {"OLLAMA_KV_CACHE_TYPE": "q4_0"}}}
    )
    assert valued["precision.kv_cache.dtype"].value == "q4_0"


def test_what_only_a_modelfile_can_say_is_refused_for_the_server() -> None:
    with pytest.raises(Usage, match="PARAMETER of the Modelfile"):
        ollama.render(base_of(generation_overrides={"top_k": 5}), host="h", port=1)


def test_the_loaded_model_is_read_back_and_none_loaded_is_unknown() -> None:
    loaded: Json = {
        "models": [
            {
                "name": "tern:14b",
                "digest": "d" * 64,
                "context_length": 4096,
                "details": {"quantization_level": "Q4_K_M"},
            }
        ]
    }
    answers: dict[str, Json] = {"/api/ps": loaded, "/api/version": {"version": "0.32.15"}}
    read = ollama.read_back(lambda path: answers[path])
    assert read["engine.options.max_model_len"].value == 4096
    assert read["precision.weights.type"].value == "q4_k_m"
    assert read["engine.version"].value == "0.32.15"
    empty = ollama.read_back(lambda path: {"models": []} if path == "/api/ps" else answers[path])
    assert isinstance(empty["engine.options.max_model_len"].value, Unknown)
    assert empty["engine.version"].value == "0.32.15"
