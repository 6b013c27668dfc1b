"""Base tier, launch options: one vocabulary for all engines.

- Each engine module translates these into its own flags; `also` lists how engines spell them.
- The effect says what a change does to answers. What moves the shape of a batch or the order of a sum is
  `output`: it moves rounding, and rounding moves tokens.
"""

from __future__ import annotations

from typing import Annotated, Literal

from governance.tiers.schemas.engine_parts import KvTransfer, Lora, Multimodal, Rope, Speculative
from governance.tiers.schemas.field import (
    LATENCY,
    NONE,
    AboveZero,
    Closed,
    Count,
    JsonValue,
    Line,
    NotNegative,
    OrUnlimited,
    Positive,
    Probability,
    Share,
    Spec,
    Word,
    absent,
)


class EngineOptions(Closed):
    """Launch options in one vocabulary for all engines."""

    # lengths and batches
    max_model_len: Annotated[
        Positive,
        Spec(
            "longest prompt and answer together; beyond it prompts are cut or refused",
            unit="tokens",
            also=(
                "num_ctx",
                "ctx_size",
                "n_ctx",
                "context_length",
                "max_total_tokens",
                "max_seq_len",
                "max_context_len",
            ),
            example=8192,
        ),
    ] = absent()
    max_input_tokens: Annotated[
        Positive, Spec("longest prompt", unit="tokens", also=("max_input_length",))
    ] = absent()
    max_num_seqs: Annotated[
        Positive,
        Spec(
            "requests in one batch; the batch shape moves rounding",
            unit="requests",
            also=(
                "max_running_requests",
                "parallel",
                "n_parallel",
                "num_parallel",
                "max_batch_size",
                "max_concurrency",
            ),
            example=8,
        ),
    ] = absent()
    max_num_batched_tokens: Annotated[
        Positive,
        Spec(
            "tokens computed in one step; it moves the batch shape and with it rounding",
            unit="tokens",
            also=(
                "batch_size",
                "n_batch",
                "num_batch",
                "max_prefill_tokens",
                "max_batch_prefill_tokens",
                "max_num_tokens",
            ),
        ),
    ] = absent()
    max_batch_total_tokens: Annotated[
        Positive,
        Spec(
            "tokens of all running requests together", LATENCY, unit="tokens", also=("max_total_num_tokens",)
        ),
    ] = absent()
    micro_batch_size: Annotated[
        Positive, Spec("tokens computed in one kernel call", unit="tokens", also=("ubatch_size", "n_ubatch"))
    ] = absent()
    chunked_prefill: Annotated[
        bool,
        Spec(
            "whether long prompts are computed in pieces; it moves rounding", also=("enable_chunked_prefill",)
        ),
    ] = absent()
    chunk_size: Annotated[
        OrUnlimited,
        Spec("length of the pieces; -1 is whole prompts", unit="tokens", also=("chunked_prefill_size",)),
    ] = absent()
    continuous_batching: Annotated[
        bool, Spec("whether requests join a running batch", also=("cont_batching",))
    ] = absent()
    scheduling_policy: Annotated[
        Word, Spec("which waiting request runs next", LATENCY, also=("schedule_policy",), example="fcfs")
    ] = absent()
    schedule_conservativeness: Annotated[
        NotNegative, Spec("how carefully memory is promised to requests", LATENCY)
    ] = absent()
    async_scheduling: Annotated[
        bool, Spec("whether scheduling overlaps with computing", LATENCY, also=("overlap_schedule",))
    ] = absent()
    scheduler_steps: Annotated[
        Positive,
        Spec(
            "steps computed per scheduling",
            unit="steps",
            also=("num_scheduler_steps", "num_continuous_decode_steps"),
        ),
    ] = absent()
    waiting_served_ratio: Annotated[NotNegative, Spec("when waiting prompts interrupt decoding", LATENCY)] = (
        absent()
    )
    max_queue: Annotated[
        Count,
        Spec(
            "requests that may wait before new ones are refused",
            LATENCY,
            unit="requests",
            also=("max_queued_requests", "max_concurrent_requests"),
        ),
    ] = absent()
    default_max_tokens: Annotated[
        OrUnlimited,
        Spec(
            "answer length when a request names none; -1 is no limit",
            unit="tokens",
            also=("n_predict", "num_predict"),
        ),
    ] = absent()

    # cache
    prefix_caching: Annotated[
        bool,
        Spec(
            "reuses computed prompts; a hit computes other batch shapes than a miss",
            also=("enable_prefix_caching", "radix_cache", "cache_prompt"),
        ),
    ] = absent()
    prefix_caching_hash: Annotated[
        Word, Spec("hash that names cached blocks", LATENCY, also=("prefix_caching_hash_algo",))
    ] = absent()
    cache_reuse: Annotated[
        Count, Spec("shortest piece reused by shifting positions; it changes answers", unit="tokens")
    ] = absent()
    cache_ram_mib: Annotated[
        OrUnlimited, Spec("host memory for cached prompts; -1 is no limit", LATENCY, unit="MiB")
    ] = absent()
    slot_prompt_similarity: Annotated[Probability, Spec("how alike prompts must be to share a slot")] = (
        absent()
    )
    block_size: Annotated[
        Positive, Spec("tokens per cache block", unit="tokens", also=("page_size", "tokens_per_block"))
    ] = absent()
    gpu_memory_utilization: Annotated[
        Share,
        Spec(
            "share of accelerator memory the engine takes; it bounds the batch",
            LATENCY,
            also=("mem_fraction_static", "cuda_memory_fraction", "free_gpu_memory_fraction"),
        ),
    ] = absent()
    kv_cache_memory_gib: Annotated[
        AboveZero, Spec("size of the KV cache", LATENCY, unit="GiB", also=("kv_cache_memory_bytes",))
    ] = absent()
    cache_blocks: Annotated[
        Positive,
        Spec(
            "number of cache blocks, where it is forced",
            LATENCY,
            unit="blocks",
            also=("num_gpu_blocks_override",),
        ),
    ] = absent()
    swap_space_gib: Annotated[
        NotNegative, Spec("host memory for preempted requests", LATENCY, unit="GiB")
    ] = absent()
    cpu_offload_gib: Annotated[NotNegative, Spec("weights kept in host memory", LATENCY, unit="GiB")] = (
        absent()
    )
    kv_offload: Annotated[
        bool, Spec("whether the KV cache may lie in host memory", also=("enable_hierarchical_cache",))
    ] = absent()
    kv_unified: Annotated[bool, Spec("whether all slots share one cache buffer; it moves rounding")] = (
        absent()
    )
    kv_transfer: Annotated[
        KvTransfer,
        Spec("prefill and decode apart, or a cache outside the engine", also=("kv_transfer_config",)),
    ] = absent()
    context_shift: Annotated[bool, Spec("whether a full context drops its oldest half and runs on")] = (
        absent()
    )
    keep_tokens: Annotated[
        OrUnlimited,
        Spec(
            "first tokens kept when the context shifts; -1 keeps all",
            unit="tokens",
            also=("keep", "num_keep", "n_keep"),
        ),
    ] = absent()
    sliding_window: Annotated[
        bool | Positive,
        Spec(
            "false turns the model's sliding window off; a number forces its size",
            also=("disable_sliding_window",),
        ),
    ] = absent()
    swa_full: Annotated[bool, Spec("whether sliding-window layers keep the whole cache")] = absent()

    # attention and kernels
    attention: Annotated[
        Word,
        Spec(
            "attention kernel; `auto` depends on GPU and packages",
            also=("attention_backend", "attn_implementation", "flash_attn"),
            example="FLASH_ATTN",
        ),
    ] = absent()
    attention_prefill: Annotated[
        Word, Spec("attention kernel of prompts, where it differs", also=("prefill_attention_backend",))
    ] = absent()
    attention_decode: Annotated[
        Word, Spec("attention kernel of decoding, where it differs", also=("decode_attention_backend",))
    ] = absent()
    cascade_attention: Annotated[
        bool,
        Spec("whether a shared prefix is attended once; it moves rounding", also=("disable_cascade_attn",)),
    ] = absent()
    sampling_backend: Annotated[Word, Spec("kernel that draws tokens")] = absent()
    gemm_backend: Annotated[
        Word, Spec("kernel that multiplies matrices", also=("fp8_gemm_backend", "linear_backend"))
    ] = absent()
    grammar_threads: Annotated[Positive, Spec("threads that build token masks", LATENCY, unit="threads")] = (
        absent()
    )
    batch_invariant: Annotated[
        bool,
        Spec(
            "whether an answer is independent of what else is in the batch",
            also=("enable_deterministic_inference", "deterministic"),
        ),
    ] = absent()
    seed: Annotated[Count, Spec("server-wide start of the random numbers", also=("random_seed",))] = absent()
    enforce_eager: Annotated[
        bool, Spec("runs without graphs and compiled kernels, which round otherwise")
    ] = absent()
    cuda_graphs: Annotated[
        bool,
        Spec(
            "whether steps are replayed from captured graphs; padding moves batch shapes",
            also=("disable_cuda_graph",),
        ),
    ] = absent()
    cuda_graph_sizes: Annotated[
        list[Positive],
        Spec(
            "batch sizes graphs are captured for, a set",
            unordered=True,
            unit="requests",
            also=("cudagraph_capture_sizes", "cuda_graph_bs"),
        ),
    ] = absent()
    compilation_level: Annotated[
        Count,
        Spec(
            "how much of the model is compiled; compiled kernels round otherwise",
            also=("compilation_config", "optimization_level"),
        ),
    ] = absent()
    torch_compile: Annotated[bool, Spec("whether kernels are compiled", also=("enable_torch_compile",))] = (
        absent()
    )
    repack: Annotated[
        bool, Spec("whether weights are repacked for the processor; other kernels, other rounding")
    ] = absent()

    # parallel
    tensor_parallel_size: Annotated[
        Positive,
        Spec(
            "devices that share each matrix; sums change order",
            unit="devices",
            also=("tp_size", "tp", "num_shard", "tensor_parallel"),
        ),
    ] = absent()
    pipeline_parallel_size: Annotated[
        Positive, Spec("devices that share the layers", unit="devices", also=("pp_size",))
    ] = absent()
    data_parallel_size: Annotated[
        Positive, Spec("replicas inside one server", unit="replicas", also=("dp_size",))
    ] = absent()
    context_parallel_size: Annotated[
        Positive,
        Spec(
            "devices that share one prompt",
            unit="devices",
            also=("prefill_context_parallel_size", "attn_cp_size"),
        ),
    ] = absent()
    decode_context_parallel_size: Annotated[
        Positive, Spec("devices that share one context while decoding", unit="devices", also=("dcp_size",))
    ] = absent()
    expert_parallel: Annotated[
        bool, Spec("whether experts are spread over devices", also=("enable_expert_parallel",))
    ] = absent()
    expert_parallel_size: Annotated[
        Positive,
        Spec("devices that share the experts", unit="devices", also=("ep_size", "moe_expert_parallel_size")),
    ] = absent()
    data_parallel_attention: Annotated[
        bool, Spec("whether attention is replicated", also=("enable_dp_attention", "enable_attention_dp"))
    ] = absent()
    expert_balancing: Annotated[
        bool, Spec("whether experts are moved and copied by load", also=("enable_eplb",))
    ] = absent()
    redundant_experts: Annotated[
        Count,
        Spec(
            "copies of busy experts",
            unit="experts",
            also=("num_redundant_experts", "ep_num_redundant_experts"),
        ),
    ] = absent()
    moe_backend: Annotated[Word, Spec("kernel of the experts", also=("moe_runner_backend",))] = absent()
    all2all_backend: Annotated[
        Word, Spec("how tokens travel to experts", also=("moe_a2a_backend", "deepep_mode"))
    ] = absent()
    distributed_backend: Annotated[
        Word, Spec("what starts the workers", LATENCY, also=("distributed_executor_backend",))
    ] = absent()
    custom_all_reduce: Annotated[
        bool,
        Spec(
            "whether the engine's own all-reduce sums; it sums in another order",
            also=("disable_custom_all_reduce",),
        ),
    ] = absent()
    split_mode: Annotated[
        Literal["none", "layer", "row", "tensor"], Spec("how layers are split over devices")
    ] = absent()
    tensor_split: Annotated[list[NotNegative], Spec("share of each device", also=("ts",))] = absent()
    main_gpu: Annotated[Count, Spec("device of what is not split")] = absent()
    nodes: Annotated[Positive, Spec("machines of one server", unit="machines", also=("nnodes",))] = absent()

    # processor and placement
    threads: Annotated[
        Positive,
        Spec(
            "threads that decode; on CPU it moves the order of sums",
            unit="threads",
            also=("n_threads", "num_thread"),
        ),
    ] = absent()
    threads_batch: Annotated[
        Positive, Spec("threads that compute prompts", unit="threads", also=("n_threads_batch",))
    ] = absent()
    gpu_layers: Annotated[
        OrUnlimited,
        Spec(
            "layers on the accelerator, the rest on the processor; -1 is all",
            unit="layers",
            also=("n_gpu_layers", "ngl", "num_gpu"),
        ),
    ] = absent()
    cpu_moe_layers: Annotated[
        Count, Spec("layers whose experts stay on the processor", unit="layers", also=("n_cpu_moe",))
    ] = absent()
    override_tensor: Annotated[list[Line], Spec("where tensors that match are placed")] = absent()
    op_offload: Annotated[bool, Spec("whether single operations move to the accelerator")] = absent()
    mmap: Annotated[
        bool, Spec("whether weights are mapped instead of read", LATENCY, also=("no_mmap", "use_mmap"))
    ] = absent()
    mlock: Annotated[bool, Spec("whether weights are kept from swapping", LATENCY, also=("use_mlock",))] = (
        absent()
    )
    numa: Annotated[Word, Spec("how threads and memory are placed", LATENCY)] = absent()
    warmup: Annotated[bool, Spec("whether a first run is made before serving", LATENCY)] = absent()
    load_format: Annotated[Word, Spec("how weights are read")] = absent()

    # features
    speculative: Annotated[
        Speculative,
        Spec(
            "guesses tokens ahead; it moves batch shapes and with a relaxed rule the distribution",
            also=("speculative_config", "speculate"),
        ),
    ] = absent()
    lora: Annotated[Lora, Spec("adapters")] = absent()
    generation_config: Annotated[
        Line,
        Spec(
            "whose sampling defaults apply: auto reads the model's file, engine ignores it, a path is read",
            also=("sampling_defaults",),
            example="engine",
        ),
    ] = absent()
    generation_overrides: Annotated[
        dict[Word, JsonValue],
        Spec(
            "sampling defaults set at launch, by sampling key",
            also=("override_generation_config", "preferred_sampling_params"),
        ),
    ] = absent()
    rope: Annotated[Rope, Spec("how positions are stretched", also=("rope_scaling",))] = absent()
    structured_output_backend: Annotated[
        Word, Spec("library that builds token masks", also=("guided_decoding_backend", "grammar_backend"))
    ] = absent()
    reasoning_parser: Annotated[
        Word, Spec("splits reasoning from the answer", also=("reasoning_format",))
    ] = absent()
    reasoning_budget: Annotated[
        OrUnlimited, Spec("cuts the reasoning; -1 is no limit, 0 none", unit="tokens")
    ] = absent()
    tool_call_parser: Annotated[Word, Spec("finds tool calls in the answer")] = absent()
    auto_tool_choice: Annotated[
        bool, Spec("whether the model may call tools by itself", also=("enable_auto_tool_choice",))
    ] = absent()
    chat_template_engine: Annotated[
        Literal["jinja", "builtin"], Spec("who renders the chat template", also=("jinja",))
    ] = absent()
    chat_template_content_format: Annotated[
        Literal["auto", "string", "openai"], Spec("how message content reaches the template")
    ] = absent()
    request_chat_template: Annotated[
        bool,
        Spec("whether requests may bring their own chat template", also=("trust_request_chat_template",)),
    ] = absent()
    logprobs_mode: Annotated[
        Word,
        Spec(
            "log-probabilities before or after temperature and penalties", also=("return_original_logprob",)
        ),
    ] = absent()
    max_logprobs: Annotated[
        OrUnlimited,
        Spec("most alternatives a request may ask for; -1 is the vocabulary", NONE, unit="tokens"),
    ] = absent()
    logits_processors: Annotated[list[Line], Spec("code that rewrites logits of every request")] = absent()
    middleware: Annotated[list[Line], Spec("code around every request; it may rewrite them")] = absent()
    runner: Annotated[
        Word, Spec("what the model is used for", also=("task", "is_embedding"), example="generate")
    ] = absent()
    multimodal: Annotated[Multimodal, Spec("images, video and audio")] = absent()
    skip_tokenizer: Annotated[
        bool, Spec("whether requests bring token ids", also=("skip_tokenizer_init",))
    ] = absent()
    served_model_name: Annotated[Line | list[Line], Spec("names requests may use", NONE, also=("alias",))] = (
        absent()
    )
    keep_alive: Annotated[Line, Spec("how long an idle model stays loaded", LATENCY)] = absent()
