"""SGLang: options and defaults, launch, import, read-back.

- Options, defaults, request fields and variables come from the wheels themselves (`defaults/sglang.json`).
- Since 0.5.3 the model's generation_config.json sets sampling defaults; before, a chat request without a
  temperature got 0.7.
- `/server_info` shows the resolved arguments: what a launch left to the engine can be read from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines import sglang_launch, sglang_read, sglang_values, tables
from governance.engines.bound_values import version_of
from governance.engines.model import Get, Imported, Launch, Observed, OptionTable
from governance.values import Absent, Tree, Unknown
from governance.verdict import EffectiveValue

NAME: Final = "sglang"
# What the server's process is called, and which of its variables may shape an answer.
PROGRAMS: Final = ("sglang", "sglang.launch_server", "launch_server.py", "sglang::http_server")
VARIABLES: Final = (
    "SGLANG_",
    "SGL_",
    "CUDA_",
    "NVIDIA_",
    "NCCL_",
    "TORCH",
    "PYTORCH_",
    "OMP_",
    "FLASHINFER_",
)


def table(version: str) -> OptionTable | Unknown:
    """The option table of `version`, else that of the nearest lower version that was read."""
    return tables.table(NAME, version)


def sampling_defaults(base: Tree, generation_config: Tree | Unknown | Absent) -> Mapping[str, EffectiveValue]:
    """What the server uses for each decoding parameter a request leaves out, by key (`temperature`).

    `generation_config` is the model's own file: `{}` when the model has none, absent when nobody kept it.
    """
    return sglang_values.sampling_defaults(base, generation_config)


def as_applied(values: Mapping[str, EffectiveValue]) -> Mapping[str, EffectiveValue]:
    """The values as the sampler applies them: below 1e-6 greedy."""
    return sglang_values.as_applied(values)


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """Each engine value, declared or default, by its key path (`engine.options.max_model_len`)."""
    return sglang_values.engine_values(base)


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
    """The launch `base` asks for; `weights` is a local folder that stands in for `model.id`.

    Raises `Usage` for a key that this version has no option for.
    """
    return sglang_launch.render(base, table(version_of(base)), host=host, port=port, weights=weights)


def parse(argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:
    """The tiers a launch describes; `parse(render(base)).base` is `base` for what a launch can say.

    With `version` the options of that version count, without it those of every version that was read.
    """
    exact = table(version) if version else None
    options = exact if isinstance(exact, OptionTable) else tables.every_option(NAME)
    return sglang_launch.parse(argv, environment, options, version=version)


def observable(version: str) -> frozenset[str]:  # noqa: ARG001 - names moved between versions, keys did not
    """The keys `read_back` can see."""
    return sglang_read.OBSERVABLE


def read_back(get: Get) -> Mapping[str, Observed]:
    """What the running server reports, by key."""
    return sglang_read.read_back(get)


def identity(get: Get) -> dict[str, Observed]:
    """`model` (id or path), `build` (version) and `weight_version` of the server."""
    return sglang_read.identity(get)
