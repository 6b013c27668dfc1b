"""Ollama: Modelfile parameters, server variables, and what its OpenAI route does to a request.

- Over `/v1` a request without temperature or top_p gets 1.0 for each, whatever the Modelfile says: the route
  fills them in. Every other parameter is the Modelfile's, else the version's default.
- The context is `num_ctx` of the Modelfile, else OLLAMA_CONTEXT_LENGTH, else a default that moved with
  versions and now depends on the GPU's memory. A longer prompt is cut without a word.
- A model of the library brings a Modelfile of its own: unless its parameters are kept with the config, what
  it sets is unknown.
- The server shows what runs only while it is loaded (`/api/ps`).

Sources: `api/types.go`, `envconfig/config.go`, `openai/openai.go` of the versions in `defaults/ollama.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines import tables
from governance.engines.keys import leaves, look, put
from governance.engines.llama_cpp_read import quantisation, single
from governance.engines.model import (
    FROM_CONFIG,
    FROM_GPU,
    Get,
    Imported,
    Launch,
    Observed,
    Option,
    OptionTable,
    from_engine_default,
    from_request_default,
    from_unknown,
)
from governance.engines.ollama_modelfile import ENGINE, NAME, SAMPLING, finding, open_values, parameters
from governance.errors import Usage
from governance.values import ABSENT, Absent, Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue, Finding

__all__ = ["NAME", "parameters"]

PROGRAMS: Final = ("ollama",)
_O: Final = "engine.options."
FROM_MODELFILE: Final = "Modelfile of the model"
# Server variables and the keys they are.
VARIABLES: Final[dict[str, str]] = {
    "OLLAMA_CONTEXT_LENGTH": _O + "max_model_len",
    "OLLAMA_NUM_PARALLEL": _O + "max_num_seqs",
    "OLLAMA_MAX_QUEUE": _O + "max_queue",
    "OLLAMA_KEEP_ALIVE": _O + "keep_alive",
    "OLLAMA_FLASH_ATTENTION": _O + "attention",
    "OLLAMA_KV_CACHE_TYPE": "precision.kv_cache.dtype",
}
_FLASH: Final = {"1": "flash", "true": "flash", "0": "eager", "false": "eager"}
_CONSTANT: Final[dict[str, Json | Absent]] = {
    "logprobs": False,
    "top_logprobs": 0,
    "stream": False,
    "structured.mode": "off",
    "reasoning_effort": ABSENT,
}


def table(version: str) -> OptionTable | Unknown:
    """Modelfile parameters and server variables of `version`, else of the nearest lower one, as options."""
    near = tables.nearest(NAME, version)
    if isinstance(near, Unknown):
        return near
    parameters, variables = (
        tables.defaults(NAME, near, "sampling"),
        tables.defaults(NAME, near, "environment"),
    )
    found: dict[str, Option] = {}
    for name, default in parameters.items() if isinstance(parameters, Mapping) else ():
        found[name] = Option(name, (), default=default, help="PARAMETER of a Modelfile")
    for name, default in variables.items() if isinstance(variables, Mapping) else ():
        found[name] = Option(name, (), env=name, default=default, help="variable of the server")
    return OptionTable(NAME, near, found, "")


def sampling_defaults(base: Tree, generation_config: Tree | Unknown | Absent) -> Mapping[str, EffectiveValue]:
    """What `/v1` uses for each decoding parameter a request leaves out.

    `generation_config` holds the PARAMETER values of the model's own Modelfile by their names, `{}` for none.
    """
    version = str(look(base, "engine.version") or "")
    defaults, near = tables.defaults(NAME, version, "sampling"), tables.nearest(NAME, version)
    if isinstance(defaults, Unknown) or isinstance(near, Unknown):
        reason = defaults.reason if isinstance(defaults, Unknown) else "no version"
        keys = (*SAMPLING.values(), *_CONSTANT)
        return {key: EffectiveValue(key, Unknown(reason), provenance=from_unknown(reason)) for key in keys}
    unset = tables.unset(NAME, version)
    filled = {} if isinstance(unset, Unknown) else unset
    given = look(base, _O + "generation_overrides")
    said = dict(leaves(given)) if isinstance(given, Mapping) else {}
    found: dict[str, EffectiveValue] = {}
    for name, key in SAMPLING.items():
        if name in filled:
            note = "filled in by the OpenAI route, whatever the Modelfile says"
            found[key] = EffectiveValue(
                key, filled[name], provenance=from_request_default(NAME, near), note=note
            )
        elif key in said:
            found[key] = EffectiveValue(key, said[key], provenance=FROM_CONFIG)
        elif name in defaults:
            found[key] = _carried(key, name, generation_config, defaults[name], near)
    for key, constant in _CONSTANT.items():
        found[key] = EffectiveValue(key, constant, provenance=from_request_default(NAME, near))
    return found


def engine_values(base: Tree) -> Mapping[str, EffectiveValue]:
    """Each engine value, declared, from a server variable, or default, by its key path."""
    options = table(str(look(base, "engine.version") or ""))
    variables = look(base, "environment.variables")
    texts = {k: str(v) for k, v in variables.items()} if isinstance(variables, Mapping) else {}
    found: dict[str, EffectiveValue] = {}
    by_key = {key: name for name, key in VARIABLES.items()}
    for key in dict.fromkeys((*ENGINE.values(), *VARIABLES.values())):
        value = _engine_value(key, base, texts, by_key.get(key), options)
        if value is not None:
            found[key] = value
    extra = look(base, "engine.extra")
    for name, said in extra.items() if isinstance(extra, Mapping) else ():
        found[f"engine.extra.{name}"] = EffectiveValue(f"engine.extra.{name}", said, said, FROM_CONFIG)
    return found


def render(base: Tree, *, host: str, port: int, weights: str | None = None) -> Launch:  # noqa: ARG001
    """The server `base` asks for. What only a Modelfile can say is refused: see `modelfile`."""
    environment = {"OLLAMA_HOST": f"{host}:{port}"}
    variables = look(base, "environment.variables")
    environment |= {k: str(v) for k, v in variables.items()} if isinstance(variables, Mapping) else {}
    by_key = {key: name for name, key in VARIABLES.items()}
    options = look(base, "engine.options")
    for key, value in leaves(options, _O) if isinstance(options, Mapping) else ():
        if key not in by_key:
            raise Usage(
                f"`ollama serve` cannot be told `{key}`: it is a PARAMETER of the Modelfile",
                where=key,
                hint="create the model from a Modelfile, and keep its parameters in model.generation_config",
            )
        text = (
            {"flash": "1", "eager": "0"}.get(str(value), str(value))
            if key.endswith("attention")
            else str(value)
        )
        environment[by_key[key]] = text
    dtype = look(base, "precision.kv_cache.dtype")
    if isinstance(dtype, str) and dtype != "auto":
        environment["OLLAMA_KV_CACHE_TYPE"] = dtype
    return Launch(("ollama", "serve"), environment)


def parse(argv: Sequence[str], environment: Mapping[str, str], *, version: str = "") -> Imported:  # noqa: ARG001
    """The tiers `ollama serve` with these variables describes; `ollama run MODEL` names the model."""
    base: dict[str, Json] = {"engine": {"name": NAME}}
    findings: list[Finding] = []
    for name, key in VARIABLES.items():
        if name in environment:
            value = _variable(name, environment[name])
            if isinstance(value, Unknown):
                findings.append(finding(value.reason))
            else:
                put(base, key, value)
    words = [word for word in argv[1:] if not word.startswith("-")]
    if len(words) > 1 and words[0] in ("run", "pull", "create"):
        put(base, "model.id", words[1])
    return Imported(base, {}, {}, open_values(base), tuple(findings))


def observable(version: str) -> frozenset[str]:  # noqa: ARG001 - the same for every version that was read
    """The keys the server shows, while exactly one model is loaded."""
    return frozenset({_O + "max_model_len", "precision.weights.type", "model.id", "engine.version"})


def read_back(get: Get) -> Mapping[str, Observed]:
    """What `/api/ps` reports of the one model that is loaded."""
    where = "GET /api/ps models[0]"
    loaded = get("/api/ps")
    models = loaded.get("models") if isinstance(loaded, Mapping) else None
    version = get("/api/version")
    told = version.get("version") if isinstance(version, Mapping) else None
    found = {"engine.version": Observed(told or Unknown("/api/version does not answer"), "GET /api/version")}
    if not isinstance(models, list) or len(models) != 1 or not isinstance(models[0], Mapping):
        reason = loaded.reason if isinstance(loaded, Unknown) else "no model is loaded, or several are"
        return {**{key: Observed(Unknown(reason), where) for key in observable("")}, **found}
    one = models[0]
    details = one.get("details")
    kind = details.get("quantization_level") if isinstance(details, Mapping) else None
    length = one.get("context_length")
    found[_O + "max_model_len"] = Observed(
        length if isinstance(length, int) else Unknown("this version does not tell the context"),
        f"{where}.context_length",
    )
    found["precision.weights.type"] = Observed(quantisation(kind), f"{where}.details.quantization_level")
    found["model.id"] = Observed(str(one.get("name", "")), f"{where}.name")
    return found


def identity(get: Get) -> dict[str, Observed]:
    """`model` and `model_digest` of the model that is loaded."""
    loaded = get("/api/ps")
    models = loaded.get("models") if isinstance(loaded, Mapping) else None
    if not isinstance(models, list) or len(models) != 1 or not isinstance(models[0], Mapping):
        return {}
    names = {"model": "name", "model_digest": "digest"}
    return {
        key: Observed(models[0][name], f"GET /api/ps models[0].{name}")
        for key, name in names.items()
        if name in models[0]
    }


def comparable(value: Value) -> Value:
    """`value` as the server holds it: decimal fractions are 32-bit floats."""
    return single(value) if isinstance(value, float) else value


def _carried(
    key: str, name: str, own: Tree | Unknown | Absent, default: Value, version: str
) -> EffectiveValue:
    if isinstance(own, Unknown) or own is ABSENT:
        why = (
            own.reason
            if isinstance(own, Unknown)
            else "the model's own Modelfile may set it, and is not kept here"
        )
        return EffectiveValue(key, Unknown(why), provenance=from_unknown(why))
    if name in own:
        return EffectiveValue(key, own[name], provenance=FROM_MODELFILE)
    value: Value = [] if name == "stop" and default is ABSENT else default
    return EffectiveValue(key, value, provenance=from_engine_default(NAME, version))


def _engine_value(
    key: str, base: Tree, texts: Mapping[str, str], variable: str | None, options: OptionTable | Unknown
) -> EffectiveValue | None:
    declared = look(base, key)
    if declared is not ABSENT and declared != "auto":
        return EffectiveValue(key, declared, declared, FROM_CONFIG)
    if variable is not None and variable in texts:
        value = _variable(variable, texts[variable])
        if isinstance(value, Unknown):
            return EffectiveValue(key, value, provenance=from_unknown(value.reason))
        return EffectiveValue(
            key, value, provenance=FROM_CONFIG, note=f"from environment.variables.{variable}"
        )
    if isinstance(options, Unknown):
        return EffectiveValue(key, options, provenance=from_unknown(options.reason))
    if key == _O + "max_model_len":
        return _context(options)
    if key in (_O + "gpu_layers", _O + "attention"):
        return EffectiveValue(key, Unknown("chosen by model and GPU"), provenance=FROM_GPU)
    if key == _O + "threads":
        return EffectiveValue(
            key, Unknown("the number of cores"), provenance=from_unknown("the number of cores")
        )
    name = variable or next(parameter for parameter, bound in ENGINE.items() if bound == key)
    option = options.options.get(name)
    if option is None or option.default is ABSENT or key.startswith(_O + "speculative"):
        return None
    default = _variable(name, str(option.default)) if variable is not None else option.default
    return EffectiveValue(key, default, provenance=from_engine_default(NAME, options.version))


def _context(options: OptionTable) -> EffectiveValue:
    key = _O + "max_model_len"
    for name in ("OLLAMA_CONTEXT_LENGTH", "num_ctx"):
        option = options.options.get(name)
        if option is not None and isinstance(option.default, int) and option.default > 0:
            return EffectiveValue(key, option.default, provenance=from_engine_default(NAME, options.version))
    why = "4096, 32768 or 262144 by the GPU's memory"
    return EffectiveValue(key, Unknown(why), provenance=FROM_GPU)


def _variable(name: str, text: str) -> Json | Unknown:
    if text.startswith("env:"):
        return Unknown(f"`{name}` is set where the server is deployed")
    if name == "OLLAMA_FLASH_ATTENTION":
        return _FLASH.get(text.lower(), Unknown(f"`{name}` is `{text}`"))
    if name in ("OLLAMA_CONTEXT_LENGTH", "OLLAMA_NUM_PARALLEL", "OLLAMA_MAX_QUEUE"):
        return int(text) if text.isdigit() else Unknown(f"`{name}` is `{text}`, no number")
    return text
