"""What SGLang uses: decoding parameters a request leaves out, and engine values, each with its origin.

- Up to 0.5.2 a chat request without a temperature got 0.7, whatever the model says. Since 0.5.3 it gets the
  model's generation_config.json (`--sampling-defaults model`), else 1.0. Both are in the wheels' protocol.
- What transformers 4 fills into that file, SGLang takes as if the file said it: `top_k` 50 (`model_file.py`).
- `--preferred-sampling-params` reaches `/generate` only: a chat request always brings values of its own.
- End-of-text tokens come from the model's file under every policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from governance.engines import bound_values, model_file, sglang_map, tables
from governance.engines.bound_values import version_of
from governance.engines.keys import look
from governance.engines.model import (
    FROM_GENERATION_CONFIG,
    OptionTable,
    from_engine_default,
    from_unknown,
)
from governance.engines.sglang_map import NAME, WORDS
from governance.values import ABSENT, Absent, Tree, Unknown, Value
from governance.verdict import EffectiveValue

POLICY: Final = "engine.options.generation_config"
OVERRIDES: Final = "engine.options.generation_overrides"
# Our key -> field of a chat completion request, or of SamplingParams.
REQUEST_KEYS: Final[dict[str, str]] = {
    key: {"max_tokens": "max_completion_tokens"}.get(key, key)
    for key in (
        *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty"),
        *("frequency_penalty", "seed", "n", "min_tokens", "stop", "ignore_eos", "skip_special_tokens"),
        *("spaces_between_special_tokens", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort"),
    )
}
_NO_FILE: Final = "the model's generation_config.json is not kept with the config (`model.generation_config`)"


def sampling_defaults(base: Tree, file: Tree | Unknown | Absent) -> dict[str, EffectiveValue]:
    """What the server uses for each decoding parameter a request leaves out, by sampling key."""
    known = tables.nearest(NAME, version_of(base))
    if isinstance(known, Unknown):
        return {k: EffectiveValue(k, known, ABSENT, from_unknown(known.reason)) for k in REQUEST_KEYS}
    values = dict(_neutrals(known))
    taken = tables.fact(NAME, known, "generation_config_keys")
    seen = _seen(base, file, known)
    for key in taken if isinstance(taken, list) else ():
        values[str(key)] = _taken(str(key), seen, known, values[str(key)])
    note = "what is left of the context"
    values["max_tokens"] = EffectiveValue(
        "max_tokens", None, ABSENT, from_engine_default(NAME, known), note=note
    )
    values["stop_token_ids"] = _stop_ids(file)
    overrides = look(base, OVERRIDES)
    for key in overrides if isinstance(overrides, Mapping) else ():
        if key in values:
            values[key] = replace(values[key], note=f"`{OVERRIDES}` reaches /generate, not a chat request")
    return values


@lru_cache(maxsize=16)
def _neutrals(version: str) -> Mapping[str, EffectiveValue]:
    sources = (
        tables.unset(NAME, version),
        tables.defaults(NAME, version, "request"),
        tables.defaults(NAME, version, "sampling"),
    )
    found: dict[str, EffectiveValue] = {}
    for key, name in REQUEST_KEYS.items():
        if not any(isinstance(s, Mapping) and name in s for s in sources):
            continue
        value: Value = None
        for source in sources:
            if isinstance(source, Mapping) and source.get(name) not in (None, ABSENT):
                value = source[name]
                break
        found[key] = EffectiveValue(key, value, ABSENT, from_engine_default(NAME, version))
    return found


def _seen(base: Tree, file: Tree | Unknown | Absent, version: str) -> Tree | Unknown:
    policy = look(base, POLICY)
    if policy is ABSENT:
        table = tables.table(NAME, version)
        option = table.options.get("sampling_defaults") if isinstance(table, OptionTable) else None
        policy = "auto" if option is not None and option.default == "model" else "engine"
    if policy in ("engine", "none", "openai"):
        return {}
    if isinstance(file, Unknown):
        return file
    return Unknown(_NO_FILE) if isinstance(file, Absent) else file


def _taken(key: str, seen: Tree | Unknown, version: str, neutral: EffectiveValue) -> EffectiveValue:
    if isinstance(seen, Unknown):
        return EffectiveValue(key, seen, ABSENT, from_unknown(seen.reason))
    if not seen:
        return neutral
    value = model_file.filled(seen, key, tables.fact(NAME, version, "requires_transformers"))
    if isinstance(value, Unknown):
        return EffectiveValue(key, value, ABSENT, from_unknown(value.reason))
    if value is ABSENT:
        return neutral
    if seen.get(key) is None:
        note = "transformers 4 fills it in where the file leaves it out"
        return EffectiveValue(key, value, ABSENT, from_engine_default(NAME, version), note=note)
    return EffectiveValue(key, value, ABSENT, FROM_GENERATION_CONFIG)


def _stop_ids(file: Tree | Unknown | Absent) -> EffectiveValue:
    if isinstance(file, Unknown | Absent):
        reason = file.reason if isinstance(file, Unknown) else _NO_FILE
        return EffectiveValue("stop_token_ids", Unknown(reason), ABSENT, from_unknown(reason))
    note = "beside the tokenizer's own end of text, under every policy"
    ids = model_file.stop_ids(file)
    return EffectiveValue("stop_token_ids", ids, ABSENT, FROM_GENERATION_CONFIG, note=note)


def as_applied(values: Mapping[str, EffectiveValue]) -> dict[str, EffectiveValue]:
    """The values as the sampler applies them: a temperature below 1e-6 is greedy, whatever else is set."""
    result = dict(values)
    temperature = result.get("temperature")
    value = temperature.value if temperature is not None else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e-6:
        return result
    held = result.get("top_k")
    if held is not None and held.value != 1:
        result["top_k"] = replace(held, value=1, note="greedy: a temperature below 1e-6 takes the best token")
    return result


def engine_values(base: Tree) -> dict[str, EffectiveValue]:
    """Each engine value, declared or default, by its key path in the base config."""
    table = tables.table(NAME, version_of(base))
    if isinstance(table, Unknown):
        return bound_values.unknown(base, WORDS, table)
    return bound_values.values(base, table, WORDS, sglang_map.DERIVED)
