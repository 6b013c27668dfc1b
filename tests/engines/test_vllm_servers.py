"""Real vLLM 0.32.0 and 0.29.0 on CPU: what a base config launches is read back; each change is named.

Each test that starts a server of its own changes several things at it that do not touch each other: a start
takes half a minute. What is asserted is the whole list of changes, so that a false one fails the test too.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.processes import Program
from governance.engines import vllm, vllm_read
from governance.engines.argparse_launch import NOT_SAID
from governance.engines.keys import leaves
from governance.engines.observe import process_behind
from governance.values import Tree, Unknown
from governance.verdict import Outcome, Report
from tests.engines.conftest import Declared
from tests.support.vllm_server import QUIET, VllmServer, started, survivors

pytestmark = pytest.mark.engines
DIFFS = "engine.options."


def changes(report: Report) -> dict[str, tuple[str, Any, Any]]:
    """Layer, declared and effective value of each change, by its field."""
    return {change.key: (change.layer, change.before, change.after) for change in report.changes}


def sources(report: Report) -> dict[str, str]:
    """Where each changed value was read, by its field."""
    return {change.key: change.after_from for change in report.changes}


def told(report: Report) -> str:
    return "\n".join(report.notes)


def said_by_a_launch(base: Tree) -> dict[str, Any]:
    """The leaves of a base config that a command line and its variables can say."""
    kept = ("engine.name", "engine.version", "engine.extra", "environment", "model.id")
    unsaid = [name for name in NOT_SAID if name not in kept]
    found = dict(leaves(base))
    return {k: v for k, v in found.items() if not any(k == n or k.startswith(f"{n}.") for n in unsaid)}


# started as declared


def test_a_server_started_from_the_config_is_the_same(
    declared: Declared, as_declared: VllmServer, say: Callable[[str], None]
) -> None:
    report = declared.compared(as_declared)
    compared = report.run["compared"]
    say(f"vLLM 0.32.0 healthy after {as_declared.seconds:.0f} s; {compared} values compared")
    assert changes(report) == {}
    assert report.outcome is Outcome.PASS
    assert {layer.name: layer.state for layer in report.layers} == {"effective": "same"}
    effective = next(layer for layer in report.layers if layer.name == "effective")
    assert effective.before == effective.after
    assert isinstance(compared, int)
    assert compared > 300


def test_every_value_a_launch_says_is_shown_and_equal(declared: Declared, as_declared: VllmServer) -> None:
    """No key of the config may hide among those that "the server does not show"."""
    shown = vllm.read_back(as_declared.client.get)
    said = {
        key: value.value
        for key, value in vllm.engine_values(declared.base).items()
        if value.provenance == "config"
    }
    assert len(said) > 28
    assert {key: shown[key].value for key in said} == said


def test_a_completion_names_version_and_configuration(as_declared: VllmServer) -> None:
    text = as_declared.chat("What is the capital of France?")["system_fingerprint"]
    found = vllm_read.fingerprint(str(text))
    assert found["engine.version"].value == "0.32.0"
    assert not isinstance(found["hash"].value, Unknown)


def test_importing_the_command_line_that_runs_gives_the_config_back(
    declared: Declared, as_declared: VllmServer
) -> None:
    process = process_behind(as_declared.url)
    assert isinstance(process, Program)
    assert process.pid == as_declared.server.pid
    assert isinstance(process.environment, Mapping)
    found = vllm.parse(process.argv[1:], process.environment, version="0.32.0")
    assert found.findings == ()
    assert dict(leaves(found.base)) == said_by_a_launch(declared.base)


def test_importing_what_was_rendered_gives_the_config_back(declared: Declared) -> None:
    launch = vllm.render(declared.base, host="127.0.0.1", port=8000)
    found = vllm.parse(launch.argv, launch.environment, version="0.32.0")
    assert dict(leaves(found.base)) == said_by_a_launch(declared.base)


# started otherwise


def test_what_a_start_script_changes_is_named_field_by_field(declared: Declared, tmp_path: Path) -> None:
    """A quantised cache, no prefix cache, other sampling defaults, and a variable that chooses kernels."""
    with started(
        declared.base,
        tmp_path,
        arguments=[
            *("--kv-cache-dtype", "fp8_e5m2", "--no-enable-prefix-caching", "--stream-interval", "4"),
            *("--override-generation-config", '{"top_k": 13, "temperature": 0.9}'),
        ],
        environment={"VLLM_CPU_ATTN_SPLIT_KV": "0"},
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
    assert where["sampling.top_p"] == "generation_config.json of the model, not set by the server process"
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
    """Without development mode `/server_info` is closed; what no answer shows is listed, never equal."""
    with started(
        declared.base,
        tmp_path,
        arguments=["--no-enable-prefix-caching", "--max-model-len", "1024"],
        development=False,
    ) as server:
        assert isinstance(server.client.get(vllm_read.SERVER_INFO), Unknown)
        by_http = vllm.read_back(server.client.get)
        report = declared.compared(server)
        os.kill(server.server.pid, signal.SIGKILL)
        assert survivors_after_a_crash(server) == []
    assert {key: seen.source.partition(" ")[2].split()[0] for key, seen in by_http.items()} == {
        **dict.fromkeys(
            (
                "precision.kv_cache.dtype",
                *(DIFFS + name for name in ("block_size", "prefix_caching", "prefix_caching_hash")),
                *(DIFFS + name for name in ("gpu_memory_utilization", "cache_blocks")),
            ),
            "/metrics",
        ),
        **dict.fromkeys(("model.id", DIFFS + "max_model_len", DIFFS + "served_model_name"), "/v1/models"),
        "engine.version": "/version",
    }
    assert changes(report) == {
        "engine.options.prefix_caching": ("effective", True, False),
        "engine.options.max_model_len": ("effective", 2048, 1024),
    }
    where = sources(report)
    assert (
        where["engine.options.prefix_caching"] == "GET /metrics vllm:cache_config_info enable_prefix_caching"
    )
    assert where["engine.options.max_model_len"] == "GET /v1/models max_model_len"
    unseen = next(note for note in report.notes if note.startswith("not observable: "))
    assert "and" in unseen
    assert QUIET.keys().isdisjoint(told(report).split())


def survivors_after_a_crash(server: VllmServer) -> list[int]:
    """What runs of a server's group once we have noticed that it ended."""
    while server.server.ended is None:
        pass
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
