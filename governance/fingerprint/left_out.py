"""What a fingerprint deliberately does not cover, as a table the tool can list.

- The table belongs to the scheme: what `tl1-sha256` leaves out is fixed for ever, so a release made years ago
  still has the digest it was made with. A new decision needs a new scheme name.
- Keys and variables in it change neither the base, sampling nor prompts digest and need no approval.
- Secrets are left out by name, before their value is read: not stored, not hashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.fingerprint.shapes import out_keys
from governance.records import dataclass


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing outside the fingerprint: the layer it would belong to, what it is, and why it is outside."""

    layer: str
    what: str
    why: str


NOISE_VARIABLES: Final[dict[str, tuple[str, ...]]] = {
    "address": (
        "HOST", "HOSTNAME", "LLAMA_ARG_HOST", "LLAMA_ARG_PORT", "OLLAMA_HOST", "PORT",
        "VLLM_DP_MASTER_IP", "VLLM_DP_MASTER_PORT", "VLLM_HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_*",
        "VLLM_PORT",
    ),
    "addresses": ("KUBERNETES_*", "POD_*"),
    "addresses and storage of a hosting service": ("AIP_*",),
    "adds a route to the server": (
        "LLAMA_ARG_ENDPOINT_METRICS", "LLAMA_ARG_ENDPOINT_PROPS", "LLAMA_ARG_ENDPOINT_SLOTS",
    ),
    "adds routes to the server": ("VLLM_SERVER_DEV_MODE",),
    "error reports": ("SENTRY_*",),
    "experiment tracking": ("MLFLOW_*", "WANDB_*"),
    "forbids downloads": ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"),
    "how long a request may take": ("LLAMA_ARG_TIMEOUT",),
    "how long the hub may take": ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"),
    "how many web threads answer": ("LLAMA_ARG_THREADS_HTTP",),
    "installs, not runs": ("PIP_*", "UV_*"),
    "logging": (
        "HF_HUB_DISABLE_PROGRESS_BARS", "HF_HUB_VERBOSITY", "LLAMA_LOG_COLORS", "LLAMA_LOG_FILE",
        "LLAMA_LOG_PREFIX", "LLAMA_LOG_TIMESTAMPS", "LLAMA_LOG_VERBOSITY", "LOGLEVEL", "LOG_LEVEL",
        "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_DEBUG_SUBSYS", "NO_COLOR", "OLLAMA_DEBUG",
        "PYTHONFAULTHANDLER", "PYTHONUNBUFFERED", "RUST_BACKTRACE", "RUST_LOG",
        "SGLANG_LOGGING_CONFIG_PATH", "SGLANG_LOG_LEVEL", "TORCH_CPP_LOG_LEVEL", "TORCH_LOGS",
        "TORCH_SHOW_CPP_STACKTRACES", "TRANSFORMERS_NO_ADVISORY_WARNINGS", "TRANSFORMERS_VERBOSITY",
        "VLLM_CONFIGURE_LOGGING", "VLLM_DEBUG*", "VLLM_DEBUG_LOG_API_SERVER_RESPONSE", "VLLM_LOG*",
        "VLLM_LOGGING_CONFIG_PATH", "VLLM_LOGGING_LEVEL", "VLLM_LOGGING_PREFIX",
        "VLLM_LOGGING_STREAM", "VLLM_LOG_BATCHSIZE_INTERVAL", "VLLM_LOG_STATS_INTERVAL",
        "VLLM_TRACE_FUNCTION",
    ),
    "logging of TGI": ("JSON_OUTPUT",),
    "metrics": ("PROMETHEUS_*",),
    "network": ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"),
    "the clock": ("TZ",),
    "the language of messages": ("LANG", "LC_*", "LC_ALL"),
    "the name the model is shown under": ("LLAMA_ARG_ALIAS",),
    "the terminal": ("TERM",),
    "the user": ("HOME", "SHELL", "USER"),
    "the web page of the server": ("LLAMA_ARG_NO_WEBUI",),
    "the working folder": ("PWD",),
    "tracing": ("DD_*", "OTEL_*"),
    "usage statistics": (
        "HF_HUB_DISABLE_TELEMETRY", "VLLM_DO_NOT_TRACK", "VLLM_NO_USAGE_STATS", "VLLM_USAGE_SOURCE",
        "VLLM_USAGE_STATS_SERVER",
    ),
    "what a container asks of the driver": ("NVIDIA_REQUIRE_CUDA",),
    "what a container may ask of the driver": ("NVIDIA_DRIVER_CAPABILITIES",),
    "what happens after a crash": ("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH",),
    "where caches are kept": (
        "PYTHONDONTWRITEBYTECODE", "TORCHINDUCTOR_CACHE_DIR", "TORCH_HOME", "TRITON_CACHE_DIR",
        "VLLM_CACHE_ROOT", "XDG_CACHE_HOME",
    ),
    "where programs are found": ("PATH",),
    "where settings are kept": ("XDG_CONFIG_HOME",),
    "where the cache of models lies": (
        "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "TRANSFORMERS_CACHE",
    ),
    "where the models lie": ("OLLAMA_MODELS",),
    "where usage settings are kept": ("VLLM_CONFIG_ROOT",),
    "which web pages may call": ("OLLAMA_ORIGINS",),
}  # fmt: skip
"""Variables outside the base digest by reason: a name, or a prefix when it ends in `*`."""

_LISTED: Final = tuple(name for names in NOISE_VARIABLES.values() for name in names)
_NAMES: Final = frozenset(name for name in _LISTED if not name.endswith("*"))
_PREFIXES: Final = tuple(name[:-1] for name in _LISTED if name.endswith("*"))

SECRET_PARTS: Final = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
)
"""A variable is a secret when its name, in capitals, has one of these as whole words."""

NOT_SECRET_WORDS: Final = ("TOKENS", "TOKENIZER", "TOKENIZERS", "TOKENIZATION")
"""Words that hold `TOKEN` and name no secret."""

OBSERVED: Final = (
    LeftOut(
        "packages",
        "INSTALLER, REQUESTED, direct_url.json and RECORD lines",
        "they tell who installed, not what",
    ),
    LeftOut("packages", "lines for `__pycache__`", "compiled on the host, from files that are covered"),
    LeftOut("packages", "lines for console scripts", "their first line holds the path of the interpreter"),
    LeftOut(
        "packages", "build and cache paths, index addresses", "where a package came from, not what it is"
    ),
    LeftOut("packages", "files edited after installation", "RECORD says what was installed; not looked for"),
    LeftOut(
        "platform", "temperature, power, clocks, load, memory in use, processes", "they move by the second"
    ),
    LeftOut(
        "platform",
        "GPU serial number, UUID, bus address",
        "another card of the same model is the same platform",
    ),
    LeftOut(
        "platform",
        "kernel and distribution release",
        "kept as evidence; glibc and the driver are in the layer",
    ),
    LeftOut(
        "platform", "CUDA toolkit (`nvcc`)", "kept as evidence; the engine uses the CUDA it was built for"
    ),
    LeftOut(
        "platform",
        "CPU instruction sets where a GPU computes",
        "kept as evidence; in the layer without a GPU",
    ),
    LeftOut("platform", "host names, addresses, ports, users", "they do not shape an answer"),
    LeftOut("platform", "secrets", "never stored, never hashed; only their names are listed"),
    LeftOut(
        "weights", "README, licence, pictures, `.git*`, training states", "no engine reads them to answer"
    ),
    LeftOut("image", "tags, creation time, registry host", "the digest names the content"),
    LeftOut("effective", "values that change only latency", "they are in the base layer"),
    LeftOut("effective", "where a value comes from", "shown beside it; a server reports values, not reasons"),
)
"""What the observed layers leave out, in words."""


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name is taken for a secret and never read: `HF_TOKEN`, `UPLOAD_PASSWORD`."""
    words = name.upper().replace("-", "_").split("_")
    joined = "_" + "_".join(word for word in words if word not in NOT_SECRET_WORDS) + "_"
    return any(f"_{part}_" in joined or f"_{part}S_" in joined for part in SECRET_PARTS)


def is_noise(name: str) -> bool:
    """Whether a variable of this name is outside the base digest because it shapes no answer."""
    return name.upper() in _NAMES or name.upper().startswith(_PREFIXES)


def left_out() -> Iterator[LeftOut]:
    """Every entry, in the order the layers are shown in."""
    for (tier, key), why in out_keys().items():
        yield LeftOut(tier, key, why)
    for why, names in NOISE_VARIABLES.items():
        yield LeftOut("base", f"variables {', '.join(names)}", why)
    yield LeftOut("base", "variables whose name says secret", "a secret is not stored and not hashed")
    yield LeftOut("base", "comments, key order, quoting, layout of YAML", "they change no value")
    yield from OBSERVED
