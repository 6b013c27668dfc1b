"""TensorRT-LLM descriptions: Truss's `config.yaml` and the `extra_llm_api_options` of `trtllm-serve`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.engines.keys import put
from governance.engines.model import Imported, Open
from governance.engines.sources.model import Hardware, Service, as_mapping, as_text
from governance.values import Json

# Key of `trt_llm.build` -> key of the base tier.
_BUILD: Final[dict[str, str]] = {
    "max_batch_size": "engine.options.max_num_seqs",
    "max_num_tokens": "engine.options.max_num_batched_tokens",
    "max_seq_len": "engine.options.max_model_len",
    "tensor_parallel_count": "engine.options.tensor_parallel_size",
    "pipeline_parallel_count": "engine.options.pipeline_parallel_size",
}
_RUNTIME: Final[dict[str, str]] = {
    "enable_chunked_context": "engine.options.chunked_prefill",
    "kv_cache_free_gpu_mem_fraction": "engine.options.gpu_memory_utilization",
    "batch_scheduler_policy": "engine.options.scheduling_policy",
}
# `quantization_type` -> precision: what is quantised, and how.
_QUANTISATION: Final[dict[str, dict[str, str]]] = {
    "no_quant": {"precision.weights.method": "none"},
    "weights_int8": {"precision.weights.method": "int8"},
    "weights_kv_int8": {"precision.weights.method": "int8", "precision.kv_cache.dtype": "int8"},
    "weights_int4": {"precision.weights.method": "int4"},
    "smooth_quant": {"precision.weights.method": "smoothquant"},
    "fp8": {"precision.weights.method": "fp8"},
    "fp8_kv": {"precision.weights.method": "fp8", "precision.kv_cache.dtype": "fp8"},
    "fp4": {"precision.weights.method": "nvfp4"},
    "fp4_kv": {"precision.weights.method": "nvfp4", "precision.kv_cache.dtype": "fp8"},
}
_SPECULATION: Final[dict[str, str]] = {
    "num_draft_tokens": "engine.options.speculative.num_tokens",
    "lookahead_ngram_size": "engine.options.speculative.ngram_max",
}


def is_truss(document: Json) -> bool:
    """Whether `document` is a Truss configuration with a TensorRT-LLM build."""
    return "build" in as_mapping(as_mapping(document).get("trt_llm"))


def services(document: Json, *, path: str) -> Iterator[Service]:
    """The one service of a Truss configuration."""
    root = as_mapping(document)
    trt = as_mapping(root.get("trt_llm"))
    build, runtime = as_mapping(trt.get("build")), as_mapping(trt.get("runtime"))
    base: dict[str, Json] = {"model": _model(as_mapping(build.get("checkpoint_repository")))}
    left_open: list[Open] = []
    for table, values, where in ((_BUILD, build, "build"), (_RUNTIME, runtime, "runtime")):
        for key, value in values.items():
            if key in table:
                put(base, table[key], value)
            elif key not in _HANDLED:
                left_open.append(_unmapped(f"trt_llm.{where}.{key}"))
    quantisation = as_text(build.get("quantization_type")) or "no_quant"
    for key, text in _QUANTISATION.get(quantisation, {"precision.weights.method": quantisation}).items():
        put(base, key, text)
    left_open += _speculation(base, as_mapping(build.get("speculator")))
    plugins = as_mapping(build.get("plugin_configuration"))
    if plugins:
        put(base, "engine.extra", {"plugin_configuration": plugins})
    resources = as_mapping(root.get("resources"))
    yield Service(
        name=as_text(root.get("model_name")) or "truss",
        where=path,
        engine="tensorrt-llm",
        hardware=_hardware(resources, build),
        known=Imported(base=base),
        left_open=(*left_open, Open("base: engine.version", "the platform picks the TensorRT-LLM version")),
    )


_HANDLED: Final = frozenset(
    ("base_model", "checkpoint_repository", "quantization_type", "speculator", "plugin_configuration",
     "num_builder_gpus")
)  # fmt: skip


def _unmapped(key: str) -> Open:
    return Open(f"base: {key}", "no key of the base tier says this", suggestion="put it under engine.extra")


def _model(checkpoint: dict[str, Json]) -> dict[str, Json]:
    model: dict[str, Json] = {"id": as_text(checkpoint.get("repo"))}
    if checkpoint.get("revision"):
        model["revision"] = as_text(checkpoint["revision"])
    return model


def _speculation(base: dict[str, Json], speculator: dict[str, Json]) -> list[Open]:
    if not speculator:
        return []
    mode = as_text(speculator.get("speculative_decoding_mode")).lower()
    put(base, "engine.options.speculative.method", mode.removesuffix("_decoding") or "draft_model")
    opened = []
    for key, value in speculator.items():
        if key in _SPECULATION:
            put(base, _SPECULATION[key], value)
        elif key not in ("speculative_decoding_mode", "enable_b10_lookahead"):
            opened.append(_unmapped(f"trt_llm.build.speculator.{key}"))
    return opened


def _hardware(resources: dict[str, Json], build: dict[str, Json]) -> Hardware:
    """`accelerator: H100:2` is two; without a number the tensor parallel degree says how many."""
    gpu, _, count = as_text(resources.get("accelerator")).partition(":")
    if not gpu:
        return Hardware()
    degree = count or as_text(build.get("tensor_parallel_count")) or "1"
    return Hardware("cuda", f"NVIDIA {gpu}", int(degree) if degree.isdigit() else None)
