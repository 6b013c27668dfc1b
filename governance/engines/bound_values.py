"""Engine values by a vocabulary: declared, the engine's default at its version, or derived and so unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from governance.engines.argparse_launch import Vocabulary
from governance.engines.bindings import Binding, Part
from governance.engines.keys import look
from governance.engines.model import (
    FROM_CONFIG,
    FROM_GPU,
    FROM_MODEL,
    Option,
    OptionTable,
    from_engine_default,
    from_unknown,
)
from governance.values import ABSENT, Absent, Json, Tree, Unknown
from governance.verdict import EffectiveValue

Decider: TypeAlias = Literal["gpu", "model", "start"]
# Option name -> who decides it when nobody says, and the reason in one line.
Derived: TypeAlias = Mapping[str, tuple[Decider, str]]
# Options the engine decides at start although its parser names a plain default.
OVERRULED: Final = frozenset({"disable_custom_all_reduce"})
_FROM: Final[dict[str, str]] = {"gpu": FROM_GPU, "model": FROM_MODEL}


def version_of(base: Tree) -> str:
    """`engine.version`, empty when the tree has none."""
    version = look(base, "engine.version")
    return version if isinstance(version, str) else ""


def declared(base: Tree, key: str) -> EffectiveValue:
    """The value the config sets."""
    value = look(base, key)
    return EffectiveValue(key, value, value, FROM_CONFIG)


def values(base: Tree, table: OptionTable, words: Vocabulary, derived: Derived) -> dict[str, EffectiveValue]:
    """Each value of the vocabulary by its key path; one the version has no option for only when declared."""
    found: dict[str, EffectiveValue] = {}
    for binding in words.bindings:
        option = binding.option(table)
        if option is not None:
            found[binding.key] = _value(base, binding, option, table, derived)
        elif look(base, binding.key) is not ABSENT:
            found[binding.key] = declared(base, binding.key)
    for part in words.parts:
        inner = table.options.get(f"{part.name}.{part.part}")
        if inner is not None and part.key not in found:
            found[part.key] = _value(base, part, inner, table, derived)
    found.update(_groups(base, table, words))
    return found


def unknown(base: Tree, words: Vocabulary, reason: Unknown) -> dict[str, EffectiveValue]:
    """Each value of the vocabulary when there is no table of the version: what is declared, else unknown."""
    return {
        b.key: declared(base, b.key)
        if look(base, b.key) is not ABSENT
        else EffectiveValue(b.key, reason, ABSENT, from_unknown(reason.reason))
        for b in words.bindings
    }


def _groups(base: Tree, table: OptionTable, words: Vocabulary) -> Iterator[tuple[str, EffectiveValue]]:
    for group in words.groups:
        if look(base, group.prefix) is not ABSENT:
            yield group.prefix, declared(base, group.prefix)
        elif group.option(table) is not None:
            default = from_engine_default(words.engine, table.version)
            yield group.prefix, EffectiveValue(group.prefix, None, ABSENT, default)


def _value(
    base: Tree, binding: Binding | Part, option: Option, table: OptionTable, derived: Derived
) -> EffectiveValue:
    said = look(base, binding.key)
    decided = derived.get(option.name)
    if said is not ABSENT and not (decided and said == "auto"):
        return EffectiveValue(binding.key, said, said, FROM_CONFIG)
    default = option.default
    if isinstance(default, Unknown):
        return EffectiveValue(binding.key, default, said, from_unknown(default.reason))
    if decided and (_undecided(default) or said == "auto" or option.name in OVERRULED):
        who, reason = decided
        where = _FROM.get(who) or from_unknown(reason)
        return EffectiveValue(binding.key, Unknown(reason), said, where, note=reason)
    value: Json = None if isinstance(default, Absent) else default
    if value is not None:
        value = binding.codec.to_config(value)
    return EffectiveValue(binding.key, value, said, from_engine_default(table.engine, table.version))


def _undecided(default: Json | Absent) -> bool:
    return default is None or default is ABSENT or default in ("auto", "")
