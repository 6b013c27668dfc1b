"""What vLLM has no key of ours for: its other options and its variables, as shown by a server and as meant.

- `/server_info` shows every option as a field of the resolved configuration, under the option's own name, and
  every variable vLLM reads (`vllm_env`). They become `engine.extra.<option>` and
  `environment.variables.<NAME>`.
- What a config does not say is the default of its version. Where vLLM rewrites that default at start, or sets
  the variable itself, another value is unknown, not a difference: nobody may have asked for it.
- A variable is compared as the text one would write; `true` and `1` are one for a switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from governance.engines import tables, vllm_map
from governance.engines.argparse_launch import NOT_SAID, extra_name
from governance.engines.argparse_line import Spellings
from governance.engines.bound_values import version_of
from governance.engines.keys import look
from governance.engines.model import (
    FROM_CONFIG,
    Observed,
    Option,
    OptionTable,
    from_engine_default,
    from_unknown,
)
from governance.engines.read_back import at
from governance.engines.vllm_launch import WORDS
from governance.engines.vllm_own_map import PER_PROCESS, REWRITTEN, SET_BY_ENGINE, TWICE, UNRELATED
from governance.tiers.rules.variables import classify
from governance.values import ABSENT, Absent, Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue

NAME: Final = "vllm"
EXTRA: Final = "engine.extra."
VARIABLE: Final = "environment.variables."
_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})
_UNDECIDED: Final = (None, "auto", "")
AT_START: Final = "the engine decides it at start"


# as a server shows it


def observable(version: str) -> frozenset[str]:
    """The keys `read_back` can give for a server of `version`."""
    table = tables.table(NAME, version)
    variables = tables.defaults(NAME, version, "environment")
    if isinstance(table, Unknown) or isinstance(variables, Unknown):
        return frozenset()
    options = (EXTRA + extra_name(name) for name in _names(table.version))
    return frozenset((*options, *(VARIABLE + name for name in variables if _counts(name))))


def read_back(answer: object, version: str) -> dict[str, Observed]:
    """What the answer of `/server_info` says of them; `version` is the server's own."""
    config, table = at(answer, "vllm_config"), tables.table(NAME, version)
    if not isinstance(config, Mapping) or isinstance(table, Unknown):
        return {}
    return {
        **dict(_shown_options(config, table)),
        **dict(_shown_variables(at(answer, "vllm_env"))),
    }


def _shown_options(config: Mapping[str, Json], table: OptionTable) -> Iterator[tuple[str, Observed]]:
    """Each option without a key of ours that is a field of `vllm_config`."""
    parts = [name for name, value in config.items() if isinstance(value, Mapping)]
    for name in _names(table.version):
        paths = [name] if "." in name or name in config else [f"{part}.{name}" for part in parts]
        found = [(path, value) for path in paths if (value := at(config, path)) is not ABSENT]
        if len(found) == 1:
            path, value = found[0]
            yield EXTRA + extra_name(name), Observed(_json(value), f"GET /server_info vllm_config.{path}")


def _shown_variables(answer: object) -> Iterator[tuple[str, Observed]]:
    """Each variable of `vllm_env` that may shape an answer, as text."""
    for name, value in answer.items() if isinstance(answer, Mapping) else ():
        if _counts(name) and isinstance(value, bool | int | float | str | list | None):
            yield VARIABLE + name, Observed(text_of(value), f"GET /server_info vllm_env.{name}")


@lru_cache(maxsize=8)
def _names(version: str) -> tuple[str, ...]:
    """The options of `version`, which has a table, that have no key of ours and may shape an answer."""
    bound = {
        *(name for binding in WORDS.bindings for name in binding.names),
        *(name for group in WORDS.groups for name in group.names),
        *(f"{part.name}.{part.part}" for part in WORDS.parts),
        *WORDS.special,
        *WORDS.operational,
        *UNRELATED,
    }
    table = tables.table(NAME, version)
    options = table.options if isinstance(table, OptionTable) else {}
    found = []
    for name, option in options.items():
        holder, _, part = name.partition(".")
        twice = bool(part) and (part in options or name in TWICE)
        whole = option.type == "json" and (
            isinstance(option.default, Unknown) or any(n.startswith(f"{name}.") for n in options)
        )
        if not {name, holder} & bound and not twice and not whole:
            found.append(name)
    return tuple(found)


def _counts(name: str) -> bool:
    own = name in (vllm_map.BATCH_INVARIANT, vllm_map.ATTENTION_VARIABLE)
    return not own and name not in PER_PROCESS and classify(name) in ("output", "latency")


def _json(value: Json | Absent) -> Json:
    return None if isinstance(value, Absent) else value


# as a config means it


def declared(base: Tree, table: OptionTable) -> Iterator[EffectiveValue]:
    """The options and variables `base` sets beside the keys of ours."""
    for name, value in _said(base, table):
        yield EffectiveValue(EXTRA + extra_name(name), value, value, FROM_CONFIG)
    variables = look(base, "environment.variables")
    defaults = tables.defaults(NAME, table.version, "environment")
    for name, value in variables.items() if isinstance(variables, Mapping) else ():
        if name in (vllm_map.BATCH_INVARIANT, vllm_map.ATTENTION_VARIABLE):
            continue
        default = defaults.get(name, ABSENT) if isinstance(defaults, Mapping) else ABSENT
        yield _variable(VARIABLE + name, str(value), default)


def _variable(key: str, text: str, default: Value) -> EffectiveValue:
    if text.startswith("env:"):
        reason = "it is set where the server is deployed"
        return EffectiveValue(key, Unknown(reason), text, from_unknown(reason))
    return EffectiveValue(key, _normal(text, default), text, FROM_CONFIG)


def meant(base: Tree, shown: Mapping[str, Observed]) -> dict[str, EffectiveValue]:
    """What `base` means for each option and variable of the engine's own that a server shows.

    Also for keys of ours whose default the engine rewrites at start: unknown where the server has another.
    """
    table = tables.table(NAME, version_of(base))
    if isinstance(table, Unknown):
        return {}
    found = {value.key: value for value in declared(base, table)}
    for key, observed in shown.items():
        if key in found:
            continue
        if key.startswith(EXTRA):
            found[key] = _option_default(key, observed.value, table)
        elif key.startswith(VARIABLE):
            found[key] = _variable_default(key, observed.value, table)
    found.update(_rewritten(base, shown, table))
    found.update(_completed(base, shown))
    found.update(_implied(base, shown, table))
    return found


def _completed(base: Tree, shown: Mapping[str, Observed]) -> Iterator[tuple[str, EffectiveValue]]:
    """A JSON option with the parts that only the engine filled in: what was said must be there, no more."""
    for group in (vllm_map.SPECULATIVE, vllm_map.KV_TRANSFER):
        said, seen = look(base, group.prefix), shown.get(group.prefix)
        if isinstance(said, Mapping) and seen is not None and isinstance(seen.value, Mapping):
            parts = {k: v for k, v in said.items() if f"{group.prefix}.{k}" not in NOT_SAID}
            yield group.prefix, EffectiveValue(group.prefix, {**seen.value, **parts}, said, FROM_CONFIG)


def _implied(
    base: Tree, shown: Mapping[str, Observed], table: OptionTable
) -> Iterator[tuple[str, EffectiveValue]]:
    """A model is named after itself; adapters that are off have no configuration at all."""
    key, model = "engine.options.served_model_name", look(base, "model.id")
    if look(base, key) is ABSENT and model is not ABSENT:
        default = from_engine_default(NAME, table.version)
        yield key, EffectiveValue(key, model, ABSENT, default, note="the model's own name")
    key = "engine.options.lora.enabled"
    if look(base, key) is False and key in shown and shown[key].value is None:
        yield key, EffectiveValue(key, None, False, FROM_CONFIG)


def _said(base: Tree, table: OptionTable) -> Iterator[tuple[str, Json]]:
    """Each entry of `engine.extra` by the option's name; a JSON option by its parts."""
    extra = look(base, "engine.extra")
    spellings = Spellings(table)
    for written, value in extra.items() if isinstance(extra, Mapping) else ():
        head, dot, part = written.partition(".")
        option = spellings.named(written) or spellings.named(head)
        name = (option.name if option is not None else head.replace("-", "_")) + (
            f".{part}" if dot and (option is None or "." not in option.name) else ""
        )
        if isinstance(value, Mapping) and any(n.startswith(f"{name}.") for n in table.options):
            yield from ((f"{name}.{inner}", item) for inner, item in value.items())
        else:
            yield name, value


def _option_default(key: str, seen: Value, table: OptionTable) -> EffectiveValue:
    name = _option_name(key)
    option = table.options.get(name)
    if option is None:
        return _open(key, f"vllm {table.version} has no such option")
    undecided = option.default is ABSENT or option.default in _UNDECIDED
    return _default(key, option.default, seen, table, rewritten=undecided or name in REWRITTEN)


def _variable_default(key: str, seen: Value, table: OptionTable) -> EffectiveValue:
    name = key.removeprefix(VARIABLE)
    known = tables.defaults(NAME, table.version, "environment")
    if isinstance(known, Unknown) or name not in known:
        # a process shows variables of other libraries too: nobody set them, by this config
        return _open(key, f"vllm {table.version} reads no such variable") if _vllms(name) else _nothing(key)
    default = known[name]
    literal = default if isinstance(default, Unknown | Absent) else text_of(default)
    return _default(key, literal, seen, table, rewritten=name in SET_BY_ENGINE)


def _default(key: str, default: Value, seen: Value, table: OptionTable, *, rewritten: bool) -> EffectiveValue:
    """The default; unknown where it is computed, or where the engine may have made `seen` of it."""
    value: Value = None if isinstance(default, Absent) else default
    if isinstance(value, Unknown) or (value != seen and rewritten):
        return _open(key, AT_START)
    return EffectiveValue(key, value, ABSENT, from_engine_default(NAME, table.version))


def _rewritten(
    base: Tree, shown: Mapping[str, Observed], table: OptionTable
) -> Iterator[tuple[str, EffectiveValue]]:
    for binding in WORDS.bindings:
        option = binding.option(table)
        reason = REWRITTEN.get(option.name) if option is not None else None
        seen = shown.get(binding.key)
        if option is None or reason is None or seen is None or look(base, binding.key) is not ABSENT:
            continue
        default = binding.codec.to_config(_json(_literal(option)))
        if default != seen.value:
            yield binding.key, _open(binding.key, reason)


def _open(key: str, reason: str) -> EffectiveValue:
    return EffectiveValue(key, Unknown(reason), ABSENT, from_unknown(reason))


def _nothing(key: str) -> EffectiveValue:
    return EffectiveValue(key, ABSENT, ABSENT, "not set")


def _literal(option: Option) -> Json | Absent:
    return ABSENT if isinstance(option.default, Unknown) else option.default


def _option_name(key: str) -> str:
    head, dot, part = key.removeprefix(EXTRA).partition(".")
    return head.replace("-", "_") + dot + part


def _vllms(name: str) -> bool:
    return name.startswith("VLLM_")


# text of variables


def text_of(value: Json) -> Json:
    """A value vLLM holds for a variable as the text one would write; nothing stays nothing."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, list):
        return ",".join(str(text_of(item)) for item in value)
    return value


def _normal(text: str, default: Value) -> str:
    """The text of a config in the one form it is compared in, by the type of the variable's default."""
    word = text.strip().lower()
    if isinstance(default, bool):
        return "1" if word in _TRUE else "0" if word in _FALSE else text
    if isinstance(default, int | float):
        try:
            return str(text_of(float(word)))
        except ValueError:
            return text
    return text
