"""A real `transformers serve` on CPU: detected, read back, and its model named when it is another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters.processes import free_port
from governance.engines import transformers
from governance.engines.drift import drift
from governance.engines.observe import observe, process_behind
from governance.values import Json, Unknown
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
    """It shows nothing of itself; all is known from its process and the model's folder."""
    port = free_port(HOST)
    launch = transformers.render(BASE, host=HOST, port=port)
    argv = (str(program("transformers")), *launch.argv[1:], "--dtype", "float32")
    with serving(argv, {"HF_HUB_OFFLINE": "1"}, port, tmp_path) as (client, _, _):
        seen = observe("transformers", "5.19.0", client.url, http=client, process=process_behind(client.url))
    result = drift(BASE, SAMPLING, {"eos_token_id": 2}, seen)
    assert seen.engine == "transformers"
    assert {change.key: (change.before, change.after) for change in result.changes} == {
        "precision.dtype": ("bfloat16", "float32"),
    }
    assert {"engine.options.seed", "model.id", "sampling.do_sample"} <= set(result.same)
    assert isinstance(seen.version, Unknown) or seen.version == "5.19.0"
