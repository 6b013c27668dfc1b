"""What a llama-server of a base config will use: engine values and sampling defaults, with provenance.

- What the config says (`llama_cpp_settings`) wins over the GGUF's metadata, that over the build's default.
- What the machine decides (cores, GPU, memory) is unknown with that reason.
- What the weights decide (how positions are stretched) is pinned with them: the value is `model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from governance.engines.flags import Flags, long_flag
from governance.engines.keys import look
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
    OPERATIONAL,
    REQUEST_ONLY,
    SAMPLING,
    SLOTS,
    UNLISTED,
)
from governance.engines.llama_cpp_settings import (
    DIALECT,
    NAME,
    PAD,
    Setting,
    from_engine,
    per_sequence,
    plain,
    setting_of,
    settings,
    slots_of,
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
from governance.values import ABSENT, Absent, Effect, Tree, Unknown, Value
from governance.verdict import EffectiveValue

FROM_METADATA: Final = "metadata of the GGUF"
FROM_WEIGHTS: Final = "metadata of the weights"
# Nothing to say about a draft model or an image projector that nobody asked for.
_WHEN_ASKED: Final = ("engine.options.speculative.", "model.projector.")
DRY_BREAKERS: Final = ("\n", ":", '"', "*")  # common_params_sampling::dry_sequence_breakers


def version_of(base: Tree) -> str:
    """`engine.version` as text, empty when it is not there."""
    return str(look(base, "engine.version") or "")


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
    total = setting_of(said, flags, CONTEXT)
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
        setting = setting_of(said, flags, flag)
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
        unified = (
            look(base, "engine.options.max_num_seqs") is ABSENT and setting_of(said, flags, SLOTS) is None
        )
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
