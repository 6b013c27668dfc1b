"""`transformers serve`: its options, import, and how it draws tokens.

- The model's generation_config.json always counts; what it leaves out is the default of `GenerationConfig`.
- Greedy unless the model's file says `do_sample: true`: a request's temperature alone does not turn sampling
  on, and temperature 0 turns it off.
- A request sets `temperature`, `top_p`, `seed`, `max_tokens`, `stop`, `logit_bias` and `frequency_penalty`,
  which becomes the repetition penalty 1 + f. `n`, `presence_penalty` and `logprobs` are ignored, other fields
  refused.
- `seed` seeds the whole process: requests that run together take each other's random numbers.
- The server tells neither its version nor its options nor its model: its list is that of the host's cache.

Source: `transformers/cli/serving/` and `generation/configuration_utils.py` of the wheels in
`defaults/transformers.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines import option_values, tables
from governance.engines.argparse_launch import Vocabulary, arguments, extras_of, keys_of, options_of
from governance.engines.argparse_line import Spellings, read
from governance.engines.bindings import UNLESS_AUTO, UNLESS_NONE, bound
from governance.engines.generation_config import SAMPLING_KEYS, read_generation_config
from governance.engines.keys import leaves, look, put
from governance.engines.model import (
    FROM_CONFIG,
    FROM_GENERATION_CONFIG,
    Get,
    Imported,
    Launch,
    Observed,
    Open,
    OptionTable,
    from_engine_default,
    from_request_default,
    from_unknown,
)
from governance.errors import Usage
from governance.values import ABSENT, Absent, Json, Tree, Unknown
from governance.verdict import EffectiveValue

NAME: Final = "transformers"
PROGRAMS: Final = ("transformers", "transformers-cli")
GENERATION_FILE: Final = "generation_config.json"
_O: Final = "engine.options."

WORDS: Final = Vocabulary(
    NAME,
    (
        bound("model.trust_remote_code"),
        bound("precision.dtype", "dtype", "torch_dtype", codec=UNLESS_AUTO),
        bound("precision.weights.method", "quantization", codec=UNLESS_NONE),
        bound(_O + "attention", "attn_implementation", codec=UNLESS_AUTO),
        bound(_O + "continuous_batching"),
        bound(_O + "torch_compile", "compile"),
        bound(_O + "block_size", "cb_block_size"),
        bound(_O + "cache_blocks", "cb_num_blocks"),
        bound(_O + "max_num_batched_tokens", "cb_max_batch_tokens"),
        bound(_O + "gpu_memory_utilization", "cb_max_memory_percent"),
        bound(_O + "cuda_graphs", "cb_use_cuda_graph"),
        bound(_O + "seed", "default_seed"),
    ),
    special=frozenset({"force_model", "torch_dtype", "chat_template_kwargs"}),
    operational=frozenset(
        "host port enable_cors log_level model_timeout non_blocking input_validation".split()
    ),
    special_keys=(
        "model.revision",
        _O + "generation_config",
        _O + "batch_invariant",
        _O + "tensor_parallel_size",
    ),
)
_OPEN: Final[dict[str, str]] = {
    "precision.dtype": "the number format config.json of the model names",
    _O + "attention": "chosen by model, installed packages and device",
}
# Sampling key -> name in GenerationConfig, for what the server takes from it.
_GENERATION: Final[dict[str, str]] = {
    key: name
    for name, key in SAMPLING_KEYS.items()
    if key not in ("max_tokens", "min_tokens", "n", "guidance_scale", "stop_token_ids", "stop")
}
_REQUEST: Final = frozenset(
    {"temperature", "top_p", "seed", "max_tokens", "stop", "logit_bias", "frequency_penalty"}
)
_CONSTANT: Final[dict[str, Json | Absent]] = {
    "seed": -1,
    "stop": [],
    "logit_bias": {},
    "frequency_penalty": ABSENT,
    "n": 1,
    "stream": False,
}
_LEAST_TOKENS: Final = 1024  # `_build_generation_config` raises a smaller max_new_tokens of the model's file


def table(version: str) -> OptionTable | Unknown:
    """The options of `transformers serve` at `version`, else those of the nearest lower version."""
    return tables.table(NAME, version)


def sampling_defaults(base: Tree, generation_config: Tree | Unknown | Absent) -> Mapping[str, EffectiveValue]:
    """What the server uses for each decoding parameter a request leaves out."""
    version = str(look(base, "engine.version") or "")
    defaults, near = tables.defaults(NAME, version, "sampling"), tables.nearest(NAME, version)
    if isinstance(defaults, Unknown) or isinstance(near, Unknown):
        reason = defaults.reason if isinstance(defaults, Unknown) else "no version"
        keys = (*_GENERATION, *_CONSTANT, "max_tokens")
        return {key: EffectiveValue(key, Unknown(reason), provenance=from_unknown(reason)) for key in keys}
    where = from_engine_default(NAME, near)
    carried = _carried(generation_config)
    found: dict[str, EffectiveValue] = {}
    for key, name in _GENERATION.items():
        if name in defaults:
            default = defaults[name]
            plain = EffectiveValue(key, ABSENT if default is None else default, provenance=where)
            found[key] = _from_file(key, carried, plain)
    for key, constant in _CONSTANT.items():
        note = "one random state for the whole process" if key == "seed" else ""
        found[key] = EffectiveValue(key, constant, provenance=from_request_default(NAME, near), note=note)
    found["stop"] = _from_file("stop", carried, found["stop"])
    found["max_tokens"] = _limit(carried, where)
    if isinstance(carried, Mapping) and "stop_token_ids" in carried:
        found["stop_token_ids"] = _from_file("stop_token_ids", carried, found["stop"])
    return found


def takes(key: str) -> bool:
    """Whether a request can set the decoding parameter."""
    return key in _REQUEST


def as_applied(drawn: Mapping[str, EffectiveValue]) -> Mapping[str, EffectiveValue]:
    """The sampling values as the server applies them; see the rules above."""
    found = dict(drawn)
    frequency = drawn.get("frequency_penalty")
    if frequency is not None and isinstance(frequency.value, int | float):
        where = "1 + frequency_penalty, as the server computes it"
        found["repetition_penalty"] = EffectiveValue(
            "repetition_penalty", 1.0 + float(frequency.value), ABSENT, where
        )
    temperature, sample = drawn.get("temperature"), found.get("do_sample")
    if temperature is not None and temperature.provenance == FROM_CONFIG and temperature.value == 0:
        found["do_sample"] = EffectiveValue("do_sample", False, ABSENT, "temperature is 0")
    elif temperature is not None and sample is not None and sample.value is False:
        note = "greedy: the model's generation_config.json does not say `do_sample: true`"
        found["temperature"] = EffectiveValue(
            "temperature", temperature.value, temperature.source, temperature.provenance, note=note
        )
    return found


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """Each engine value, declared or default, by its key path."""
    options = table(str(look(base, "engine.version") or ""))
    named = ((key, look(base, key)) for key in ("model.id", "model.revision"))
    said = {k: EffectiveValue(k, value, value, FROM_CONFIG) for k, value in named if value is not ABSENT}
    return {**option_values.engine_values(base, options, WORDS, _OPEN), **said}


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:
    """The launch `base` asks for. Raises `Usage` for a key `transformers serve` has no option for."""
    options = table(str(look(base, "engine.version") or ""))
    if isinstance(options, Unknown) or not options.options:
        reason = (
            options.reason if isinstance(options, Unknown) else f"{options.version} has no `serve` command"
        )
        raise Usage(f"no launch for transformers: {reason}", where="engine.version")
    said = options_of(base, options, WORDS)
    found: dict[str, Json] = {name: value for name, value in said.items() if value is not None}
    extras_of(base, options, WORDS, found)
    model = weights if weights is not None else _pinned(base)
    positional = [] if "force_model" in options.options else [model]
    if not positional:
        found["force_model"] = model
    argv = ["transformers", "serve", *positional, "--host", host, "--port", str(port)]
    variables = look(base, "environment.variables")
    environment = {k: str(v) for k, v in variables.items()} if isinstance(variables, Mapping) else {}
    return Launch((*argv, *arguments(found, options, WORDS)), environment)


def parse(
    argv: Sequence[str],
    environment: Mapping[str, str],  # noqa: ARG001 - it reads none
    *,
    version: str = "",  # noqa: ARG001
) -> Imported:
    """The tiers a launch of `transformers serve` describes, and what it leaves open."""
    options = option_values.every_option(NAME)
    at = argv.index("serve") + 1 if "serve" in argv else 1
    line = read(argv[at:], Spellings(options))
    base, rest = keys_of(line.values, options, WORDS)
    put(base, "engine.name", NAME)
    model = line.values.get("force_model") or next(iter(line.words), None)
    if isinstance(model, str):
        identifier, pinned, revision = model.partition("@")
        put(base, "model.id", identifier)
        if pinned:
            put(base, "model.revision", revision)
    if rest:
        put(base, "engine.extra", rest)
    prompts: dict[str, Json] = {}
    if isinstance(kwargs := line.values.get("chat_template_kwargs"), Mapping):
        prompts["chat_template_kwargs"] = kwargs
    return Imported(base, {}, prompts, _open(base), tuple(line.findings("transformers serve")))


def observable(version: str) -> frozenset[str]:  # noqa: ARG001 - it has never shown any
    """No key: `/v1/models` lists the models in the host's cache, whichever is served."""
    return frozenset()


def read_back(get: Get) -> Mapping[str, Observed]:  # noqa: ARG001
    """Nothing: only the process of a local server tells how it runs."""
    return {}


def _carried(generation_config: Tree | Unknown | Absent) -> Mapping[str, Json] | Unknown:
    if isinstance(generation_config, Unknown):
        return generation_config
    if generation_config is ABSENT:
        return Unknown("the model's generation_config.json is not kept with the config")
    return dict(leaves(read_generation_config(generation_config).sampling))


def _from_file(key: str, carried: Mapping[str, Json] | Unknown, plain: EffectiveValue) -> EffectiveValue:
    if isinstance(carried, Unknown):
        return EffectiveValue(key, carried, provenance=from_unknown(carried.reason))
    if key in carried:
        return EffectiveValue(key, carried[key], provenance=FROM_GENERATION_CONFIG)
    return plain


def _limit(carried: Mapping[str, Json] | Unknown, where: str) -> EffectiveValue:
    value = _from_file("max_tokens", carried, EffectiveValue("max_tokens", _LEAST_TOKENS, provenance=where))
    if isinstance(value.value, int) and value.value < _LEAST_TOKENS:
        note = f"the model's file says {value.value}, and the server raises that"
        return EffectiveValue("max_tokens", _LEAST_TOKENS, provenance=where, note=note)
    return value


def _pinned(base: Tree) -> str:
    identifier, revision = look(base, "model.id"), look(base, "model.revision")
    return f"{identifier}@{revision}" if isinstance(revision, str) else str(identifier)


def _open(base: Tree) -> tuple[Open, ...]:
    found = [Open("base: engine.version", "a launch does not name the version")]
    if look(base, "model.id") is ABSENT:
        found.append(Open("base: model.id", "each request names the model it wants"))
    elif look(base, "model.revision") is ABSENT:
        found.append(Open("base: model.revision", "whatever the model's main branch is that day"))
    found += [Open(f"base: {key}", why) for key, why in _OPEN.items() if look(base, key) in (ABSENT, "auto")]
    return tuple(found)
