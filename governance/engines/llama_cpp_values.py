"""What a llama-server of a base config will use: engine values and sampling defaults, with provenance.

- A flag of the config wins over a variable, a variable over the GGUF's metadata, that over the build's
  default: the order llama-server itself applies.
- Two values the config writes for one sequence are total values for llama-server: `--ctx-size` is shared by
  all slots unless the cache is unified, so each slot has `ctx-size / parallel`, rounded up to 256.
- What the machine decides (cores, GPU, memory) is unknown with that reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from governance.engines.flags import Dialect, Flags, long_flag, text_of, typed
from governance.engines.keys import leaves, look
from governance.engines.llama_cpp_map import (
    BOUND,
    CACHE_KEYS,
    CACHE_VALUES,
    CONTEXT,
    DRAWN,
    FROM_MODEL,
    LATENCY,
    METADATA,
    MODEL_FLAGS,
    NUMBERS,
    OPERATIONAL,
    REQUEST_ONLY,
    SAMPLING,
    SLOTS,
    UNLISTED,
    WORDS,
)
from governance.engines.model import (
    FROM_CONFIG,
    FROM_GPU,
    Option,
    OptionTable,
    from_engine_default,
    from_request_default,
    from_unknown,
)
from governance.values import ABSENT, Absent, Effect, Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue

NAME: Final = "llama.cpp"
DIALECT: Final = Dialect(
    equals=False,
    repeated=frozenset(
        {"logit_bias", "dry_sequence_breaker", "override_tensor", "override_kv", "reverse_prompt"}
    ),
)
FROM_METADATA: Final = "metadata of the GGUF"
FROM_WEIGHTS: Final = "metadata of the weights"
# Nothing to say about a draft model or an image projector that nobody asked for.
_WHEN_ASKED: Final = ("engine.options.speculative.", "model.projector.")
PAD: Final = 256  # GGML_PAD of the context per sequence, llama-context.cpp
AUTO_SLOTS: Final = 4  # what `--parallel -1` becomes, server.cpp
DRY_BREAKERS: Final = ("\n", ":", '"', "*")  # common_params_sampling::dry_sequence_breakers


@dataclass(frozen=True, slots=True)
class Setting:
    """A value the config gives to one option, and the key it stands under."""

    value: Value
    key: str


def version_of(base: Tree) -> str:
    """`engine.version` as text, empty when it is not there."""
    return str(look(base, "engine.version") or "")


def settings(base: Tree, flags: Flags) -> dict[str, Setting]:
    """What the config says about each option, by the option's name: variables first, flags over them."""
    found: dict[str, Setting] = {}
    variables = look(base, "environment.variables")
    if isinstance(variables, Mapping):
        for name, text in sorted(variables.items()):
            found.update(_from_variable(name, str(text), flags))
    extra = look(base, "engine.extra")
    if isinstance(extra, Mapping):
        for name, value in sorted(extra.items()):
            if option := flags.find(name):
                found[option.name] = Setting(normal(option, value), f"engine.extra.{name}")
    for key, flag in BOUND.items():
        declared = look(base, key)
        option = flags.find(flag)
        if option is not None and declared is not ABSENT:
            found[option.name] = Setting(to_engine(key, declared), key)
    overrides = look(base, "engine.options.generation_overrides")
    if isinstance(overrides, Mapping):
        for name, value in leaves(overrides):
            option = flags.find(SAMPLING[name][0]) if name in SAMPLING else None
            if option is not None:
                found[option.name] = Setting(value, f"engine.options.generation_overrides.{name}")
    return found


def engine_values(base: Tree, table: OptionTable | Unknown) -> dict[str, EffectiveValue]:
    """Each engine value by its key, declared or default."""
    if isinstance(table, Unknown):
        return _without_table(base, table)
    flags = Flags(table, DIALECT)
    said = settings(base, flags)
    found = {value.key: value for value in (*_sequences(base, flags, said), *_cache(base, flags, said))}
    for key, flag in BOUND.items():
        option = flags.find(flag) if key not in DRAWN else None
        if option is not None and (value := _bound(key, option, said, flags, base)) is not None:
            found[key] = value
    found |= {value.key: value for value in _extras(flags, said)}
    kind = look(base, "precision.weights.type")
    if kind is not ABSENT:
        found["precision.weights.type"] = EffectiveValue("precision.weights.type", kind, kind, FROM_CONFIG)
    return found


def sampling_defaults(
    base: Tree, generation_config: Tree | Unknown | Absent, table: OptionTable | Unknown
) -> dict[str, EffectiveValue]:
    """What the server uses for a decoding parameter a request leaves out, by sampling key."""
    if isinstance(table, Unknown):
        keys = (*SAMPLING, *REQUEST_ONLY)
        return {key: EffectiveValue(key, table, provenance=from_unknown(table.reason)) for key in keys}
    flags = Flags(table, DIALECT)
    said = settings(base, flags)
    found = {}
    for key, (flag, _) in SAMPLING.items():
        option = flags.find(flag)
        if option is not None:
            found[key] = _sampling_default(key, option, said, generation_config, table)
    for key, default in REQUEST_ONLY.items():
        found[key] = EffectiveValue(key, default, provenance=from_request_default(NAME, table.version))
    return found


def to_engine(key: str, value: Json) -> Json:
    """A config value in llama.cpp's own word."""
    words = WORDS.get(key)
    if words is not None and str(value) in words:
        return words[str(value)]  # type: ignore[return-value]
    if key == "engine.options.tensor_split" and isinstance(value, list | tuple):
        return ",".join(f"{part:g}" for part in value if isinstance(part, int | float))
    if key == "engine.options.served_model_name" and isinstance(value, list | tuple):
        return ",".join(str(part) for part in value)
    return value


def from_engine(key: str, value: Value) -> Value:
    """llama.cpp's own word as a config value; numbers keep the type the schema wants."""
    for ours, theirs in WORDS.get(key, {}).items():
        if theirs == value:
            return int(ours) if ours.lstrip("-").isdigit() else ours
    if not isinstance(value, str):
        return value
    if key == "engine.options.tensor_split":
        return [float(part) for part in value.replace("/", ",").split(",") if part]
    if key == "engine.options.served_model_name" and "," in value:
        return value.split(",")
    if key in NUMBERS:
        with contextlib.suppress(ValueError):
            return NUMBERS[key](value)
    return value


def normal(option: Option, value: Json) -> Json:
    """A value of `engine.extra` in the one form it is compared in: a number where the option takes one."""
    if value is None or isinstance(value, bool | list | tuple | Mapping):
        return value
    try:
        return typed(option, text_of(value))
    except ValueError:
        return value


def per_sequence(total: int, slots: int, *, unified: bool) -> int:
    """The context of one slot when `--ctx-size` is `total`: padded whole, shared, padded again (measured)."""
    padded = -(-total // PAD) * PAD
    return padded if unified else -(-(padded // slots) // PAD) * PAD


def slots_of(said: Mapping[str, Setting], flags: Flags) -> tuple[int | Unknown, bool | Unknown, str]:
    """Slots, whether the cache is unified, and the config key that says how many slots (empty: nobody)."""
    given = _of(said, flags, SLOTS)
    slots = given.value if given else -1
    unified_given = _of(said, flags, "--kv-unified")
    unified: Value = unified_given.value if unified_given else slots == -1
    if isinstance(slots, Unknown):
        return slots, slots, given.key if given else ""
    if slots in (-1, 0):
        slots = AUTO_SLOTS
    if not isinstance(slots, int) or not isinstance(unified, bool):
        return Unknown("the number of slots is no number"), Unknown("no number of slots"), ""
    return slots, unified, given.key if given else ""


def _of(said: Mapping[str, Setting], flags: Flags, flag: str) -> Setting | None:
    option = flags.find(flag)
    return said.get(option.name) if option is not None else None


def _from_variable(name: str, text: str, flags: Flags) -> dict[str, Setting]:
    option = next((o for o in flags.table.options.values() if o.env == name), None)
    negated = False
    if option is None and name.startswith("LLAMA_ARG_NO_"):
        positive = "LLAMA_ARG_" + name.removeprefix("LLAMA_ARG_NO_")
        option = next((o for o in flags.table.options.values() if o.env == positive and o.negation), None)
        negated = True
    if option is None:
        return {}
    key = f"environment.variables.{name}"
    if text.startswith("env:"):
        return {option.name: Setting(Unknown(f"`{name}` is set where the server is deployed"), key)}
    if negated:  # its presence is enough, arg.cpp
        return {option.name: Setting(False, key)}
    try:
        return {option.name: Setting(typed(option, text), key)}
    except ValueError as err:
        return {option.name: Setting(Unknown(f"`{name}`: {err}"), key)}


def _sequences(base: Tree, flags: Flags, said: Mapping[str, Setting]) -> tuple[EffectiveValue, ...]:
    """`max_num_seqs` and `max_model_len`, and whether the cache is unified."""
    declared_slots = look(base, "engine.options.max_num_seqs")
    slots_option = flags.find(SLOTS)
    merged = dict(said)
    if slots_option is not None and declared_slots is not ABSENT:
        merged[slots_option.name] = Setting(declared_slots, "engine.options.max_num_seqs")
    slots, unified, key = slots_of(merged, flags)
    default = from_engine_default(NAME, flags.table.version)
    source: Value = declared_slots if declared_slots is not ABSENT else ABSENT
    number = EffectiveValue(
        "engine.options.max_num_seqs", slots, source, FROM_CONFIG if key else default, note=_by(key, source)
    )
    return number, _length(base, flags, merged, slots, unified)


def _length(
    base: Tree, flags: Flags, said: Mapping[str, Setting], slots: int | Unknown, unified: bool | Unknown
) -> EffectiveValue:
    key = "engine.options.max_model_len"
    declared = look(base, key)
    if isinstance(declared, int):
        rounded = -(-declared // PAD) * PAD
        note = f"rounded up to a multiple of {PAD}" if rounded != declared else ""
        return EffectiveValue(key, rounded, declared, FROM_CONFIG, note=note)
    total = _of(said, flags, CONTEXT)
    if total is None or total.value == 0:
        why = "the context the model was trained for, lowered to what the memory allows"
        return EffectiveValue(key, Unknown(why), provenance=from_unknown(why))
    if isinstance(total.value, int) and isinstance(slots, int) and isinstance(unified, bool):
        value = per_sequence(total.value, slots, unified=unified)
        return EffectiveValue(key, value, provenance=FROM_CONFIG, note=f"from {total.key}")
    reason = next(
        v.reason for v in (total.value, slots, unified, Unknown("no number")) if isinstance(v, Unknown)
    )
    return EffectiveValue(key, Unknown(reason), provenance=from_unknown(reason))


def _cache(base: Tree, flags: Flags, said: Mapping[str, Setting]) -> tuple[EffectiveValue, ...]:
    """The number format of the KV cache: one word, or keys and values apart where they differ."""
    declared = look(base, "precision.kv_cache")
    tree: Tree = declared if isinstance(declared, Mapping) else {}
    halves: list[Value] = []
    sources: list[str] = []
    for flag, half in ((CACHE_KEYS, "key_dtype"), (CACHE_VALUES, "value_dtype")):
        option = flags.find(flag)
        if option is None:
            return ()
        setting = _of(said, flags, flag)
        word = tree.get(half, tree.get("dtype"))
        if word is not None and word != "auto":
            halves.append(word)
            sources.append("precision.kv_cache")
        elif setting is not None:
            halves.append(setting.value)
            sources.append(setting.key)
        else:
            halves.append(option.default)
            sources.append("")
    keys, values = halves
    same = keys == values
    value: Value = keys if same or isinstance(keys, Unknown) else values
    if not same and not isinstance(value, Unknown) and not isinstance(values, Unknown):
        value = {"key": keys, "value": values}  # type: ignore[dict-item]
    provenance = FROM_CONFIG if any(sources) else from_engine_default(NAME, flags.table.version)
    source: Value = tree.get("dtype", ABSENT)
    note = "" if all(s in ("", "precision.kv_cache") for s in sources) else f"from {' and '.join(sources)}"
    return (EffectiveValue("precision.kv_cache.dtype", value, source, provenance, note=note),)


def _bound(
    key: str, option: Option, said: Mapping[str, Setting], flags: Flags, base: Tree
) -> EffectiveValue | None:
    given = said.get(option.name)
    if given is not None:
        value = from_engine(key, given.value)
        if isinstance(value, list) and key == "engine.options.served_model_name":
            value = sorted(str(name) for name in value)
        source: Value = look(base, key)
        if isinstance(value, Unknown):
            return EffectiveValue(key, value, source, from_unknown(value.reason))
        if machine := _by_machine(key, given.value, base):
            return EffectiveValue(key, machine, source, FROM_GPU)
        return EffectiveValue(key, value, source, FROM_CONFIG, note=_by(given.key, source))
    return _unset(key, option, said, flags, base)


def _unset(
    key: str, option: Option, said: Mapping[str, Setting], flags: Flags, base: Tree
) -> EffectiveValue | None:
    default = from_engine_default(NAME, flags.table.version)
    if key in FROM_MODEL:
        return EffectiveValue(key, "model", provenance=FROM_WEIGHTS)
    if key == "engine.options.kv_unified":
        unified = look(base, "engine.options.max_num_seqs") is ABSENT and _of(said, flags, SLOTS) is None
        return EffectiveValue(key, unified, provenance=default)
    if key == "engine.options.threads":
        why = "the number of cores of the host"
        return EffectiveValue(key, Unknown(why), provenance=from_unknown(why))
    if key == "engine.options.threads_batch":
        threads = flags.find("--threads")
        if threads is not None and (value := _bound("engine.options.threads", threads, said, flags, base)):
            return EffectiveValue(key, value.value, provenance=value.provenance, note="same as threads")
    if machine := _by_machine(key, option.default, base):
        return EffectiveValue(key, machine, provenance=FROM_GPU)
    if key == "engine.options.gpu_layers":
        return EffectiveValue(key, 0, provenance=FROM_CONFIG, note="from hardware.device: cpu")
    if isinstance(option.default, Unknown):
        return EffectiveValue(key, option.default, provenance=from_unknown(option.default.reason))
    if option.default is ABSENT or option.help.startswith("DEPRECATED") or key.startswith(_WHEN_ASKED):
        return None
    return EffectiveValue(key, from_engine(key, option.default), provenance=default)


def _by_machine(key: str, value: Value, base: Tree) -> Unknown | None:
    """Why the machine decides this value, or None when it does not."""
    if key == "engine.options.attention" and value == "auto":
        return Unknown("chosen while the model is loaded, by device and model")
    if key == "engine.options.gpu_layers" and value != "all" and not isinstance(value, int):
        if look(base, "hardware.device") == "cpu":
            return None
        return Unknown("as many layers as the GPU's free memory takes")
    return None


def _extras(flags: Flags, said: Mapping[str, Setting]) -> list[EffectiveValue]:
    """The options without a common name: those the config sets, and the defaults of the others."""
    taken = {
        *BOUND.values(),
        *(flag for flag, _ in SAMPLING.values()),
        CONTEXT,
        SLOTS,
        CACHE_KEYS,
        CACHE_VALUES,
    }
    skip = {option.name for flag in (*taken, *MODEL_FLAGS, *OPERATIONAL) if (option := flags.find(flag))}
    found = []
    for option in flags.table.options.values():
        if option.name in skip:
            continue
        flag = long_flag(option)
        key = f"engine.extra.{flag.lstrip('-')}"
        risk = Effect.LATENCY if flag in LATENCY else Effect.OUTPUT
        given = said.get(option.name)
        if given is not None:
            source: Value = given.value if given.key.startswith("engine.extra.") else ABSENT
            found.append(EffectiveValue(key, given.value, source, FROM_CONFIG, risk, _by(given.key, source)))
        elif not flag.startswith(UNLISTED) and not isinstance(option.default, Unknown | Absent):
            default = from_engine_default(NAME, flags.table.version)
            found.append(EffectiveValue(key, option.default, provenance=default, risk=risk))
    return found


def _sampling_default(
    key: str,
    option: Option,
    said: Mapping[str, Setting],
    metadata: Tree | Unknown | Absent,
    table: OptionTable,
) -> EffectiveValue:
    given = said.get(option.name)
    if given is not None:
        if isinstance(given.value, Unknown):
            return EffectiveValue(key, given.value, provenance=from_unknown(given.value.reason))
        return EffectiveValue(key, plain(key, given.value), provenance=FROM_CONFIG, note=f"from {given.key}")
    if key in METADATA:
        carried = _metadata(key, metadata)
        if isinstance(carried, Unknown):
            return EffectiveValue(key, carried, provenance=from_unknown(carried.reason))
        if carried is not ABSENT:
            return EffectiveValue(key, plain(key, carried), provenance=FROM_METADATA)
    default: Value = list(DRY_BREAKERS) if key == "dry.sequence_breakers" else option.default
    if key == "ignore_eos" and default is ABSENT:
        default = False
    note = "a new random seed per request" if key == "seed" else ""
    return EffectiveValue(
        key, plain(key, default), provenance=from_engine_default(NAME, table.version), note=note
    )


def _metadata(key: str, metadata: Tree | Unknown | Absent) -> Value:
    name = METADATA[key]
    if isinstance(metadata, Unknown):
        return metadata
    if metadata is ABSENT or any(not str(name).startswith("general.") for name in metadata):
        return Unknown(
            f"the GGUF may carry `{name}`, and no file of its `general.` metadata is kept with the config"
        )
    return metadata.get(name, ABSENT)


def plain(key: str, value: Value) -> Value:
    """A sampling value in the form the sampling tier has: the sampler order as a list."""
    if key == "samplers" and isinstance(value, str):
        return [part for part in value.split(";") if part]
    return value


def _by(key: str, source: Value) -> str:
    """Where a value of the config stands when it is not under its own key."""
    return f"from {key}" if key and source is ABSENT else ""


def _without_table(base: Tree, table: Unknown) -> dict[str, EffectiveValue]:
    """What can be said without an option table: declared values as they are, the others unknown."""
    found = {}
    for key in (
        *BOUND,
        "engine.options.max_model_len",
        "engine.options.max_num_seqs",
        "precision.kv_cache.dtype",
    ):
        value = look(base, key)
        if value is not ABSENT:
            found[key] = EffectiveValue(key, value, value, FROM_CONFIG)
        elif not key.startswith(("engine.options.speculative.", "model.")):
            found[key] = EffectiveValue(key, table, provenance=from_unknown(table.reason))
    return found
