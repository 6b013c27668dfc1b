"""What a running llama-server reports about itself over HTTP.

Measured on builds b10434 and b11549: `/props` has every sampling default, the context of one slot, the
number of slots, the weights' file, type and chat template, and the commit. KV cache type, flash attention,
threads, batch sizes and prompt caching are in none of `/props`, `/slots`, `/v1/models`, `/metrics` and
`/lora-adapters`: only the process itself shows them (`observe.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from governance.engines.keys import look
from governance.engines.llama_cpp_map import COMMITS, SAMPLING
from governance.engines.model import Get, Observed
from governance.values import ABSENT, Json, Unknown

_PARAMS: Final = "default_generation_settings.params"
_LARGEST: Final = 3.4e38
_RANDOM_SEED: Final = 0xFFFFFFFF  # LLAMA_DEFAULT_SEED, shown unsigned

OBSERVABLE: Final = frozenset(
    {
        *(f"sampling.{key}" for key, (_, field) in SAMPLING.items() if field),
        "engine.options.max_model_len",
        "engine.options.max_num_seqs",
        "engine.options.served_model_name",
        "engine.commit",
        "engine.version",
        "precision.weights.type",
    }
)


def read_back(get: Get) -> dict[str, Observed]:
    """The values of `OBSERVABLE`; one the server does not show is unknown with the reason."""
    props = get("/props")
    if not isinstance(props, Mapping):
        reason = props.reason if isinstance(props, Unknown) else "GET /props: no JSON object"
        return {key: Observed(Unknown(reason), "GET /props") for key in OBSERVABLE}
    found = {f"sampling.{key}": _sampling(props, field) for key, (_, field) in SAMPLING.items() if field}
    found["engine.options.max_model_len"] = _field(props, "default_generation_settings.n_ctx")
    found["engine.options.max_num_seqs"] = _field(props, "total_slots")
    found["engine.options.served_model_name"] = _names(props, get("/v1/models"))
    found |= _build(props)
    kind = _field(props, "model_ftype")
    found["precision.weights.type"] = Observed(quantisation(kind.value), kind.source)
    return found


def identity(get: Get) -> dict[str, Observed]:
    """Which weights and which template the server runs: `weights`, `chat_template`, `build`, `model`."""
    props = get("/props")
    if not isinstance(props, Mapping):
        return {}
    names = {
        "weights": "model_path",
        "chat_template": "chat_template",
        "build": "build_info",
        "model": "model_alias",
    }
    return {name: _field(props, field) for name, field in names.items() if field in props}


def single(value: float) -> float:
    """The shortest decimal that is the same 32-bit float: llama.cpp prints its floats as doubles."""
    if abs(value) > _LARGEST:
        return value
    packed = struct.pack("f", value)
    for digits in range(1, 18):
        short = float(f"{value:.{digits}g}")
        if struct.pack("f", short) == packed:
            return short
    return value


def quantisation(kind: object) -> Json | Unknown:
    """`Q4_K - Medium` as `q4_k_m`: how files and configs name it."""
    if not isinstance(kind, str):
        return Unknown("the server does not name the type of its weights")
    head, _, size = kind.partition(" - ")
    if not head or "unknown" in head:
        return Unknown(f"the server calls the type of its weights `{kind}`")
    sizes = {"small": "_s", "medium": "_m", "large": "_l", "extra large": "_xl"}
    return head.strip().lower() + sizes.get(size.split(",")[0].strip().lower(), "")


def _sampling(props: Mapping[str, Json], field: str) -> Observed:
    where = f"GET /props {_PARAMS}.{field}"
    params = look(props, _PARAMS)
    if not isinstance(params, Mapping) or field not in params:
        return Observed(Unknown(f"`{_PARAMS}.{field}` is not in /props"), where)
    value = params[field]
    if field == "seed" and value == _RANDOM_SEED:
        value = -1
    return Observed(single(value) if isinstance(value, float) else value, where)


def _field(props: Mapping[str, Json], path: str) -> Observed:
    value = look(props, path)
    where = f"GET /props {path}"
    return Observed(Unknown(f"`{path}` is not in /props") if value is ABSENT else value, where)


def _names(props: Mapping[str, Json], models: Json | Unknown) -> Observed:
    """The aliases, sorted as the server keeps them; absent when it goes by the path of its weights."""
    where = "GET /v1/models data[0].aliases"
    data = models.get("data") if isinstance(models, Mapping) else None
    first = data[0] if isinstance(data, list) and data and isinstance(data[0], Mapping) else {}
    found = first.get("aliases")
    if not isinstance(found, list):
        return Observed(Unknown("`data[0].aliases` is not in /v1/models"), where)
    names = sorted(str(name) for name in found if name and name != props.get("model_path"))
    return Observed(names[0] if len(names) == 1 else names or ABSENT, where)


def _build(props: Mapping[str, Json]) -> dict[str, Observed]:
    """`b10434-7e4c0a9` names build and commit; `b1-7e4c0a9` (shallow clone) only the commit."""
    where = "GET /props build_info"
    text = str(props.get("build_info", ""))
    build, _, commit = text.partition("-")
    known = commit not in ("", "unknown")
    number = build.removeprefix("b")
    version: Json | Unknown
    if number.isdigit() and int(number) > 1:
        version = build
    else:
        version = COMMITS.get(commit[:7]) or Unknown(f"the server reports its build as `{text}`")
    return {
        "engine.version": Observed(version, where),
        "engine.commit": Observed(
            commit if known else Unknown(f"the server reports its build as `{text}`"), where
        ),
    }
