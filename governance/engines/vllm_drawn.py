"""The sampling defaults of a running vLLM, as far as `/server_info` shows them.

- It shows the policy (`generation_config`) and the overrides of the launch, not the model's own file: where
  the policy reads that, what no override sets is unknown here. The process of a local server shows the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from governance.engines import vllm_values
from governance.engines.keys import put
from governance.engines.model import FROM_CONFIG, REQUEST_DEFAULT, Observed
from governance.values import Json, Unknown

POLICY: Final = vllm_values.POLICY
OVERRIDES: Final = vllm_values.OVERRIDES
OBSERVABLE: Final = frozenset(f"sampling.{key}" for key in (*vllm_values.REQUEST_KEYS, "max_tokens"))
_FILE: Final = Unknown("/server_info does not show the model's generation_config.json")
_PART: Final = "GET /server_info vllm_config.model_config"


def read_back(shown: Mapping[str, Observed]) -> dict[str, Observed]:
    """The sampling defaults that follow from what a server shows of its version, policy and overrides."""
    said = {key: shown[key].value for key in ("engine.version", POLICY, OVERRIDES) if key in shown}
    if POLICY not in said or any(isinstance(value, Unknown) for value in said.values()):
        return {}
    tree: dict[str, Json] = {}
    for key, value in said.items():
        if isinstance(value, str | Mapping):
            put(tree, key, dict(value) if isinstance(value, Mapping) else value)
    found: dict[str, Observed] = {}
    for key, drawn in vllm_values.sampling_defaults(tree, _FILE).items():
        if isinstance(drawn.value, Unknown) or drawn.provenance.startswith(REQUEST_DEFAULT):
            continue
        overridden = drawn.provenance == FROM_CONFIG
        where = "override_generation_config" if overridden else f"generation_config, {drawn.provenance}"
        found[f"sampling.{key}"] = Observed(drawn.value, f"{_PART}.{where}")
    return found
