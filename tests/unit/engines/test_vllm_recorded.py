"""What real vLLM servers on CPU answered, beside the config they were started from.

Recorded by `python -m tests.engines.record` from servers of `tests/engines/repository`; `make test-engines`
does the same with servers that run.
"""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.files import WorkTree
from governance.engines import vllm, vllm_read
from governance.engines.drift import Drift, drift
from governance.engines.observe import Observation, observe
from governance.engines.services import generation_config
from governance.engines.vllm_own import EXTRA, VARIABLE
from governance.release.diff import compare
from governance.release.sides import EndpointSide, Place, parse_side
from governance.tiers.config import Service, load_repository
from governance.values import Json, Unknown
from tests.support.answers import Answers

FIXTURES = Path(__file__).parent / "fixtures" / "vllm"
REPOSITORY = Path(__file__).parents[2] / "engines" / "repository"
PATHS = {
    "version.json": "/version",
    "models.json": "/v1/models",
    "metrics.txt": "/metrics",
    "server_info.json": vllm_read.SERVER_INFO,
}
CASES = ("0.32.0", "0.29.0", "0.32.0-changed", "0.32.0-production")
OWN = (EXTRA, VARIABLE)


@cache
def service() -> Service:
    return load_repository(WorkTree(REPOSITORY)).services["tern"]


def document(path: Path) -> Json:
    text = path.read_text("utf-8")
    value: Json = json.loads(text) if path.suffix == ".json" else text
    return value


def observed(case: str) -> Observation:
    routes = {
        url: document(FIXTURES / case / name)
        for name, url in PATHS.items()
        if (FIXTURES / case / name).exists()
    }
    return observe("vllm", "0.32.0", "http://x", http=Answers(routes))


def server(case: str) -> EndpointSide:
    return EndpointSide(case, "http://x", partial(looked_at, case), lambda *_: Unknown("no file"))


def looked_at(case: str, engine: str, version: str) -> Observation:
    return observed(case)


def compared(case: str) -> Drift:
    one = service()
    assert one.base is not None
    assert one.sampling is not None
    return drift(one.base.tree, one.sampling.tree, generation_config(one.base), observed(case))


def changed(case: str) -> dict[str, tuple[str, Any, Any]]:
    return {change.key: (change.layer, change.before, change.after) for change in compared(case).changes}


def test_a_server_as_declared_shows_over_three_hundred_equal_values() -> None:
    result = compared("0.32.0")
    assert result.changes == ()
    assert len(result.same) > 300
    assert len([key for key in result.same if not key.startswith(OWN)]) > 50


def test_every_value_a_launch_says_is_shown_and_equal() -> None:
    one = service()
    assert one.base is not None
    said = [key for key, value in vllm.engine_values(one.base.tree).items() if value.provenance == "config"]
    assert len(said) > 28
    assert set(said) <= set(compared("0.32.0").same)


def test_what_a_start_script_changed_is_named_field_by_field() -> None:
    assert changed("0.32.0-changed") == {
        "precision.kv_cache.dtype": ("effective", "bfloat16", "fp8_e5m2"),
        "engine.options.prefix_caching": ("effective", True, False),
        "engine.options.generation_overrides": (
            "effective",
            {"top_p": 0.95},
            {"top_k": 13, "temperature": 0.9},
        ),
        "sampling.top_k": ("effective", 0, 13),
        "engine.extra.stream-interval": ("effective", 1, 4),
        "environment.variables.VLLM_CPU_ATTN_SPLIT_KV": ("effective", "1", "0"),
    }


def test_another_version_is_named_with_the_default_it_moved() -> None:
    assert changed("0.29.0") == {
        "engine.version": ("base", "0.32.0", "0.29.0"),
        "environment.variables.VLLM_DEEPEP_V2_ALLOW_HYBRID_MODE": ("effective", "1", "0"),
    }


def test_a_production_server_shows_eleven_values_and_the_rest_is_listed() -> None:
    result = compared("0.32.0-production")
    assert result.changes == ()
    assert sorted(result.same) == [
        "engine.name",
        "engine.options.block_size",
        "engine.options.cache_blocks",
        "engine.options.gpu_memory_utilization",
        "engine.options.max_model_len",
        "engine.options.prefix_caching",
        "engine.options.prefix_caching_hash",
        "engine.options.served_model_name",
        "engine.version",
        "model.id",
        "precision.kv_cache.dtype",
    ]
    assert result.unseen["precision.dtype"] == "the server does not show it"
    assert result.unseen["sampling.top_k"] == "the server does not show it"


@pytest.mark.parametrize("case", CASES)
def test_everything_read_back_is_announced(case: str) -> None:
    shown = observed(case).values
    version = str(shown["engine.version"].value)
    assert shown.keys() - {"engine.name"} <= vllm.observable(version)


@pytest.mark.parametrize("case", CASES)
def test_a_fingerprint_names_the_version_and_a_hash(case: str) -> None:
    answer: Any = document(FIXTURES / case / "completion.json")
    found = vllm_read.fingerprint(answer["system_fingerprint"])
    assert found["engine.version"].value == observed(case).version
    assert not isinstance(found["hash"].value, Unknown)


def test_the_fingerprint_does_not_move_where_much_else_does() -> None:
    """Why the read-back compares values and not `system_fingerprint`: production and development are one."""
    texts = {case: str(document(FIXTURES / case / "completion.json")) for case in CASES}
    assert texts["0.32.0"] == texts["0.32.0-production"]


@pytest.mark.parametrize("case", CASES)
def test_the_effective_digests_differ_where_a_value_does(case: str) -> None:
    """Also for what no config says and only a running server lists."""
    report = compare(parse_side("tern@worktree", Place(REPOSITORY)), server(case))
    effective = next(layer for layer in report.layers if layer.name == "effective")
    assert (effective.before == effective.after) is (effective.state == "same")
    assert effective.state == ("same" if case in ("0.32.0", "0.32.0-production") else "changed")


def test_two_servers_are_compared_over_what_both_show() -> None:
    report = compare(server("0.32.0"), server("0.29.0"))
    keys = {change.key for change in report.changes}
    assert {"engine.version", "environment.variables.VLLM_DEEPEP_V2_ALLOW_HYBRID_MODE"} <= keys
    assert not [key for key in keys if key.startswith("precision.")]


def test_the_recordings_hold_no_path_of_a_machine_and_nothing_of_its_host() -> None:
    for path in FIXTURES.rglob("*.[jt]*"):
        text = path.read_text("utf-8")
        assert '"/' not in text, path
        assert "system_env" not in text, path
