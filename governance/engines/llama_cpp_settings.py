"""What a base config says in llama-server's own options, whichever way it says it.

- A flag of the config wins over `engine.extra`, that over a variable: the order llama-server itself applies.
- A variable that is set where the server is deployed is unknown here.
- Two values the config writes for one sequence are total values for llama-server: `--ctx-size` is shared by
  all slots unless the cache is unified, so each slot has `ctx-size / parallel`, rounded up to 256.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from governance.engines.flags import Dialect, Flags, text_of, typed
from governance.engines.keys import finite, leaves, look
from governance.engines.llama_cpp_map import (
    BOUND,
    NUMBERS,
    SAMPLING,
    SLOTS,
    WORDS,
)
from governance.engines.model import (
    Option,
)
from governance.values import ABSENT, Json, Tree, Unknown, Value

NAME: Final = "llama.cpp"
DIALECT: Final = Dialect(
    equals=False,
    repeated=frozenset(
        {"logit_bias", "dry_sequence_breaker", "override_tensor", "override_kv", "reverse_prompt"}
    ),
)
PAD: Final = 256  # GGML_PAD of the context per sequence, llama-context.cpp
AUTO_SLOTS: Final = 4  # what `--parallel -1` becomes, server.cpp


@dataclass(frozen=True, slots=True)
class Setting:
    """A value the config gives to one option, and the key it stands under."""

    value: Value
    key: str


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
    if key == "engine.options.served_model_name" and "," in value:
        return value.split(",")
    with contextlib.suppress(ValueError):
        number: Json = value
        if key == "engine.options.tensor_split":
            number = [float(part) for part in value.replace("/", ",").split(",") if part]
        elif key in NUMBERS:
            number = NUMBERS[key](value)
        return number if finite(number) else value
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
    given = setting_of(said, flags, SLOTS)
    slots = given.value if given else -1
    unified_given = setting_of(said, flags, "--kv-unified")
    unified: Value = unified_given.value if unified_given else slots == -1
    if isinstance(slots, Unknown):
        return slots, slots, given.key if given else ""
    if slots in (-1, 0):
        slots = AUTO_SLOTS
    if not isinstance(slots, int) or not isinstance(unified, bool):
        return Unknown("the number of slots is no number"), Unknown("no number of slots"), ""
    return slots, unified, given.key if given else ""


def setting_of(said: Mapping[str, Setting], flags: Flags, flag: str) -> Setting | None:
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


def plain(key: str, value: Value) -> Value:
    """A sampling value in the form the sampling tier has: the sampler order as a list."""
    if key == "samplers" and isinstance(value, str):
        return [part for part in value.split(";") if part]
    return value
