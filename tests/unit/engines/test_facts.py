"""What the rules may ask the engines."""

from __future__ import annotations

from governance.engines.facts import Facts, check_extra
from governance.engines.model import OptionTable
from governance.values import Json, Unknown


def problems(extra: Json, version: str = "0.33.0") -> dict[str, tuple[str, str]]:
    base = {"engine": {"name": "vllm", "version": version, "extra": extra}}
    return {p.name: (p.message, p.nearest) for p in check_extra(base)}


def test_a_misspelt_option_names_the_nearest() -> None:
    found = problems({"disable-cascade-atn": True})
    assert found["disable-cascade-atn"] == (
        "`disable-cascade-atn` is no option of vllm 0.33.0",
        "disable-cascade-attn",
    )


def test_wrong_types_and_choices_are_named() -> None:
    found = problems(
        {"max-loras": "many", "enforce-eager": "yes", "moe-backend": "abacus", "kv-cache-memory-bytes": 1.5}
    )
    assert found["max-loras"][0] == "`max-loras` takes an integer"
    assert found["enforce-eager"][0] == "`enforce-eager` is a switch: write true or false"
    assert found["moe-backend"][0].startswith("`moe-backend` cannot be `abacus`; it is one of aiter")
    assert "takes an integer" in found["kv-cache-memory-bytes"][0]


def test_parts_of_json_options_are_checked_where_they_are_known() -> None:
    assert problems({"speculative-config.parallel_drafting": True, "compilation-config.mode": 3}) == {}
    assert "speculative-config.foo" in problems({"speculative-config.foo": 1})


def test_an_option_that_was_removed_is_no_option_of_the_newer_version() -> None:
    assert problems({"enable-bf16x3-router-gemm": True}, "0.29.0") == {}
    assert problems({"enable-bf16x3-router-gemm": True}, "0.32.0") != {}


def test_nothing_is_judged_without_a_table() -> None:
    assert problems({"anything": 1}, "nightly") == {}


def test_the_rules_get_tables_and_defaults_through_one_object() -> None:
    facts = Facts()
    assert isinstance(facts.table("vllm", "0.8.4"), OptionTable)
    assert isinstance(facts.table("abacus", "1"), Unknown)
    assert isinstance(facts.sampling_defaults({}, {}), Unknown)
    found = facts.sampling_defaults({"engine": {"name": "vllm", "version": "0.8.4"}}, {"top_k": 20})
    assert not isinstance(found, Unknown)
    assert found["top_k"].value == 20
