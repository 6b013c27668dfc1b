"""Real vLLM 0.32.0 and 0.29.0 on CPU, not as declared: each change is named, and nothing else is.

Each server is changed in several ways that do not touch each other, since a start takes half a minute. What
is asserted is the whole list of changes, so that a false one fails the test too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from governance.engines import vllm, vllm_read
from governance.values import Unknown
from tests.engines.service import CHANGED_ARGUMENTS, CHANGED_VARIABLES, Declared, changes, sources, told
from tests.support.vllm_server import QUIET, VllmServer, started, survivors

pytestmark = pytest.mark.engines
OPTIONS = "engine.options."
QUESTION = b'{"messages": [{"role": "user", "content": "Name a colour."}], "max_tokens": 4}'


def test_what_a_start_script_changes_is_named_field_by_field(declared: Declared, tmp_path: Path) -> None:
    """A quantised cache, no prefix cache, other sampling defaults, and a variable that chooses kernels."""
    with started(
        declared.base, tmp_path, arguments=CHANGED_ARGUMENTS, environment=CHANGED_VARIABLES
    ) as server:
        report = declared.compared(server)
    assert changes(report) == {
        "precision.kv_cache.dtype": ("effective", "bfloat16", "fp8_e5m2"),
        "engine.options.prefix_caching": ("effective", True, False),
        "engine.options.generation_overrides": (
            "effective",
            {"top_p": 0.95},
            {"top_k": 13, "temperature": 0.9},
        ),
        "sampling.top_k": ("effective", 0, 13),
        "sampling.top_p": ("effective", 0.95, 1.0),
        "engine.extra.stream-interval": ("effective", 1, 4),
        "environment.variables.VLLM_CPU_ATTN_SPLIT_KV": ("effective", "1", "0"),
    }
    where = sources(report)
    config = "GET /server_info vllm_config"
    assert where["precision.kv_cache.dtype"] == f"{config}.cache_config.cache_dtype"
    assert where["sampling.top_k"] == f"{config}.model_config.override_generation_config"
    assert where["sampling.top_p"] == "engine default (vllm 0.32.0), not set by the server process"
    assert where["environment.variables.VLLM_CPU_ATTN_SPLIT_KV"].startswith("GET /server_info vllm_env.")
    # the service sends its own temperature: the server's new default reaches no request, and is told
    assert "server default of `temperature` is 0.9, not 1.0: pinned per request" in told(report)


def test_another_number_format_and_another_model_folder_are_named(
    with_model: Callable[[str], Declared], tmp_path: Path
) -> None:
    """The model's folder gets a generation_config.json: no flag moves, the defaults do."""
    declared = with_model(
        '{"eos_token_id": [2, 0], "temperature": 0.9, "top_k": 17, "repetition_penalty": 1.3}'
    )
    with started(declared.base, tmp_path, arguments=["--dtype", "float32", "--seed", "8"]) as server:
        report = declared.compared(server)
        answer = server.chat("What is the capital of France?")
    assert answer["system_fingerprint"]
    assert changes(report) == {
        "precision.dtype": ("effective", "bfloat16", "float32"),
        "engine.options.seed": ("effective", 7, 8),
        "sampling.top_k": ("effective", 0, 17),
        "sampling.repetition_penalty": ("effective", 1.0, 1.3),
        "sampling.stop_token_ids": ("effective", [2], [0, 2]),
    }
    where = sources(report)
    assert where["precision.dtype"] == "GET /server_info vllm_config.model_config.dtype"
    assert where["sampling.top_k"] == "generation_config.json of the model, not set by the server process"
    assert "server default of `temperature` is 0.9" in told(report)


def test_a_production_server_is_compared_by_what_it_shows_and_leaves_nothing_behind(
    declared: Declared, tmp_path: Path
) -> None:
    """Without development mode `/server_info` is closed; what no answer shows is listed, never equal.

    Batch invariance on a CPU is the failure that no read-back finds: healthy, and dead at its first answer.
    """
    with started(
        declared.base,
        tmp_path,
        arguments=["--no-enable-prefix-caching", "--max-model-len", "1024"],
        environment={"VLLM_BATCH_INVARIANT": "1"},
        development=False,
    ) as server:
        assert isinstance(server.client.get(vllm_read.SERVER_INFO), Unknown)
        by_http = vllm.read_back(server.client.get)
        report = declared.compared(server)
        assert server.client.request("POST", "/v1/chat/completions", body=QUESTION).status == 500
        assert survivors_after_a_crash(server) == []
    assert {key: seen.source.partition(" ")[2].split()[0] for key, seen in by_http.items()} == {
        **dict.fromkeys(
            (
                "precision.kv_cache.dtype",
                *(OPTIONS + name for name in ("block_size", "prefix_caching", "prefix_caching_hash")),
                *(OPTIONS + name for name in ("gpu_memory_utilization", "cache_blocks")),
            ),
            "/metrics",
        ),
        **dict.fromkeys(("model.id", OPTIONS + "max_model_len", OPTIONS + "served_model_name"), "/v1/models"),
        "engine.version": "/version",
    }
    assert changes(report) == {
        "engine.options.prefix_caching": ("effective", True, False),
        "engine.options.max_model_len": ("effective", 2048, 1024),
        "engine.options.batch_invariant": ("effective", False, True),
    }
    where = sources(report)
    assert (
        where["engine.options.prefix_caching"] == "GET /metrics vllm:cache_config_info enable_prefix_caching"
    )
    assert where["engine.options.max_model_len"] == "GET /v1/models max_model_len"
    assert where["engine.options.batch_invariant"] == "environment of the server process"
    unseen = next(note for note in report.notes if note.startswith("not observable: "))
    assert "and" in unseen
    assert QUIET.keys().isdisjoint(told(report).split())


def survivors_after_a_crash(server: VllmServer) -> list[int]:
    """What runs of a server's group once we have noticed that it ended by itself."""
    deadline = time.monotonic() + 60
    while server.server.ended is None:
        assert time.monotonic() < deadline, "the server lives on"
        time.sleep(0.05)
    return survivors(server.server.pid)


def test_another_version_than_declared_is_named_with_the_defaults_it_moved(
    declared: Declared, tmp_path: Path
) -> None:
    with started(declared.base, tmp_path, version="0.29.0") as server:
        report = declared.compared(server)
        fingerprint = vllm_read.fingerprint(str(server.chat("Name a colour.")["system_fingerprint"]))
    assert changes(report) == {
        "engine.version": ("base", "0.32.0", "0.29.0"),
        "environment.variables.VLLM_DEEPEP_V2_ALLOW_HYBRID_MODE": ("effective", "1", "0"),
    }
    assert sources(report)["engine.version"] == "GET /version"
    assert fingerprint["engine.version"].value == "0.29.0"
    assert {layer.name: layer.state for layer in report.layers} == {"base": "changed", "effective": "changed"}
