"""Sampling rules at their edges, alone and bound to an engine."""

from __future__ import annotations

from typing import Any

import pytest

from governance.tiers.rules.sampling import PROFILES
from governance.verdict import Severity
from tests.support.rules import GONE, codes, found

GREEDY = {"temperature": 0.0, "top_p": 1.0, "top_k": -1}
MODEL_FILE = '{"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05}\n'
READS_FILE = {
    "engine/options/generation_config": GONE,
    "model/generation_config": {"file": "generation_config.json"},
}
FILES = {"base/demo/generation_config.json": MODEL_FILE}


@pytest.mark.parametrize(
    ("task", "temperature", "wrong"),
    [
        ("factual", 0.3, False),
        ("factual", 0.31, True),
        ("code", 0.4, False),
        ("code", 0.41, True),
        ("creative", 0.9, False),
        ("creative", 0.1, True),
    ],
)
def test_the_temperature_stays_in_the_range_of_the_task(task: str, temperature: float, wrong: bool) -> None:
    findings = found("TL301", sampling={"task": task, "temperature": temperature, "top_p": 0.9})
    assert bool(findings) is wrong
    if wrong:
        assert findings[0].key == "temperature"
        assert f"`{task}`" in findings[0].message


def test_a_profile_of_tierlock_yaml_widens_and_adds() -> None:
    own = {"profiles": {"factual": {"temperature": {"max": 0.5}}, "poems": {"temperature": {"min": 0.9}}}}
    assert not found("TL301", sampling={"temperature": 0.5}, services=own)
    assert not found("TL303", sampling={"task": "poems", "temperature": 1.0}, services=own)
    assert found("TL301", sampling={"task": "poems"}, services=own)
    assert found("TL302", sampling={"repetition_penalty": 1.2}, services=own), "other ranges still hold"


def test_profiles_are_ranges_with_two_ends() -> None:
    for profile in PROFILES.values():
        for bounds in profile.values():
            assert isinstance(bounds, dict)
            assert bounds["min"] <= bounds["max"]


def test_what_nobody_set_is_named_once() -> None:
    (finding,) = found("TL310", sampling={"top_p": GONE, "top_k": GONE, "max_tokens": GONE})
    assert "`top_p`, `top_k` and `max_tokens` are not pinned" in finding.message


def test_inherit_is_a_decision() -> None:
    assert not found("TL310", sampling={"top_p": "inherit", "top_k": "inherit"})


def test_greedy_decoding_needs_no_filters() -> None:
    sampling = {"temperature": 0.0, "top_p": GONE, "top_k": GONE, "min_p": GONE}
    assert codes(sampling=sampling) == []


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ({**GREEDY}, []),
        ({"seed": 42}, [("TL321", Severity.WARNING)]),
        ({}, [("TL320", Severity.ERROR), ("TL321", Severity.ERROR)]),
        ({"temperature": GONE}, [("TL320", Severity.ERROR), ("TL321", Severity.ERROR)]),
        ({"temperature": "inherit", "seed": 1}, [("TL321", Severity.ERROR)]),
        ({**GREEDY, "n": 2}, [("TL322", Severity.ERROR)]),
        ({**GREEDY, "best_of": 2}, [("TL322", Severity.ERROR)]),
    ],
)
def test_a_claim_of_repeatable_answers_is_held_to(
    sampling: dict[str, Any], expected: list[tuple[str, Severity]]
) -> None:
    findings = [
        (each.code, each.severity)
        for code in ("TL320", "TL321", "TL322")
        for each in found(code, sampling={"deterministic": True, **sampling})
    ]
    assert findings == expected


@pytest.mark.parametrize(
    ("sampling", "code"),
    [
        ({"min_tokens": 256}, None),
        ({"min_tokens": 257}, "TL331"),
        ({"n": 2, "best_of": 2}, None),
        ({"best_of": 1}, None),
        ({"do_sample": True, "temperature": 0.0, "top_p": 1.0, "top_k": -1}, "TL334"),
        ({"repetition_penalty": 1.1, "presence_penalty": 0.4}, "TL335"),
        ({"presence_penalty": 0.0, "frequency_penalty": 0.0}, None),
        ({"mirostat": {"mode": 0}}, None),
        ({"samplers": ["top_k", "top_p", "temperature"]}, None),
        ({"samplers": ["top_k", "temperature"]}, "TL337"),
        ({"thinking_budget": -1}, None),
        ({"top_logprobs": 0}, None),
        ({"beam": {"width": 1}}, None),
        ({"beam": {"width": 2}, "n": 3, "temperature": 0.0, "top_p": 1.0, "top_k": -1}, "TL345"),
        ({"overridable": ["temperature"]}, "TL340"),
        ({"overridable": ["max_tokens", "stop", "seed"]}, None),
    ],
)
def test_values_that_contradict_each_other(sampling: dict[str, Any], code: str | None) -> None:
    watched = {"TL331", "TL332", "TL334", "TL335", "TL336", "TL337", "TL340", "TL342", "TL343", "TL345"}
    assert [c for c in codes(sampling=sampling) if c in watched] == ([code] if code else [])


def test_the_model_file_fills_what_floats_and_the_values_are_named() -> None:
    sampling = {"top_p": GONE, "top_k": GONE, "repetition_penalty": GONE}
    (finding,) = found("TL311", base=READS_FILE, sampling=sampling, files=FILES)
    assert finding.path == "configs/sampling/demo.yaml"
    for told in ("`top_p` 0.8", "`top_k` 20", "`repetition_penalty` 1.05"):
        assert told in finding.message
    assert "temperature" not in finding.message


def test_an_engine_that_ignored_the_file_only_leaves_a_warning() -> None:
    sampling = {"top_p": GONE}
    base = {**READS_FILE, "engine/version": "0.7.2"}
    assert not found("TL311", base=base, sampling=sampling, files=FILES)
    assert found("TL310", base=base, sampling=sampling, files=FILES)


def test_a_stated_policy_is_enough() -> None:
    for policy in ("engine", "auto"):
        base = {**READS_FILE, "engine/options/generation_config": policy}
        assert not found("TL311", base=base, sampling={"top_p": GONE}, files=FILES)


def test_an_inherited_temperature_is_held_to_the_profile() -> None:
    base = {**READS_FILE, "engine/options/generation_config": "auto"}
    (finding,) = found("TL312", base=base, sampling={"temperature": "inherit"}, files=FILES)
    assert "0.7" in finding.message
    assert not found("TL312", base=base, sampling={"temperature": "inherit", "task": "creative"}, files=FILES)


@pytest.mark.parametrize(
    ("version", "top_k", "wrong"),
    [("0.8.4", 0, True), ("0.8.4", -1, False), ("0.9.2", 0, False), ("0.11.0", 0, False)],
)
def test_all_tokens_is_written_as_the_engine_writes_it(version: str, top_k: int, wrong: bool) -> None:
    assert bool(found("TL333", base={"engine/version": version}, sampling={"top_k": top_k})) is wrong


def test_a_parameter_without_effect_is_no_loss_on_an_engine_that_lacks_it() -> None:
    assert not found("TL338", sampling={"typical_p": 1.0, "no_repeat_ngram_size": 0})
    (finding,) = found("TL338", sampling={"typical_p": 0.9})
    assert finding.key == "typical_p"


def test_one_finding_for_services_that_bind_the_same_configs() -> None:
    again = {"base": "demo", "sampling": "demo", "prompts": "demo"}
    services = {"services/second": again, "services/third": again}
    sampling = {"deterministic": True, **GREEDY}
    (finding,) = found("TL323", sampling=sampling, services=services)
    assert "services `demo`, `second` and `third`" in finding.message
