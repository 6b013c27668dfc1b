"""What a fingerprint deliberately does not cover, as a table the tool can list.

- The table belongs to the scheme: what `tl1-sha256` leaves out is fixed for ever, so a release made years ago
  still has the digest it was made with. A new decision needs a new scheme name.
- Keys and variables in it change neither the base, sampling nor prompts digest and need no approval.
- Secrets are left out by name, before their value is read: not stored, not hashed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from governance.fingerprint.shapes import out_keys


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One thing outside the fingerprint: the layer it would belong to, what it is, and why it is outside."""

    layer: str
    what: str
    why: str


NOISE_VARIABLES: Final[dict[str, str]] = {
    "VLLM_LOGGING_": "logging",
    "VLLM_CONFIGURE_LOGGING": "logging",
    "VLLM_LOG_": "logging",
    "VLLM_TRACE_FUNCTION": "tracing",
    "VLLM_USAGE_": "usage reports",
    "VLLM_NO_USAGE_STATS": "usage reports",
    "VLLM_DO_NOT_TRACK": "usage reports",
    "VLLM_HOST_IP": "address",
    "VLLM_PORT": "address",
    "VLLM_RPC_": "addresses and timeouts between processes",
    "SGLANG_LOG_": "logging",
    "SGLANG_LOGGING_": "logging",
    "SGLANG_HOST_IP": "address",
    "LLAMA_LOG_": "logging",
    "LLAMA_ARG_LOG_": "logging",
    "LLAMA_ARG_HOST": "address",
    "LLAMA_ARG_PORT": "address",
    "OLLAMA_HOST": "address",
    "OLLAMA_ORIGINS": "allowed web origins",
    "OLLAMA_DEBUG": "logging",
    "NCCL_DEBUG": "logging",
    "TOKENIZERS_PARALLELISM": "threads of the tokenizer; the tokens are the same",
    "TRANSFORMERS_VERBOSITY": "logging",
    "HF_HUB_VERBOSITY": "logging",
    "HF_HUB_DISABLE_PROGRESS_BARS": "progress bars",
    "HF_HUB_DISABLE_TELEMETRY": "usage reports",
    "HF_HUB_ENABLE_HF_TRANSFER": "how files are fetched; their digests are in the weights layer",
    "LOG_LEVEL": "logging",
    "RUST_LOG": "logging",
    "PYTHONUNBUFFERED": "logging",
    "DO_NOT_TRACK": "usage reports",
    "NO_COLOR": "logging",
    "OTEL_": "tracing",
    "HOSTNAME": "host name",
    "PORT": "address",
}
"""Variables outside the base digest: a name, or a prefix when it ends in `_`."""

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
    return any(name.startswith(entry) if entry.endswith("_") else name == entry for entry in NOISE_VARIABLES)


def left_out() -> Iterator[LeftOut]:
    """Every entry, in the order the layers are shown in."""
    for (tier, key), why in out_keys().items():
        yield LeftOut(tier, key, why)
    for name, why in NOISE_VARIABLES.items():
        yield LeftOut("base", f"variable {name}{'*' if name.endswith('_') else ''}", why)
    yield LeftOut("base", "variables whose name says secret", "a secret is not stored and not hashed")
    yield LeftOut("base", "comments, key order, quoting, layout of YAML", "they change no value")
    yield from OBSERVED
