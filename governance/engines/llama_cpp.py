"""llama.cpp's llama-server: options and defaults, launch, import, read-back.

- Defaults come from the option table extracted from `llama-server --help` of each build.
- Sampling defaults of the model are the `general.sampling.*` keys of the GGUF, not generation_config.json:
  the file kept with the config (`model.generation_config`) holds those keys, `{}` when there is none.
- `engine.options.max_model_len` is what one sequence may have, as for every engine. llama-server is told the
  total of all slots, so `-c 8192 -np 8` is a `max_model_len` of 1024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines import (
    llama_cpp_import,
    llama_cpp_launch,
    llama_cpp_read,
    llama_cpp_settings,
    llama_cpp_values,
    tables,
)
from governance.engines.llama_cpp_read import single
from governance.engines.model import Get, Imported, Launch, Observed, OptionTable
from governance.engines.option_values import every_option
from governance.values import Absent, Tree, Unknown, Value
from governance.verdict import EffectiveValue

NAME: Final = llama_cpp_settings.NAME
PROGRAMS: Final = (
    "llama-server",
    "llama-server-vulkan",
    "llama-server-cuda",
    "llama-server-rocm",
    "llamafile",
)


def table(version: str) -> OptionTable | Unknown:
    """The option table of build `version` (`b10434`), else that of the nearest lower build."""
    return tables.table(NAME, version)


def sampling_defaults(base: Tree, generation_config: Tree | Unknown | Absent) -> Mapping[str, EffectiveValue]:
    """What the server uses for each decoding parameter a request leaves out, by key (`temperature`).

    `generation_config` holds the `general.` metadata of the GGUF.
    """
    options = table(llama_cpp_values.version_of(base))
    return llama_cpp_values.sampling_defaults(base, generation_config, options)


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """Each engine value, declared or default, by its key path (`engine.options.max_model_len`)."""
    return llama_cpp_values.engine_values(base, table(llama_cpp_values.version_of(base)))


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
    """The launch `base` asks for; `weights` is a local file that stands in for `model.id`.

    Raises `Usage` for a key that llama.cpp has no option for.
    """
    options = table(llama_cpp_values.version_of(base))
    return llama_cpp_launch.render(base, options, host=host, port=port, weights=weights)


def parse(argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:  # noqa: ARG001
    """The tiers a launch describes; `parse(render(base)).base` is `base` for what a launch can say."""
    return llama_cpp_import.parse(argv, environment, every_option(NAME))


def observable(version: str) -> frozenset[str]:  # noqa: ARG001 - the same for every build that was measured
    """The keys `read_back` can see over HTTP."""
    return llama_cpp_read.OBSERVABLE


def read_back(get: Get) -> Mapping[str, Observed]:
    """What the running server reports over HTTP, by key."""
    return llama_cpp_read.read_back(get)


def identity(get: Get) -> dict[str, Observed]:
    """`weights` (a path on the server's host), `chat_template` (text), `build` and `model` of the server."""
    return llama_cpp_read.identity(get)


def comparable(value: Value) -> Value:
    """`value` as the server holds it: fractions rounded to 32-bit floats, inside lists and mappings too."""
    if isinstance(value, float):
        return single(value)
    if isinstance(value, list | tuple):
        return [comparable(item) for item in value]  # type: ignore[misc]
    if isinstance(value, Mapping):
        return {name: comparable(item) for name, item in value.items()}  # type: ignore[misc]
    return value
