"""transformers serve: greedy until the model's file says otherwise, and deaf to most of a request."""

from __future__ import annotations

import pytest

from governance.engines import transformers
from governance.engines.keys import look
from governance.engines.resolve import resolve
from governance.errors import Usage
from governance.values import ABSENT, Absent, Json, Tree, Unknown
from governance.verdict import EffectiveValue


def base_of(version: str = "5.24.0", **options: Json) -> dict[str, Json]:
    engine: dict[str, Json] = {"name": "transformers", "version": version, "options": dict(options)}
    return {"model": {"id": "acme/tern", "revision": "a" * 40}, "engine": engine}


def values(sampling: Tree, file: Tree | Unknown | Absent = ABSENT) -> dict[str, EffectiveValue]:
    return {value.key: value for value in resolve(base_of(), sampling, file)}


@pytest.mark.parametrize("version", ["4.57.6", "5.0.0", "5.24.0"])
def test_importing_what_was_rendered_gives_the_same_config(version: str) -> None:
    base = base_of(version, attention="sdpa", continuous_batching=True, seed=7)
    base["precision"] = {"dtype": "bfloat16"}
    launch = transformers.render(base, host="127.0.0.1", port=8000)
    found = transformers.parse(launch.argv, launch.environment)
    assert found.findings == ()
    assert {k: v for k, v in found.base.items() if k != "engine"} == {
        k: v for k, v in base.items() if k != "engine"
    }
    assert look(found.base, "engine.options") == look(base, "engine.options")


def test_a_version_without_the_command_is_refused() -> None:
    with pytest.raises(Usage, match="no `serve` command"):
        transformers.render(base_of("4.46.3"), host="h", port=1)


def test_a_key_it_has_no_option_for_is_refused() -> None:
    with pytest.raises(Usage, match="max_model_len"):
        transformers.render(base_of(max_model_len=4096), host="h", port=1)


def test_a_temperature_alone_does_not_turn_sampling_on() -> None:
    """Only `do_sample` of the model's own file does: without it the service is greedy whatever is asked."""
    greedy = values({"temperature": 0.7}, {"temperature": 0.6})
    assert greedy["sampling.do_sample"].value is False
    assert greedy["sampling.temperature"].note.startswith("greedy")
    drawn = values({"temperature": 0.7}, {"do_sample": True})
    assert drawn["sampling.do_sample"].value is True
    assert drawn["sampling.temperature"].note == ""
    assert values({"temperature": 0.0}, {"do_sample": True})["sampling.do_sample"].value is False


def test_the_models_file_always_counts() -> None:
    found = values({}, {"top_k": 20, "eos_token_id": [2, 1]})
    assert (found["sampling.top_k"].value, found["sampling.top_k"].provenance) == (
        20,
        "generation_config.json of the model",
    )
    assert found["sampling.stop_token_ids"].value == [1, 2]
    assert found["sampling.top_p"].value == 1.0


def test_without_the_models_file_the_defaults_are_unknown() -> None:
    found = values({"temperature": 0.2})
    assert isinstance(found["sampling.top_k"].value, Unknown)
    assert found["sampling.temperature"].value == 0.2


def test_a_field_it_does_not_take_keeps_the_models_value() -> None:
    found = values({"top_k": 5}, {"top_k": 20})["sampling.top_k"]
    assert (found.value, found.source, found.provenance) == (20, 5, "not applied by transformers")


def test_a_frequency_penalty_becomes_a_repetition_penalty() -> None:
    assert values({"frequency_penalty": 0.5}, {})["sampling.repetition_penalty"].value == 1.5


def test_a_small_limit_of_the_models_file_is_raised() -> None:
    found = values({}, {"max_new_tokens": 20})["sampling.max_tokens"]
    assert found.value == 1024
    assert "20" in found.note


def test_the_list_of_models_says_nothing_of_the_one_that_is_served() -> None:
    """Measured: it lists what the host's cache holds, and fails where there is none."""
    models: Json = {"data": [{"id": f"acme/tern@{'a' * 40}"}]}
    assert transformers.read_back(lambda _: models) == {}


def test_the_model_on_the_command_line_is_a_value_of_the_server() -> None:
    said = transformers.parse(["transformers", "serve", f"acme/tern@{'a' * 40}"], {}, version="5.24.0").base
    found = transformers.engine_values({**said, "engine": {"name": "transformers", "version": "5.24.0"}})
    assert (found["model.id"].value, found["model.revision"].value) == ("acme/tern", "a" * 40)
