"""Text Generation Inference: launcher options and variables, import, `/info`, and what its chat route does.

- Every option of the launcher is also a variable of the same name in capitals, without a prefix; a flag wins.
- The chat route drops `top_k`, `typical_p`, `best_of`, `repetition_penalty` and `n` of a request, and makes a
  presence penalty `p` the repetition penalty `p + 2`: `presence_penalty: 0.0` is a repetition penalty of 2.0.
- It is greedy only when the temperature is exactly 0; without one it samples at 1.0.
- Attention and prefix caching are chosen by GPU and model unless ATTENTION and PREFIX_CACHING are set.
- `/info` names neither the number format nor the quantisation.

Sources: `launcher/src/main.rs`, `router/src/validation.rs`, `router/src/lib.rs` of the versions in
`defaults/tgi.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines import option_values, tables
from governance.engines.argparse_launch import Vocabulary, arguments, extras_of, keys_of, options_of
from governance.engines.argparse_line import Spellings, read
from governance.engines.bindings import UNLESS_AUTO, UNLESS_NONE, Binding, Codec, bound, words
from governance.engines.keys import look, put
from governance.engines.model import (
    FROM_CONFIG,
    UNKNOWN_OPTION,
    Get,
    Imported,
    Launch,
    Observed,
    Open,
    Option,
    OptionTable,
    from_request_default,
    from_unknown,
)
from governance.errors import Usage
from governance.values import ABSENT, Absent, Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue, Finding, Severity

NAME: Final = "tgi"
PROGRAMS: Final = ("text-generation-launcher",)
PROGRAM: Final = PROGRAMS[0]
_O: Final = "engine.options."


def _sizes_out(value: Json) -> Json:
    return ",".join(str(part) for part in value) if isinstance(value, list | tuple) else value


def _sizes_in(value: Json) -> Json:
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else []
    return [int(part) for part in parts] if parts and all(part.isdigit() for part in parts) else value


_SIZES: Final = Codec(_sizes_out, _sizes_in)
_BINDINGS: Final[tuple[Binding, ...]] = (
    bound("model.revision"),
    bound("model.trust_remote_code"),
    bound("precision.dtype", codec=UNLESS_AUTO),
    bound("precision.weights.method", "quantize", codec=UNLESS_NONE),
    bound(
        "precision.kv_cache.dtype", "kv_cache_dtype", codec=words({"fp8_e4m3": "fp8_e4m3fn", "auto": None})
    ),
    bound(_O + "max_model_len", "max_total_tokens"),
    bound(_O + "max_input_tokens", "max_input_tokens", "max_input_length"),
    bound(_O + "max_num_seqs", "max_batch_size"),
    bound(_O + "max_num_batched_tokens", "max_batch_prefill_tokens"),
    bound(_O + "max_batch_total_tokens"),
    bound(_O + "max_queue", "max_concurrent_requests"),
    bound(_O + "waiting_served_ratio"),
    bound(_O + "gpu_memory_utilization", "cuda_memory_fraction"),
    bound(_O + "tensor_parallel_size", "num_shard"),
    bound(_O + "speculative.num_tokens", "speculate"),
    bound(_O + "cuda_graph_sizes", "cuda_graphs", codec=_SIZES),
    bound(_O + "rope.scaling", "rope_scaling"),
    bound(_O + "rope.factor", "rope_factor"),
    bound(_O + "max_logprobs", "max_top_n_tokens"),
)
# Options that are only variables: key -> variable, and how a value is written there.
_VARIABLES: Final[dict[str, str]] = {
    _O + "attention": "ATTENTION",
    _O + "prefix_caching": "PREFIX_CACHING",
    _O + "chunked_prefill": "PREFILL_CHUNKING",
}
WORDS: Final = Vocabulary(
    NAME,
    _BINDINGS,
    special=frozenset({"model_id", "lora_adapters", "sharded", "max_input_length"}),
    operational=frozenset(
        """hostname port prometheus_port shard_uds_path master_addr master_port huggingface_hub_cache
        weights_cache_override json_output otlp_endpoint otlp_service_name cors_allow_origin api_key ngrok
        ngrok_authtoken ngrok_edge env usage_stats payload_limit graceful_termination_timeout
        validation_workers disable_usage_stats disable_crash_reports""".split()
    ),
    special_keys=(*_VARIABLES, _O + "speculative.method", _O + "lora", _O + "batch_invariant"),
)
_OPEN: Final[dict[str, str]] = {
    "precision.dtype": "the number format config.json of the model names",
    "precision.weights.method": "read from config.json of the model",
    "precision.kv_cache.dtype": "the number format of the model",
    _O + "max_model_len": "as much as the GPU's memory holds, up to the model's context",
    _O + "max_input_tokens": "one less than max_model_len",
    _O + "max_num_batched_tokens": "computed from the GPU's memory and max_input_tokens",
    _O + "max_batch_total_tokens": "measured at start from the GPU's free memory",
    _O + "tensor_parallel_size": "all GPUs of the host",
    _O + "cuda_graph_sizes": "chosen by model and GPU",
    _O + "attention": "chosen by GPU and model",
    _O + "prefix_caching": "chosen by attention, model and adapters",
    _O + "chunked_prefill": "chosen by attention and model",
}
# Sampling key -> the field of a request.
_REQUEST: Final[dict[str, str]] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "typical_p": "typical_p",
    "repetition_penalty": "repetition_penalty",
    "frequency_penalty": "frequency_penalty",
    "best_of": "best_of",
}
_DROPPED: Final = ("top_k", "typical_p", "best_of", "repetition_penalty", "n", "logit_bias")
_CONSTANT: Final[dict[str, Json | Absent]] = {
    "presence_penalty": ABSENT,
    "do_sample": True,
    "n": 1,
    "stop": [],
    "seed": -1,
    "logprobs": False,
    "top_logprobs": 0,
    "stream": False,
    "watermark": False,
    "structured.mode": "off",
    "tool_choice": "auto",
}


def table(version: str) -> OptionTable | Unknown:
    """The launcher's options at `version`, else those of the nearest lower version."""
    return tables.table(NAME, version)


def sampling_defaults(
    base: Tree,
    generation_config: Tree | Unknown | Absent,  # noqa: ARG001 - TGI takes no sampling value from it
) -> Mapping[str, EffectiveValue]:
    """What the chat route uses for each decoding parameter a request leaves out."""
    version = str(look(base, "engine.version") or "")
    unset = tables.unset(NAME, version)
    near = tables.nearest(NAME, version)
    keys = (*_REQUEST, *_CONSTANT, "max_tokens")
    if isinstance(unset, Unknown) or isinstance(near, Unknown):
        reason = unset.reason if isinstance(unset, Unknown) else "no version"
        return {k: EffectiveValue(k, Unknown(reason), provenance=from_unknown(reason)) for k in keys}
    where = from_request_default(NAME, near)
    found = {
        key: EffectiveValue(key, unset[field], provenance=where)
        for key, field in _REQUEST.items()
        if field in unset
    }
    for key, constant in _CONSTANT.items():
        note = "a new random seed per request" if key == "seed" else ""
        found[key] = EffectiveValue(key, constant, provenance=where, note=note)
    limit = tables.fact(NAME, version, "chat_max_tokens")
    note = "until max_model_len is reached" if isinstance(limit, Unknown) else ""
    value: Value = -1 if isinstance(limit, Unknown) else limit
    found["max_tokens"] = EffectiveValue("max_tokens", value, provenance=where, note=note)
    return found


def takes(key: str) -> bool:
    """Whether the chat route takes the decoding parameter from a request."""
    return key not in _DROPPED


def as_applied(drawn: Mapping[str, EffectiveValue]) -> Mapping[str, EffectiveValue]:
    """The sampling values as the chat route applies them; see the rules above."""
    found = dict(drawn)
    presence = found.get("presence_penalty")
    if presence is not None and isinstance(presence.value, int | float):
        where = "presence_penalty + 2, as the chat route computes it"
        found["repetition_penalty"] = EffectiveValue(
            "repetition_penalty", float(presence.value) + 2.0, ABSENT, where
        )
    temperature = found.get("temperature")
    if temperature is not None and temperature.value == 0 and temperature.provenance == FROM_CONFIG:
        found["do_sample"] = EffectiveValue("do_sample", False, ABSENT, "temperature is 0")
    top_p = found.get("top_p")
    if top_p is not None and top_p.provenance == FROM_CONFIG and top_p.value == 1:
        note = "a request with top_p 1.0 is refused with 422: leave it out, which is 1.0"
        found["top_p"] = EffectiveValue("top_p", top_p.value, top_p.source, FROM_CONFIG, note=note)
    return found


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """Each engine value, declared or default, by its key path."""
    options = table(str(look(base, "engine.version") or ""))
    found = option_values.engine_values(base, options, WORDS, _OPEN)
    variables = look(base, "environment.variables")
    for key, name in _VARIABLES.items():
        declared = look(base, key)
        text = variables.get(name) if isinstance(variables, Mapping) else None
        if declared is not ABSENT and declared != "auto":
            found[key] = EffectiveValue(key, declared, declared, FROM_CONFIG)
        elif isinstance(text, str):
            value = option_values.variable_value(_variable(key, name), name, text)
            found[key] = EffectiveValue(
                key, value, provenance=FROM_CONFIG, note=f"from environment.variables.{name}"
            )
        else:
            found[key] = EffectiveValue(key, Unknown(_OPEN[key]), declared, from_unknown(_OPEN[key]))
    return found


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
    """The launch `base` asks for. Raises `Usage` for a key that TGI has no option for."""
    options = table(str(look(base, "engine.version") or ""))
    if isinstance(options, Unknown):
        raise Usage(f"no launch for TGI: {options.reason}", where="engine.version")
    said = options_of(base, options, WORDS)
    found: dict[str, Json] = {name: value for name, value in said.items() if value is not None}
    extras_of(base, options, WORDS, found)
    found["model_id"] = weights if weights is not None else str(look(base, "model.id") or "")
    if weights is not None:
        found.pop("revision", None)
    adapters = look(base, "model.adapters")
    if isinstance(adapters, list | tuple) and adapters:
        found["lora_adapters"] = ",".join(_adapter_text(a) for a in adapters if isinstance(a, Mapping))
    argv = [PROGRAM, "--hostname", host, "--port", str(port), *arguments(found, options, WORDS)]
    variables = look(base, "environment.variables")
    environment = {k: str(v) for k, v in variables.items()} if isinstance(variables, Mapping) else {}
    for key, name in _VARIABLES.items():
        value = look(base, key)
        if value is not ABSENT and value != "auto":
            environment[name] = ("1" if value else "0") if isinstance(value, bool) else str(value)
    return Launch(tuple(argv), environment)


def parse(argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:  # noqa: ARG001
    """The tiers a launch of TGI describes, and what it leaves open."""
    options = option_values.every_option(NAME)
    words_of = list(argv)
    while words_of and not words_of[0].startswith("-"):
        words_of.pop(0)
    line = read(words_of, Spellings(options))
    values, problems = _from_environment(options, environment)
    values |= line.values
    base, rest = keys_of(values, options, WORDS)
    put(base, "engine.name", NAME)
    if isinstance(model := values.get("model_id"), str):
        put(base, "model.id", model)
    if isinstance(adapters := values.get("lora_adapters"), str):
        put(base, "model.adapters", [_adapter_tree(part) for part in adapters.split(",") if part])
    if look(base, _O + "speculative.num_tokens") is not ABSENT:
        put(base, _O + "speculative.method", "auto")
    for key, name in _VARIABLES.items():
        if name in environment:
            value = option_values.variable_value(_variable(key, name), name, environment[name])
            if not isinstance(value, Unknown | Absent):
                put(base, key, value)
    if rest:
        put(base, "engine.extra", rest)
    findings = [_finding(f"`{flag}` is no option of text-generation-launcher") for flag in line.unknown]
    findings += [_finding(text) for text in (*line.problems, *problems)]
    return Imported(base, {}, {}, _open(base), tuple(findings))


def observable(version: str) -> frozenset[str]:  # noqa: ARG001 - /info has not changed since 2.0
    """The keys `/info` shows."""
    return frozenset(_INFO) | {"engine.version", "engine.commit"}


def read_back(get: Get) -> Mapping[str, Observed]:
    """What `/info` reports."""
    info = get("/info")
    if not isinstance(info, Mapping):
        reason = info.reason if isinstance(info, Unknown) else "GET /info: no JSON object"
        return {key: Observed(Unknown(reason), "GET /info") for key in observable("")}
    found = {key: _field(info, name) for key, name in (*_INFO.items(), ("engine.commit", "sha"))}
    found["engine.version"] = _field(info, "version")
    return found


def identity(get: Get) -> dict[str, Observed]:
    """`model`, `model_revision` and the image label `/info` names."""
    info = get("/info")
    names = {"model": "model_id", "model_revision": "model_sha", "image": "docker_label"}
    return {key: _field(info, name) for key, name in names.items()} if isinstance(info, Mapping) else {}


_INFO: Final[dict[str, str]] = {
    "model.id": "model_id",
    "model.revision": "model_sha",
    _O + "max_model_len": "max_total_tokens",
    _O + "max_input_tokens": "max_input_tokens",
    _O + "max_queue": "max_concurrent_requests",
}


def _field(info: Mapping[str, Json], name: str) -> Observed:
    value = info.get(name)
    where = f"GET /info {name}"
    return Observed(Unknown(f"/info does not say `{name}`") if value is None else value, where)


def _variable(key: str, name: str) -> Option:
    return Option(name.lower(), (), env=name, type="str" if key.endswith("attention") else "bool")


def _from_environment(
    options: OptionTable, environment: Mapping[str, str]
) -> tuple[dict[str, Json], list[str]]:
    values: dict[str, Json] = {}
    problems: list[str] = []
    for option in options.options.values():
        if option.env not in environment or option.env is None or option.name in WORDS.operational:
            continue
        value = option_values.variable_value(option, option.env, environment[option.env])
        if isinstance(value, Unknown):
            problems.append(value.reason)
        elif not isinstance(value, Absent):
            values[option.name] = value
    return values, problems


def _adapter_text(adapter: Mapping[str, Json]) -> str:
    name, place = str(adapter.get("name", "")), adapter.get("path")
    if place is not None:
        return f"{name}={place}"
    identifier, revision = str(adapter.get("id", name)), adapter.get("revision")
    return f"{identifier}@{revision}" if revision is not None else identifier


def _adapter_tree(text: str) -> dict[str, Json]:
    name, given, place = text.partition("=")
    if given:
        return {"name": name, "path": place}
    identifier, pinned, revision = text.partition("@")
    found: dict[str, Json] = {"name": identifier.rsplit("/", 1)[-1], "id": identifier}
    return {**found, "revision": revision} if pinned else found


def _open(base: Tree) -> tuple[Open, ...]:
    found = [Open("base: engine.version", "a launch does not name the version")]
    if look(base, "model.id") is ABSENT:
        found.append(
            Open("base: model.id", "no model is named: the launcher would load bigscience/bloom-560m")
        )
    if look(base, "model.revision") is ABSENT:
        found.append(Open("base: model.revision", "whatever the model's main branch is that day"))
    found += [Open(f"base: {key}", why) for key, why in _OPEN.items() if look(base, key) in (ABSENT, "auto")]
    return tuple(found)


def _finding(message: str) -> Finding:
    return Finding(UNKNOWN_OPTION, message, Severity.WARNING, hint="it is not taken over")
