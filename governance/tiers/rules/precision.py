"""Base tier, number formats: what is left to the GPU, what is incomplete, and what cannot run.

- `auto` is a question, not a value: the checkpoint and the GPU answer it, and the answer is not in the file.
- Engines with one fixed default (llama.cpp: f16 cache) are not asked to write it; its default has a
  provenance.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.tiers.rules.model import (
    ERROR,
    WARNING,
    Context,
    Hit,
    Rule,
    listed,
    mappings,
    number,
    section,
    text_at,
    whole,
)
from governance.values import KeyPath

_FULL: Final = frozenset(
    {"auto", "f16", "fp16", "float16", "bf16", "bfloat16", "f32", "fp32", "float32", "half", "float"}
)
_FIXED_CACHE: Final = frozenset({"llama.cpp", "ollama", "transformers"})
_OWN_TYPES: Final = frozenset({"llama.cpp", "ollama", "tensorrt-llm"})
_GROUPED: Final = frozenset({"awq", "gptq", "awq_marlin", "gptq_marlin", "auto-round", "autoround", "hqq"})
_BITS: Final = frozenset({*_GROUPED, "bitsandbytes", "eetq", "torchao", "quanto"})
_OFF: Final = frozenset({"none", "off", "eager", "disabled", "false"})


def is_quantised(dtype: str) -> bool:
    """Whether a KV-cache format holds less than 16 bits per value."""
    return bool(dtype) and dtype.lower() not in _FULL


def cache_formats(context: Context) -> Iterator[tuple[KeyPath, str]]:
    """Each KV-cache format the base tree names, with its key path."""
    cache = section(context.tree, "precision", "kv_cache")
    for key in ("dtype", "key_dtype", "value_dtype"):
        value = cache.get(key)
        if isinstance(value, str):
            yield ("precision", "kv_cache", key), value


def _dtype_open(context: Context) -> Iterator[Hit]:
    precision = section(context.tree, "precision")
    dtype = precision.get("dtype")
    if dtype == "auto":
        yield Hit(
            "`dtype: auto` is float16 on one GPU and bfloat16 on another",
            ("precision", "dtype"),
            "write the value that golden was captured with",
        )
    elif dtype is None and context.engine not in _OWN_TYPES:
        yield Hit(
            "`precision.dtype` is not set: checkpoint and GPU decide it",
            ("precision",) if precision else ("engine", "name"),
            "write float16, bfloat16 or float32",
        )


def _cache_dtype_open(context: Context) -> Iterator[Hit]:
    cache = section(context.tree, "precision", "kv_cache")
    if cache.get("dtype") == "auto":
        yield Hit(
            "`kv_cache.dtype: auto` follows `dtype` and the checkpoint", ("precision", "kv_cache", "dtype")
        )
    elif not any(key in cache for key in ("dtype", "key_dtype", "value_dtype")):
        if context.engine in _FIXED_CACHE:
            return
        at: KeyPath = ("precision",) if "precision" in context.tree else ("engine", "name")
        yield Hit("`precision.kv_cache.dtype` is not set: engine and checkpoint decide it", at)


def _long_context(context: Context) -> Iterator[Hit]:
    length = whole(context.options.get("max_model_len"))
    limit = context.number("TL222", "max_model_len", 32768)
    if length is None or length < limit:
        return
    for key, dtype in cache_formats(context):
        if is_quantised(dtype):
            yield Hit(
                f"a `{dtype}` KV cache with a context of {length} tokens: errors add up with every token "
                "read back",
                key,
                f"keep 16 bits at {int(limit)} tokens and above, or show an evaluation at full length and "
                "exempt it",
            )


def _without_scales(context: Context) -> Iterator[Hit]:
    cache = section(context.tree, "precision", "kv_cache")
    dtype = text_at(cache, "dtype")
    if (
        dtype.startswith("fp8")
        and "scales" not in cache
        and context.engine in {"vllm", "sglang", "tensorrt-llm"}
    ):
        yield Hit(
            f"a `{dtype}` KV cache without `scales` uses the checkpoint's, or 1.0 when it has none",
            ("precision", "kv_cache", "dtype"),
            "write `scales: model`, `calculate`, `one`, or a file",
        )


def _flash_needed(context: Context) -> Iterator[Hit]:
    if context.engine not in {"llama.cpp", "ollama"}:
        return
    attention = text_at(context.options, "attention")
    if attention.lower() not in _OFF:
        return
    for key, dtype in cache_formats(context):
        if key[-1] != "key_dtype" and is_quantised(dtype):
            yield Hit(f"llama.cpp cannot keep values as `{dtype}` without flash attention", key)


def _incomplete(context: Context) -> Iterator[Hit]:
    weights = section(context.tree, "precision", "weights")
    at: KeyPath = ("precision", "weights")
    method = text_at(weights, "method").lower()
    if method in _BITS:
        missing = [
            key
            for key in ("bits", "group_size")
            if key not in weights and (key == "bits" or method in _GROUPED)
        ]
        if missing:
            yield Hit(f"`{method}` without {listed(missing)}", (*at, "method"))
    if method == "gguf" and "type" not in weights:
        yield Hit("`gguf` without `type`: q4_0 and q8_0 are both GGUF", (*at, "method"), "add `type: q4_k_m`")
    for index, module in mappings(weights.get("modules")):
        if not any(key in module for key in ("dtype", "method", "type", "bits")):
            yield Hit(f"`{module.get('match')}` is given no precision", (*at, "modules", index, "match"))


def _contradicts_format(context: Context) -> Iterator[Hit]:
    method = text_at(context.tree, "precision", "weights", "method").lower()
    stored = text_at(context.tree, "model", "weights", "format")
    if method and stored and (method == "gguf") != (stored == "gguf"):
        yield Hit(
            f"`method: {method}` but the weights are stored as `{stored}`", ("precision", "weights", "method")
        )


def _capability(context: Context) -> float | None:
    text = text_at(context.tree, "hardware", "compute_capability").rstrip("abcdefghijklmnopqrstuvwxyz")
    try:
        return float(text)
    except ValueError:
        return None


def _unsupported(context: Context) -> Iterator[Hit]:
    capability = _capability(context)
    if capability is None or section(context.tree, "hardware").get("device") not in {None, "cuda"}:
        return
    if text_at(context.tree, "precision", "dtype") == "bfloat16" and capability < 8.0:
        yield Hit(
            f"bfloat16 needs compute capability 8.0, and the GPU has {capability}", ("precision", "dtype")
        )
    method = text_at(context.tree, "precision", "weights", "method").lower()
    if method.startswith("fp8") and capability < 8.9:
        yield Hit(
            f"`{method}` on compute capability {capability} runs weight-only kernels, not 8-bit products",
            ("precision", "weights", "method"),
            severity=WARNING,
        )


def _eviction(context: Context) -> Iterator[Hit]:
    cache = section(context.tree, "precision", "kv_cache")
    eviction = text_at(cache, "eviction")
    ratio = number(cache.get("keep_ratio"))
    if eviction and eviction != "none":
        yield Hit(
            f"`eviction: {eviction}` drops parts of the prompt while the answer is written",
            ("precision", "kv_cache", "eviction"),
        )
    elif ratio is not None and ratio < 1:
        yield Hit(f"only {ratio:g} of the cache is kept", ("precision", "kv_cache", "keep_ratio"))


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL220", "dtype-open", WARNING, ("base",),
        what="`precision.dtype` is `auto` or not set.",
        why="One declared value becomes bfloat16 on one GPU, float16 on another or behind a wrapper: the "
        "file is the "
        "same and the answers are not.",
        fix="Write the type golden was captured with. `tierlock resolve` shows what it is now.",
        check=_dtype_open, needs="precision.kv_cache",
    ),
    Rule(
        "TL221", "kv-cache-dtype-open", WARNING, ("base",),
        what="`precision.kv_cache.dtype` is `auto`, or not set on an engine that chooses it.",
        why="A checkpoint that brings cache scales can switch the cache to 8 bits without a word in the "
        "launch line.",
        fix="Write the type: `bfloat16`, `float16`, `fp8_e4m3`, `f16`, `q8_0`.",
        check=_cache_dtype_open,
    ),
    Rule(
        "TL222", "kv-cache-quantised-long-context", WARNING, ("base",),
        what="The KV cache holds less than 16 bits per value and the context is long (setting "
        "`max_model_len`, "
        "32768).",
        why="Rounding of keys and values adds up with every token that is read back: short evaluations pass "
        "and long "
        "documents fail.",
        fix="Keep 16 bits, shorten the context, or evaluate at full length and exempt the config with that "
        "reason.",
        check=_long_context, needs="precision", settings=("max_model_len",),
    ),
    Rule(
        "TL223", "kv-cache-without-scales", WARNING, ("base",),
        what="An 8-bit floating-point KV cache does not say where its scales come from.",
        why="Without calibrated scales the engine uses 1.0, and large values are cut off.",
        fix="Write `precision.kv_cache.scales`: `model`, `calculate`, `one`, or a file.",
        check=_without_scales, needs="precision.kv_cache",
    ),
    Rule(
        "TL224", "cache-needs-flash-attention", ERROR, ("base",),
        what="Cached values are to be quantised on llama.cpp, without flash attention.",
        why="The server refuses to start, or turns flash attention on by itself.",
        fix="Set `engine.options.attention: flash`, or keep values as f16.",
        check=_flash_needed, needs="precision.kv_cache",
    ),
    Rule(
        "TL225", "quantisation-incomplete", WARNING, ("base",),
        what="A quantisation method without its bits, group size or type.",
        why="Two checkpoints of one method differ in these; the file does not say which one was accepted.",
        fix="Add `bits` and `group_size`, or `type` for GGUF.",
        check=_incomplete, needs="precision.weights",
    ),
    Rule(
        "TL226", "quantisation-contradicts-format", ERROR, ("base",),
        what="The quantisation method and the format the weights are stored in exclude each other.",
        why="One of the two is wrong, and the engine believes the file, not the config.",
        fix="Make `precision.weights.method` and `model.weights.format` agree.",
        check=_contradicts_format, needs="precision.weights",
    ),
    Rule(
        "TL227", "precision-unsupported", ERROR, ("base",),
        what="The declared GPU cannot compute in the declared type. It is a warning where the engine falls "
        "back.",
        why="The engine refuses to start, or casts to another type and says so in one log line.",
        fix="Choose a type the GPU has, or correct `hardware.compute_capability`.",
        check=_unsupported, needs="hardware.compute_capability",
    ),
    Rule(
        "TL228", "kv-cache-eviction", WARNING, ("base",),
        what="Parts of the KV cache are dropped while an answer is written.",
        why="The model no longer sees what was dropped, and nothing in the answer says so.",
        fix="Write `eviction: none`, or evaluate at full length and exempt the config with that reason.",
        check=_eviction, needs="precision.kv_cache",
    ),
)  # fmt: skip
