"""What vLLM uses: decoding parameters a request leaves out, and engine values, each with where it comes from.

- Order for a decoding parameter: the request, `--override-generation-config`, the model's
  generation_config.json (by `--generation-config`), the engine's own neutral value. Only the keys of the fact
  `generation_config_keys` are taken from the file, and that list grew between versions.
- End-of-text tokens come from the model's file whatever the policy says (`update_from_generation_config`).
- A temperature below 1e-5 is greedy and switches top_p, top_k and min_p off; below 0.01 it is raised to 0.01.
- `auto`, and what the engine derives from the GPU or the model, is unknown with that reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from governance.engines import bound_values, model_file, tables, vllm_map
from governance.engines.bound_values import version_of
from governance.engines.keys import look
from governance.engines.model import (
    FROM_CONFIG,
    FROM_GENERATION_CONFIG,
    FROM_GPU,
    OptionTable,
    from_engine_default,
    from_request_default,
    from_unknown,
)
from governance.engines.vllm_launch import WORDS
from governance.records import replace
from governance.values import ABSENT, Absent, Tree, Unknown, Value
from governance.verdict import EffectiveValue

NAME: Final = "vllm"
POLICY: Final = "engine.options.generation_config"
OVERRIDES: Final = "engine.options.generation_overrides"
# Our key -> field of a chat completion request.
REQUEST_KEYS: Final[dict[str, str]] = {
    key: {"thinking_budget": "thinking_token_budget"}.get(key, key)
    for key in (
        *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"),
        *("frequency_penalty", "length_penalty", "seed", "n", "best_of", "min_tokens", "stop", "ignore_eos"),
        *("include_stop_str_in_output", "skip_special_tokens", "spaces_between_special_tokens", "bad_words"),
        *("logit_bias", "allowed_token_ids", "logprobs", "top_logprobs", "prompt_logprobs"),
        *("truncate_prompt_tokens", "reasoning_effort", "thinking_budget", "parallel_tool_calls"),
    )
}
TOKENIZER_REVISION: Final = "model.tokenizer.revision"
_NO_FILE: Final = "the model's generation_config.json is not kept with the config (`model.generation_config`)"


def sampling_defaults(base: Tree, file: Tree | Unknown | Absent) -> dict[str, EffectiveValue]:
    """What the server uses for each decoding parameter a request leaves out, by sampling key."""
    version = version_of(base)
    known = tables.nearest(NAME, version)
    if isinstance(known, Unknown):
        return {k: EffectiveValue(k, known, ABSENT, from_unknown(known.reason)) for k in REQUEST_KEYS}
    values = dict(_neutrals(known))
    seen = _seen(base, file, known)
    taken = tables.fact(NAME, known, "generation_config_keys")
    for name in taken if isinstance(taken, list) else ():
        key = "max_tokens" if name == "max_new_tokens" else str(name)
        if key in values or key == "max_tokens":
            values[key] = _taken(key, str(name), seen, base, known, values.get(key))
    values["stop_token_ids"] = _stop_ids(file)
    return values


@lru_cache(maxsize=16)
def _neutrals(version: str) -> Mapping[str, EffectiveValue]:
    return {key: _neutral(key, version) for key in REQUEST_KEYS if _has(key, version)}


def _has(key: str, version: str) -> bool:
    fields = tables.defaults(NAME, version, "request")
    return isinstance(fields, Mapping) and REQUEST_KEYS[key] in fields


def _neutral(key: str, version: str) -> EffectiveValue:
    """The value of the API or the engine when nobody sets one; most of them no launch can set."""
    unset = tables.unset(NAME, version)
    fields = tables.defaults(NAME, version, "request")
    params = tables.defaults(NAME, version, "sampling")
    name = REQUEST_KEYS[key]
    value: Value = None
    for source in (unset, fields, params):
        if isinstance(source, Mapping) and source.get(name) not in (None, ABSENT):
            value = source[name]
            break
    taken = tables.fact(NAME, version, "generation_config_keys")
    settable = isinstance(taken, list) and name in taken
    where = from_engine_default if settable else from_request_default
    return EffectiveValue(key, value, ABSENT, where(NAME, version))


def _seen(base: Tree, file: Tree | Unknown | Absent, version: str) -> Tree | Unknown:
    """The generation config the policy reads; empty when it reads none."""
    policy = look(base, POLICY)
    if policy is ABSENT:
        table = tables.table(NAME, version)
        option = table.options.get("generation_config") if isinstance(table, OptionTable) else None
        policy = "engine" if option is None or option.default is None else option.default  # type: ignore[assignment]
    if policy in ("engine", "none", "vllm"):
        return {}
    if policy != "auto":
        return Unknown(f"the sampling defaults are read from `{policy}` on the serving host")
    if isinstance(file, Unknown):
        return file
    return Unknown(_NO_FILE) if isinstance(file, Absent) else file


def _taken(
    key: str, name: str, seen: Tree | Unknown, base: Tree, version: str, neutral: EffectiveValue | None
) -> EffectiveValue:
    """One key the engine takes from overrides or from the file."""
    override = look(base, f"{OVERRIDES}.{key}")
    if override is not ABSENT:
        return EffectiveValue(key, override, override, FROM_CONFIG, note=OVERRIDES)
    if isinstance(seen, Unknown):
        return EffectiveValue(key, seen, ABSENT, from_unknown(seen.reason))
    value = model_file.differing(seen, name, tables.fact(NAME, version, "requires_transformers"))
    if isinstance(value, Unknown):
        return EffectiveValue(key, value, ABSENT, from_unknown(value.reason))
    if value is not ABSENT:
        return EffectiveValue(key, value, ABSENT, FROM_GENERATION_CONFIG)
    if neutral is not None:
        return neutral
    return EffectiveValue(
        key, None, ABSENT, from_engine_default(NAME, version), note="what is left of the context"
    )


def _stop_ids(file: Tree | Unknown | Absent) -> EffectiveValue:
    if isinstance(file, Unknown | Absent):
        reason = file.reason if isinstance(file, Unknown) else _NO_FILE
        return EffectiveValue("stop_token_ids", Unknown(reason), ABSENT, from_unknown(reason))
    return EffectiveValue(
        "stop_token_ids",
        model_file.stop_ids(file),
        ABSENT,
        FROM_GENERATION_CONFIG,
        note="beside the tokenizer's own end of text, under every generation-config policy",
    )


def as_applied(values: Mapping[str, EffectiveValue]) -> dict[str, EffectiveValue]:
    """The values as the sampler applies them: a tiny temperature is greedy, a small one is raised."""
    result = dict(values)
    temperature = result.get("temperature")
    value = temperature.value if temperature is not None else None
    if temperature is None or isinstance(value, bool) or not isinstance(value, int | float):
        return result
    if value < 1e-5:
        for key, neutral in (("top_p", 1.0), ("top_k", 0), ("min_p", 0.0)):
            held = result.get(key)
            if held is not None and held.value != neutral:
                result[key] = replace(
                    held, value=neutral, note="greedy: a temperature below 1e-5 switches it off"
                )
    elif value < 0.01:
        result["temperature"] = replace(
            temperature, value=0.01, note="vLLM raises a temperature below 0.01 to it"
        )
    return result


def engine_values(base: Tree) -> dict[str, EffectiveValue]:
    """Each engine value, declared or default, by its key path in the base config."""
    table = tables.table(NAME, version_of(base))
    if isinstance(table, Unknown):
        return bound_values.unknown(base, WORDS, table)
    found = bound_values.values(base, table, WORDS, vllm_map.DERIVED)
    found |= _by_variable(base, table)
    revision = look(base, "model.revision")
    if revision is not ABSENT and look(base, TOKENIZER_REVISION) is ABSENT:
        found[TOKENIZER_REVISION] = EffectiveValue(
            TOKENIZER_REVISION, revision, ABSENT, from_engine_default(NAME, table.version), note="the model's"
        )
    return found


def _by_variable(base: Tree, table: OptionTable) -> dict[str, EffectiveValue]:
    """Values that a variable decides at this version, where the config does not set the key itself."""
    found: dict[str, EffectiveValue] = {}
    variables = tables.defaults(NAME, table.version, "environment")
    known = variables if isinstance(variables, Mapping) else {}
    key = "engine.options.batch_invariant"
    text = _variable(base, vllm_map.BATCH_INVARIANT)
    if look(base, key) is not ABSENT:
        found[key] = bound_values.declared(base, key)
    elif text and vllm_map.BATCH_INVARIANT in known:
        found[key] = _from_variable(key, vllm_map.BATCH_INVARIANT, text, vllm_map.is_on(text))
    elif vllm_map.BATCH_INVARIANT in known:
        found[key] = EffectiveValue(key, False, ABSENT, from_engine_default(NAME, table.version))
    key = "engine.options.attention"
    text = _variable(base, vllm_map.ATTENTION_VARIABLE)
    if "attention_backend" not in table.options and look(base, key) in (ABSENT, "auto"):
        reason = vllm_map.DERIVED["attention_backend"][1]
        found[key] = EffectiveValue(key, Unknown(reason), look(base, key), FROM_GPU, note=reason)
        if text:
            found[key] = _from_variable(key, vllm_map.ATTENTION_VARIABLE, text, text)
    return found


def _variable(base: Tree, name: str) -> str:
    """What the config sets the variable `name` to; empty when it does not."""
    variables = look(base, "environment.variables")
    value = variables.get(name) if isinstance(variables, Mapping) else None
    return "" if value is None else str(value)


def _from_variable(key: str, name: str, text: str, value: Value) -> EffectiveValue:
    if text.startswith("env:"):
        reason = f"`{name}` is set where the server is deployed"
        return EffectiveValue(key, Unknown(reason), provenance=from_unknown(reason))
    return EffectiveValue(key, value, provenance=FROM_CONFIG, note=f"from environment.variables.{name}")
