"""Reads TensorRT-LLM's options from `tensorrt_llm/llmapi/llm_args.py`, where a wheel with it can be had.

The package index carries only a source stub whose build fetches the real wheel from elsewhere, so `VERSIONS`
lists none; this reader is for a wheel given with `--wheels`.
"""

from __future__ import annotations

from typing import Any

from extractors import sglang
from extractors.static import ClassRef, Evaluator
from extractors.wheel import Wheel

ARGUMENTS = ("TorchLlmArgs", "TrtLlmArgs", "LlmArgs")


def extract(wheel: Wheel) -> dict[str, Any]:
    """The fields of the LLM API arguments, which `trtllm-serve --config` takes, with their defaults."""
    evaluator = Evaluator(wheel, {})
    module = evaluator.module("tensorrt_llm.llmapi.llm_args")
    options: dict[str, Any] = {}
    for name in ARGUMENTS if module else ():
        owner = evaluator.module_name(module, name)  # type: ignore[arg-type]
        if isinstance(owner, ClassRef):
            for field, entry in sglang.model_fields(evaluator, owner).items():
                options.setdefault(field, {"flags": [], **entry})
    return {"options": options, "environment": {}, "sampling": {}, "request": {}, "facts": {}}
