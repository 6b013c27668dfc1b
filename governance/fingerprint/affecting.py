"""Which packages shape answers, and why: used to rank a package diff, never to leave anything out of a
digest.

- Every package is in the packages layer. This table decides what a reader sees first.
- Names are PEP 503 normal; an entry that ends in `*` is a prefix.
"""

from __future__ import annotations

from typing import Final

from governance.values import Effect

_KERNELS: Final = "attention, sampling or matrix kernels"
_NUMERICS: Final = "numerics of every layer"
_TOKENS: Final = "text to tokens, chat templates, generation defaults"
_ENGINE: Final = "the engine itself: scheduling, sampling, defaults"
_QUANTISED: Final = "quantised kernels and how weights are rounded"
_LIBRARY: Final = "CUDA library the kernels call"

OUTPUT: Final[dict[str, str]] = {
    "vllm": _ENGINE,
    "vllm-*": _ENGINE,
    "sglang": _ENGINE,
    "sglang-*": _ENGINE,
    "sgl-kernel": _KERNELS,
    "text-generation-server": _ENGINE,
    "tensorrt-llm": _ENGINE,
    "tensorrt*": _KERNELS,
    "llama-cpp-python": _ENGINE,
    "xllamacpp": _ENGINE,
    "skulk-llama-server*": _ENGINE,
    "lmdeploy": _ENGINE,
    "mlc-llm*": _ENGINE,
    "ctranslate2": _ENGINE,
    "onnxruntime*": _ENGINE,
    "openvino*": _ENGINE,
    "exllamav2": _KERNELS,
    "exllamav3": _KERNELS,
    "lmcache": "reuse of stored KV caches",
    "torch": _NUMERICS,
    "torchvision": "image preprocessing",
    "torchaudio": "audio preprocessing",
    "torchao": _QUANTISED,
    "pytorch-triton*": _KERNELS,
    "triton": _KERNELS,
    "triton-*": _KERNELS,
    "jax": _NUMERICS,
    "jaxlib": _NUMERICS,
    "libtpu*": _KERNELS,
    "numpy": "logits processors and scheduling arithmetic",
    "flashinfer*": "attention and sampling kernels; decides which one `auto` picks",
    "flash-attn*": _KERNELS,
    "flash-attention*": _KERNELS,
    "flash-mla": _KERNELS,
    "xformers": _KERNELS,
    "sageattention": _KERNELS,
    "deep-gemm": _KERNELS,
    "deep-ep": "exchange between experts",
    "cutlass*": _KERNELS,
    "nvidia-cutlass*": _KERNELS,
    "aiter": _KERNELS,
    "amd-aiter": _KERNELS,
    "fla": _KERNELS,
    "flash-linear-attention": _KERNELS,
    "causal-conv1d": _KERNELS,
    "mamba-ssm": _KERNELS,
    "tilelang": _KERNELS,
    "quack-kernels": _KERNELS,
    "transformer-engine*": _KERNELS,
    "megablocks": _KERNELS,
    "grouped-gemm": _KERNELS,
    "kernels": "kernels fetched by name at run time",
    "liger-kernel": _KERNELS,
    "nvidia-cublas*": _LIBRARY,
    "nvidia-cudnn*": _LIBRARY,
    "nvidia-nccl*": "order of sums across GPUs",
    "nvidia-nvshmem*": "order of sums across GPUs",
    "nvidia-cuda-*": _LIBRARY,
    "nvidia-cusparse*": _LIBRARY,
    "nvidia-cusolver*": _LIBRARY,
    "nvidia-cufft*": _LIBRARY,
    "nvidia-curand*": "random numbers of sampling",
    "nvidia-modelopt*": _QUANTISED,
    "autoawq*": _QUANTISED,
    "auto-gptq": _QUANTISED,
    "gptqmodel": _QUANTISED,
    "auto-round": _QUANTISED,
    "optimum*": _QUANTISED,
    "bitsandbytes": _QUANTISED,
    "compressed-tensors": _QUANTISED,
    "llmcompressor": _QUANTISED,
    "hqq": _QUANTISED,
    "peft": "adapters",
    "accelerate": "placement and precision of weights",
    "transformers": _TOKENS,
    "tokenizers": _TOKENS,
    "sentencepiece": _TOKENS,
    "tiktoken": _TOKENS,
    "mistral-common": _TOKENS,
    "jinja2": "rendering of chat templates",
    "gguf": "reading of weights",
    "safetensors": "reading of weights",
    "huggingface-hub": "which files are fetched",
    "outlines*": "structured output",
    "xgrammar": "structured output",
    "llguidance": "structured output",
    "lm-format-enforcer": "structured output",
    "partial-json-parser": "parsing of tool calls",
    "openai-harmony": "chat format",
    "pillow": "image preprocessing",
    "opencv-python*": "image preprocessing",
    "librosa": "audio preprocessing",
    "soundfile": "audio preprocessing",
    "einops": _NUMERICS,
    "timm": "vision encoders",
}
"""Package name or prefix, and what of the answer it shapes."""

OS_OUTPUT: Final[dict[str, str]] = {
    "libc6": "mathematics of the C library",
    "libcudnn*": _LIBRARY,
    "cudnn*": _LIBRARY,
    "libnccl*": "order of sums across GPUs",
    "libcublas*": _LIBRARY,
    "libcusparse*": _LIBRARY,
    "libcusolver*": _LIBRARY,
    "libcufft*": _LIBRARY,
    "libcurand*": "random numbers of sampling",
    "libnvinfer*": _KERNELS,
    "cuda-*": _LIBRARY,
    "libnvidia-compute*": "driver part that compiles kernels",
    "nvidia-driver*": "driver",
    "nvidia-utils*": "driver",
    "libgomp1": "how threads share a sum on CPU",
    "libopenblas*": _NUMERICS,
    "libblas*": _NUMERICS,
    "intel-mkl*": _NUMERICS,
    "intel-oneapi-mkl*": _NUMERICS,
    "libdnnl*": _KERNELS,
    "rocm*": _KERNELS,
    "hip-*": _KERNELS,
    "hipblas*": _KERNELS,
    "rocblas*": _KERNELS,
    "miopen*": _KERNELS,
    "rccl*": "order of sums across GPUs",
}
"""OS packages (dpkg names) that are collected into the platform layer, and what they shape."""


def why_affecting(name: str, table: dict[str, str] = OUTPUT) -> str:
    """What of the answer the package of this normal name shapes; empty when it is not in the table."""
    exact = table.get(name)
    if exact is not None:
        return exact
    return next((why for key, why in table.items() if key.endswith("*") and name.startswith(key[:-1])), "")


def effect_of(name: str) -> Effect:
    """`OUTPUT` for a package in the table, else `NONE`: what ranks a diff of packages."""
    return Effect.OUTPUT if why_affecting(name) else Effect.NONE
