"""Whether arguments and references are what their scorer asks for: faults with the nearest right name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from governance.evals.model import Item
from governance.evals.scorers.model import Argument, Fault, Kind, Need, Scorer
from governance.values import Absent, Json, KeyPath


def argument_faults(name: str, scorer: Scorer, item: Item) -> Iterator[Fault]:
    """What is wrong with the arguments and the reference of `item` for the scorer called `name`."""
    if not scorer.open:
        yield from _unknown(name, scorer, item)
    for key, argument in scorer.arguments.items():
        if key in item.args:
            yield from _value_faults(item.args[key], ("args", key), argument)
        elif argument.required:
            yield Fault(("args",), f"`{name}` needs the argument `{key}`", f"add it: {argument.what}")
    yield from _reference_faults(name, scorer, item)


def _unknown(name: str, scorer: Scorer, item: Item) -> Iterator[Fault]:
    from governance.tiers.hints import nearest

    for key in item.args:
        if key in scorer.arguments:
            continue
        near = nearest(key, scorer.arguments)
        known = ", ".join(scorer.arguments) or "none"
        hint = f"did you mean `{near}`?" if near else f"its arguments: {known}"
        yield Fault(("args", key), f"`{name}` has no argument `{key}`", hint, on_key=True)


def _value_faults(value: Json, key: KeyPath, argument: Argument) -> Iterator[Fault]:
    if not _FITS[argument.kind](value):
        yield Fault(key, f"`{key[-1]}` must be {argument.kind.value}", argument.what)
    elif argument.choices and value not in argument.choices:
        from governance.tiers.hints import nearest

        near = nearest(str(value), argument.choices)
        hint = f"did you mean `{near}`?" if near else f"choose from: {', '.join(argument.choices)}"
        yield Fault(key, f"`{value}` is no value of `{key[-1]}`", hint)


def _reference_faults(name: str, scorer: Scorer, item: Item) -> Iterator[Fault]:
    if isinstance(item.reference, Absent):
        if scorer.reference is Need.REQUIRED:
            yield Fault((), f"`{name}` needs a reference", f"add `reference`: {scorer.reference_kind.value}")
    elif scorer.reference is Need.NONE:
        yield Fault(("reference",), f"`{name}` looks at no reference", "remove it, or choose another scorer")
    elif not _FITS[scorer.reference_kind](item.reference):
        yield Fault(
            ("reference",), f"the reference of `{name}` must be {scorer.reference_kind.value}", "correct it"
        )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_texts(value: Json) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and _each(value, str) and bool(value))


def _each(value: Json, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _is_figure(value: Json) -> bool:
    from governance.evals.scorers.numbers import numbers

    return _is_number(value) or (isinstance(value, str) and len(numbers(value)) == 1)


def _are_entities(value: Json) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    if not isinstance(value, list):
        return False
    return all(isinstance(one, str) or (bool(one) and _each(one, str)) for one in value)


def _are_choices(value: Json) -> bool:
    if isinstance(value, Mapping):
        return len(value) > 1 and all(isinstance(one, str) for one in value.values())
    return _each(value, str) and isinstance(value, list) and len(value) > 1


_FITS: Final[Mapping[Kind, Callable[[Json], bool]]] = {
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.TEXTS: _are_texts,
    Kind.NUMBER: _is_number,
    Kind.COUNT: lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    Kind.FLAG: lambda value: isinstance(value, bool),
    Kind.SHARE: lambda value: _is_number(value) and 0 <= value <= 1,  # type: ignore[operator]
    Kind.MAPPING: lambda value: isinstance(value, Mapping),
    Kind.FACTORS: lambda value: isinstance(value, Mapping) and all(_is_number(v) for v in value.values()),
    Kind.CHOICES: _are_choices,
    Kind.ENTITIES: _are_entities,
    Kind.FIGURE: _is_figure,
    Kind.SCORERS: lambda value: _each(value, dict) and bool(value),
    Kind.ANY: lambda _: True,
}
