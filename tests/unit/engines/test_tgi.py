"""TGI: launches in both directions, and what its chat route makes of a request."""

from __future__ import annotations

import pytest

from governance.engines import tgi
from governance.engines.keys import look
from governance.engines.resolve import resolve
from governance.errors import Usage
from governance.values import ABSENT, Json, Tree, Unknown
from governance.verdict import EffectiveValue

FULL: dict[str, Json] = {
    "model": {"id": "acme/tern", "revision": "a" * 40, "trust_remote_code": True},
    "precision": {"dtype": "bfloat16", "weights": {"method": "gptq"}, "kv_cache": {"dtype": "fp8_e4m3"}},
    "engine": {
        "name": "tgi",
        "version": "3.3.7",
        "options": {
            "max_model_len": 4096,
            "max_input_tokens": 3000,
            "max_num_seqs": 16,
            "max_num_batched_tokens": 4096,
            "tensor_parallel_size": 2,
            "cuda_graph_sizes": [1, 2, 4],
            "gpu_memory_utilization": 0.9,
            "speculative": {"method": "auto", "num_tokens": 3},
            "rope": {"scaling": "dynamic", "factor": 2.0},
            "prefix_caching": False,
            "attention": "flashinfer",
        },
        "extra": {"disable-grammar-support": True, "max-stop-sequences": 8},
    },
}


def base_of(version: str = "3.3.7", **options: Json) -> dict[str, Json]:
    return {
        "model": {"id": "acme/tern"},
        "engine": {"name": "tgi", "version": version, "options": dict(options)},
    }


def values(sampling: Tree, version: str = "3.3.7") -> dict[str, EffectiveValue]:
    return {value.key: value for value in resolve(base_of(version), sampling, ABSENT)}


def test_importing_what_was_rendered_gives_the_same_config() -> None:
    launch = tgi.render(FULL, host="0.0.0.0", port=80)
    found = tgi.parse(launch.argv, launch.environment)
    assert found.findings == ()
    expected = {k: v for k, v in FULL.items() if k != "engine"}
    assert {k: v for k, v in found.base.items() if k != "engine"} == expected
    for key in ("options", "extra"):
        assert look(found.base, f"engine.{key}") == look(FULL, f"engine.{key}")


def test_every_option_may_come_from_a_variable_of_its_name() -> None:
    environment = {
        "MODEL_ID": "acme/tern",
        "NUM_SHARD": "4",
        "QUANTIZE": "awq",
        "MAX_TOTAL_TOKENS": "2048",
        "TRUST_REMOTE_CODE": "true",
        "PREFIX_CACHING": "0",
        "HF_TOKEN": "hf-do-not-keep",
        "API_KEY": "sk-do-not-keep",
        "PORT": "8080",
    }
    found = tgi.parse(["text-generation-launcher", "--num-shard", "2"], environment)
    assert look(found.base, "model.id") == "acme/tern"
    assert look(found.base, "engine.options.tensor_parallel_size") == 2  # the flag wins
    assert look(found.base, "precision.weights.method") == "awq"
    assert look(found.base, "engine.options.max_model_len") == 2048
    assert look(found.base, "engine.options.prefix_caching") is False
    assert look(found.base, "model.trust_remote_code") is True
    assert "do-not-keep" not in repr(found)


def test_adapters_keep_their_place_and_revision() -> None:
    adapters: list[Json] = [
        {"name": "a", "path": "/l/a"},
        {"name": "b", "id": "acme/b", "revision": "c" * 40},
    ]
    launch = tgi.render({**FULL, "model": {"id": "x", "adapters": adapters}}, host="h", port=1)
    assert look(tgi.parse(launch.argv, {}).base, "model.adapters") == adapters


def test_what_a_launch_leaves_to_the_gpu_is_listed() -> None:
    opened = {one.key for one in tgi.parse(["text-generation-launcher", "--model-id", "x"], {}).left_open}
    assert {
        "base: engine.options.max_model_len",
        "base: engine.options.attention",
        "base: precision.dtype",
    } <= opened
    unnamed = {one.key: one.reason for one in tgi.parse(["text-generation-launcher"], {}).left_open}
    assert "bloom-560m" in unnamed["base: model.id"]


def test_a_key_tgi_has_no_option_for_is_refused() -> None:
    with pytest.raises(Usage, match="enforce_eager"):
        tgi.render(base_of(enforce_eager=True), host="h", port=1)
    with pytest.raises(Usage, match="float32"):
        tgi.render({**base_of(), "precision": {"dtype": "float32"}}, host="h", port=1)


def test_a_presence_penalty_of_zero_is_a_repetition_penalty_of_two() -> None:
    """The chat route adds 2: sending the harmless-looking 0.0 changes every answer."""
    assert values({"presence_penalty": 0.0})["sampling.repetition_penalty"].value == 2.0
    assert values({})["sampling.repetition_penalty"].value == 1.0


@pytest.mark.parametrize(
    ("key", "asked", "kept"), [("top_k", 5, 0), ("repetition_penalty", 1.2, 1.0), ("n", 3, 1)]
)
def test_a_field_the_chat_route_drops_keeps_its_default(key: str, asked: Json, kept: Json) -> None:
    found = values({key: asked})[f"sampling.{key}"]
    assert (found.value, found.source, found.provenance) == (kept, asked, "not applied by tgi")


def test_temperature_zero_is_greedy_and_no_temperature_samples() -> None:
    assert values({"temperature": 0.0})["sampling.do_sample"].value is False
    assert values({})["sampling.do_sample"].value is True
    assert values({})["sampling.temperature"].value == 1.0


def test_a_top_p_of_one_is_noted_as_refused() -> None:
    assert "422" in values({"top_p": 1.0})["sampling.top_p"].note


def test_older_versions_stop_after_a_hundred_tokens() -> None:
    assert values({}, "2.2.0")["sampling.max_tokens"].value == 100
    assert values({}, "3.3.7")["sampling.max_tokens"].value == -1


def test_what_the_gpu_decides_is_unknown_until_it_is_set() -> None:
    bare = tgi.engine_values(base_of())
    for key in ("max_model_len", "attention", "prefix_caching", "max_batch_total_tokens"):
        assert isinstance(bare[f"engine.options.{key}"].value, Unknown), key
    told = tgi.engine_values(
        {**base_of(attention="paged"), "environment": {"variables": {"PREFIX_CACHING": "1"}}}
    )
    assert told["engine.options.attention"].value == "paged"
    assert told["engine.options.prefix_caching"].value is True


def test_info_is_read_back_and_what_it_does_not_say_is_unknown() -> None:
    info: dict[str, Json] = {
        "model_id": "acme/tern", "model_sha": "a" * 40, "max_total_tokens": 4096, "max_input_tokens": 4095,
        "max_concurrent_requests": 128, "version": "3.3.7", "sha": None, "docker_label": "sha-1",
    }  # fmt: skip
    read = tgi.read_back(lambda path: info if path == "/info" else Unknown("no"))
    assert set(read) == tgi.observable("3.3.7")
    assert read["engine.options.max_model_len"].value == 4096
    assert read["model.revision"].source == "GET /info model_sha"
    assert isinstance(read["engine.commit"].value, Unknown)
