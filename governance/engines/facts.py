"""What the rules may ask the engines: the option tables and the sampling defaults, behind one object.

`tiers` may not import engines, so whoever calls `check` hands a `Facts` in (`rules/model.py: EngineFacts`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from governance.engines import registry, tables
from governance.engines.argparse_launch import takes
from governance.engines.argparse_line import Spellings
from governance.engines.keys import look
from governance.engines.model import Option, OptionTable
from governance.records import dataclass
from governance.values import Absent, Json, Tree, Unknown
from governance.verdict import EffectiveValue


@dataclass(frozen=True, slots=True)
class Problem:
    """One entry of `engine.extra` the engine does not take: its name, what is wrong, the nearest name."""

    name: str
    message: str
    nearest: str = ""


class Facts:
    """Satisfies `EngineFacts`."""

    def table(self, engine: str, version: str) -> OptionTable | Unknown:
        """The options of `engine` at `version` or at the nearest lower known version, else unknown."""
        if engine not in registry.ENGINES:
            return Unknown(f"`{engine}` is not an engine tierlock knows")
        return registry.load(engine).table(version)

    def sampling_defaults(
        self, base: Tree, generation_config: Tree | Unknown | Absent
    ) -> Mapping[str, EffectiveValue] | Unknown:
        """What the engine of `base` uses for each decoding parameter it knows, by sampling key."""
        engine = look(base, "engine.name")
        if not isinstance(engine, str) or engine not in registry.ENGINES:
            return Unknown("the base config names no engine tierlock knows")
        return registry.load(engine).sampling_defaults(base, generation_config)


def check_extra(base: Tree) -> Iterator[Problem]:
    """What is wrong with `engine.extra`: options this version has not, values of a wrong type or choice.

    Nothing when there is no option table to check against.
    """
    engine, version = look(base, "engine.name"), look(base, "engine.version")
    extra = look(base, "engine.extra")
    table = tables.table(str(engine), str(version))
    if isinstance(table, Unknown) or not isinstance(extra, Mapping):
        return
    spellings = Spellings(table)
    for name, value in extra.items():
        option = _named(name, spellings)
        if option is None:
            yield Problem(name, f"`{name}` is no option of {engine} {table.version}", _nearest(name, table))
        elif fault := fault_of(option, value):
            yield Problem(name, f"`{name}` {fault}")


def _named(name: str, spellings: Spellings) -> Option | None:
    """The option, or for `speculative-config.draft_x` the part; a part no table lists is taken on trust."""
    option = spellings.named(name)
    head, dot, part = name.partition(".")
    if option is not None or not dot:
        return option
    holder = spellings.named(head)
    if holder is None or holder.type != "json":
        return None
    listed = [n for n in spellings.table.options if n.startswith(f"{holder.name}.")]
    inner = spellings.table.options.get(f"{holder.name}.{part.partition('.')[0]}")
    return inner if listed else Option(name, (), type="json")


def fault_of(option: Option, value: Json) -> str:
    """Why `value` is no value of `option`, as the end of a sentence; empty when it is one."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    number = whole or isinstance(value, float)
    kind = option.type
    words = isinstance(value, str) and value == "auto"
    if value is None or kind == "json":
        return ""
    if kind == "bool" and not isinstance(value, bool):
        return "is a switch: write true or false"
    if kind == "int" and not whole and not words:
        return "takes an integer"
    if kind in ("float", "number") and not number and not words:
        return "takes a number"
    if kind == "str" and isinstance(value, dict | list):
        return "takes one text"
    return _choice_fault(option, value)


def _choice_fault(option: Option, value: Json) -> str:
    if option.choices is None or isinstance(value, bool | dict):
        return ""
    given = value if isinstance(value, list) else [value]
    wrong = [v for v in given if isinstance(v, str | int | float) and not takes(option, v)]
    if not wrong:
        return ""
    shown = ", ".join(option.choices[:12]) + (", …" if len(option.choices) > 12 else "")
    return f"cannot be `{wrong[0]}`; it is one of {shown}"


def _nearest(name: str, table: OptionTable) -> str:
    from difflib import get_close_matches

    plain = name.lstrip("-").replace("-", "_")
    close = get_close_matches(plain, table.options, n=1, cutoff=0.75)
    return close[0].replace("_", "-") if close else ""
