"""What vLLM does to its own options and variables at start: literal tables, no logic.

Sources: assignments to fields of the configuration and to `os.environ` in the wheels of 0.29.0 and 0.32.0
(`vllm/config/`, `vllm/platforms/`, `vllm/engine/arg_utils.py`); `make test-engines` looks for new ones.
"""

from __future__ import annotations

from typing import Final

# Options whose literal default the engine rewrites at start, and when.
REWRITTEN: Final[dict[str, str]] = {
    "all2all_backend": "the backend of the experts may bring its own",
    "disable_chunked_mm_input": "switched on for encoder-decoder models and for some attention backends",
    "disable_custom_all_reduce": "switched off where the platform has no such kernel",
    "disable_sliding_window": "switched off where the checkpoint says that it has no window",
    "enable_cumem_allocator": "switched on with sleep mode",
    "enable_fault_tolerance": "switched on with the options of it",
    "enable_return_routed_experts": "switched on with the options of auxiliary outputs",
    "enable_dbo": "switched off where the platform cannot overlap batches",
    "cp_kv_cache_interleave_size": "follows the block size",
    "data_parallel_external_lb": "set by the launcher of several nodes",
    "data_parallel_hybrid_lb": "set by the launcher of several nodes",
    "kernel_config.enable_jit_warmup": "switched off where no kernel is compiled at start",
    "kv_cache_dtype_skip_layers": "some cache formats leave out the first and last layers",
    "long_prefill_token_threshold": "derived from the context length when partial prefills run side by side",
    "mamba_cache_mode": "follows prefix caching for models with state",
    "model_loader_extra_config": "some ways to load fill it in",
    "mm_encoder_only": "follows the role of the instance",
    "enable_mm_embeds": "follows the model",
    "reasoning_parser": "some models bring their own",
    "skip_tokenizer_init": "follows the mode of the server",
}
# Variables that the engine sets itself or whose default it computes, and why.
SET_BY_ENGINE: Final[dict[str, str]] = {
    "VLLM_ALLREDUCE_USE_SYMM_MEM": "switched off for batch invariance",
    "VLLM_CPU_KVCACHE_SPACE": "nothing when it is not set",
    "VLLM_DISABLE_SHARED_EXPERTS_STREAM": "switched on where there is no CUDA stream",
    "VLLM_DP_RANK_LOCAL": "the rank of the process",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "switched off under an external launcher",
    "VLLM_LORA_ENABLE_DUAL_STREAM": "switched off where there is no second stream",
    "VLLM_MLA_DISABLE": "set for models without latent attention",
    "VLLM_ROCM_USE_SKINNY_GEMM": "switched off for batch invariance",
    "VLLM_SSM_CONV_STATE_LAYOUT": "the platform chooses the layout",
    "VLLM_USE_AOT_COMPILE": "follows the version of PyTorch",
    "VLLM_USE_BREAKABLE_CUDAGRAPH": "switched on for some models",
    "VLLM_USE_DEEP_GEMM_E8M0": "follows the checkpoint's scales",
    "VLLM_USE_MEGA_AOT_ARTIFACT": "follows the version of PyTorch",
    "VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE": "follows the platform",
    "VLLM_USE_TRITON_AWQ": "set on ROCm",
    "VLLM_WORKER_MULTIPROC_METHOD": "`spawn` where forking is not safe",
}
# Variables that differ from process to process or from host to host and shape no answer.
PER_PROCESS: Final = frozenset(
    {
        "VLLM_ASSETS_CACHE", "VLLM_BUILD_COMMIT", "VLLM_BUILD_PIPELINE", "VLLM_BUILD_URL", "VLLM_DP_RANK",
        "VLLM_DP_RANK_LOCAL", "VLLM_DP_SIZE", "VLLM_GPU_NIC_PCIE_MAPPING", "VLLM_IMAGE_TAG",
        "VLLM_LOOPBACK_IP", "VLLM_MAX_AUDIO_PREPROCESS_WORKERS", "VLLM_MEDIA_CACHE",
        "VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME", "VLLM_PROCESS_NAME_PREFIX", "VLLM_RPC_BASE_PATH",
        "VLLM_SYSTEM_START_DATE", "VLLM_TARGET_DEVICE", "VLLM_XLA_CACHE_PATH",
    }
)  # fmt: skip
# Options, or holders of options, that watch the server or say where it is: no answer depends on them. And
# `compilation_config`, which the engine fills in from all the others.
UNRELATED: Final = frozenset(
    {
        "allowed_local_media_path", "allowed_media_domains", "compilation_config",
        "cpu_distributed_timeout_seconds", "cudagraph_metrics", "custom_histogram_buckets",
        "data_parallel_address", "data_parallel_rank",
        "data_parallel_rpc_port", "distributed_timeout_seconds", "ec_transfer_config",
        "enable_layerwise_nvtx_tracing", "enable_logging_iteration_details", "enable_mfu_metrics",
        "enable_mm_processor_stats", "fault_tolerance_config", "jit_monitor_mode", "jit_monitor_verbose",
        "kv_cache_metrics", "kv_cache_metrics_sample", "kv_events_config", "master_addr", "master_port",
        "node_rank", "per_request_spec_decode_metrics", "profiler_config", "ray_workers_use_nsight",
        "reasoning_parser_plugin", "sleep_preserve_parameter_names", "tool_parser_plugin",
        "weight_transfer_config",
    }
)  # fmt: skip
# Parts of JSON options that have a key of ours by another name.
TWICE: Final = frozenset(
    {
        "attention_config.backend",
        "structured_outputs_config.backend",
        "structured_outputs_config.reasoning_parser",
    }
)
