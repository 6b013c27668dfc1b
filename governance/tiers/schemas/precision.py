"""Base tier, precision: number formats of weights, activations and KV cache."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from governance.tiers.schemas.field import (
    Closed,
    Count,
    Line,
    OrUnlimited,
    Positive,
    Probability,
    RelativePath,
    Spec,
    Word,
    absent,
)

Dtype = Literal["auto", "float16", "bfloat16", "float32"]
Bits = Annotated[int, Field(ge=1, le=64)]


class ModulePrecision(Closed):
    """Precision of the modules that match."""

    match: Annotated[Line, Spec("module name or pattern", example="lm_head")]
    dtype: Annotated[Dtype, Spec("number format of these modules")] = absent()
    method: Annotated[Word, Spec("quantisation method of these modules")] = absent()
    type: Annotated[Word, Spec("quantisation type of these modules")] = absent()
    bits: Annotated[Bits, Spec("bits per weight", unit="bits")] = absent()
    group_size: Annotated[OrUnlimited, Spec("weights that share one scale", unit="weights")] = absent()


class WeightPrecision(Closed):
    """How weights are quantised."""

    method: Annotated[
        Word,
        Spec(
            "quantisation method; `none` is full precision", also=("quantization", "quantize"), example="awq"
        ),
    ] = absent()
    type: Annotated[Word, Spec("variant of the method", example="q4_1")] = absent()
    bits: Annotated[Bits, Spec("bits per weight", unit="bits")] = absent()
    group_size: Annotated[
        OrUnlimited, Spec("weights that share one scale; -1 is a whole channel", unit="weights")
    ] = absent()
    symmetric: Annotated[bool, Spec("whether the zero point is fixed", also=("sym",))] = absent()
    desc_act: Annotated[
        bool, Spec("whether columns are quantised in order of activation size", also=("act_order",))
    ] = absent()
    double_quant: Annotated[bool, Spec("whether scales are quantised too")] = absent()
    kernel: Annotated[Word, Spec("kernel that multiplies quantised weights", example="marlin")] = absent()
    calibration: Annotated[Line, Spec("data set the scales were made with")] = absent()
    in_flight: Annotated[bool, Spec("whether full weights are quantised while loading")] = absent()
    modules: Annotated[list[ModulePrecision], Spec("modules that differ; the first match counts")] = absent()


class ActivationPrecision(Closed):
    """How activations are computed."""

    dtype: Annotated[Word, Spec("number format of activations", example="fp8_e4m3")] = absent()
    scheme: Annotated[
        Literal["static", "dynamic"], Spec("whether scales are fixed or computed per batch")
    ] = absent()
    granularity: Annotated[Literal["tensor", "token", "block", "channel"], Spec("what shares one scale")] = (
        absent()
    )


class CacheScales(Closed):
    """Scales of a quantised KV cache read from a file."""

    file: Annotated[
        RelativePath,
        Spec("file of scales in the config's own folder", also=("quantization_param_path",)),
    ]


class CachePrecision(Closed):
    """How the KV cache is stored, and what leaves it."""

    dtype: Annotated[
        Word,
        Spec(
            "number format of the KV cache; below 16 bits long contexts lose detail",
            also=("kv_cache_dtype", "cache_type"),
            example="f16",
        ),
    ] = absent()
    key_dtype: Annotated[Word, Spec("number format of keys, where it differs", also=("cache_type_k",))] = (
        absent()
    )
    value_dtype: Annotated[
        Word, Spec("number format of values, where it differs", also=("cache_type_v",))
    ] = absent()
    scales: Annotated[
        Literal["one", "model", "calculate"] | CacheScales,
        Spec("where the scales of a quantised cache come from", also=("calculate_kv_scales",)),
    ] = absent()
    skip_layers: Annotated[
        list[Count], Spec("layers whose cache stays in full precision, a set", unordered=True)
    ] = absent()
    eviction: Annotated[
        Word, Spec("what is dropped from a full cache; `none` drops nothing", example="none")
    ] = absent()
    eviction_budget: Annotated[Positive, Spec("tokens kept per sequence", unit="tokens")] = absent()
    sink_tokens: Annotated[Count, Spec("first tokens that are never dropped", unit="tokens")] = absent()
    keep_ratio: Annotated[Probability, Spec("share of the cache that is kept")] = absent()


class StatePrecision(Closed):
    """The recurrent state of Mamba-like layers."""

    dtype: Annotated[Word, Spec("number format of the recurrent state", also=("mamba_ssm_cache_dtype",))] = (
        absent()
    )
    cache_dtype: Annotated[
        Word, Spec("number format of the convolution state", also=("mamba_cache_dtype",))
    ] = absent()


class Precision(Closed):
    """Number formats, from weights to logits."""

    dtype: Annotated[
        Dtype,
        Spec(
            "number format of weights and activations; `auto` depends on the checkpoint and the GPU",
            also=("torch_dtype",),
        ),
    ] = absent()
    weights: Annotated[WeightPrecision, Spec("how weights are quantised")] = absent()
    activations: Annotated[ActivationPrecision, Spec("how activations are computed")] = absent()
    kv_cache: Annotated[CachePrecision, Spec("how the KV cache is stored")] = absent()
    state: Annotated[StatePrecision, Spec("the recurrent state of Mamba-like layers")] = absent()
    logits: Annotated[
        Literal["float16", "bfloat16", "float32"],
        Spec("number format of the last layer", also=("lm_head_dtype",)),
    ] = absent()
    attention_accumulation: Annotated[
        Literal["float16", "bfloat16", "float32"], Spec("number format sums in attention are kept in")
    ] = absent()
    matmul: Annotated[
        Literal["highest", "high", "medium"],
        Spec(
            "float32 multiplication: exact, or through TF32 or bfloat16",
            also=("float32_matmul_precision", "allow_tf32"),
        ),
    ] = absent()
    reduced_precision_reduction: Annotated[
        bool, Spec("whether sums in half precision stay in half precision")
    ] = absent()
    upcast_layer_norm: Annotated[bool, Spec("whether normalisation is computed in float32")] = absent()
