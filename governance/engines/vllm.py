"""vLLM: options and defaults, launch, import, read-back.

- Options, defaults, request fields and variables come from the wheels themselves (`defaults/vllm.json`).
- Since 0.8 the model's generation_config.json sets sampling defaults unless `--generation-config vllm`.
- What depends on the GPU, the model or the packages is unknown with that reason; a running server shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines import tables, vllm_drawn, vllm_launch, vllm_own, vllm_read, vllm_values
from governance.engines.bound_values import version_of
from governance.engines.model import Get, Imported, Launch, Observed, OptionTable
from governance.values import Absent, Tree, Unknown
from governance.verdict import EffectiveValue

NAME: Final = "vllm"
# What the server's process is called, and which of its variables may shape an answer.
PROGRAMS: Final = ("vllm", "vllm.entrypoints.openai.api_server", "api_server.py")
VARIABLES: Final = ("VLLM_", "CUDA_", "NVIDIA_", "NCCL_", "TORCH", "PYTORCH_", "OMP_", "FLASHINFER_", "HIP_")
# What it reads from the model's folder for sampling defaults.
GENERATION_FILE: Final = "generation_config.json"


def table(version: str) -> OptionTable | Unknown:
    """The option table of `version`, else that of the nearest lower version that was read."""
    return tables.table(NAME, version)


def sampling_defaults(base: Tree, generation_config: Tree | Unknown | Absent) -> Mapping[str, EffectiveValue]:
    """What the server uses for each decoding parameter a request leaves out, by key (`temperature`).

    `generation_config` is the model's own file: `{}` when the model has none, absent when nobody kept it.
    """
    return vllm_values.sampling_defaults(base, generation_config)


def as_applied(values: Mapping[str, EffectiveValue]) -> Mapping[str, EffectiveValue]:
    """The values as the sampler applies them: below 1e-5 greedy, below 0.01 raised."""
    return vllm_values.as_applied(values)


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """Each engine value by its key path (`engine.options.max_model_len`), declared or default.

    Options without a key of ours (`engine.extra.…`) and variables (`environment.variables.…`) where declared.
    """
    options = table(version_of(base))
    own = vllm_own.declared(base, options) if isinstance(options, OptionTable) else ()
    return {**vllm_values.engine_values(base), **{value.key: value for value in own}}


def meant(base: Tree, shown: Mapping[str, Observed]) -> Mapping[str, EffectiveValue]:
    """What `base` means for the options and variables of vLLM's own that a server shows, declared or not."""
    return vllm_own.meant(base, shown)


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
    """The launch `base` asks for; `weights` is a local folder that stands in for `model.id`.

    Raises `Usage` for a key that this version has no option for.
    """
    return vllm_launch.render(base, table(version_of(base)), host=host, port=port, weights=weights)


def parse(argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:
    """The tiers a launch describes; `parse(render(base)).base` is `base` for what a launch can say.

    With `version` the options of that version count, without it those of every version that was read.
    """
    exact = table(version) if version else None
    options = exact if isinstance(exact, OptionTable) else tables.every_option(NAME)
    return vllm_launch.parse(argv, environment, options, version=version)


def observable(version: str) -> frozenset[str]:
    """The keys `read_back` can see; all but a few only of a server in development mode."""
    return vllm_read.OBSERVABLE | vllm_drawn.OBSERVABLE | vllm_own.observable(version)


def read_back(get: Get) -> Mapping[str, Observed]:
    """What the running server reports, by key."""
    found = vllm_read.read_back(get)
    version = found.get("engine.version")
    own = vllm_own.read_back(get(vllm_read.SERVER_INFO), str(version.value) if version else "")
    return {**own, **vllm_drawn.read_back(found), **found}


def identity(get: Get) -> dict[str, Observed]:
    """`model` (id or path) and `build` (version) of the server."""
    return vllm_read.identity(get)
