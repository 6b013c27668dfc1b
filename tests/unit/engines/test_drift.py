"""What a server does otherwise than its config: changes, notes, and what could not be seen."""

from __future__ import annotations

import pytest

from governance.engines.drift import PINNED, drift, equal
from governance.engines.model import Observed
from governance.engines.observe import Observation
from governance.engines.resolve import resolve, server_values
from governance.values import ABSENT, Json, Unknown, Value
from tests.support.llama_server import BASE, METADATA, SAMPLING


def observation(**changed: Value) -> Observation:
    """A server that shows exactly what the config asks for, but for `changed` (dots written `__`)."""
    shown = {value.key: value.value for value in server_values(BASE, METADATA)}
    shown |= {"engine.name": "llama.cpp", "engine.version": "b10068", "engine.commit": "571d0d5"}
    for key, value in changed.items():
        shown[key.replace("__", ".")] = value
    return Observation(
        "llama.cpp",
        "b10068",
        "http://x",
        {key: Observed(value, "GET /props") for key, value in shown.items()},
    )


def test_an_equal_server_differs_in_nothing() -> None:
    found = drift(BASE, SAMPLING, METADATA, observation())
    assert (found.changes, found.notes, dict(found.unseen)) == ((), (), {})
    assert {v.key: v.value for v in found.values} == {
        v.key: v.value for v in resolve(BASE, SAMPLING, METADATA)
    }


def test_a_changed_engine_value_is_named_with_both_sources() -> None:
    found = drift(BASE, SAMPLING, METADATA, observation(precision__kv_cache__dtype="q4_0"))
    (change,) = found.changes
    assert (change.layer, change.key, change.before, change.after) == (
        "effective",
        "precision.kv_cache.dtype",
        "f16",
        "q4_0",
    )
    assert (change.before_from, change.after_from, change.risk.value) == ("config", "GET /props", "output")
    assert change.effect


def test_a_changed_default_counts_only_where_the_service_inherits_it() -> None:
    found = drift(BASE, SAMPLING, METADATA, observation(sampling__temperature=0.9, sampling__top_k=20))
    assert [change.key for change in found.changes] == ["sampling.top_k"]
    assert found.notes == (f"server default of `temperature` is 0.9, not 0.8: {PINNED}",)
    values = {value.key: value.value for value in found.values}
    assert (values["sampling.temperature"], values["sampling.top_k"]) == (0.1, 20)


@pytest.mark.parametrize("seen", [Unknown("HTTP 401"), None])
def test_what_the_server_does_not_show_is_unseen_and_never_equal(seen: Unknown | None) -> None:
    looked = observation()
    shown = {k: v for k, v in looked.values.items() if k != "precision.kv_cache.dtype"}
    if seen is not None:
        shown["precision.kv_cache.dtype"] = Observed(seen, "GET /props")
    found = drift(BASE, SAMPLING, METADATA, Observation("llama.cpp", "b10068", "http://x", shown))
    assert "precision.kv_cache.dtype" not in found.same
    assert "precision.kv_cache.dtype" in found.unseen
    held = {value.key: value.value for value in found.values}["precision.kv_cache.dtype"]
    assert isinstance(held, Unknown)


def test_another_build_is_a_change_of_the_base_layer() -> None:
    found = drift(BASE, SAMPLING, METADATA, observation(engine__version="b10092", engine__commit="3ce7da2"))
    assert [(change.layer, change.key) for change in found.changes] == [
        ("base", "engine.commit"),
        ("base", "engine.version"),
    ]


def test_an_option_nobody_asked_for_is_a_change_from_nothing() -> None:
    found = drift(BASE, SAMPLING, METADATA, observation(**{"engine__extra__override-kv": "a=int:1"}))
    assert [(change.before, change.after) for change in found.changes] == [(ABSENT, "a=int:1")]
    assert "engine.extra.override-kv" in {value.key for value in found.values}


def test_a_value_left_to_the_machine_is_told_and_not_judged() -> None:
    engine = BASE["engine"]
    assert isinstance(engine, dict)
    base = {**BASE, "engine": {**engine, "options": {"max_model_len": 1024, "max_num_seqs": 2}}}
    found = drift(base, SAMPLING, METADATA, observation(engine__options__threads=8))
    assert "the server has 8" in found.unseen["engine.options.threads"]
    assert "engine.options.threads" not in {change.key for change in found.changes}


def test_values_are_equal_as_the_server_holds_them() -> None:
    engine = BASE["engine"]
    assert isinstance(engine, dict)
    options = {**engine["options"], "generation_overrides": {"temperature": 0.123456789}}
    base: dict[str, Json] = {**BASE, "engine": {**engine, "options": options}}
    sampling: dict[str, Json] = {**SAMPLING, "temperature": "inherit"}
    assert drift(base, sampling, METADATA, observation(sampling__temperature=0.12345679)).changes == ()
    moved = drift(base, sampling, METADATA, observation(sampling__temperature=0.1234568)).changes
    assert [change.key for change in moved] == ["sampling.temperature"]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        (False, False, True),
        ([1, 2], [1.0, 2], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ("1", 1, False),
        (None, ABSENT, False),
        (ABSENT, ABSENT, True),
        (Unknown("a"), Unknown("a"), False),
    ],
)
def test_equality_is_of_meaning_and_never_of_the_unknown(left: Value, right: Value, *, same: bool) -> None:
    assert equal(left, right) is same
    assert equal(right, left) is same
