"""SGLang: what it uses at each version, its launches, and what a running one shows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.engines import sglang, tables
from governance.engines.model import OptionTable
from governance.engines.sglang_map import WORDS
from governance.errors import Usage
from governance.values import ABSENT, Json, Tree, Unknown
from tests.strategies import launch_bases

TERN: Tree = {"eos_token_id": [2, 32007], "temperature": 0.7, "top_k": 20, "top_p": 0.8}


def base(version: str, **options: Json) -> dict[str, Any]:
    return {
        "model": {"id": "acme/tern"},
        "engine": {"name": "sglang", "version": version, "options": options},
    }


@pytest.mark.parametrize(
    ("version", "temperature", "provenance"),
    [
        ("0.4.10.post2", 0.7, "engine default (sglang 0.4.10.post2)"),
        ("0.5.2", 0.7, "engine default (sglang 0.5.2)"),
        ("0.5.3.post3", 0.3, "generation_config.json of the model"),
        ("0.5.23", 0.3, "generation_config.json of the model"),
    ],
)
def test_the_models_file_is_read_since_0_5_3(version: str, temperature: float, provenance: str) -> None:
    found = sglang.sampling_defaults(base(version), {"temperature": 0.3})["temperature"]
    assert (found.value, found.provenance) == (temperature, provenance)


@pytest.mark.parametrize(("version", "value"), [("0.5.8.post1", 50), ("0.5.10.post1", -1)])
def test_a_file_without_top_k_meant_50_as_long_as_transformers_4_read_it(version: str, value: int) -> None:
    """SGLang takes the file as transformers hands it out, with what transformers 4 filled in."""
    found = sglang.sampling_defaults(base(version), {"temperature": 0.3})["top_k"]
    assert found.value == value


def test_a_model_without_the_file_gets_neutral_values() -> None:
    found = sglang.sampling_defaults(base("0.5.8.post1"), {})
    assert (found["top_k"].value, found["temperature"].value) == (-1, 1.0)


def test_a_file_nobody_kept_is_unknown_unless_the_policy_ignores_it() -> None:
    assert isinstance(sglang.sampling_defaults(base("0.5.23"), ABSENT)["top_p"].value, Unknown)
    assert sglang.sampling_defaults(base("0.5.23", generation_config="engine"), ABSENT)["top_p"].value == 1.0


def test_preferred_parameters_do_not_reach_chat_requests() -> None:
    found = sglang.sampling_defaults(base("0.5.23", generation_overrides={"top_p": 0.1}), TERN)["top_p"]
    assert found.value == 0.8
    assert "/generate" in found.note


def test_a_zero_temperature_takes_the_best_token() -> None:
    values = sglang.sampling_defaults(base("0.5.23"), {"temperature": 0.0})
    assert sglang.as_applied(values)["top_k"].value == 1


def test_a_seed_nobody_set_is_drawn_at_every_start() -> None:
    found = sglang.engine_values(base("0.5.23"))["engine.options.seed"]
    assert isinstance(found.value, Unknown)
    assert found.provenance == "unknown: drawn anew at every start"


def test_values_of_switches_that_turn_off_are_named_by_what_is_on() -> None:
    assert sglang.engine_values(base("0.5.23"))["engine.options.prefix_caching"].value is True
    assert sglang.engine_values(base("0.5.23"))["engine.options.generation_config"].value == "auto"


def test_a_launch_is_read_with_its_short_and_shortened_flags() -> None:
    command = (
        "python3 -m sglang.launch_server --model acme/tern --tp 4 --mem-frac 0.85 --disable-radix-cache "
        "--speculative-algorithm EAGLE --lora-paths r=/l/r --json-model-override-args '{\"a\":1}' --port 80"
    )
    found = sglang.parse(shlex.split(command), {"SGLANG_X": "1", "HF_TOKEN": "hf_x"})
    engine: Any = found.base["engine"]
    assert engine["options"] == {
        "tensor_parallel_size": 4, "gpu_memory_utilization": 0.85, "prefix_caching": False,
        "speculative": {"method": "EAGLE"},
    }  # fmt: skip
    model: Any = found.base["model"]
    assert model == {
        "id": "acme/tern", "config_overrides": {"a": 1}, "adapters": [{"name": "r", "path": "/l/r"}],
    }  # fmt: skip
    assert "hf_x" not in repr(found)


def test_disaggregation_names_its_connector() -> None:
    found = sglang.parse(
        shlex.split("python -m sglang.launch_server --model m/x --disaggregation-mode prefill"), {}
    )
    engine: Any = found.base["engine"]
    assert engine["options"]["kv_transfer"] == {"role": "prefill", "connector": "mooncake"}


def test_whole_prompts_are_told_as_a_chunk_size() -> None:
    argv = sglang.render(base("0.5.23", chunked_prefill=False), host="h", port=1).argv
    assert argv[argv.index("--chunked-prefill-size") + 1] == "-1"


def test_a_key_the_version_cannot_be_told_is_refused_by_name() -> None:
    with pytest.raises(Usage) as refused:
        sglang.render(base("0.4.0.post2", batch_invariant=True), host="h", port=1)
    assert refused.value.where == "engine.options.batch_invariant"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
@pytest.mark.parametrize("version", ["0.4.3.post4", "0.5.5.post3", "0.5.16", "0.5.23"])
def test_importing_what_was_rendered_gives_the_same_config(version: str, data: st.DataObject) -> None:
    table = sglang.table(version)
    assert isinstance(table, OptionTable)
    tree = data.draw(launch_bases(WORDS, table))
    engine: Any = tree["engine"]
    transfer = engine.get("options", {}).get("kv_transfer", {})
    if "role" in transfer:
        transfer.setdefault("connector", "mooncake")
    launch = sglang.render(tree, host="127.0.0.1", port=8000)
    found = sglang.parse(launch.argv, launch.environment, version=version)
    assert found.findings == ()
    assert found.base == tree


SERVER_INFO: Tree = {
    "model_path": "acme/tern", "dtype": "auto", "kv_cache_dtype": "fp8_e4m3", "attention_backend": "fa3",
    "disable_radix_cache": False, "random_seed": 12345, "sampling_defaults": "model", "tp_size": 4,
    "enable_deterministic_inference": False, "chunked_prefill_size": 8192, "version": "0.5.23",
    "preferred_sampling_params": {"max_new_tokens": 64}, "internal_states": [{}],
}  # fmt: skip


def shown(documents: Mapping[str, Json]) -> dict[str, Any]:
    def get(path: str) -> Json | Unknown:
        return documents.get(path, Unknown(f"GET {path} answered 404"))

    return {k: (v.value, v.source) for k, v in sglang.read_back(get).items()}


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
def test_a_server_shows_what_auto_became(path: str) -> None:
    found = shown({path: SERVER_INFO})
    assert found["engine.options.attention"] == ("fa3", f"GET {path} attention_backend")
    assert found["engine.options.seed"][0] == 12345
    assert found["engine.options.prefix_caching"][0] is True
    assert found["engine.options.generation_config"][0] == "auto"
    assert found["engine.options.generation_overrides"][0] == {"max_tokens": 64}
    assert found["engine.version"][0] == "0.5.23"


def test_an_argument_that_still_says_auto_shows_nothing() -> None:
    assert "precision.dtype" not in shown({"/server_info": SERVER_INFO})


def test_a_weight_update_counts_over_the_arguments_of_the_start() -> None:
    found = shown(
        {"/server_info": SERVER_INFO, "/model_info": {"model_path": "acme/tern-v2", "weight_version": "7"}}
    )
    assert found["model.id"] == ("acme/tern-v2", "GET /model_info model_path")
    assert set(found) <= sglang.observable("0.5.23")


def test_every_option_a_binding_names_exists_in_some_version() -> None:
    every = tables.every_option("sglang").options
    assert [name for binding in WORDS.bindings for name in binding.names if name not in every] == []
