"""Which environment variables change the output, which only the speed, which are noise, which are secrets.

- One literal table of exact names and of families (a prefix), each with its effect and the reason. The
  longest match wins; an exact name wins over a family; a secret-looking name wins over everything.
- `classify` is used by the rules and by the capture of a running host, so that both agree.
- A variable that is not in the table is `unknown`: it is shown and counted, never taken for harmless.
- Sources: the environment tables of vLLM (`envs.py`), SGLang (`environ.py`), llama.cpp (`--help`,
  `LLAMA_ARG_*`), TGI (`launcher --help`), PyTorch, cuBLAS, cuDNN and NCCL documentation.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from governance.records import dataclass

Class: TypeAlias = Literal["output", "latency", "noise", "secret", "unknown"]


@dataclass(frozen=True, slots=True)
class Variable:
    """What one environment variable or family does: its class and the reason in one line."""

    effect: Class
    reason: str


def _table(effect: Class, rows: dict[str, str]) -> dict[str, Variable]:
    return {name: Variable(effect, reason) for name, reason in rows.items()}


EXACT: Final[dict[str, Variable]] = {
    **_table(
        "output",
        {
            "VLLM_ATTENTION_BACKEND": "chooses the attention kernel",
            "VLLM_USE_V1": "chooses between two engine cores with other kernels and defaults",
            "VLLM_USE_V2_MODEL_RUNNER": "chooses between two model runners",
            "VLLM_USE_FLASHINFER_SAMPLER": "chooses the top-k and top-p sampling kernel",
            "VLLM_USE_FLASHINFER_REJECTION_SAMPLER": "chooses the kernel that accepts speculative tokens",
            "VLLM_FLASHINFER_FORCE_TENSOR_CORES": "chooses the decode attention kernel",
            "VLLM_FLASH_ATTN_VERSION": "chooses between FlashAttention 2 and 3",
            "VLLM_BATCH_INVARIANT": "makes results independent of the batch, with other kernels",
            "VLLM_KV_CACHE_LAYOUT": "chooses the cache layout and with it the attention kernel",
            "VLLM_V1_USE_PREFILL_DECODE_ATTENTION": "chooses other attention kernels for prefill and decode",
            "VLLM_MLA_DISABLE": "replaces latent attention by another kernel",
            "VLLM_CUTLASS_MLA": "chooses the latent attention kernel",
            "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "lets the context exceed what the model was trained for",
            "VLLM_FP8_PADDING": "pads fp8 weights, which changes the matrix kernels",
            "VLLM_TEST_FORCE_FP8_MARLIN": "forces weight-only fp8 kernels",
            "VLLM_MARLIN_USE_ATOMIC_ADD": "sums in another order from run to run",
            "VLLM_USE_TRITON_AWQ": "chooses the AWQ kernel",
            "VLLM_USE_DEEP_GEMM": "chooses the fp8 matrix kernel",
            "VLLM_USE_DEEP_GEMM_E8M0": "rounds fp8 scales to powers of two",
            "VLLM_DISABLED_KERNELS": "removes quantised kernels from the choice",
            "VLLM_USE_MODELSCOPE": "takes the model from another hub",
            "VLLM_ALL2ALL_BACKEND": "chooses how experts exchange activations",
            "VLLM_MOE_DP_CHUNK_SIZE": "changes the batch the experts see",
            "VLLM_FLOAT32_MATMUL_PRECISION": "chooses the precision of float32 products",
            "VLLM_CPU_OMP_THREADS_BIND": "changes how many threads share a sum on CPU",
            "VLLM_PLUGINS": "loads code that may replace parts of the engine",
            "VLLM_ENABLE_V1_MULTIPROCESSING": "changes the scheduling and with it the batches",
            "NVIDIA_TF32_OVERRIDE": "turns TF32 products on or off for every library",
            "CUBLAS_WORKSPACE_CONFIG": "decides whether cuBLAS sums in a fixed order",
            "CUBLASLT_WORKSPACE_SIZE": "changes which matrix kernels cuBLASLt may pick",
            "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "allows TF32 in matrix products",
            "TORCH_CUDNN_V8_API_DISABLED": "chooses other convolution kernels",
            "TORCH_BLAS_PREFER_CUBLASLT": "chooses the matrix library",
            "TORCH_BLAS_PREFER_HIPBLASLT": "chooses the matrix library on ROCm",
            "TORCH_COMPILE_DISABLE": "runs uncompiled kernels",
            "TORCHDYNAMO_DISABLE": "runs uncompiled kernels",
            "PYTORCH_TUNABLEOP_ENABLED": "picks matrix kernels by timing, so from host to host differently",
            "NCCL_ALGO": "changes the order of sums across GPUs",
            "NCCL_PROTO": "changes the order of sums across GPUs",
            "NCCL_NVLS_ENABLE": "sums in the switch, in another order",
            "NCCL_MIN_NCHANNELS": "splits sums across GPUs differently",
            "NCCL_MAX_NCHANNELS": "splits sums across GPUs differently",
            "NCCL_P2P_DISABLE": "changes the order of sums across GPUs",
            "CUDA_DEVICE_MAX_CONNECTIONS": "changes the overlap of kernels and, with some, their order",
            "CUDA_VISIBLE_DEVICES": "chooses the GPUs, which may be of several models",
            "HIP_VISIBLE_DEVICES": "chooses the GPUs, which may be of several models",
            "ROCR_VISIBLE_DEVICES": "chooses the GPUs, which may be of several models",
            "HSA_OVERRIDE_GFX_VERSION": "runs kernels of another GPU model",
            "OMP_NUM_THREADS": "changes how many threads share a sum on CPU",
            "MKL_NUM_THREADS": "changes how many threads share a sum on CPU",
            "MKL_CBWR": "decides whether MKL sums in a fixed order",
            "OPENBLAS_NUM_THREADS": "changes how many threads share a sum on CPU",
            "OPENBLAS_CORETYPE": "chooses the CPU kernels",
            "ONEDNN_DEFAULT_FPMATH_MODE": "allows lower precision in CPU products",
            "ONEDNN_MAX_CPU_ISA": "chooses the CPU kernels",
            "ATEN_CPU_CAPABILITY": "chooses the CPU kernels",
            "PYTHONHASHSEED": "changes the order of sets, which some schedulers walk",
            "LD_PRELOAD": "replaces library functions",
            "LD_LIBRARY_PATH": "chooses which CUDA and math libraries are loaded",
            "PYTHONPATH": "puts other modules before the installed ones",
            "HF_ENDPOINT": "takes the model from another hub",
            "TRANSFORMERS_ATTN_IMPLEMENTATION": "chooses the attention kernel",
            "OLLAMA_CONTEXT_LENGTH": "sets the context; longer prompts are cut without an error",
            "OLLAMA_KV_CACHE_TYPE": "quantises the KV cache",
            "OLLAMA_FLASH_ATTENTION": "chooses the attention kernel",
            "OLLAMA_NUM_PARALLEL": "divides the context among requests and sets the batch",
            "OLLAMA_LLM_LIBRARY": "chooses the compute library",
            "MODEL_ID": "chooses the model that TGI serves",
            "REVISION": "chooses the revision that TGI serves",
            "DTYPE": "sets the precision TGI computes in",
            "KV_CACHE_DTYPE": "quantises the KV cache of TGI",
            "QUANTIZE": "quantises the weights TGI serves",
            "ATTENTION": "chooses the attention kernel of TGI",
            "PREFIX_CACHING": "turns the prefix cache of TGI on or off, with other kernels",
            "USE_PREFIX_CACHING": "turns the prefix cache of TGI on or off, with other kernels",
            "SPECULATE": "turns speculation of TGI on",
            "ROPE_SCALING": "stretches the positions TGI computes",
            "ROPE_FACTOR": "stretches the positions TGI computes",
            "MAX_INPUT_TOKENS": "longer prompts are refused or cut by TGI",
            "MAX_INPUT_LENGTH": "longer prompts are refused or cut by TGI",
            "MAX_TOTAL_TOKENS": "limits prompt and answer of TGI",
            "MAX_BATCH_PREFILL_TOKENS": "changes the batches TGI computes",
            "MAX_BATCH_TOTAL_TOKENS": "changes the batches TGI computes",
            "CUDA_GRAPHS": "chooses the batch sizes TGI pads to",
            "LORA_ADAPTERS": "loads adapters into TGI",
            "NUM_SHARD": "splits sums across GPUs differently",
            "SHARDED": "splits sums across GPUs differently",
            "TRUST_REMOTE_CODE": "runs code of the model repository",
            "GGML_CUDA_ENABLE_UNIFIED_MEMORY": "moves weights to the host when memory is short",
            "NVIDIA_VISIBLE_DEVICES": "chooses the GPUs a container sees, which may be of several models",
        },
    ),
    **_table(
        "latency",
        {
            "HF_HUB_ENABLE_HF_TRANSFER": "speeds downloads up",
            "HF_XET_HIGH_PERFORMANCE": "speeds downloads up",
            "PYTORCH_CUDA_ALLOC_CONF": "arranges GPU memory",
            "PYTORCH_ALLOC_CONF": "arranges GPU memory",
            "PYTORCH_HIP_ALLOC_CONF": "arranges GPU memory",
            "TOKENIZERS_PARALLELISM": "tokenises with several threads",
            "CUDA_LAUNCH_BLOCKING": "waits for each kernel",
            "CUDA_MODULE_LOADING": "loads kernels when first used",
            "CUDA_CACHE_PATH": "where compiled kernels are kept",
            "CUDA_CACHE_MAXSIZE": "how many compiled kernels are kept",
            "VLLM_WORKER_MULTIPROC_METHOD": "how worker processes are started",
            "VLLM_ENGINE_ITERATION_TIMEOUT_S": "how long a step may take",
            "VLLM_RPC_TIMEOUT": "how long a worker may take to answer",
            "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "how long a step may take",
            "VLLM_CPU_KVCACHE_SPACE": "memory for the KV cache on CPU",
            "VLLM_SLEEP_WHEN_IDLE": "saves power between requests",
            "OMP_PROC_BIND": "pins threads to cores",
            "OMP_PLACES": "pins threads to cores",
            "KMP_AFFINITY": "pins threads to cores",
            "KMP_BLOCKTIME": "how long threads spin",
            "GOMP_CPU_AFFINITY": "pins threads to cores",
            "MALLOC_ARENA_MAX": "arranges memory",
            "OLLAMA_KEEP_ALIVE": "how long a model stays loaded",
            "OLLAMA_MAX_QUEUE": "how many requests wait",
            "OLLAMA_LOAD_TIMEOUT": "how long loading may take",
            "OLLAMA_MAX_LOADED_MODELS": "how many models stay loaded",
            "MAX_CONCURRENT_REQUESTS": "how many requests TGI accepts",
            "WAITING_SERVED_RATIO": "when TGI pauses decoding for new requests",
            "MAX_WAITING_TOKENS": "when TGI pauses decoding for new requests",
            "UVICORN_WORKERS": "how many web processes answer",
        },
    ),
    **_table(
        "noise",
        {
            "VLLM_LOGGING_LEVEL": "logging",
            "VLLM_LOGGING_PREFIX": "logging",
            "VLLM_LOGGING_CONFIG_PATH": "logging",
            "VLLM_LOGGING_STREAM": "logging",
            "VLLM_CONFIGURE_LOGGING": "logging",
            "VLLM_LOG_STATS_INTERVAL": "logging",
            "VLLM_LOG_BATCHSIZE_INTERVAL": "logging",
            "VLLM_DEBUG_LOG_API_SERVER_RESPONSE": "logging",
            "VLLM_TRACE_FUNCTION": "logging",
            "VLLM_USAGE_SOURCE": "usage statistics",
            "VLLM_USAGE_STATS_SERVER": "usage statistics",
            "VLLM_NO_USAGE_STATS": "usage statistics",
            "VLLM_DO_NOT_TRACK": "usage statistics",
            "VLLM_HOST_IP": "address",
            "VLLM_PORT": "address",
            "VLLM_DP_MASTER_IP": "address",
            "VLLM_DP_MASTER_PORT": "address",
            "VLLM_CACHE_ROOT": "where caches are kept",
            "VLLM_CONFIG_ROOT": "where usage settings are kept",
            "VLLM_SERVER_DEV_MODE": "adds routes to the server",
            "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH": "what happens after a crash",
            "SGLANG_LOGGING_CONFIG_PATH": "logging",
            "SGLANG_LOG_LEVEL": "logging",
            "NCCL_DEBUG": "logging",
            "NCCL_DEBUG_FILE": "logging",
            "NCCL_DEBUG_SUBSYS": "logging",
            "TORCH_LOGS": "logging",
            "TORCH_CPP_LOG_LEVEL": "logging",
            "TORCH_SHOW_CPP_STACKTRACES": "logging",
            "TRANSFORMERS_VERBOSITY": "logging",
            "TRANSFORMERS_NO_ADVISORY_WARNINGS": "logging",
            "HF_HUB_VERBOSITY": "logging",
            "HF_HUB_DISABLE_PROGRESS_BARS": "logging",
            "HF_HUB_DISABLE_TELEMETRY": "usage statistics",
            "HF_HUB_OFFLINE": "forbids downloads",
            "TRANSFORMERS_OFFLINE": "forbids downloads",
            "HF_HUB_ETAG_TIMEOUT": "how long the hub may take",
            "HF_HUB_DOWNLOAD_TIMEOUT": "how long the hub may take",
            "HF_HOME": "where the cache of models lies",
            "HF_HUB_CACHE": "where the cache of models lies",
            "HUGGINGFACE_HUB_CACHE": "where the cache of models lies",
            "TRANSFORMERS_CACHE": "where the cache of models lies",
            "TORCH_HOME": "where caches are kept",
            "TRITON_CACHE_DIR": "where caches are kept",
            "TORCHINDUCTOR_CACHE_DIR": "where caches are kept",
            "XDG_CACHE_HOME": "where caches are kept",
            "XDG_CONFIG_HOME": "where settings are kept",
            "PYTHONUNBUFFERED": "logging",
            "PYTHONDONTWRITEBYTECODE": "where caches are kept",
            "PYTHONFAULTHANDLER": "logging",
            "LOG_LEVEL": "logging",
            "LOGLEVEL": "logging",
            "RUST_LOG": "logging",
            "RUST_BACKTRACE": "logging",
            "JSON_OUTPUT": "logging of TGI",
            "LLAMA_LOG_FILE": "logging",
            "LLAMA_LOG_COLORS": "logging",
            "LLAMA_LOG_VERBOSITY": "logging",
            "LLAMA_LOG_PREFIX": "logging",
            "LLAMA_LOG_TIMESTAMPS": "logging",
            "LLAMA_ARG_HOST": "address",
            "LLAMA_ARG_PORT": "address",
            "LLAMA_ARG_ALIAS": "the name the model is shown under",
            "LLAMA_ARG_TIMEOUT": "how long a request may take",
            "LLAMA_ARG_THREADS_HTTP": "how many web threads answer",
            "LLAMA_ARG_ENDPOINT_METRICS": "adds a route to the server",
            "LLAMA_ARG_ENDPOINT_PROPS": "adds a route to the server",
            "LLAMA_ARG_ENDPOINT_SLOTS": "adds a route to the server",
            "LLAMA_ARG_NO_WEBUI": "the web page of the server",
            "OLLAMA_HOST": "address",
            "OLLAMA_ORIGINS": "which web pages may call",
            "OLLAMA_DEBUG": "logging",
            "OLLAMA_MODELS": "where the models lie",
            "HOSTNAME": "address",
            "PORT": "address",
            "HOST": "address",
            "NO_COLOR": "logging",
            "TERM": "the terminal",
            "TZ": "the clock",
            "LANG": "the language of messages",
            "LC_ALL": "the language of messages",
            "HOME": "the user",
            "USER": "the user",
            "PATH": "where programs are found",
            "SHELL": "the user",
            "PWD": "the working folder",
            "NVIDIA_DRIVER_CAPABILITIES": "what a container may ask of the driver",
            "NVIDIA_REQUIRE_CUDA": "what a container asks of the driver",
            "HTTP_PROXY": "network",
            "HTTPS_PROXY": "network",
            "NO_PROXY": "network",
        },
    ),
}

FAMILIES: Final[dict[str, Variable]] = {
    **_table(
        "output",
        {
            "VLLM_": "an option of vLLM that the launch line does not show",
            "VLLM_ROCM_": "chooses kernels on ROCm",
            "VLLM_USE_": "chooses an implementation inside vLLM",
            "SGLANG_": "an option of SGLang that the launch line does not show",
            "SGL_": "an option of SGLang that the launch line does not show",
            "FLASHINFER_": "chooses attention and sampling kernels",
            "FLASH_ATTENTION_": "chooses attention kernels",
            "FA_": "chooses attention kernels",
            "LLAMA_ARG_": "an option of llama.cpp that the launch line does not show",
            "LLAMA_": "an option of llama.cpp",
            "GGML_": "chooses compute kernels of llama.cpp",
            "CUBLAS": "chooses matrix kernels",
            "CUDNN_": "chooses kernels",
            "CUTLASS_": "chooses matrix kernels",
            "DG_": "chooses the fp8 matrix kernels of DeepGEMM",
            "TRITON_": "changes how kernels are compiled",
            "TORCHINDUCTOR_": "changes which kernels are compiled",
            "TORCHDYNAMO_": "changes what is compiled",
            "TORCH_ALLOW_": "allows lower precision",
            "TORCH_NCCL_": "changes how sums across GPUs run",
            "PYTORCH_TUNABLEOP_": "picks matrix kernels by timing",
            "PYTORCH_": "an option of PyTorch",
            "NVTE_": "chooses kernels of Transformer Engine",
            "TRTLLM_": "an option of TensorRT-LLM",
            "TLLM_": "an option of TensorRT-LLM",
            "MIOPEN_": "chooses kernels on ROCm",
            "HIPBLASLT_": "chooses matrix kernels on ROCm",
            "MKL_": "chooses CPU kernels",
            "DNNL_": "chooses CPU kernels",
            "ONEDNN_": "chooses CPU kernels",
            "OLLAMA_": "an option of Ollama",
            "LMCACHE_": "reuses stored KV caches",
            "XLA_": "changes how kernels are compiled",
        },
    ),
    **_table(
        "latency",
        {
            "NCCL_": "how GPUs exchange data",
            "NVSHMEM_": "how GPUs exchange data",
            "UCX_": "how hosts exchange data",
            "GLOO_": "how processes exchange data",
            "OMP_": "how threads are arranged",
            "KMP_": "how threads are arranged",
            "HF_HUB_": "how the hub is reached",
            "HF_XET_": "how the hub is reached",
            "MALLOC_": "arranges memory",
            "CUDA_": "an option of the CUDA runtime",
        },
    ),
    **_table(
        "noise",
        {
            "OTEL_": "tracing",
            "PROMETHEUS_": "metrics",
            "SENTRY_": "error reports",
            "DD_": "tracing",
            "WANDB_": "experiment tracking",
            "MLFLOW_": "experiment tracking",
            "KUBERNETES_": "addresses",
            "AIP_": "addresses and storage of a hosting service",
            "POD_": "addresses",
            "LC_": "the language of messages",
            "VLLM_LOG": "logging",
            "VLLM_DEBUG": "logging",
            "VLLM_NIXL_SIDE_CHANNEL_": "address",
            "PIP_": "installs, not runs",
            "UV_": "installs, not runs",
        },
    ),
}

UNKNOWN: Final = Variable("unknown", "not in the table of known variables")
SECRET: Final = Variable("secret", "its name says that it holds a secret")

_SECRET_NAME: Final = re.compile(
    r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|AUTH_?KEY"
    r"|SIGNING_?KEY|ENCRYPTION_?KEY|BEARER|COOKIE|DSN|WEBHOOK_URL|CONNECTION_STRING)(_|$)|PASSWORD$"
    r"|SECRET$|APIKEY$"
)
_NOT_SECRET: Final = frozenset(
    {"TOKENIZERS_PARALLELISM", "MAX_INPUT_TOKENS", "MAX_TOTAL_TOKENS", "SSH_AUTH_SOCK", "VLLM_KEEP_TOKEN_IDS"}
)
_SECRET_FILE: Final = re.compile(r"(_FILE|_PATH)$")


@lru_cache(maxsize=4096)
def variable(name: str) -> Variable:
    """The effect of environment variable `name` and the reason, by its longest match in the table."""
    upper = name.upper()
    if name not in _NOT_SECRET and _SECRET_NAME.search(upper) and not _SECRET_FILE.search(upper):
        return SECRET
    exact = EXACT.get(upper)
    if exact is not None:
        return exact
    for length in range(len(upper) - 1, 1, -1):
        family = FAMILIES.get(upper[:length])
        if family is not None:
            return family
    return UNKNOWN


def classify(name: str) -> Class:
    """The class of environment variable `name`: output, latency, noise, secret or unknown."""
    return variable(name).effect
