"""Options and variables of vLLM's own: what a server shows of them beside what a config means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from governance.engines import vllm
from governance.engines.drift import Drift, drift
from governance.engines.observe import Observation
from governance.values import Json, Tree, Unknown

VERSION = "0.32.0"
# A part of what `/server_info` shows; the recorded documents have all of it.
CONFIG: dict[str, Any] = {
    "scheduler_config": {"stream_interval": 1, "disable_chunked_mm_input": False},
    "parallel_config": {"enable_dbo": False, "worker_cls": "auto", "disable_custom_all_reduce": False},
    "attention_config": {"flash_attn_version": None, "use_non_causal": False},
    "model_config": {"model": "acme/tern", "generation_config": "vllm"},
    "speculative_config": None,
    "lora_config": None,
}


def base(
    *,
    extra: Tree | None = None,
    variables: Tree | None = None,
    options: Tree | None = None,
    model: str = "acme/tern",
) -> dict[str, Json]:
    tree: dict[str, Json] = {
        "model": {"id": model},
        "engine": {
            "name": "vllm",
            "version": VERSION,
            "options": {"generation_config": "engine", **(options or {})},
            "extra": dict(extra or {}),
        },
    }
    return tree | ({"environment": {"variables": dict(variables)}} if variables else {})


def beside(
    tree: Tree, config: Mapping[str, Mapping[str, Json] | None] | None = None, variables: Tree | None = None
) -> Drift:
    """How a server with `config` laid over `CONFIG`, part by part, differs from `tree`."""
    parts = {
        name: {**(CONFIG.get(name) or {}), **part} if part is not None else None
        for name, part in {**CONFIG, **(config or {})}.items()
    }
    documents: dict[str, Json] = {
        "/version": {"version": VERSION},
        "/server_info?config_format=json": {"vllm_config": parts, "vllm_env": dict(variables or {})},
    }
    shown = vllm.read_back(lambda path: documents.get(path, Unknown("404")))
    return drift(tree, {"kind": "sampling"}, {}, Observation("vllm", VERSION, "http://x", shown))


def changed(result: Drift) -> dict[str, tuple[object, object]]:
    return {change.key: (change.before, change.after) for change in result.changes}


def test_an_option_nobody_declared_is_named_with_its_default_when_the_server_has_another() -> None:
    result = beside(base(), {"scheduler_config": {"stream_interval": 4}})
    (change,) = result.changes
    assert (change.key, change.before, change.after) == ("engine.extra.stream-interval", 1, 4)
    assert change.before_from == "engine default (vllm 0.32.0)"
    assert change.after_from == "GET /server_info vllm_config.scheduler_config.stream_interval"


@pytest.mark.parametrize("name", ["stream-interval", "stream_interval", "--stream-interval"])
def test_a_declared_option_is_compared_however_its_name_is_written(name: str) -> None:
    assert changed(beside(base(extra={name: 4}), {"scheduler_config": {"stream_interval": 4}})) == {}
    assert changed(beside(base(extra={name: 4}))) == {"engine.extra.stream-interval": (4, 1)}


@pytest.mark.parametrize(
    "extra",
    [{"attention-config": {"flash_attn_version": 2}}, {"attention-config.flash_attn_version": 2}],
)
def test_a_json_option_is_compared_part_by_part(extra: Tree) -> None:
    assert changed(beside(base(extra=extra))) == {
        "engine.extra.attention-config.flash_attn_version": (2, None),
    }


def test_what_the_engine_decides_or_rewrites_at_start_is_no_difference_and_no_equality() -> None:
    result = beside(
        base(),
        {
            "parallel_config": {"worker_cls": "vllm.GPUWorker", "disable_custom_all_reduce": True},
            "scheduler_config": {"disable_chunked_mm_input": True},
            "attention_config": {"flash_attn_version": 3},
        },
        {"VLLM_SSM_CONV_STATE_LAYOUT": "SD"},
    )
    assert changed(result) == {}
    own = (
        "engine.extra.worker-cls",
        "engine.extra.disable-chunked-mm-input",
        "engine.extra.attention-config.flash_attn_version",
        "environment.variables.VLLM_SSM_CONV_STATE_LAYOUT",
    )
    assert {result.unseen[key] for key in own} == {"the engine decides it at start"}
    assert "engine.options.custom_all_reduce" in result.unseen
    assert not {*own, "engine.options.custom_all_reduce"} & set(result.same)


def test_what_was_declared_and_the_engine_rewrote_is_a_difference() -> None:
    result = beside(
        base(options={"custom_all_reduce": True}), {"parallel_config": {"disable_custom_all_reduce": True}}
    )
    assert changed(result) == {"engine.options.custom_all_reduce": (True, False)}


@pytest.mark.parametrize(
    ("declared", "shown", "equal"),
    [
        ("0", False, True),
        ("false", False, True),
        ("1", False, False),
        ("", False, True),
        ("odd", True, False),
    ],
)
def test_a_declared_switch_is_compared_as_what_it_means(declared: str, shown: bool, equal: bool) -> None:
    result = beside(
        base(variables={"VLLM_CPU_ATTN_SPLIT_KV": declared}), variables={"VLLM_CPU_ATTN_SPLIT_KV": shown}
    )
    assert (result.changes == ()) is equal
    assert ("environment.variables.VLLM_CPU_ATTN_SPLIT_KV" in result.same) is equal


@pytest.mark.parametrize(
    ("name", "declared", "shown"),
    [
        ("VLLM_XGRAMMAR_CACHE_MB", "256", 256),
        ("VLLM_CHAT_TEMPLATE_RENDER_TIMEOUT", "12.5", 12.5),
        ("VLLM_DISABLED_KERNELS", "a,b", ["a", "b"]),
        ("VLLM_KV_CACHE_LAYOUT", "HND", "HND"),
    ],
)
def test_numbers_and_lists_are_compared_as_one_writes_them(name: str, declared: str, shown: Json) -> None:
    assert changed(beside(base(variables={name: declared}), variables={name: shown})) == {}
    assert f"environment.variables.{name}" in changed(beside(base(), variables={name: shown}))


def test_a_variable_of_another_version_or_set_where_it_is_deployed_is_not_compared() -> None:
    key = "environment.variables.VLLM_NO_SUCH_SWITCH"
    result = beside(base(), variables={"VLLM_NO_SUCH_SWITCH": True})
    assert result.unseen[key] == "vllm 0.32.0 reads no such variable"
    told = beside(
        base(variables={"VLLM_KV_CACHE_LAYOUT": "env:LAYOUT"}), variables={"VLLM_KV_CACHE_LAYOUT": "HND"}
    )
    assert (
        told.unseen["environment.variables.VLLM_KV_CACHE_LAYOUT"] == "it is set where the server is deployed"
    )


def test_logging_addresses_and_secrets_are_not_compared() -> None:
    shown: dict[str, Json] = {
        "VLLM_LOGGING_LEVEL": "DEBUG",
        "VLLM_HOST_IP": "10.0.0.1",
        "VLLM_API_KEY": "k",
        "VLLM_DP_RANK": 3,
    }
    result = beside(base(), variables=shown)
    assert changed(result) == {}
    assert not [key for key in (*result.same, *result.unseen) if any(name in key for name in shown)]


def test_a_json_option_with_parts_the_engine_filled_in_is_what_was_declared() -> None:
    tree = base(options={"speculative": {"method": "ngram", "num_tokens": 3}})
    running: dict[str, Json] = {
        "method": "ngram",
        "num_speculative_tokens": 3,
        "prompt_lookup_max": 5,
        "model": "acme/tern",
    }
    assert changed(beside(tree, {"speculative_config": running})) == {}
    other = beside(tree, {"speculative_config": running | {"num_speculative_tokens": 5}})
    assert list(changed(other)) == ["engine.options.speculative"]
    assert list(changed(beside(tree))) == ["engine.options.speculative"]
    assert list(changed(beside(base(), {"speculative_config": running}))) == ["engine.options.speculative"]


@pytest.mark.parametrize(("options", "lora", "key"), [
    ({}, None, None),
    ({"lora": {"enabled": False}}, None, None),
    ({"lora": {"enabled": True}}, None, "engine.options.lora.enabled"),
    ({}, {"max_loras": 1}, "engine.options.lora.enabled"),
])  # fmt: skip
def test_adapters_that_are_off_have_no_configuration(
    options: Tree, lora: Mapping[str, Json] | None, key: str | None
) -> None:
    result = beside(base(options=options), {"lora_config": lora})
    assert [change for change in changed(result) if change.startswith("engine.options.lora.en")] == (
        [key] if key else []
    )


def test_a_folder_on_the_server_is_not_another_model_than_the_repository_named() -> None:
    """Weights are often brought as files; another repository is another model."""
    folder = beside(base(), {"model_config": {"model": "/models/tern"}})
    assert "model.id" not in changed(folder)
    assert "its files tell which model it is" in folder.unseen["model.id"]
    assert changed(beside(base(), {"model_config": {"model": "acme/gull"}}))["model.id"] == (
        "acme/tern",
        "acme/gull",
    )
    elsewhere = beside(base(model="/models/tern"), {"model_config": {"model": "/models/gull"}})
    assert changed(elsewhere)["model.id"] == ("/models/tern", "/models/gull")


def test_the_overrides_of_a_launch_are_sampling_defaults() -> None:
    tree = base()
    result = beside(
        tree, {"model_config": {"override_generation_config": {"top_k": 13, "max_new_tokens": 64}}}
    )
    assert changed(result) == {
        "engine.options.generation_overrides": (None, {"top_k": 13, "max_tokens": 64}),
        "sampling.top_k": (0, 13),
        "sampling.max_tokens": (None, 64),
    }
    assert "sampling.top_p" in result.same
    sources = {change.key: change.after_from for change in result.changes}
    assert sources["sampling.top_k"] == "GET /server_info vllm_config.model_config.override_generation_config"


def test_a_policy_that_reads_the_models_file_leaves_the_defaults_unseen() -> None:
    result = beside(
        base(options={"generation_config": "auto"}), {"model_config": {"generation_config": "auto"}}
    )
    assert result.unseen["sampling.top_k"] == "the server does not show it"
