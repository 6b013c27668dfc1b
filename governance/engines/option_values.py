"""Engine values of the engines whose words are in a `Vocabulary`: declared, from a variable, or default.

- What the config sets wins over a variable, a variable over the version's default.
- A default the engine computes is unknown with that reason, unless the caller says what decides it.
- Options without a common name are `engine.extra.<name>`: those the config sets, and literal defaults of
  those that shape answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from governance.engines import tables
from governance.engines.argparse_launch import Vocabulary
from governance.engines.argparse_line import Spellings, typed
from governance.engines.keys import look
from governance.engines.model import FROM_CONFIG, Option, OptionTable, from_engine_default, from_unknown
from governance.values import ABSENT, Absent, Json, Tree, Unknown, Value
from governance.verdict import EffectiveValue

_MODEL: Final = "model."


def engine_values(
    base: Tree, table: OptionTable | Unknown, words: Vocabulary, open_reasons: Mapping[str, str]
) -> dict[str, EffectiveValue]:
    """Each engine value by key. `open_reasons` says of keys without a literal default what decides them."""
    if isinstance(table, Unknown):
        return _without_table(base, table, words)
    found: dict[str, EffectiveValue] = {}
    taken: set[str] = set()
    variables = _variables(base, table)
    for binding in words.bindings:
        option = binding.option(table)
        if option is None:
            continue
        taken.add(option.name)
        if not binding.key.startswith(_MODEL):
            value = _bound(binding.key, option, base, variables, words.engine, table.version, open_reasons)
            if value is not None:
                decoded = value.value
                if value.source is ABSENT and not isinstance(decoded, Unknown | Absent):
                    decoded = binding.codec.to_config(decoded)
                found[binding.key] = EffectiveValue(
                    binding.key, decoded, value.source, value.provenance, value.risk, value.note
                )
    taken |= words.special | words.operational
    found |= _extras(base, table, words.engine, taken, variables)
    return found


def _bound(
    key: str,
    option: Option,
    base: Tree,
    variables: Mapping[str, Value],
    engine: str,
    version: str,
    open_reasons: Mapping[str, str],
) -> EffectiveValue | None:
    declared = look(base, key)
    if declared is not ABSENT and declared != "auto":
        return EffectiveValue(key, declared, declared, FROM_CONFIG)
    if option.name in variables:
        return _from_variable(key, option, variables[option.name])
    default = option.default
    if default is None or default is ABSENT or isinstance(default, Unknown) or declared == "auto":
        reason = open_reasons.get(key)
        if reason is not None:
            return EffectiveValue(key, Unknown(reason), declared, from_unknown(reason))
        if isinstance(default, Unknown):
            return EffectiveValue(key, default, declared, from_unknown(default.reason))
        if default is None or (declared is ABSENT and default is ABSENT):
            return None
    return EffectiveValue(key, default, declared, from_engine_default(engine, version))


def _from_variable(key: str, option: Option, value: Value) -> EffectiveValue:
    if isinstance(value, Unknown):
        return EffectiveValue(key, value, provenance=from_unknown(value.reason))
    return EffectiveValue(key, value, provenance=FROM_CONFIG, note=f"from environment.variables.{option.env}")


def _variables(base: Tree, table: OptionTable) -> dict[str, Value]:
    """What the config's environment variables say, by option name."""
    tree = look(base, "environment.variables")
    found: dict[str, Value] = {}
    by_name = {option.env: option for option in table.options.values() if option.env}
    for name, text in tree.items() if isinstance(tree, Mapping) else ():
        option = by_name.get(name)
        if option is not None:
            found[option.name] = variable_value(option, name, str(text))
    return found


def variable_value(option: Option, name: str, text: str) -> Value:
    """`text` of the variable `name` as a value of `option`; unknown when it is a reference or no value."""
    if text.startswith("env:"):
        return Unknown(f"`{name}` is set where the server is deployed")
    if option.type == "bool":
        return text.lower() not in ("", "0", "false", "no", "off", "n", "f")
    try:
        return typed(option, text)
    except ValueError as err:
        return Unknown(f"`{name}`: {err}")


@lru_cache(maxsize=8)
def every_option(engine: str) -> OptionTable:
    """The options of all versions that were read, the newest meaning of each: for launches of any version.

    Raises `LookupError` when no table is shipped.
    """
    found: dict[str, Option] = {}
    newest: OptionTable | None = None
    for version in tables.versions(engine):
        at = tables.table(engine, version)
        if isinstance(at, OptionTable):
            found |= at.options
            newest = at
    if newest is None:
        raise LookupError(f"the option tables of {engine} are not shipped")
    return OptionTable(engine, newest.version, found, newest.source)


def _extras(
    base: Tree, table: OptionTable, engine: str, taken: set[str], variables: Mapping[str, Value]
) -> dict[str, EffectiveValue]:
    given: dict[str, Json] = {}
    tree = look(base, "engine.extra")
    spellings = Spellings(table)
    for name, value in tree.items() if isinstance(tree, Mapping) else ():
        option = spellings.named(name)
        if option is not None:
            given[option.name] = value
    found: dict[str, EffectiveValue] = {}
    for name, option in table.options.items():
        key = f"engine.extra.{name.replace('_', '-')}"
        if name in taken:
            continue
        if name in given:
            found[key] = EffectiveValue(key, given[name], given[name], FROM_CONFIG)
        elif name in variables:
            found[key] = _from_variable(key, option, variables[name])
        elif option.default is not None and not isinstance(option.default, Unknown | Absent):
            found[key] = EffectiveValue(
                key, option.default, provenance=from_engine_default(engine, table.version)
            )
    return found


def _without_table(base: Tree, table: Unknown, words: Vocabulary) -> dict[str, EffectiveValue]:
    found: dict[str, EffectiveValue] = {}
    for binding in words.bindings:
        value = look(base, binding.key)
        if binding.key.startswith(_MODEL):
            continue
        if value is ABSENT:
            found[binding.key] = EffectiveValue(binding.key, table, provenance=from_unknown(table.reason))
        else:
            found[binding.key] = EffectiveValue(binding.key, value, value, FROM_CONFIG)
    return found
