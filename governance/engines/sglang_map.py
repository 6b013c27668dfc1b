"""SGLang's own words for the common vocabulary: literal tables, no logic.

Sources, below `sglang/srt/` of the wheels listed in `defaults/sglang.json`: `server_args.py`,
`arg_groups/fields/`, `entrypoints/openai/protocol.py` and `configs/model_config.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from governance.engines.argparse_launch import Vocabulary
from governance.engines.bindings import (
    INTEGERS,
    INVERTED,
    UNLESS_AUTO,
    UNLESS_NONE,
    Binding,
    Codec,
    Group,
    bound,
    words,
)
from governance.engines.bound_values import Derived
from governance.values import Json

NAME: Final = "sglang"
_O: Final = "engine.options."


def _json_out(value: Json) -> Json:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _json_in(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        found: Json = json.loads(value)
    except ValueError:
        return value
    return found or None


def _file_out(value: Json) -> Json:
    if not isinstance(value, Mapping) or "file" not in value:
        raise ValueError("only `{file: …}` can be said")
    return value["file"]


def _float32_out(value: Json) -> Json:
    if value != "float32":
        raise ValueError("only `float32` can be said")
    return True


def _embed_out(value: Json) -> Json:
    if value not in ("embed", "pooling", "generate", "auto"):
        raise ValueError("only `embed` or `generate` can be said")
    return value in ("embed", "pooling")


_JSON: Final = Codec(_json_out, _json_in)
_FILE: Final = Codec(_file_out, lambda v: {"file": v} if isinstance(v, str) else v)
_FLOAT32: Final = Codec(_float32_out, lambda v: "float32" if v is True else None)
_EMBED: Final = Codec(_embed_out, lambda v: "embed" if v is True else "generate")
_DTYPE: Final = Codec(
    lambda v: v, lambda v: {"half": "float16", "float": "float32"}.get(v, v) if isinstance(v, str) else v
)

BINDINGS: Final[tuple[Binding, ...]] = (
    bound("model.revision"),
    bound("model.trust_remote_code"),
    bound("model.implementation", "model_impl", codec=words({"native": "sglang"})),
    bound("model.config_overrides", "json_model_override_args", codec=_JSON),
    bound("model.tokenizer.id", "tokenizer_path"),
    bound("model.tokenizer.mode", "tokenizer_mode"),
    bound("precision.dtype", codec=_DTYPE),
    bound("precision.weights.method", "quantization", codec=UNLESS_NONE),
    bound("precision.kv_cache.dtype", "kv_cache_dtype"),
    bound("precision.kv_cache.scales", "quantization_param_path", codec=_FILE),
    bound("precision.state.dtype", "mamba_ssm_dtype"),
    bound("precision.logits", "enable_fp32_lm_head", codec=_FLOAT32),
    bound(_O + "max_model_len", "context_length"),
    bound(_O + "max_num_seqs", "max_running_requests"),
    bound(_O + "max_num_batched_tokens", "max_prefill_tokens"),
    bound(_O + "max_batch_total_tokens", "max_total_tokens"),
    bound(_O + "chunk_size", "chunked_prefill_size"),
    bound(_O + "scheduling_policy", "schedule_policy"),
    bound(_O + "schedule_conservativeness"),
    bound(_O + "async_scheduling", "disable_overlap_schedule", codec=INVERTED),
    bound(_O + "scheduler_steps", "num_continuous_decode_steps"),
    bound(_O + "max_queue", "max_queued_requests"),
    bound(_O + "prefix_caching", "disable_radix_cache", codec=INVERTED),
    bound(_O + "block_size", "page_size"),
    bound(_O + "gpu_memory_utilization", "mem_fraction_static"),
    bound(_O + "cpu_offload_gib", "cpu_offload_gb"),
    bound(_O + "kv_offload", "enable_hierarchical_cache"),
    bound(_O + "attention", "attention_backend", codec=UNLESS_AUTO),
    bound(_O + "attention_prefill", "prefill_attention_backend"),
    bound(_O + "attention_decode", "decode_attention_backend"),
    bound(_O + "sampling_backend"),
    bound(_O + "gemm_backend", "fp8_gemm_runner_backend"),
    bound(_O + "batch_invariant", "enable_deterministic_inference"),
    bound(_O + "seed", "random_seed"),
    bound(_O + "cuda_graphs", "disable_cuda_graph", codec=INVERTED),
    bound(_O + "cuda_graph_sizes", "cuda_graph_bs", "cuda_graph_bs_decode", codec=INTEGERS),
    bound(_O + "torch_compile", "enable_torch_compile"),
    bound(_O + "tensor_parallel_size", "tp_size"),
    bound(_O + "pipeline_parallel_size", "pp_size"),
    bound(_O + "data_parallel_size", "dp_size"),
    bound(_O + "context_parallel_size", "attn_cp_size"),
    bound(_O + "decode_context_parallel_size", "dcp_size"),
    bound(_O + "expert_parallel_size", "ep_size"),
    bound(_O + "data_parallel_attention", "enable_dp_attention"),
    bound(_O + "expert_balancing", "enable_eplb"),
    bound(_O + "redundant_experts", "ep_num_redundant_experts"),
    bound(_O + "moe_backend", "moe_runner_backend"),
    bound(_O + "all2all_backend", "moe_a2a_backend"),
    bound(_O + "custom_all_reduce", "disable_custom_all_reduce", codec=INVERTED),
    bound(_O + "nodes", "nnodes"),
    bound(_O + "load_format"),
    bound(_O + "warmup", "skip_server_warmup", codec=INVERTED),
    bound(_O + "lora.enabled", "enable_lora"),
    bound(_O + "lora.max_loras", "max_loras_per_batch"),
    bound(_O + "lora.max_cpu_loras", "max_loaded_loras"),
    bound(_O + "lora.max_rank", "max_lora_rank"),
    bound(_O + "lora.target_modules", "lora_target_modules"),
    bound(_O + "lora.backend", "lora_backend"),
    bound(_O + "speculative.method", "speculative_algorithm"),
    bound(_O + "speculative.model", "speculative_draft_model_path"),
    bound(_O + "speculative.revision", "speculative_draft_model_revision"),
    bound(_O + "speculative.quantization", "speculative_draft_model_quantization"),
    bound(_O + "speculative.steps", "speculative_num_steps"),
    bound(_O + "speculative.top_k", "speculative_eagle_topk"),
    bound(_O + "speculative.num_tokens", "speculative_num_draft_tokens"),
    bound(_O + "speculative.threshold", "speculative_accept_threshold_single"),
    bound(_O + "kv_transfer.connector", "disaggregation_transfer_backend"),
    bound(_O + "kv_transfer.role", "disaggregation_mode", codec=words({"both": "null"})),
    bound(_O + "generation_config", "sampling_defaults", codec=words({"auto": "model", "engine": "openai"})),
    bound(_O + "structured_output_backend", "grammar_backend"),
    bound(_O + "reasoning_parser"),
    bound(_O + "tool_call_parser"),
    bound(_O + "request_chat_template", "trust_request_chat_template"),
    bound(_O + "multimodal.attention", "mm_attention_backend"),
    bound(_O + "multimodal.limits", "limit_mm_data_per_request"),
    bound(_O + "multimodal.processor", "mm_process_config"),
    bound(_O + "runner", "is_embedding", codec=_EMBED),
    bound(_O + "skip_tokenizer", "skip_tokenizer_init"),
    bound(_O + "served_model_name"),
)

# They reach `/generate`; a chat request always brings its own values.
OVERRIDES: Final = Group(
    _O + "generation_overrides",
    ("preferred_sampling_params",),
    {
        key: {"max_tokens": "max_new_tokens", "min_tokens": "min_new_tokens", "seed": "sampling_seed"}.get(
            key, key
        )
        for key in (
            *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"),
            *(
                "frequency_penalty",
                "max_tokens",
                "min_tokens",
                "seed",
                "stop",
                "stop_token_ids",
                "ignore_eos",
            ),
            *("skip_special_tokens", "spaces_between_special_tokens", "n"),
        )
    },
)

# Handled by code: the model and adapters.
SPECIAL: Final = frozenset({"model_path", "lora_paths", "chat_template"})

# Reaching, watching and feeding the server: read and dropped, for they shape no answer.
OPERATIONAL: Final = frozenset(
    {
        "host", "port", "nccl_port", "grpc_port", "grpc_http_sidecar_port", "smg_http_sidecar_port",
        "dist_init_addr", "node_rank", "api_key", "admin_api_key", "ssl_keyfile", "ssl_certfile",
        "ssl_ca_certs", "ssl_keyfile_password", "log_level", "log_level_http", "log_requests",
        "log_requests_level", "log_requests_format", "log_requests_target",
        "uvicorn_access_log_exclude_prefixes", "decode_log_interval", "show_time_cost",
        "enable_metrics", "enable_metrics_for_all_schedulers", "enable_mfu_metrics",
        "extra_metric_labels", "bucket_time_to_first_token", "bucket_inter_token_latency",
        "bucket_e2e_request_latency", "collect_tokens_histogram", "prompt_tokens_buckets",
        "generation_tokens_buckets", "enable_trace", "otlp_traces_endpoint", "oltp_traces_endpoint",
        "otlp_service_name", "trace_modules", "enable_cache_report", "crash_dump_folder",
        "watchdog_timeout", "soft_watchdog_timeout", "dist_timeout", "download_dir",
        "file_storage_path", "enable_request_time_stats_logging", "export_metrics_to_file",
        "export_metrics_to_file_dir", "tokenizer_metrics_custom_labels_header", "config",
        "sleep_on_idle", "tokenizer_metrics_allowed_custom_labels", "stream_interval",
        "base_gpu_id", "gpu_id_step",
    }
)  # fmt: skip

WORDS: Final = Vocabulary(
    NAME, BINDINGS, (OVERRIDES,), (), SPECIAL, OPERATIONAL, special_keys=(_O + "chunked_prefill",)
)

DERIVED: Final[Derived] = {
    "dtype": ("gpu", "`auto` takes the checkpoint's format, and float16 on a GPU without bfloat16"),
    "kv_cache_dtype": ("model", "`auto` takes the model's format, unless the checkpoint names one"),
    "quantization": ("model", "the checkpoint's config.json says whether and how it is quantised"),
    "revision": ("model", "the default branch of the repository on the day of the start"),
    "tokenizer_path": ("model", "the model repository's own"),
    "tokenizer_mode": ("model", "`auto` takes the fast tokenizer where the repository has one"),
    "context_length": ("model", "the model's config.json says how long a context it was made for"),
    "max_running_requests": ("gpu", "derived from the GPU's memory"),
    "max_total_tokens": ("gpu", "derived from the GPU's memory"),
    "chunked_prefill_size": ("gpu", "derived from the GPU's memory"),
    "mem_fraction_static": ("gpu", "derived from the GPU's memory"),
    "page_size": ("gpu", "the attention backend decides it"),
    "attention_backend": ("gpu", "the GPU, the model and the packages installed decide it"),
    "prefill_attention_backend": ("gpu", "that of `attention`"),
    "decode_attention_backend": ("gpu", "that of `attention`"),
    "sampling_backend": ("gpu", "flashinfer where it is installed, else PyTorch"),
    "grammar_backend": ("gpu", "decided by the packages installed"),
    "fp8_gemm_runner_backend": ("gpu", "`auto` is decided by the GPU and the packages installed"),
    "moe_runner_backend": ("gpu", "`auto` is decided by the GPU and the packages installed"),
    "mm_attention_backend": ("gpu", "decided by the GPU"),
    "cuda_graph_bs": ("gpu", "derived from the GPU's memory"),
    "cuda_graph_bs_decode": ("gpu", "derived from the GPU's memory"),
    "disable_custom_all_reduce": ("gpu", "the engine switches it off where the GPUs are not linked for it"),
    "random_seed": ("start", "drawn anew at every start"),
    "load_format": ("model", "`auto` takes what the repository holds"),
    "model_impl": ("model", "`auto` takes SGLang's own code where it has the architecture"),
    "mamba_ssm_dtype": ("model", "the model's config.json decides it"),
    "max_queued_requests": ("start", "no limit, or derived in disaggregated serving"),
}

LEFT_OPEN: Final[dict[str, tuple[str, str]]] = {
    "model.revision": ("the default branch moves, and answers with it", "revision: <40 hex digits>"),
    "engine.version": ("nothing says which version runs", "version: <what GET /server_info says>"),
    "precision.dtype": ("`auto` depends on the checkpoint and the GPU", "dtype: bfloat16"),
    "precision.kv_cache.dtype": ("the checkpoint decides the cache's format", "kv_cache: {dtype: bfloat16}"),
    _O + "max_model_len": ("the model's config.json decides it", "max_model_len: 8192"),
    _O + "max_num_seqs": ("the GPU decides it; the batch shape moves rounding", "max_num_seqs: 64"),
    _O + "chunk_size": ("the GPU's memory decides it; the batch shape moves rounding", "chunk_size: 8192"),
    _O + "attention": ("the GPU and the packages installed decide the kernel", "attention: fa3"),
    _O + "sampling_backend": ("the packages installed decide the kernel", "sampling_backend: flashinfer"),
    _O + "generation_config": (
        "since 0.5.3 the model's generation_config.json sets sampling defaults, before it did not",
        "generation_config: engine",
    ),
    _O + "seed": ("a seed is drawn anew at every start", "seed: 42"),
}
