"""Which engines there are: one literal table from the name in `engine.name` to its module.

A module is imported when it is asked for, so that a hook that needs no engine pays for none.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

from governance.engines.model import Engine
from governance.errors import Usage

ENGINES: Final[dict[str, str]] = {
    "vllm": "governance.engines.vllm",
    "sglang": "governance.engines.sglang",
    "llama.cpp": "governance.engines.llama_cpp",
    "tgi": "governance.engines.tgi",
    "transformers": "governance.engines.transformers",
    "ollama": "governance.engines.ollama",
    "tensorrt-llm": "governance.engines.tensorrt_llm",
}


def load(name: str) -> Engine:
    """The engine module called `name`; a `Usage` error that lists the engines when there is none."""
    module = ENGINES.get(name)
    if module is None:
        raise Usage(f"`{name}` is not an engine tierlock knows", hint=f"known engines: {', '.join(ENGINES)}")
    return cast(Engine, import_module(module))
