"""What a running vLLM reports, by key of the base tier.

- `GET /server_info?config_format=json` shows the whole configuration; it answers only when the server was
  started with VLLM_SERVER_DEV_MODE=1, which must not be reachable in production.
- `GET /metrics` shows the cache configuration as labels of `vllm:cache_config_info`, always.
- `GET /v1/models` shows the name, the model and its context length; `GET /version` the version.
- `system_fingerprint` of a response is a hash of the configuration, and leaves out much that shapes answers;
  `nohash` is no hash at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from governance.engines.bindings import INTEGERS, NAMES, Group
from governance.engines.model import Get, Observed
from governance.engines.read_back import at, dtype_name, from_python, labels
from governance.engines.vllm_backends import backend
from governance.engines.vllm_map import KV_TRANSFER, ROPE_PARTS, SPECULATIVE
from governance.values import ABSENT, Json, Unknown

_O: Final = "engine.options."
Convert = Callable[[Json], "Json | Unknown"]


def _same(value: Json) -> Json:
    return value


def _inverted(value: Json) -> Json:
    return not value if isinstance(value, bool) else value


def _policy(value: Json) -> Json:
    return "engine" if value in ("vllm", None) else value


def _none_is(word: Json) -> Convert:
    return lambda value: word if value is None else value


def _gib(value: Json) -> Json:
    return value / 2**30 if isinstance(value, int | float) and not isinstance(value, bool) else value


def _overrides(value: Json) -> Json:
    if not isinstance(value, Mapping):
        return value
    return {("max_tokens" if k == "max_new_tokens" else k): v for k, v in value.items()} or None


def _window(value: Json) -> Json:
    return False if value is True else None


def _native(value: Json) -> Json:
    return "native" if value == "vllm" else value


def _on(value: Json) -> Json:
    return True if value is not None else None


def _grouped(group: Group) -> Convert:
    """The parts of a JSON option that have names of ours; None when the option is off."""
    return lambda value: group.to_config(value)[0] if isinstance(value, Mapping) else None


# Key of the base tier, paths below `vllm_config` (names moved between versions), how the value is read.
CONFIG: Final[tuple[tuple[str, tuple[str, ...], Convert], ...]] = (
    ("model.id", ("model_config.model",), _same),
    ("model.revision", ("model_config.revision",), _same),
    ("model.code_revision", ("model_config.code_revision",), _same),
    ("model.trust_remote_code", ("model_config.trust_remote_code",), _same),
    ("model.tokenizer.id", ("model_config.tokenizer",), _same),
    ("model.tokenizer.revision", ("model_config.tokenizer_revision",), _same),
    ("model.tokenizer.mode", ("model_config.tokenizer_mode",), _same),
    ("precision.dtype", ("model_config.dtype",), dtype_name),
    ("precision.weights.method", ("model_config.quantization",), _none_is("none")),
    ("precision.kv_cache.dtype", ("cache_config.cache_dtype",), _same),
    (_O + "max_model_len", ("model_config.max_model_len",), _same),
    (_O + "max_num_seqs", ("scheduler_config.max_num_seqs",), _same),
    (_O + "max_num_batched_tokens", ("scheduler_config.max_num_batched_tokens",), _same),
    (
        _O + "chunked_prefill",
        ("scheduler_config.enable_chunked_prefill", "scheduler_config.chunked_prefill_enabled"),
        _same,
    ),
    (_O + "scheduling_policy", ("scheduler_config.policy",), _same),
    (_O + "async_scheduling", ("scheduler_config.async_scheduling",), _same),
    (_O + "prefix_caching", ("cache_config.enable_prefix_caching",), _same),
    (_O + "prefix_caching_hash", ("cache_config.prefix_caching_hash_algo",), _same),
    (_O + "block_size", ("cache_config.block_size",), _same),
    (_O + "gpu_memory_utilization", ("cache_config.gpu_memory_utilization",), _same),
    (_O + "cache_blocks", ("cache_config.num_gpu_blocks_override",), _same),
    (_O + "kv_cache_memory_gib", ("cache_config.kv_cache_memory_bytes",), _gib),
    (_O + "swap_space_gib", ("cache_config.swap_space",), _same),
    (
        _O + "cpu_offload_gib",
        ("offload_config.uva.cpu_offload_gb", "cache_config.cpu_offload_gb"),
        _same,
    ),
    (_O + "sliding_window", ("model_config.disable_sliding_window",), _window),
    (_O + "attention", ("attention_config.backend",), backend),
    (_O + "cascade_attention", ("model_config.disable_cascade_attn",), _inverted),
    (_O + "gemm_backend", ("kernel_config.linear_backend",), _same),
    (_O + "seed", ("model_config.seed",), _same),
    (_O + "enforce_eager", ("model_config.enforce_eager",), _same),
    (_O + "cuda_graph_sizes", ("compilation_config.cudagraph_capture_sizes",), _same),
    (_O + "compilation_level", ("optimization_level", "compilation_config.level"), _same),
    (_O + "tensor_parallel_size", ("parallel_config.tensor_parallel_size",), _same),
    (_O + "pipeline_parallel_size", ("parallel_config.pipeline_parallel_size",), _same),
    (_O + "data_parallel_size", ("parallel_config.data_parallel_size",), _same),
    (_O + "context_parallel_size", ("parallel_config.prefill_context_parallel_size",), _same),
    (_O + "decode_context_parallel_size", ("parallel_config.decode_context_parallel_size",), _same),
    (_O + "expert_parallel", ("parallel_config.enable_expert_parallel",), _same),
    (_O + "expert_balancing", ("parallel_config.enable_eplb",), _same),
    (_O + "all2all_backend", ("parallel_config.all2all_backend",), _same),
    (_O + "moe_backend", ("kernel_config.moe_backend",), _same),
    (_O + "distributed_backend", ("parallel_config.distributed_executor_backend",), _same),
    (_O + "custom_all_reduce", ("parallel_config.disable_custom_all_reduce",), _inverted),
    (_O + "nodes", ("parallel_config.nnodes",), _same),
    (_O + "load_format", ("load_config.load_format",), _same),
    ("model.implementation", ("model_config.model_impl",), _native),
    ("precision.kv_cache.skip_layers", ("cache_config.kv_cache_dtype_skip_layers",), INTEGERS.to_config),
    ("precision.state.cache_dtype", ("cache_config.mamba_cache_dtype",), dtype_name),
    ("precision.state.dtype", ("cache_config.mamba_ssm_cache_dtype",), dtype_name),
    (_O + "max_queue", ("scheduler_config.max_num_queued_reqs",), _same),
    (_O + "redundant_experts", ("parallel_config.eplb_config.num_redundant_experts",), _same),
    (_O + "logits_processors", ("model_config.logits_processors",), _same),
    (_O + "runner", ("model_config.runner",), _same),
    (_O + "multimodal.limits", ("model_config.multimodal_config.limit_per_prompt",), _same),
    (_O + "multimodal.processor", ("model_config.multimodal_config.mm_processor_kwargs",), _same),
    (_O + "lora.enabled", ("lora_config",), _on),
    (_O + "lora.fully_sharded", ("lora_config.fully_sharded_loras",), _same),
    (_O + "lora.target_modules", ("lora_config.target_modules",), _same),
    (_O + "lora.max_loras", ("lora_config.max_loras",), _same),
    (_O + "lora.max_rank", ("lora_config.max_lora_rank",), _same),
    (_O + "lora.max_cpu_loras", ("lora_config.max_cpu_loras",), _same),
    (_O + "lora.dtype", ("lora_config.lora_dtype",), dtype_name),
    (_O + "generation_config", ("model_config.generation_config",), _policy),
    (_O + "generation_overrides", ("model_config.override_generation_config",), _overrides),
    (
        _O + "structured_output_backend",
        ("structured_outputs_config.backend", "decoding_config.backend"),
        _same,
    ),
    (_O + "reasoning_parser", ("structured_outputs_config.reasoning_parser",), _same),
    (_O + "logprobs_mode", ("model_config.logprobs_mode",), _same),
    (_O + "max_logprobs", ("model_config.max_logprobs",), _same),
    (SPECULATIVE.prefix, ("speculative_config",), _grouped(SPECULATIVE)),
    (KV_TRANSFER.prefix, ("kv_transfer_config",), _grouped(KV_TRANSFER)),
    (_O + "skip_tokenizer", ("model_config.skip_tokenizer_init",), _same),
)
# Key of the base tier and its label of `vllm:cache_config_info`.
METRIC: Final = "vllm:cache_config_info"
LABELS: Final[dict[str, str]] = {
    "precision.kv_cache.dtype": "cache_dtype",
    _O + "block_size": "block_size",
    _O + "prefix_caching": "enable_prefix_caching",
    _O + "prefix_caching_hash": "prefix_caching_hash_algo",
    _O + "gpu_memory_utilization": "gpu_memory_utilization",
    _O + "cache_blocks": "num_gpu_blocks_override",
    _O + "swap_space_gib": "swap_space",
    _O + "cpu_offload_gib": "cpu_offload_gb",
}
CACHE: Final = "precision.kv_cache.dtype"
# What the configuration does not show, for the workers decide it.
LATER: Final = frozenset(
    {
        _O + "attention", _O + "gemm_backend", _O + "moe_backend", _O + "load_format",
        _O + "runner", "model.tokenizer.mode", "model.implementation",
    }
)  # fmt: skip
HIDDEN: Final = Unknown("the workers decide it and the server does not show it")
INVARIANT: Final = _O + "batch_invariant"
ALWAYS: Final = frozenset(
    {*LABELS, "engine.version", "model.id", _O + "max_model_len", _O + "served_model_name"}
)
OBSERVABLE: Final = frozenset({*(key for key, _, _ in CONFIG), *ALWAYS, INVARIANT, _O + "rope"})
SERVER_INFO: Final = "/server_info?config_format=json"
_FINGERPRINT: Final = re.compile(
    r"vllm-(?P<version>[^-]+)(?:-tp(?P<tp>\d+))?(?:-pp(?P<pp>\d+))?(?:-dp(?P<dp>\d+))?(?P<ep>-ep)?-(?P<hash>\w+)"
)


def read_back(get: Get) -> dict[str, Observed]:
    """Everything the server shows, the most direct source last: `/server_info` counts over labels."""
    found: dict[str, Observed] = {}
    found.update(_models(get("/v1/models")))
    found.update(_version(get("/version")))
    found.update(cache_labels(get("/metrics")))
    found.update(server_info(get(SERVER_INFO)))
    return found


def _version(answer: object) -> Iterator[tuple[str, Observed]]:
    value = at(answer, "version")
    if isinstance(value, str):
        yield "engine.version", Observed(value, "GET /version")


def _models(answer: object) -> Iterator[tuple[str, Observed]]:
    """The model and its names; an adapter is a model with a parent, and is none of them."""
    data = at(answer, "data")
    models = [each for each in data if at(each, "parent") in (None, ABSENT)] if isinstance(data, list) else []
    for field, key in (("max_model_len", _O + "max_model_len"), ("root", "model.id")):
        value = at(models[0], field) if models else None
        if value is not ABSENT and value is not None:
            yield key, Observed(value, f"GET /v1/models {field}")
    names = [name for each in models if isinstance(name := at(each, "id"), str)]
    if names:
        yield _O + "served_model_name", Observed(NAMES.to_config(list(names)), "GET /v1/models id")


def cache_labels(answer: object) -> dict[str, Observed]:
    """The values in the labels of `vllm:cache_config_info` of a `/metrics` text."""
    if not isinstance(answer, str):
        return {}
    shown = labels(answer, METRIC)
    found = {
        key: Observed(from_python(shown[label]), f"GET /metrics {METRIC} {label}")
        for key, label in LABELS.items()
        if label in shown
    }
    if shown.get("cache_dtype") == "auto":
        reason = Unknown("`auto` is the model's format, which /metrics does not show")
        found[CACHE] = Observed(reason, f"GET /metrics {METRIC} cache_dtype")
    return found


def server_info(answer: object) -> dict[str, Observed]:
    """The values in the answer of `/server_info`; empty when it did not answer or shows text."""
    config = at(answer, "vllm_config")
    if not isinstance(config, Mapping):
        return {}
    found: dict[str, Observed] = {}
    for key, paths, convert in CONFIG:
        for path in paths:
            value = at(config, path)
            if value is not ABSENT:
                where = f"GET /server_info vllm_config.{path}"
                found[key] = Observed(HIDDEN if _hidden(key, value) else convert(value), where)
                break
    invariant = at(answer, "vllm_env.VLLM_BATCH_INVARIANT")
    if invariant is not ABSENT:
        found[INVARIANT] = Observed(bool(invariant), "GET /server_info vllm_env.VLLM_BATCH_INVARIANT")
    found.update(_cache_dtype(config))
    found.update(_rope(config))
    return found


def _hidden(key: str, value: Json) -> bool:
    """Whether the configuration still says `auto`, or nothing, of what the workers decide for themselves."""
    return key in LATER and value in ("auto", None)


def _cache_dtype(config: Mapping[str, Json]) -> Iterator[tuple[str, Observed]]:
    """`auto` that is still there after the start is the model's format: another one was written over it."""
    cache, model = at(config, "cache_config.cache_dtype"), at(config, "model_config.dtype")
    if cache == "auto" and isinstance(model, str):
        where = "GET /server_info vllm_config.cache_config.cache_dtype auto, model_config.dtype"
        yield CACHE, Observed(dtype_name(model), where)


def _rope(config: Mapping[str, Json]) -> Iterator[tuple[str, Observed]]:
    for path in ("model_config.hf_overrides.rope_parameters", "model_config.rope_scaling"):
        value = at(config, path)
        if isinstance(value, Mapping) and value:
            back = {theirs: ours for ours, theirs in ROPE_PARTS.items()}
            parts = {back[k]: v for k, v in value.items() if k in back}
            yield _O + "rope", Observed(parts, f"GET /server_info vllm_config.{path}")


def fingerprint(text: str) -> dict[str, Observed]:
    """What `system_fingerprint` of a response says: version, parallel degrees, and `hash`, the config's.

    `nohash` is unknown: two broken configs would look alike. A server with `--fingerprint-mode custom` says
    whatever it was told, which is then none of this.
    """
    match = _FINGERPRINT.fullmatch(text)
    if match is None:
        return {}
    where = "system_fingerprint of a response"
    found = {"engine.version": Observed(match["version"], where)}
    for group, key in (("tp", "tensor"), ("pp", "pipeline"), ("dp", "data")):
        if match[group]:
            found[f"{_O}{key}_parallel_size"] = Observed(int(match[group]), where)
    if match["ep"]:
        found[_O + "expert_parallel"] = Observed(True, where)
    unknown = Unknown("the server could not compute its own hash")
    found["hash"] = Observed(unknown if match["hash"] == "nohash" else match["hash"], where)
    return found


def identity(get: Get) -> dict[str, Observed]:
    """What else is known of the server: `model`, and `build`, its version."""
    found: dict[str, Observed] = {}
    for key, observed in _models(get("/v1/models")):
        if key == "model.id":
            found["model"] = observed
    for _, observed in _version(get("/version")):
        found["build"] = observed
    return found
