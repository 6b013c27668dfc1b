"""vLLM: what it uses at each version, its launches, and what a running one shows."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from governance.engines import tables, vllm, vllm_read
from governance.engines.model import Imported, OptionTable
from governance.engines.vllm_launch import WORDS
from governance.errors import Usage
from governance.values import ABSENT, Json, Tree, Unknown
from tests.strategies import launch_bases

TERN: Tree = {
    "bos_token_id": 1,
    "do_sample": True,
    "eos_token_id": [2, 32007],
    "repetition_penalty": 1.05,
    "temperature": 0.7,
    "top_k": 20,
    "top_p": 0.8,
}


def base(version: str, **options: Json) -> dict[str, Any]:
    return {
        "model": {"id": "acme/tern-7b-chat"},
        "engine": {"name": "vllm", "version": version, "options": options},
    }


def imported(command: str, environment: Mapping[str, str] | None = None, *, version: str = "") -> Imported:
    return vllm.parse(shlex.split(command), environment or {}, version=version)


# sampling defaults


def test_the_upgrade_from_0_7_2_to_0_8_4_moves_three_values_nobody_set() -> None:
    """Case A01: the sampling file is byte-identical, the engine begins to read the model's file."""
    before = vllm.sampling_defaults(base("0.7.2"), TERN)
    after = vllm.sampling_defaults(base("0.8.4"), TERN)
    keys = ("temperature", "top_p", "top_k", "repetition_penalty")
    assert {k: before[k].value for k in keys} == {
        "temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0,
    }  # fmt: skip
    assert {k: after[k].value for k in keys} == {
        "temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05,
    }  # fmt: skip
    assert before["top_p"].provenance == "engine default (vllm 0.7.2)"
    assert after["top_p"].provenance == "generation_config.json of the model"


def test_the_policy_engine_ignores_the_file_but_not_its_stop_tokens() -> None:
    found = vllm.sampling_defaults(base("0.8.4", generation_config="engine"), TERN)
    assert found["top_p"].value == 1.0
    assert found["stop_token_ids"].value == [2, 32007]


def test_an_override_at_launch_counts_over_the_file() -> None:
    found = vllm.sampling_defaults(base("0.8.4", generation_overrides={"top_p": 0.5, "max_tokens": 99}), TERN)
    assert (found["top_p"].value, found["top_p"].provenance) == (0.5, "config")
    assert found["max_tokens"].value == 99
    assert found["top_k"].value == 20


def test_a_file_nobody_kept_makes_values_unknown_not_neutral() -> None:
    found = vllm.sampling_defaults(base("0.8.4"), ABSENT)
    assert isinstance(found["top_p"].value, Unknown)
    assert "model.generation_config" in found["top_p"].provenance
    assert found["seed"].value is None


def test_a_model_without_the_file_gets_neutral_values() -> None:
    assert vllm.sampling_defaults(base("0.8.4"), {})["top_p"].value == 1.0


def test_a_file_read_from_elsewhere_is_unknown() -> None:
    found = vllm.sampling_defaults(base("0.8.4", generation_config="/etc/generation"), TERN)
    assert isinstance(found["temperature"].value, Unknown)


@pytest.mark.parametrize(
    ("version", "value"),
    [("0.11.2", 0), ("0.18.1", 0), ("0.29.0", 50), ("0.33.0", 50)],
)
def test_top_k_50_is_hidden_by_transformers_4_and_shown_by_5(version: str, value: int) -> None:
    """vLLM asks for what differs from transformers' own defaults, and transformers 4 has 50 as its own."""
    assert vllm.sampling_defaults(base(version), {"top_k": 50})["top_k"].value == value


def test_top_k_50_is_unknown_where_both_transformers_are_allowed() -> None:
    found = vllm.sampling_defaults(base("0.20.2"), {"top_k": 50})["top_k"]
    assert isinstance(found.value, Unknown)
    assert "transformers 4 and 5" in found.provenance


def test_penalties_are_taken_from_the_file_only_by_versions_that_list_them() -> None:
    file = {"presence_penalty": 1.5}
    assert vllm.sampling_defaults(base("0.29.0"), file)["presence_penalty"].value == 0.0
    assert vllm.sampling_defaults(base("0.32.0"), file)["presence_penalty"].value == 1.5


def test_one_stop_id_and_a_list_of_one_are_the_same_and_order_means_nothing() -> None:
    """Case A19."""
    one = vllm.sampling_defaults(base("0.8.4"), {"eos_token_id": 2})["stop_token_ids"].value
    listed = vllm.sampling_defaults(base("0.8.4"), {"eos_token_id": [2]})["stop_token_ids"].value
    turned = vllm.sampling_defaults(base("0.8.4"), {"eos_token_id": [32007, 2]})["stop_token_ids"].value
    assert one == listed == [2]
    assert turned == [2, 32007]


def test_a_tiny_temperature_is_greedy_and_a_small_one_is_raised() -> None:
    values = vllm.sampling_defaults(base("0.8.4", generation_overrides={"temperature": 1e-6}), TERN)
    applied = vllm.as_applied(values)
    assert (applied["top_p"].value, applied["top_k"].value, applied["min_p"].value) == (1.0, 0, 0.0)
    small = vllm.as_applied(
        vllm.sampling_defaults(base("0.8.4", generation_overrides={"temperature": 0.005}), TERN)
    )
    assert small["temperature"].value == 0.01
    assert small["top_p"].value == 0.8


def test_an_engine_version_without_a_table_leaves_every_default_unknown() -> None:
    found = vllm.sampling_defaults(base("0.3.0"), TERN)
    assert all(isinstance(v.value, Unknown) for v in found.values())


# engine values


def test_declared_default_and_derived_values_say_where_they_come_from() -> None:
    found = vllm.engine_values({**base("0.32.0", max_model_len=8192), "precision": {"dtype": "auto"}})
    assert (
        found["engine.options.max_model_len"].value,
        found["engine.options.max_model_len"].provenance,
    ) == (
        8192,
        "config",
    )
    assert found["engine.options.seed"].provenance == "engine default (vllm 0.32.0)"
    dtype = found["precision.dtype"]
    assert isinstance(dtype.value, Unknown)
    assert (dtype.source, dtype.provenance) == ("auto", "depends on the GPU")
    assert found["engine.options.generation_config"].value == "auto"


def test_the_policy_is_named_in_our_words_at_every_version() -> None:
    assert (
        vllm.engine_values(base("0.8.4", generation_config="engine"))[
            "engine.options.generation_config"
        ].value
        == "engine"
    )


def test_a_tokenizer_without_a_revision_follows_the_models() -> None:
    tree = base("0.10.0")
    tree["model"]["revision"] = "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"
    assert vllm.engine_values(tree)["model.tokenizer.revision"].value == tree["model"]["revision"]


# launch and import


def test_a_launch_is_read_whichever_way_it_is_started() -> None:
    forms = (
        "vllm serve acme/tern --max-model-len 4096",
        "vllm serve --max-model-len=4096 acme/tern",
        "python3 -m vllm.entrypoints.openai.api_server --model acme/tern --max_model_len 4096",
        "/opt/venv/bin/vllm serve acme/tern --max-model 4096",
        "--model acme/tern --max-model-len 4k",
    )
    for form in forms:
        found = imported(form).base
        assert found["model"] == {"id": "acme/tern"}
        options: Any = found["engine"]
        assert options["options"]["max_model_len"] in (4096, 4000)


def test_parts_of_json_options_become_keys_and_the_rest_stays_under_the_engines_name() -> None:
    config = '{"method":"ngram","num_speculative_tokens":3,"parallel_drafting":true}'
    engine: Any = imported(f"vllm serve m/x --speculative-config '{config}'").base["engine"]
    assert engine["options"]["speculative"] == {"method": "ngram", "num_tokens": 3}
    assert engine["extra"] == {"speculative-config.parallel_drafting": True}


def test_o3_is_an_optimisation_level_and_was_a_compilation_level() -> None:
    for version in ("0.33.0", "0.10.0"):
        engine: Any = imported("vllm serve m/x -O3", version=version).base["engine"]
        assert engine["options"]["compilation_level"] == 3


def test_positions_adapters_and_the_chat_template_are_read() -> None:
    command = (
        "vllm serve m/x --enable-lora --lora-modules refund=/l/refund tone=acme/tone --rope-theta 1e6 "
        "--chat-template /t/chat.jinja --rope-scaling "
        '\'{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}\''
    )
    found = imported(command)
    model: Any = found.base["model"]
    engine: Any = found.base["engine"]
    assert model["adapters"] == [{"name": "refund", "path": "/l/refund"}, {"name": "tone", "id": "acme/tone"}]
    assert engine["options"]["rope"] == {
        "scaling": "yarn", "factor": 4.0, "original_max_position": 32768, "theta": 1000000.0,
    }  # fmt: skip
    assert found.prompts == {"chat_template": {"file": "/t/chat.jinja"}}


def test_positions_are_told_by_the_option_a_version_has() -> None:
    rope = {"scaling": "yarn", "factor": 4.0}
    old = vllm.render(base("0.10.0", rope=rope), host="h", port=1).argv
    new = vllm.render(base("0.33.0", rope=rope), host="h", port=1).argv
    assert old[old.index("--rope-scaling") + 1] == '{"rope_type":"yarn","factor":4.0}'
    assert new[new.index("--hf-overrides") + 1] == '{"rope_parameters":{"rope_type":"yarn","factor":4.0}}'


def test_a_variable_that_shapes_the_output_is_kept_a_secret_is_not() -> None:
    """Case A12."""
    environment = {
        "NVIDIA_TF32_OVERRIDE": "0", "VLLM_LOGGING_LEVEL": "DEBUG",
        "UPLOAD_PASSWORD": "not-a-real-password-1234", "VLLM_BATCH_INVARIANT": "1",
        "VLLM_ATTENTION_BACKEND": "TRITON_ATTN",
    }  # fmt: skip
    found = imported("vllm serve m/x", environment)
    variables: Any = found.base["environment"]
    engine: Any = found.base["engine"]
    assert variables["variables"] == {
        "NVIDIA_TF32_OVERRIDE": "0", "UPLOAD_PASSWORD": "env:UPLOAD_PASSWORD",
        "VLLM_ATTENTION_BACKEND": "TRITON_ATTN",
    }  # fmt: skip
    assert engine["options"]["batch_invariant"] is True
    assert "not-a-real-password" not in repr(found)


@pytest.mark.parametrize(
    ("version", "key", "name", "text", "value"),
    [
        ("0.32.0", "engine.options.batch_invariant", "VLLM_BATCH_INVARIANT", "1", True),
        ("0.32.0", "engine.options.batch_invariant", "VLLM_BATCH_INVARIANT", "0", False),
        ("0.8.4", "engine.options.attention", "VLLM_ATTENTION_BACKEND", "FLASHINFER", "FLASHINFER"),
    ],
)
def test_a_variable_that_is_an_option_decides_its_value(
    version: str, key: str, name: str, text: str, value: Any
) -> None:
    def effective(said: str, **options: Any) -> Any:
        return vllm.engine_values({**base(version, **options), "environment": {"variables": {name: said}}})[
            key
        ]

    found = effective(text)
    assert (found.value, found.note) == (value, f"from environment.variables.{name}")
    elsewhere = effective(f"env:{name}").value
    assert isinstance(elsewhere, Unknown)
    assert "where the server is deployed" in elsewhere.reason
    own = False if value is True else True if value is False else "FLASH_ATTN"
    assert effective(text, **{key.rpartition(".")[2]: own}).value == own


def test_the_attention_backend_was_a_variable_before_it_was_an_option() -> None:
    launch = vllm.render(base("0.8.4", attention="FLASH_ATTN"), host="h", port=1)
    assert launch.environment == {"VLLM_ATTENTION_BACKEND": "FLASH_ATTN"}
    assert "--attention-backend" in vllm.render(base("0.33.0", attention="FLASH_ATTN"), host="h", port=1).argv
    engine: Any = vllm.parse(launch.argv, launch.environment, version="0.8.4").base["engine"]
    assert engine["options"] == {"attention": "FLASH_ATTN"}


def test_what_a_launch_leaves_open_is_listed_with_what_to_write() -> None:
    found = imported("vllm serve m/x --dtype auto --revision 4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1")
    opened = {o.key: o for o in found.left_open}
    assert {"base: engine.version", "base: precision.dtype", "base: engine.options.attention"} <= set(opened)
    assert "base: model.revision" not in opened
    assert opened["base: engine.options.generation_config"].suggestion == "generation_config: engine"


def test_a_config_file_that_was_not_read_is_left_open() -> None:
    assert "names a file" in imported("vllm serve m/x --config /etc/vllm.yaml").left_open[-1].reason


def test_an_unknown_flag_and_a_wrong_value_are_findings() -> None:
    found = imported("vllm serve m/x --frobnicate 3 --max-num-seqs many")
    assert [f.message for f in found.findings] == [
        "`--frobnicate` is no option of any vLLM version up to 0.33.0",
        "`--max-num-seqs`: `many` is no number",
    ]


def test_ports_logs_and_keys_are_not_taken_into_the_config() -> None:
    found = imported("vllm serve m/x --host 0.0.0.0 --port 80 --api-key sk-1 --disable-log-requests")
    assert "extra" not in found.base["engine"]  # type: ignore[operator]
    assert "sk-1" not in repr(found)


@pytest.mark.parametrize(
    ("tree", "where"),
    [
        (base("0.33.0", swap_space_gib=4), "engine.options.swap_space_gib"),
        (base("0.33.0", threads=4), "engine.options.threads"),
        (base("0.33.0", sliding_window=4096), "engine.options.sliding_window"),
        ({**base("0.33.0"), "precision": {"dtype": "float99"}}, "option `dtype`"),
        (base("latest"), "engine.version"),
    ],
)
def test_a_key_the_version_cannot_be_told_is_refused_by_name(tree: Tree, where: str) -> None:
    with pytest.raises(Usage) as refused:
        vllm.render(tree, host="h", port=1)
    assert refused.value.where == where


def test_an_extra_option_the_version_does_not_have_is_refused() -> None:
    tree = base("0.33.0")
    tree["engine"]["extra"] = {"enable-bf16x3-router-gemm": True}
    with pytest.raises(Usage, match="no option of vllm"):
        vllm.render(tree, host="h", port=1)


def test_local_weights_keep_the_name_clients_use() -> None:
    tree = base("0.33.0")
    tree["model"]["revision"] = "4f1c2d9e8b7a6051a3b1c2d3e4f50617a8b9c0d1"
    argv = vllm.render(tree, host="h", port=1, weights="/weights").argv
    assert argv[:3] == ("vllm", "serve", "/weights")
    assert argv[argv.index("--served-model-name") + 1] == "acme/tern-7b-chat"
    assert "--revision" not in argv


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
@pytest.mark.parametrize("version", ["0.6.6.post1", "0.8.4", "0.11.0", "0.29.0", "0.33.0"])
def test_importing_what_was_rendered_gives_the_same_config(version: str, data: st.DataObject) -> None:
    table = vllm.table(version)
    assert isinstance(table, OptionTable)
    tree = data.draw(launch_bases(WORDS, table))
    launch = vllm.render(tree, host="127.0.0.1", port=8000)
    found = vllm.parse(launch.argv, launch.environment, version=version)
    assert found.findings == ()
    assert found.base == tree


# a running server

SERVER_INFO: Tree = {
    "vllm_config": {
        "model_config": {
            "model": "/weights", "dtype": "torch.bfloat16", "max_model_len": 2048, "seed": 0,
            "enforce_eager": True, "generation_config": "vllm", "quantization": None,
            "override_generation_config": {"max_new_tokens": 64},
        },
        "cache_config": {"cache_dtype": "fp8_e5m2", "enable_prefix_caching": True, "block_size": 16},
        "scheduler_config": {"max_num_seqs": 8, "policy": "fcfs", "enable_chunked_prefill": True},
        "parallel_config": {"tensor_parallel_size": 1, "disable_custom_all_reduce": True},
    },
    "vllm_env": {"VLLM_BATCH_INVARIANT": False},
}  # fmt: skip
METRICS = (
    "# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig\n"
    'vllm:cache_config_info{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="0",'
    'gpu_memory_utilization="0.4",num_gpu_blocks_override="None"} 1.0\n'
)


def answers(documents: Mapping[str, Json]) -> Mapping[str, Any]:
    def get(path: str) -> Json | Unknown:
        return documents.get(path, Unknown(f"GET {path} answered 404"))

    return {k: (v.value, v.source) for k, v in vllm.read_back(get).items()}


def test_a_server_in_development_mode_shows_what_it_resolved() -> None:
    found = answers({"/server_info?config_format=json": SERVER_INFO, "/version": {"version": "0.32.0"}})
    assert found["precision.dtype"] == ("bfloat16", "GET /server_info vllm_config.model_config.dtype")
    assert found["precision.kv_cache.dtype"][0] == "fp8_e5m2"
    assert found["engine.options.generation_config"][0] == "engine"
    assert found["engine.options.generation_overrides"][0] == {"max_tokens": 64}
    assert found["engine.options.custom_all_reduce"][0] is False
    assert found["engine.options.batch_invariant"][0] is False
    assert found["engine.version"] == ("0.32.0", "GET /version")


def test_a_server_in_production_shows_its_cache_in_the_metrics() -> None:
    models = {"data": [{"id": "m", "root": "/weights", "max_model_len": 2048}]}
    found = answers({"/metrics": METRICS, "/v1/models": models})
    assert isinstance(found["precision.kv_cache.dtype"][0], Unknown)
    assert found["engine.options.prefix_caching"][0] is True
    assert found["engine.options.gpu_memory_utilization"][0] == 0.4
    assert found["engine.options.cache_blocks"][0] is None
    assert found["engine.options.max_model_len"][0] == 2048
    assert found["model.id"][0] == "/weights"


def test_a_server_that_does_not_answer_shows_nothing() -> None:
    assert answers({}) == {}


def recorded(name: str) -> Any:
    text = (Path(__file__).parent / "recorded" / "vllm-0.32.0-cpu" / name).read_text("utf-8")
    return json.loads(text) if name.endswith(".json") else text


def test_a_recorded_server_shows_what_it_was_told() -> None:
    """Recorded from a real vLLM 0.32.0 on CPU, started with the command below."""
    command = (
        "vllm serve .cache/smollm2-safetensors --served-model-name m --max-model-len 2048 --enforce-eager "
        "--max-num-seqs 8 --gpu-memory-utilization 0.3 --dtype bfloat16 --seed 7 --generation-config vllm "
        "--override-generation-config '{\"repetition_penalty\":1.1}'"
    )
    documents = {
        "/server_info?config_format=json": recorded("server_info.json"),
        "/metrics": recorded("metrics.txt"),
        "/v1/models": recorded("models.json"),
        "/version": recorded("version.json"),
    }
    shown = answers(documents)
    expected = vllm.engine_values(imported(command, version="0.32.0").base)
    told = {k: v.value for k, v in expected.items() if k in shown and not isinstance(v.value, Unknown)}
    assert len(told) > 30
    assert {k: shown[k][0] for k in told} == told
    assert shown["precision.kv_cache.dtype"][0] == "bfloat16"
    assert isinstance(shown["engine.options.attention"][0], Unknown)
    assert shown["engine.options.prefix_caching"][0] is True


def test_a_recorded_fingerprint_names_the_version_and_a_hash() -> None:
    found = vllm_read.fingerprint(recorded("chat_completion.json")["system_fingerprint"])
    assert found["engine.version"].value == "0.32.0"
    assert found["hash"].value == "0dae8fe1"


def test_everything_read_back_is_announced() -> None:
    found = answers({"/server_info?config_format=json": SERVER_INFO, "/metrics": METRICS})
    assert set(found) <= vllm.observable("0.32.0")


def test_a_fingerprint_without_a_hash_is_unknown() -> None:
    full = vllm_read.fingerprint("vllm-0.33.0-tp4-ep-1a2b3c4d")
    assert full["engine.version"].value == "0.33.0"
    assert full["engine.options.tensor_parallel_size"].value == 4
    assert full["hash"].value == "1a2b3c4d"
    assert isinstance(vllm_read.fingerprint("vllm-0.33.0-nohash")["hash"].value, Unknown)
    assert vllm_read.fingerprint("custom text") == {}


def test_every_option_a_binding_names_exists_in_some_version() -> None:
    every = tables.every_option("vllm").options
    missing = [name for binding in WORDS.bindings for name in binding.names if name not in every]
    assert missing == []
    assert [n for n in WORDS.operational if n not in every and n not in {"headless", "config"}] == []
