"""The option tables, read from the engines' own wheels: defaults, and exact answers about upgrades."""

from __future__ import annotations

import pytest

from governance.engines import tables
from governance.engines.model import OptionTable
from governance.engines.tables import OptionChange
from governance.engines.versions import version_key
from governance.values import ABSENT, Unknown


def read(engine: str, version: str) -> OptionTable:
    table = tables.table(engine, version)
    assert isinstance(table, OptionTable)
    return table


def changes(engine: str, old: str, new: str) -> tuple[OptionChange, ...]:
    found = tables.upgrade(engine, old, new)
    assert not isinstance(found, Unknown)
    return found


@pytest.mark.parametrize(
    ("engine", "least"),
    [("vllm", 20), ("sglang", 12), ("llama.cpp", 3), ("transformers", 5)],
)
def test_every_version_has_a_table_and_a_named_wheel(engine: str, least: int) -> None:
    known = tables.versions(engine)
    assert len(known) >= least
    assert list(known) == sorted(known, key=lambda v: version_key(v) or ())
    for version in known:
        assert tables.table(engine, version)
        source = tables.source(engine, version)
        assert not isinstance(source, Unknown)
        assert len(source.sha256) == 64
        assert source.file.endswith(".whl")


def test_the_model_file_became_the_default_of_vllm_between_0_7_3_and_0_8_2() -> None:
    """The model case: an upgrade that begins to read generation_config.json."""
    assert read("vllm", "0.7.3").options["generation_config"].default is None
    assert read("vllm", "0.8.2").options["generation_config"].default == "auto"
    moved = {c.name: (c.before, c.after) for c in changes("vllm", "0.7.3", "0.8.2") if c.what == "default"}
    assert moved["generation_config"] == (None, "auto")
    assert moved["seed"] == (0, None)


def test_what_vllm_0_29_to_0_32_changed_is_exact() -> None:
    """As the installed parsers of both say; options of the front end count, `vllm serve` takes them."""
    found = [c for c in changes("vllm", "0.29.0", "0.32.0") if c.table == "options" and "." not in c.name]
    removed = [c.name for c in found if c.what == "removed"]
    added = {c.name for c in found if c.what == "added"}
    front_end = {
        "anthropic_disabled_thinking_effort", "enable_scale_out", "grpc_port", "tool_strict_level",
        "trust_request_mm_kwargs",
    }  # fmt: skip
    moved = {c.name: (c.before, c.after) for c in found if c.what == "default"}
    assert removed == ["enable_bf16x3_router_gemm"]
    assert front_end <= added
    assert len(added - front_end) == 20
    assert moved["disable_cascade_attn"] == (True, None)
    assert moved["cp_kv_cache_interleave_size"] == (1, None)
    assert {c.name for c in found if c.what == "choices"} >= {
        "kv_cache_dtype",
        "all2all_backend",
        "moe_backend",
    }


def test_vllm_0_32_takes_two_more_keys_of_the_model_file_than_0_29() -> None:
    found = [c for c in changes("vllm", "0.29.0", "0.32.0") if c.name == "generation_config_keys"]
    assert isinstance(found[0].before, list)
    assert isinstance(found[0].after, list)
    assert set(found[0].after) - set(found[0].before) == {"presence_penalty", "frequency_penalty"}


def test_sglang_stopped_giving_chat_requests_a_temperature_of_0_7() -> None:
    """In 0.4 a chat request without a temperature got 0.7; since 0.5.3 the model's file decides, else 1.0."""
    old = tables.defaults("sglang", "0.5.2", "request")
    assert not isinstance(old, Unknown)
    assert old["temperature"] == 0.7
    new = tables.unset("sglang", "0.5.3.post3")
    assert not isinstance(new, Unknown)
    assert new["temperature"] == 1.0
    assert read("sglang", "0.5.3.post3").options["sampling_defaults"].default == "model"
    assert "sampling_defaults" not in read("sglang", "0.5.2").options


def test_llama_cpp_options_carry_variables_defaults_and_both_spellings() -> None:
    options = read("llama.cpp", "b10434").options
    assert options["ctx_size"].env == "LLAMA_ARG_CTX_SIZE"
    assert options["ctx_size"].flags == ("--ctx-size", "-c")
    assert options["temp"].default == 0.8
    assert options["top_k"].default == 40
    assert options["cache_type_k"].default == "f16"
    assert options["kv_offload"].negation == "--no-kv-offload"
    assert options["kv_offload"].negations == ("-nkvo",)
    assert isinstance(options["kv_unified"].default, Unknown)


def test_the_choices_of_an_enum_and_of_a_literal_are_read() -> None:
    options = read("vllm", "0.33.0").options
    assert "FLASH_ATTN" in (options["attention_backend"].choices or ())
    assert set(options["dtype"].choices or ()) == {"auto", "bfloat16", "float", "float16", "float32", "half"}
    assert options["enable_prefix_caching"].negation == "--no-enable-prefix-caching"
    assert options["compilation_config.mode"].flags == ()


def test_a_version_between_two_known_ones_is_answered_by_the_lower() -> None:
    assert read("vllm", "0.8.3").version == "0.8.2"
    assert read("vllm", "v0.10.1rc1+cu128").version == "0.10.0"
    assert read("sglang", "v0.5.5.post3-cu129-amd64").version == "0.5.5.post3"


@pytest.mark.parametrize(
    ("engine", "version", "reason"),
    [
        ("vllm", "0.4.0", "older than the oldest table"),
        ("vllm", "latest", "`latest` is no version of vllm"),
        ("tensorrt-llm", "1.2.1", "no option table of tensorrt-llm is shipped"),
    ],
)
def test_a_version_without_a_table_is_unknown_with_the_reason(engine: str, version: str, reason: str) -> None:
    found = tables.table(engine, version)
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_an_upgrade_over_a_version_that_was_not_read_is_unknown_not_guessed() -> None:
    found = tables.upgrade("vllm", "0.8.3", "0.9.2")
    assert isinstance(found, Unknown)
    assert "the nearest lower one that was is 0.8.2" in found.reason


def test_nothing_changes_between_a_version_and_itself() -> None:
    for engine in ("vllm", "sglang", "llama.cpp", "transformers"):
        for version in tables.versions(engine):
            assert changes(engine, version, version) == ()


def test_going_back_is_the_mirror_of_going_forward() -> None:
    there = changes("sglang", "0.5.2", "0.5.3.post3")
    back = changes("sglang", "0.5.3.post3", "0.5.2")
    mirror = {"added": "removed", "removed": "added"}
    assert {(c.table, c.name, c.what) for c in there} == {
        (c.table, c.name, mirror.get(c.what, c.what)) for c in back
    }


def test_a_launch_of_unknown_version_sees_the_options_of_every_version() -> None:
    every = tables.every_option("vllm")
    assert {"swap_space", "num_scheduler_steps", "performance_mode"} <= set(every.options)
    assert every.version == tables.versions("vllm")[-1]


def test_an_option_without_a_default_is_absent_not_null() -> None:
    assert read("vllm", "0.32.0").options["log_level"].default is ABSENT


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("0.8.5", "0.8.5.post1"),
        ("0.10.1rc1", "0.10.1"),
        ("0.9.2", "0.10.0"),
        ("b10092", "b10434"),
        ("1.0.dev2", "1.0"),
    ],
)
def test_versions_are_ordered_as_they_were_released(older: str, newer: str) -> None:
    first, second = version_key(older), version_key(newer)
    assert first is not None
    assert second is not None
    assert first < second


@pytest.mark.parametrize("same", [("0.8.0", "0.8"), ("v0.8.4", "0.8.4"), ("0.8.4+cu121", "0.8.4")])
def test_labels_and_trailing_zeros_do_not_order(same: tuple[str, str]) -> None:
    assert version_key(same[0]) == version_key(same[1])
