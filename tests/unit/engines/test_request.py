"""A request says what the sampling config says, in the words of the engine that serves, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from governance.engines import registry, tables
from governance.engines.request import (
    Contract,
    Dialect,
    dialect_of,
    evidence_fields,
    prompt_fields,
    sampling_fields,
    stream_fields,
)
from governance.engines.request_words import EVIDENCE, FIELDS, PROMPT_FIELDS
from governance.tiers.schemas.sampling import DecodingKey
from governance.values import Json, Unknown

VLLM = Dialect("vllm", "0.32.0")
OLD_VLLM = Dialect("vllm", "0.8.2")
SGLANG = Dialect("sglang", "0.5.23")
LLAMA = Dialect("llama.cpp", "b10434")
TGI = Dialect("tgi", "3.3.4")
SCHEMA: dict[str, Json] = {"type": "object"}
CONTRACT = Contract(schema=SCHEMA, regex="a+", grammar='root ::= "a"', choices=("yes", "n.o"))


def body(dialect: Dialect, **sampling: Json) -> dict[str, Any]:
    fields = sampling_fields(dialect, {"kind": "sampling", **sampling}, CONTRACT)
    assert not fields.left_out, fields.left_out
    return dict(fields.body)


def test_every_engine_has_its_words() -> None:
    assert set(FIELDS) == set(registry.ENGINES)
    assert set(PROMPT_FIELDS) <= set(FIELDS)
    assert set(EVIDENCE) <= set(FIELDS)


@pytest.mark.parametrize("engine", sorted(FIELDS))
def test_the_words_are_of_keys_that_exist(engine: str) -> None:
    known = set(DecodingKey.__args__)  # type: ignore[attr-defined]
    assert {key.partition(".")[0] for key in FIELDS[engine]} <= known


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_the_words_are_fields_of_the_engines_own_request_model(engine: str) -> None:
    """A misspelt field is dropped by the server without a word."""
    fields: set[str] = set()
    for version in tables.versions(engine):
        found = tables.defaults(engine, version, "request")
        assert not isinstance(found, Unknown)
        fields |= set(found)
    assert set(FIELDS[engine].values()) <= fields
    assert set(EVIDENCE[engine]) <= fields


def test_each_engine_is_told_a_repetition_penalty_in_its_own_word() -> None:
    assert body(VLLM, repetition_penalty=1.1) == {"repetition_penalty": 1.1}
    assert body(SGLANG, repetition_penalty=1.1) == {"repetition_penalty": 1.1}
    assert body(LLAMA, repetition_penalty=1.1) == {"repeat_penalty": 1.1}


def test_groups_are_taken_apart() -> None:
    told = body(LLAMA, dry={"multiplier": 0.8, "base": 1.75}, mirostat={"mode": 2, "tau": 5.0})
    assert told == {"dry_multiplier": 0.8, "dry_base": 1.75, "mirostat": 2, "mirostat_tau": 5.0}


def test_what_is_inherited_or_no_parameter_is_not_sent() -> None:
    assert body(VLLM, temperature="inherit", task="factual", overridable=["stop"], reason="so") == {}


def test_extras_are_sent_as_they_are() -> None:
    assert body(VLLM, extra={"vllm_xargs": {"a": 1}}) == {"vllm_xargs": {"a": 1}}


def test_what_the_engine_has_no_field_for_is_told_and_not_sent() -> None:
    fields = sampling_fields(TGI, {"temperature": 0.2, "top_k": 40, "xtc": {"probability": 0.1}})
    assert fields.body == {"temperature": 0.2}
    assert set(fields.left_out) == {"sampling.top_k", "sampling.xtc.probability"}
    assert "tgi 3.3.4" in fields.left_out["sampling.top_k"]


def test_a_field_that_a_later_version_brought_is_not_sent_to_an_older_one() -> None:
    assert body(VLLM, allowed_token_ids=[1]) == {"allowed_token_ids": [1]}
    assert set(sampling_fields(OLD_VLLM, {"allowed_token_ids": [1]}).left_out) == {
        "sampling.allowed_token_ids"
    }


def test_values_that_one_engine_refuses_are_respelt_or_left_out_when_they_ask_for_nothing() -> None:
    assert body(SGLANG, top_k=0) == {"top_k": -1}
    assert body(VLLM, top_k=0) == {"top_k": 0}
    assert body(TGI, top_p=1.0) == {}
    assert body(TGI, top_p=0.9) == {"top_p": 0.9}


STRUCTURED = {
    "vllm, regex": (VLLM, "regex", {"structured_outputs": {"regex": "a+"}}),
    "vllm, choices": (VLLM, "choices", {"structured_outputs": {"choice": ["yes", "n.o"]}}),
    "an older vllm, regex": (OLD_VLLM, "regex", {"guided_regex": "a+"}),
    "sglang, grammar": (SGLANG, "grammar", {"ebnf": 'root ::= "a"'}),
    "sglang, choices": (SGLANG, "choices", {"regex": r"(yes|n\.o)"}),
    "llama.cpp, grammar": (LLAMA, "grammar", {"grammar": 'root ::= "a"'}),
    "llama.cpp, choices": (LLAMA, "choices", {"grammar": 'root ::= "yes" | "n.o"'}),
    "tgi, schema": (TGI, "json_schema", {"response_format": {"type": "json_object", "value": SCHEMA}}),
    "vllm, schema": (
        VLLM,
        "json_schema",
        {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}},
    ),
}


@pytest.mark.parametrize("case", STRUCTURED)
def test_the_output_contract_is_enforced_in_the_form_of_the_engine(case: str) -> None:
    dialect, mode, wanted = STRUCTURED[case]
    assert body(dialect, structured={"mode": mode}) == wanted


def test_a_form_the_engine_lacks_is_told() -> None:
    fields = sampling_fields(LLAMA, {"structured": {"mode": "regex"}}, CONTRACT)
    assert set(fields.left_out) == {"sampling.structured"}
    fields = sampling_fields(VLLM, {"structured": {"mode": "regex"}}, Contract())
    assert "the output contract has nothing" in fields.left_out["sampling.structured"]


def test_beam_search_is_asked_for_where_it_is_a_field_of_the_request() -> None:
    assert body(VLLM, beam={"width": 4}) == {"use_beam_search": True, "n": 4}
    assert body(VLLM, beam={"width": 1}) == {}
    assert set(sampling_fields(LLAMA, {"beam": {"width": 4}}).left_out) == {"sampling.beam"}


def test_token_ids_are_asked_for_only_where_the_config_leaves_log_probabilities_open() -> None:
    assert evidence_fields(VLLM, {}) == {"logprobs": True, "return_token_ids": True}
    assert evidence_fields(OLD_VLLM, {}) == {"logprobs": True}
    assert evidence_fields(LLAMA, {"logprobs": "inherit"}) == {"logprobs": True, "top_logprobs": 1}
    assert evidence_fields(VLLM, {"logprobs": False}) == {}
    assert evidence_fields(Dialect("transformers", "5.24.0"), {}) == {}


def test_the_completions_interface_counts_log_probabilities() -> None:
    dialect = Dialect("vllm", "0.32.0", "completions")
    assert sampling_fields(dialect, {"logprobs": True, "top_logprobs": 5}).body == {"logprobs": 5}
    assert sampling_fields(dialect, {"logprobs": False}).body == {}


def test_the_responses_interface_has_names_of_its_own() -> None:
    fields = sampling_fields(Dialect("vllm", "0.32.0", "responses"), {"max_tokens": 9, "seed": 1})
    assert fields.body == {"max_output_tokens": 9}
    assert set(fields.left_out) == {"sampling.seed"}
    assert stream_fields(Dialect("", "", "responses")) == {"stream": True}


def test_what_the_prompts_tier_says_of_the_form_is_sent_where_it_can_be() -> None:
    given: dict[str, Json] = {"chat_template_kwargs": {"enable_thinking": False}, "documents": []}
    assert prompt_fields(VLLM, given).body == given
    assert set(prompt_fields(LLAMA, given).left_out) == {"prompts.documents"}


def test_an_engine_nobody_named_is_spoken_to_in_the_words_all_share() -> None:
    dialect = dialect_of({})
    fields = sampling_fields(dialect, {"temperature": 0.1, "top_k": 4})
    assert fields.body == {"temperature": 0.1}
    assert set(fields.left_out) == {"sampling.top_k"}
