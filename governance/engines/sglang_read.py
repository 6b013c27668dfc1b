"""What a running SGLang reports, by key of the base tier.

- `GET /server_info`, in older versions `/get_server_info`, shows the resolved arguments: what `auto` became.
- `GET /model_info` shows what a weight update may have changed since: the model, its load format.
- A field that is null, or still says `auto`, was not resolved into the arguments: nothing is read from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from governance.engines.model import Get, Observed
from governance.engines.read_back import at, dtype_name
from governance.engines.sglang_map import BINDINGS, OVERRIDES
from governance.values import ABSENT, Json

SERVER_INFO: Final = ("/server_info", "/get_server_info")
MODEL_INFO: Final = ("/model_info", "/get_model_info")
OBSERVABLE: Final = frozenset({*(b.key for b in BINDINGS), OVERRIDES.prefix, "engine.version", "model.id"})
# Arguments that are not rewritten when they are resolved: null or `auto` there says nothing of what runs.
_UNSAID: Final[tuple[Json, ...]] = (None, "auto", "", [], {})


def read_back(get: Get) -> dict[str, Observed]:
    """Everything the server shows; what a weight update changed counts over the arguments of the start."""
    found: dict[str, Observed] = {}
    for path in SERVER_INFO:
        answer = get(path)
        if isinstance(answer, Mapping):
            found = server_info(answer, path)
            break
    for path in MODEL_INFO:
        answer = get(path)
        if isinstance(answer, Mapping):
            found.update(_model_info(answer, path))
            break
    return found


def server_info(answer: Mapping[str, Json], path: str = "/server_info") -> dict[str, Observed]:
    """The values in the answer of `/server_info`."""
    found: dict[str, Observed] = {}
    for binding in BINDINGS:
        name = next((n for n in binding.names if answer.get(n) not in _UNSAID), None)
        if name is not None:
            value = binding.codec.to_config(dtype_name(answer[name]))
            if value is not None:
                found[binding.key] = Observed(value, f"GET {path} {name}")
    preferred = answer.get("preferred_sampling_params")
    if isinstance(preferred, Mapping):
        ours, left = OVERRIDES.to_config(preferred)
        found[OVERRIDES.prefix] = Observed({**ours, **left}, f"GET {path} preferred_sampling_params")
    for field, key in (("version", "engine.version"), ("model_path", "model.id")):
        value = answer.get(field)
        if isinstance(value, str):
            found[key] = Observed(value, f"GET {path} {field}")
    return found


def _model_info(answer: Mapping[str, Json], path: str) -> Iterator[tuple[str, Observed]]:
    named = {"model_path": "model.id", "load_format": "engine.options.load_format"}
    for field, key in named.items():
        value = at(answer, field)
        if value is not ABSENT and value not in _UNSAID:
            yield key, Observed(value, f"GET {path} {field}")


def identity(get: Get) -> dict[str, Observed]:
    """`model` (id or path), `build` (version), and `weight_version` where the operator sets one."""
    found: dict[str, Observed] = {}
    shown = read_back(get)
    for name, key in (("model", "model.id"), ("build", "engine.version")):
        if key in shown:
            found[name] = shown[key]
    for path in MODEL_INFO:
        value = at(get(path), "weight_version")
        if isinstance(value, str) and value != "default":
            found["weight_version"] = Observed(value, f"GET {path} weight_version")
            break
    return found
