"""Base tier, engine options that have parts: speculation, adapters, positions, KV transfer, media."""

from __future__ import annotations

from typing import Annotated, Literal

from governance.tiers.schemas.field import (
    LATENCY,
    AboveZero,
    Closed,
    Count,
    Digest,
    JsonValue,
    Line,
    NotNegative,
    OrUnlimited,
    Positive,
    Probability,
    Real,
    RelativePath,
    Spec,
    Word,
    absent,
)


class Speculative(Closed):
    """Speculative decoding: a cheap guess, checked by the model."""

    method: Annotated[
        Word,
        Spec(
            "who guesses: a draft model, ngrams, eagle, medusa, mtp",
            also=("speculative_algorithm",),
            example="ngram",
        ),
    ]
    model: Annotated[Line, Spec("draft model", also=("draft_model", "speculative_draft_model_path"))] = (
        absent()
    )
    revision: Annotated[Line, Spec("commit of the draft model")] = absent()
    files: Annotated[dict[RelativePath, Digest], Spec("digest of every file of the draft model")] = absent()
    quantization: Annotated[Word, Spec("quantisation of the draft model")] = absent()
    num_tokens: Annotated[
        Positive,
        Spec(
            "tokens guessed per step; it moves the batch shape and with it rounding",
            unit="tokens",
            also=("num_speculative_tokens", "draft_max", "draft"),
        ),
    ] = absent()
    min_tokens: Annotated[Count, Spec("fewest tokens guessed", unit="tokens", also=("draft_min",))] = absent()
    steps: Annotated[Positive, Spec("steps of the draft model", also=("speculative_num_steps",))] = absent()
    top_k: Annotated[Positive, Spec("branches kept per step", also=("speculative_eagle_topk",))] = absent()
    ngram_max: Annotated[
        Positive, Spec("longest n-gram looked up", unit="tokens", also=("prompt_lookup_max",))
    ] = absent()
    ngram_min: Annotated[
        Positive, Spec("shortest n-gram looked up", unit="tokens", also=("prompt_lookup_min",))
    ] = absent()
    acceptance: Annotated[
        Word,
        Spec(
            "when a guess is accepted; a typical or relaxed rule changes the distribution",
            also=("acceptance_method",),
        ),
    ] = absent()
    threshold: Annotated[
        Probability, Spec("least probability of a guess", also=("draft_p_min", "posterior_threshold"))
    ] = absent()
    tensor_parallel_size: Annotated[Positive, Spec("parallel degree of the draft model", unit="devices")] = (
        absent()
    )
    max_model_len: Annotated[Positive, Spec("context of the draft model", LATENCY, unit="tokens")] = absent()
    disable_above_batch: Annotated[
        Positive,
        Spec("batch size above which nothing is guessed", unit="requests", also=("disable_by_batch_size",)),
    ] = absent()
    gpu_layers: Annotated[
        OrUnlimited, Spec("layers of the draft model on the accelerator", unit="layers")
    ] = absent()


class Lora(Closed):
    """Whether and how adapters are served."""

    enabled: Annotated[bool, Spec("whether adapters can be used", also=("enable_lora",))] = absent()
    max_loras: Annotated[
        Positive, Spec("adapters in one batch", LATENCY, unit="adapters", also=("max_loras_per_batch",))
    ] = absent()
    max_cpu_loras: Annotated[Positive, Spec("adapters kept in memory", LATENCY, unit="adapters")] = absent()
    max_rank: Annotated[
        Positive, Spec("adapters above this rank are not loaded", also=("max_lora_rank",))
    ] = absent()
    dtype: Annotated[Word, Spec("number format of the adapters", also=("lora_dtype",))] = absent()
    target_modules: Annotated[
        list[Line],
        Spec(
            "modules adapters may change, a set; others do nothing",
            unordered=True,
            also=("lora_target_modules",),
        ),
    ] = absent()
    fully_sharded: Annotated[
        bool, Spec("how adapters are split over devices", also=("fully_sharded_loras",))
    ] = absent()
    backend: Annotated[Word, Spec("kernel that applies adapters", also=("lora_backend",))] = absent()


class Rope(Closed):
    """Rotary position embedding, stretched beyond what the model was trained for."""

    scaling: Annotated[
        Word,
        Spec(
            "how positions are stretched; it changes short prompts too",
            also=("rope_type", "rope_scaling"),
            example="yarn",
        ),
    ] = absent()
    factor: Annotated[AboveZero, Spec("how far positions are stretched", also=("rope_scale",))] = absent()
    theta: Annotated[AboveZero, Spec("base frequency", also=("rope_theta", "rope_freq_base"))] = absent()
    frequency_scale: Annotated[AboveZero, Spec("frequency scale", also=("rope_freq_scale",))] = absent()
    original_max_position: Annotated[
        Positive,
        Spec(
            "context the model was trained for",
            unit="tokens",
            also=("original_max_position_embeddings", "yarn_orig_ctx"),
        ),
    ] = absent()
    attention_factor: Annotated[Real, Spec("scale of attention under YaRN", also=("yarn_attn_factor",))] = (
        absent()
    )
    extrapolation: Annotated[Real, Spec("mix of extrapolation under YaRN", also=("yarn_ext_factor",))] = (
        absent()
    )
    beta_fast: Annotated[
        NotNegative, Spec("YaRN correction for high frequencies", also=("yarn_beta_fast",))
    ] = absent()
    beta_slow: Annotated[
        NotNegative, Spec("YaRN correction for low frequencies", also=("yarn_beta_slow",))
    ] = absent()
    parameters: Annotated[
        dict[Word, JsonValue], Spec("further values of the scaling method, by the model's own names")
    ] = absent()


class KvTransfer(Closed):
    """Prefill and decode on different servers, or a cache outside the engine."""

    connector: Annotated[
        Word, Spec("what moves the KV cache", also=("kv_connector", "disaggregation_transfer_backend"))
    ]
    role: Annotated[
        Literal["prefill", "decode", "both"],
        Spec("what this server computes", also=("kv_role", "disaggregation_mode")),
    ] = absent()
    parameters: Annotated[dict[Line, JsonValue], Spec("settings of the connector by its own names")] = (
        absent()
    )


class Multimodal(Closed):
    """Images, video and audio in prompts."""

    limits: Annotated[
        dict[Word, Count], Spec("items per prompt by kind", unit="items", also=("limit_mm_per_prompt",))
    ] = absent()
    processor: Annotated[
        dict[Line, JsonValue],
        Spec("settings of the processor: sizes, frames, crops", also=("mm_processor_kwargs",)),
    ] = absent()
    attention: Annotated[Word, Spec("attention backend of the encoder", also=("mm_attention_backend",))] = (
        absent()
    )
    media_io: Annotated[dict[Line, JsonValue], Spec("how media is decoded", also=("media_io_kwargs",))] = (
        absent()
    )
