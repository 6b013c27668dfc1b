"""Base tier, the model: what is loaded, at which commit, from which files.

- A revision is a commit; that it is no branch and no short form is a rule's to say, not the schema's.
- Files are named with their digests, so that weights can be checked wherever they lie.
"""

from __future__ import annotations

from typing import Annotated, Literal

from governance.tiers.schemas.field import (
    LATENCY,
    NONE,
    AboveZero,
    Closed,
    Digest,
    FileReference,
    JsonValue,
    Line,
    Name,
    Positive,
    RelativePath,
    Spec,
    Word,
    absent,
)

Revision = Line
WeightFormat = Literal[
    "safetensors", "gguf", "pytorch", "npcache", "tensorizer", "bitsandbytes", "sharded_state", "mistral",
    "runai_streamer", "fastsafetensors", "tensorrt-llm", "onnx", "openvino", "mlx", "exl2", "exl3", "dummy",
]  # fmt: skip


class Tokenizer(Closed):
    """The tokenizer, where it is not simply that of the model repository at the same commit."""

    id: Annotated[Line, Spec("repository of the tokenizer", also=("tokenizer_path",))] = absent()
    revision: Annotated[
        Revision,
        Spec("commit of the tokenizer; without it the default branch is taken", also=("tokenizer_revision",)),
    ] = absent()
    mode: Annotated[
        Literal["auto", "fast", "slow", "hf", "mistral", "custom", "deepseek_v32", "gguf"],
        Spec("which implementation turns text into tokens", also=("tokenizer_mode",)),
    ] = absent()
    files: Annotated[dict[RelativePath, Digest], Spec("digest of every tokenizer file")] = absent()
    padding_side: Annotated[Literal["left", "right"], Spec("where padding goes in a batch")] = absent()
    extra_special_tokens: Annotated[dict[Line, Line], Spec("special tokens added to the tokenizer")] = (
        absent()
    )


class Weights(Closed):
    """The weight files and how they are stored."""

    format: Annotated[
        WeightFormat,
        Spec(
            "how the weights are stored; a conversion between formats can round values", example="safetensors"
        ),
    ]
    files: Annotated[
        dict[RelativePath, Digest],
        Spec(
            "digest of every weight file; they may then lie anywhere",
            example={"model.safetensors": "sha256:…"},
        ),
    ] = absent()
    mirror: Annotated[Line, Spec("where else the same files can be fetched", NONE)] = absent()


class Adapter(Closed):
    """One LoRA or other adapter."""

    name: Annotated[Name, Spec("the name requests use", example="refund")]
    id: Annotated[Line, Spec("repository of the adapter")] = absent()
    path: Annotated[Line, Spec("folder of the adapter on the serving host")] = absent()
    revision: Annotated[Revision, Spec("commit of the adapter")] = absent()
    rank: Annotated[
        Positive, Spec("rank of the update; above the engine's maximum it is not loaded", also=("r",))
    ] = absent()
    alpha: Annotated[AboveZero, Spec("scale of the update", also=("lora_alpha",))] = absent()
    scale: Annotated[AboveZero, Spec("weight the adapter is applied with", also=("lora_scaled",))] = absent()
    target_modules: Annotated[
        list[Line], Spec("modules the adapter changes, a set; the launch must allow them", unordered=True)
    ] = absent()
    files: Annotated[dict[RelativePath, Digest], Spec("digest of every adapter file")] = absent()
    config: Annotated[
        FileReference, Spec("the adapter's own adapter_config.json, kept beside this config")
    ] = absent()
    merged: Annotated[bool, Spec("whether the update is folded into the weights at load")] = absent()


class Projector(Closed):
    """The multimodal projector of engines that load it from a file of its own."""

    file: Annotated[Line, Spec("file name of the projector", also=("mmproj",))] = absent()
    digest: Annotated[Digest, Spec("digest of the projector file")] = absent()
    offload: Annotated[bool, Spec("whether the projector runs on the accelerator")] = absent()


class Model(Closed):
    """What is loaded."""

    id: Annotated[
        Line,
        Spec(
            "which model answers",
            also=("model_path", "model_name", "model_id"),
            example="Qwen/Qwen2.5-7B-Instruct",
        ),
    ]
    revision: Annotated[
        Revision,
        Spec(
            "commit of the model repository; a branch or tag moves and takes the answers with it",
            also=("commit", "sha"),
        ),
    ] = absent()
    code_revision: Annotated[Revision, Spec("commit of the model code that trust_remote_code runs")] = (
        absent()
    )
    config_revision: Annotated[Revision, Spec("commit config.json is read from")] = absent()
    trust_remote_code: Annotated[bool, Spec("runs code of the model repository while loading")] = absent()
    architecture: Annotated[Word, Spec("class the engine loads, where it is forced")] = absent()
    implementation: Annotated[
        Literal["auto", "native", "transformers", "terratorch"],
        Spec("whose code of the architecture runs", also=("model_impl",)),
    ] = absent()
    tokenizer: Annotated[Tokenizer, Spec("how text becomes tokens")] = absent()
    weights: Annotated[Weights, Spec("the weight files")] = absent()
    generation_config: Annotated[
        FileReference,
        Spec(
            "the model's own generation_config.json, kept beside this config: sampling defaults come from it"
        ),
    ] = absent()
    tokenizer_config: Annotated[
        FileReference, Spec("the model's own tokenizer_config.json, kept beside this config")
    ] = absent()
    config: Annotated[FileReference, Spec("the model's own config.json, kept beside this config")] = absent()
    config_overrides: Annotated[
        dict[Line, JsonValue],
        Spec(
            "keys of config.json that are replaced at load", also=("hf_overrides", "json_model_override_args")
        ),
    ] = absent()
    adapters: Annotated[
        list[Adapter], Spec("adapters served beside the model", also=("lora_modules", "lora_paths"))
    ] = absent()
    projector: Annotated[Projector, Spec("the multimodal projector")] = absent()
    license: Annotated[Line, Spec("license of the weights", NONE)] = absent()
    context_length: Annotated[
        Positive, Spec("longest context the model was trained for", LATENCY, unit="tokens")
    ] = absent()
