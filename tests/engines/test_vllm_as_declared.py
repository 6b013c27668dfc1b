"""A real vLLM 0.32.0 on CPU, started from a base config: what it shows is what the config says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from governance.adapters.processes import Program
from governance.engines import vllm, vllm_read
from governance.engines.argparse_launch import NOT_SAID
from governance.engines.keys import leaves
from governance.engines.observe import process_behind
from governance.values import Tree, Unknown
from governance.verdict import Outcome
from tests.engines.service import Declared, changes
from tests.support.vllm_server import VllmServer

pytestmark = pytest.mark.engines


def said_by_a_launch(base: Tree) -> dict[str, Any]:
    """The leaves of a base config that a command line and its variables can say."""
    kept = ("engine.name", "engine.version", "engine.extra", "environment", "model.id")
    unsaid = [name for name in NOT_SAID if name not in kept]
    found = dict(leaves(base))
    return {k: v for k, v in found.items() if not any(k == n or k.startswith(f"{n}.") for n in unsaid)}


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
