"""Modelfile parameters of Ollama: what each is in the common vocabulary, and its type.

Source: `api/types.go` of the versions in `defaults/ollama.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from governance.engines import tables
from governance.engines.keys import look, put
from governance.engines.model import (
    Imported,
    Open,
)
from governance.values import ABSENT, Json, Tree, Unknown, Value
from governance.verdict import Finding, Severity

NAME: Final = "ollama"
UNKNOWN_PARAMETER: Final = "TL290"
_O: Final = "engine.options."
# PARAMETER names that are decoding parameters, and those that are engine options.
SAMPLING: Final[dict[str, str]] = {
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "typical_p": "typical_p",
    "repeat_penalty": "repetition_penalty",
    "repeat_last_n": "repetition_window",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "mirostat": "mirostat.mode",
    "mirostat_tau": "mirostat.tau",
    "mirostat_eta": "mirostat.eta",
    "seed": "seed",
    "num_predict": "max_tokens",
    "stop": "stop",
}
ENGINE: Final[dict[str, str]] = {
    "num_ctx": _O + "max_model_len",
    "num_batch": _O + "max_num_batched_tokens",
    "num_gpu": _O + "gpu_layers",
    "num_thread": _O + "threads",
    "num_keep": _O + "keep_tokens",
    "main_gpu": _O + "main_gpu",
    "use_mmap": _O + "mmap",
    "use_mlock": _O + "mlock",
    "draft_num_predict": _O + "speculative.num_tokens",
}


def parameters(pairs: Iterable[tuple[str, str]]) -> Imported:
    """The tiers the PARAMETER lines of a Modelfile describe: `(name, text)` in file order.

    `stop` may be given several times; each is kept exactly. A name no version knows is a finding.
    """
    base: dict[str, Json] = {"engine": {"name": NAME}}
    sampling: dict[str, Json] = {}
    findings: list[Finding] = []
    stops: list[Json] = []
    known = _known_parameters()
    for name, text in pairs:
        value = _typed(known.get(name, ABSENT), name, text)
        if name not in known:
            findings.append(finding(f"`{name}` is no Modelfile parameter that tierlock knows"))
        elif isinstance(value, Unknown):
            findings.append(finding(value.reason))
        elif name == "stop":
            stops.append(value)
        elif name in SAMPLING:
            put(sampling, SAMPLING[name], value)
            put(base, f"{_O}generation_overrides.{SAMPLING[name]}", value)
        elif name in ENGINE:
            put(base, ENGINE[name], value)
        else:
            put(base, f"engine.extra.{name}", value)
    if stops:
        sampling["stop"] = stops
        put(base, f"{_O}generation_overrides.stop", stops)
    if look(base, _O + "speculative.num_tokens") is not ABSENT:
        put(base, _O + "speculative.method", "draft")
    return Imported(base, sampling, {}, open_values(base), tuple(findings))


def open_values(base: Tree) -> tuple[Open, ...]:
    """What shapes answers and `base` does not say."""
    found = [Open("base: engine.version", "neither a Modelfile nor a launch names the version")]
    if look(base, _O + "max_model_len") is ABSENT:
        reason = (
            "num_ctx is not set: the context is a default that moved from 2048 over 4096 to one that depends"
            " on the GPU's memory, and a longer prompt is cut without a word"
        )
        found.append(Open(f"base: {_O}max_model_len", reason, suggestion="PARAMETER num_ctx 8192"))
    if look(base, "precision.kv_cache.dtype") is ABSENT:
        found.append(Open("base: precision.kv_cache.dtype", "OLLAMA_KV_CACHE_TYPE is the server's"))
    return tuple(found)


def _known_parameters() -> dict[str, Value]:
    """Every parameter any version knew, with the newest default."""
    found: dict[str, Value] = {}
    for version in tables.versions(NAME):
        defaults = tables.defaults(NAME, version, "sampling")
        if isinstance(defaults, Mapping):
            found |= defaults
    return found


_TYPES: Final[dict[str, type[int] | type[float] | type[bool]]] = {
    "temperature": float, "top_p": float, "min_p": float, "typical_p": float, "repeat_penalty": float,
    "presence_penalty": float, "frequency_penalty": float, "mirostat_tau": float, "mirostat_eta": float,
    "tfs_z": float, "top_k": int, "repeat_last_n": int, "mirostat": int, "seed": int, "num_predict": int,
    "num_ctx": int, "num_batch": int, "num_gpu": int, "num_thread": int, "num_keep": int, "main_gpu": int,
    "draft_num_predict": int, "use_mmap": bool, "use_mlock": bool, "numa": bool, "low_vram": bool,
    "f16_kv": bool, "penalize_newline": bool, "logits_all": bool, "vocab_only": bool,
}  # fmt: skip


def _typed(default: Value, name: str, text: str) -> Json | Unknown:  # noqa: ARG001
    kind = _TYPES.get(name)
    if kind is bool:
        if text.lower() in ("true", "1", "t"):
            return True
        return (
            False
            if text.lower() in ("false", "0", "f")
            else Unknown(f"`{name} {text}` is neither true nor false")
        )
    if kind is None:
        return text
    try:
        number = kind(text)
    except ValueError:
        return Unknown(f"`{name} {text}` is not a number")
    return (
        number
        if number == number and abs(number) != float("inf")
        else Unknown(f"`{name} {text}` is not finite")
    )


def finding(message: str) -> Finding:
    return Finding(UNKNOWN_PARAMETER, message, Severity.WARNING, hint="it is not taken over")
