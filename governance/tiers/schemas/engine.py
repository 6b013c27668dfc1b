"""Base tier, the engine: which one, at which version, started with what.

- `options` is one vocabulary for all engines; each engine module translates it into its own flags.
- `extra` takes an engine's own option names and is checked against the option table of that version.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from governance.tiers.schemas import forms
from governance.tiers.schemas.engine_options import EngineOptions
from governance.tiers.schemas.field import (
    Closed,
    JsonValue,
    Line,
    Spec,
    Version,
    absent,
)

OptionName = Annotated[str, Field(pattern=forms.OPTION.pattern, max_length=100)]


class Engine(Closed):
    """Which engine, and how it is started."""

    name: Annotated[
        Literal["vllm", "sglang", "llama.cpp", "tgi", "transformers", "ollama", "tensorrt-llm"],
        Spec("which engine answers", example="vllm"),
    ]
    version: Annotated[
        Version, Spec("version of the engine; defaults and kernels move between versions", example="0.8.4")
    ]
    commit: Annotated[Line, Spec("commit the engine was built from", also=("build_commit",))] = absent()
    build: Annotated[Line, Spec("what the engine was compiled with: backend, compiler, flags")] = absent()
    options: Annotated[EngineOptions, Spec("launch options", also=("args", "parameters"))] = absent()
    extra: Annotated[
        dict[OptionName, JsonValue],
        Spec(
            "launch options by the engine's own names, checked against its option table",
            example={"disable-cascade-attn": True},
        ),
    ] = absent()
