"""A real `transformers serve` on CPU: detected, read back, and its model named when it is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters.processes import free_port
from governance.engines import transformers
from governance.engines.drift import drift
from governance.engines.observe import observe, process_behind
from governance.values import Json
from tests.support.vllm_server import HOST, program, serving

pytestmark = pytest.mark.engines

BASE: dict[str, Json] = {
    "kind": "base",
    "model": {"id": "./.cache/smollm2-safetensors"},
    "precision": {"dtype": "bfloat16"},
    "engine": {"name": "transformers", "version": "5.19.0", "options": {"seed": 3}},
}
SAMPLING: dict[str, Json] = {"kind": "sampling", "temperature": 0.2, "top_p": "inherit"}


def test_a_real_server_is_detected_and_equal_but_for_what_its_command_line_changes(tmp_path: Path) -> None:
    """It shows its model and nothing else; the rest is known from its process."""
    port = free_port(HOST)
    launch = transformers.render(BASE, host=HOST, port=port)
    argv = (str(program("transformers")), *launch.argv[1:], "--dtype", "float32")
    with serving(argv, {"HF_HUB_OFFLINE": "1"}, port, tmp_path) as (client, server, _):
        seen = observe("transformers", "5.19.0", client.url, http=client, process=process_behind(client.url))
        by_http = transformers.read_back(client.get)
    result = drift(BASE, SAMPLING, {"eos_token_id": 2}, seen)
    assert (seen.engine, seen.version) == ("transformers", "5.19.0")
    assert {change.key: (change.before, change.after) for change in result.changes} == {
        "precision.dtype": ("bfloat16", "float32"),
    }
    assert by_http["model.id"].value == "./.cache/smollm2-safetensors"
    assert server.pid
