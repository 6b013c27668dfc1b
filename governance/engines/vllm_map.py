"""vLLM's own words for the common vocabulary: literal tables, no logic.

Sources: `vllm/engine/arg_utils.py`, `vllm/config/`, `vllm/entrypoints/**/cli_args.py` and
`vllm/entrypoints/openai/**/protocol.py` of the wheels listed in `defaults/vllm.json`.
"""

from __future__ import annotations

from typing import Final

from governance.engines.bindings import (
    GIB,
    INTEGERS,
    INVERTED,
    NAMES,
    OFF_ONLY,
    UNLESS_AUTO,
    UNLESS_NONE,
    Binding,
    Codec,
    Group,
    Part,
    bound,
    words,
)
from governance.engines.bound_values import Derived
from governance.values import Json

_O: Final = "engine.options."
# `half` and `float` are other words for the same formats.
_DTYPE: Final = Codec(
    lambda v: v, lambda v: {"half": "float16", "float": "float32"}.get(v, v) if isinstance(v, str) else v
)


def _scales_out(value: Json) -> Json:
    if value != "calculate":
        raise ValueError("only `calculate` can be said")
    return True


_SCALES: Final = Codec(_scales_out, lambda v: "calculate" if v is True else v)
_LEVEL: Final = Codec(
    lambda v: v, lambda v: int(v.removeprefix("O")) if isinstance(v, str) and v[-1:].isdigit() else v
)

BINDINGS: Final[tuple[Binding, ...]] = (
    bound("model.revision"),
    bound("model.code_revision"),
    bound("model.trust_remote_code"),
    bound("model.implementation", "model_impl", codec=words({"native": "vllm"})),
    bound("model.tokenizer.id", "tokenizer"),
    bound("model.tokenizer.revision", "tokenizer_revision"),
    bound("model.tokenizer.mode", "tokenizer_mode"),
    bound("precision.dtype", codec=_DTYPE),
    bound("precision.weights.method", "quantization", codec=UNLESS_NONE),
    bound("precision.kv_cache.dtype", "kv_cache_dtype"),
    bound("precision.kv_cache.scales", "calculate_kv_scales", codec=_SCALES),
    bound("precision.kv_cache.skip_layers", "kv_cache_dtype_skip_layers", codec=INTEGERS),
    bound("precision.state.dtype", "mamba_ssm_cache_dtype"),
    bound("precision.state.cache_dtype", "mamba_cache_dtype"),
    bound(_O + "max_model_len"),
    bound(_O + "max_num_seqs"),
    bound(_O + "max_num_batched_tokens"),
    bound(_O + "chunked_prefill", "enable_chunked_prefill"),
    bound(_O + "scheduling_policy"),
    bound(_O + "async_scheduling"),
    bound(_O + "scheduler_steps", "num_scheduler_steps"),
    bound(_O + "max_queue", "max_num_queued_reqs"),
    bound(_O + "prefix_caching", "enable_prefix_caching"),
    bound(_O + "prefix_caching_hash", "prefix_caching_hash_algo"),
    bound(_O + "block_size"),
    bound(_O + "gpu_memory_utilization"),
    bound(_O + "kv_cache_memory_gib", "kv_cache_memory_bytes", codec=GIB),
    bound(_O + "cache_blocks", "num_gpu_blocks_override"),
    bound(_O + "swap_space_gib", "swap_space"),
    bound(_O + "cpu_offload_gib", "cpu_offload_gb"),
    bound(_O + "sliding_window", "disable_sliding_window", codec=OFF_ONLY),
    bound(_O + "attention", "attention_backend", codec=UNLESS_AUTO),
    bound(_O + "cascade_attention", "disable_cascade_attn", codec=INVERTED),
    bound(_O + "gemm_backend", "linear_backend"),
    bound(_O + "seed"),
    bound(_O + "enforce_eager"),
    bound(_O + "cuda_graph_sizes", "cudagraph_capture_sizes", "cuda_graph_sizes", codec=INTEGERS),
    bound(_O + "compilation_level", "optimization_level", codec=_LEVEL),
    bound(_O + "tensor_parallel_size"),
    bound(_O + "pipeline_parallel_size"),
    bound(_O + "data_parallel_size"),
    bound(_O + "context_parallel_size", "prefill_context_parallel_size"),
    bound(_O + "decode_context_parallel_size"),
    bound(_O + "expert_parallel", "enable_expert_parallel"),
    bound(_O + "expert_balancing", "enable_eplb"),
    bound(_O + "moe_backend"),
    bound(_O + "all2all_backend"),
    bound(_O + "distributed_backend", "distributed_executor_backend"),
    bound(_O + "custom_all_reduce", "disable_custom_all_reduce", codec=INVERTED),
    bound(_O + "nodes", "nnodes"),
    bound(_O + "load_format"),
    bound(_O + "lora.enabled", "enable_lora"),
    bound(_O + "lora.max_loras", "max_loras"),
    bound(_O + "lora.max_cpu_loras", "max_cpu_loras"),
    bound(_O + "lora.max_rank", "max_lora_rank"),
    bound(_O + "lora.dtype", "lora_dtype"),
    bound(_O + "lora.target_modules", "lora_target_modules"),
    bound(_O + "lora.fully_sharded", "fully_sharded_loras"),
    bound(_O + "generation_config", codec=words({"engine": "vllm"})),
    bound(_O + "structured_output_backend", "guided_decoding_backend"),
    bound(_O + "reasoning_parser"),
    bound(_O + "tool_call_parser"),
    bound(_O + "auto_tool_choice", "enable_auto_tool_choice"),
    bound(_O + "chat_template_content_format"),
    bound(_O + "request_chat_template", "trust_request_chat_template"),
    bound(_O + "logprobs_mode"),
    bound(_O + "max_logprobs"),
    bound(_O + "logits_processors"),
    bound(_O + "middleware"),
    bound(_O + "runner", "runner", "task"),
    bound(_O + "multimodal.limits", "limit_mm_per_prompt"),
    bound(_O + "multimodal.processor", "mm_processor_kwargs"),
    bound(_O + "multimodal.attention", "mm_encoder_attn_backend"),
    bound(_O + "multimodal.media_io", "media_io_kwargs"),
    bound(_O + "skip_tokenizer", "skip_tokenizer_init"),
    bound(_O + "served_model_name", codec=NAMES),
)

OVERRIDES: Final = Group(
    _O + "generation_overrides",
    ("override_generation_config",),
    {
        key: {"max_tokens": "max_new_tokens"}.get(key, key)
        for key in (
            *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"),
            *("frequency_penalty", "max_tokens", "skip_special_tokens"),
        )
    },
)
SPECULATIVE: Final = Group(
    _O + "speculative",
    ("speculative_config",),
    {
        "method": "method",
        "model": "model",
        "revision": "revision",
        "quantization": "quantization",
        "num_tokens": "num_speculative_tokens",
        "ngram_max": "prompt_lookup_max",
        "ngram_min": "prompt_lookup_min",
        "tensor_parallel_size": "draft_tensor_parallel_size",
        "max_model_len": "max_model_len",
        "disable_above_batch": "disable_by_batch_size",
        "acceptance": "acceptance_method",
        "threshold": "posterior_threshold",
    },
)
PARTS: Final[tuple[Part, ...]] = (
    Part(_O + "structured_output_backend", "structured_outputs_config", "backend"),
    Part(_O + "compilation_level", "compilation_config", "level"),
    Part(_O + "redundant_experts", "eplb_config", "num_redundant_experts"),
)
KV_TRANSFER: Final = Group(
    _O + "kv_transfer",
    ("kv_transfer_config",),
    {"connector": "kv_connector", "role": "kv_role", "parameters": "kv_connector_extra_config"},
    {"role": words({"prefill": "kv_producer", "decode": "kv_consumer", "both": "kv_both"})},
)
ROPE_PARTS: Final[dict[str, str]] = {
    "scaling": "rope_type",
    "factor": "factor",
    "theta": "rope_theta",
    "original_max_position": "original_max_position_embeddings",
    "attention_factor": "attention_factor",
    "extrapolation": "extrapolation_factor",
    "beta_fast": "beta_fast",
    "beta_slow": "beta_slow",
}

# Variables that are options by another name.
BATCH_INVARIANT: Final = "VLLM_BATCH_INVARIANT"
ATTENTION_VARIABLE: Final = "VLLM_ATTENTION_BACKEND"


def is_on(text: str) -> bool:
    """Whether `text` switches `BATCH_INVARIANT` on (`envs.py`: `bool(int(...))`, or `true`)."""
    return text in ("1", "true", "True")


# Modules that start the server with `python -m`.
MODULES: Final = frozenset(
    {"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server", "vllm.entrypoints.cli.main"}
)

# Handled by code: the model, adapters, positions.
SPECIAL: Final = frozenset(
    {"model", "lora_modules", "rope_scaling", "rope_theta", "hf_overrides", "chat_template"}
)

# Reaching, watching and feeding the server: read and dropped, for they shape no answer.
OPERATIONAL: Final = frozenset(
    {
        "host", "port", "uds", "grpc", "grpc_port", "root_path", "api_key", "ssl_keyfile",
        "ssl_certfile", "ssl_ca_certs", "ssl_cert_reqs", "ssl_ciphers", "enable_ssl_refresh",
        "allow_credentials", "allowed_origins", "allowed_methods", "allowed_headers",
        "uvicorn_log_level", "disable_uvicorn_access_log", "disable_access_log_for_endpoints",
        "log_config_file", "logging_config", "log_level", "max_log_len", "disable_log_requests",
        "enable_log_requests", "enable_log_outputs", "enable_log_deltas", "disable_log_stats",
        "log_error_stack", "aggregate_engine_logging", "otlp_traces_endpoint",
        "collect_detailed_traces", "show_hidden_metrics_for_version", "hf_token", "download_dir",
        "enable_server_load_tracking", "enable_force_include_usage", "enable_prompt_tokens_details",
        "enable_per_request_metrics", "enable_request_id_headers", "disable_fastapi_docs",
        "enable_offline_docs", "h11_max_incomplete_event_size", "h11_max_header_count",
        "use_tqdm_on_load", "config", "headless", "fingerprint_mode", "fingerprint_value",
        "sse_keep_alive_interval", "shutdown_timeout", "response_role",
    }
)  # fmt: skip

# What None or `auto` stands for where the engine decides: the provenance and the reason.
GPU: Final = "gpu"
MODEL: Final = "model"
DERIVED: Final[Derived] = {
    "dtype": (GPU, "`auto` takes the checkpoint's format, and float16 on a GPU that has no bfloat16"),
    "kv_cache_dtype": (MODEL, "`auto` takes the model's format, unless the checkpoint names one"),
    "quantization": (MODEL, "the checkpoint's config.json says whether and how it is quantised"),
    "max_model_len": (MODEL, "the model's config.json says how long a context it was made for"),
    "max_num_seqs": (GPU, "the engine derives it from the GPU's memory and the way it is used"),
    "max_num_batched_tokens": (GPU, "the engine derives it from the GPU's memory and the way it is used"),
    "enable_chunked_prefill": (MODEL, "on where the model supports it"),
    "enable_prefix_caching": (MODEL, "on where the model supports it"),
    "block_size": (GPU, "the attention backend decides it"),
    "attention_backend": (GPU, "the GPU and the packages installed decide it"),
    "async_scheduling": (MODEL, "on where nothing else in the launch forbids it"),
    "cudagraph_capture_sizes": (GPU, "derived from the largest batch"),
    "disable_custom_all_reduce": (GPU, "the engine switches it off where the GPUs are not linked for it"),
    "disable_cascade_attn": (GPU, "the attention backend decides it"),
    "kv_cache_memory_bytes": (GPU, "derived from the free memory"),
    "distributed_executor_backend": (GPU, "derived from the number of GPUs and the cluster"),
    "all2all_backend": (GPU, "derived from the environment"),
    "moe_backend": (GPU, "`auto` is decided by the GPU and the packages installed"),
    "linear_backend": (GPU, "`auto` is decided by the GPU and the packages installed"),
    "tokenizer_mode": (MODEL, "`auto` takes the fast tokenizer where the repository has one"),
    "tokenizer": (MODEL, "the model repository's own"),
    "tokenizer_revision": (MODEL, "the default branch of the tokenizer's repository on the day of the start"),
    "revision": (MODEL, "the default branch of the repository on the day of the start"),
    "code_revision": (MODEL, "the default branch of the repository on the day of the start"),
    "load_format": (MODEL, "`auto` takes what the repository holds"),
    "lora_dtype": (MODEL, "`auto` takes the model's format"),
    "model_impl": (MODEL, "`auto` takes vLLM's own code where it has the architecture"),
    "runner": (MODEL, "`auto` is decided by the architecture"),
    "task": (MODEL, "`auto` is decided by the architecture"),
    "mamba_cache_dtype": (MODEL, "`auto` takes the model's format"),
    "mamba_ssm_cache_dtype": (MODEL, "`auto` takes the model's format"),
    "chat_template_content_format": (MODEL, "`auto` is decided by the chat template"),
}  # fmt: skip

# What a launch that does not say it leaves open, and what to write.
LEFT_OPEN: Final[dict[str, tuple[str, str]]] = {
    "model.revision": ("the default branch moves, and answers with it", "revision: <40 hex digits>"),
    "model.tokenizer.revision": (
        "without a revision the tokenizer follows the default branch",
        "tokenizer: {revision: <40 hex digits>}",
    ),
    "engine.version": ("nothing says which version runs", "version: <what GET /version says>"),
    "precision.dtype": ("`auto` depends on the checkpoint and the GPU", "dtype: bfloat16"),
    "precision.kv_cache.dtype": ("the checkpoint decides the cache's format", "kv_cache: {dtype: bfloat16}"),
    _O + "max_model_len": ("the model's config.json and the memory decide it", "max_model_len: 8192"),
    _O + "max_num_seqs": ("the GPU decides it; the batch shape moves rounding", "max_num_seqs: 64"),
    _O + "max_num_batched_tokens": ("the GPU decides it; the batch shape moves rounding", "8192"),
    _O + "prefix_caching": ("the default changed between versions", "prefix_caching: true"),
    _O + "chunked_prefill": ("the default changed between versions", "chunked_prefill: true"),
    _O + "attention": ("the GPU and the packages installed decide the kernel", "attention: FLASH_ATTN"),
    _O + "generation_config": (
        "since 0.8 the model's generation_config.json sets sampling defaults, before it did not",
        "generation_config: engine",
    ),
    _O + "seed": ("the default changed between versions", "seed: 0"),
}  # fmt: skip
