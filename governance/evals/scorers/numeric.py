"""`numeric`: the number an answer gives against the right one, within a tolerance.

- Which number is the answer: the marked one (`#### 42`, `\\boxed{42}`, `answer is 42`, `Answer: 42`), else
  the last; `take` says otherwise. The last mark counts: models correct themselves.
- `units` gives the factor of each unit behind the number: 1.5 km is 1500 where `km` is 1000. With units, a
  number without one of them is taken as it is; one with another unit is wrong only if it differs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.model import (
    Argument,
    Context,
    Example,
    Fault,
    Kind,
    Scorer,
    argument,
    right,
    shown,
    wrong,
)
from governance.evals.scorers.numbers import Number, numbers, tidy

_MARK: Final = re.compile(
    r"####|\\boxed\{|\b(?:final\s+)?(?:answer|result|total)\s*(?:is|are|was|=|:)+[\s*:$\\(]*|<answer>|"
    r"\btherefore[^.\n]{0,60}?(?:is|=)\s",
    re.IGNORECASE,
)
_UNIT: Final = re.compile(r"\s?([^\W\d_]+(?:[/²³^]\w*)?|[%°€$£¥]+\w?)")
_EXACT: Final = 1e-9


def _judge(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    point = str(argument(NUMERIC, item, "decimal"))
    text = tidy(answer)
    found = _taken(text, numbers(text, point=point), str(argument(NUMERIC, item, "take")))
    if isinstance(found, str):
        return wrong(found)
    given = _in_units(text, found, item)
    expected = figure(item.reference, point=point)
    allowed = max(_number(item, "tolerance"), _number(item, "relative") * abs(expected))
    # what two ways of adding the same digits may differ by is no difference
    if abs(given - expected) <= allowed + _EXACT * max(1.0, abs(expected)):
        return right()
    near = f", {allowed:g} allowed" if allowed else ""
    return wrong(f"{given:.12g} instead of {expected:.12g}{near}")


def figure(value: object, *, point: str = ".") -> float:
    """The number that a reference is: a number, or a text that holds one."""
    if isinstance(value, int | float):
        return float(value)
    found = numbers(tidy(str(value)), point=point)
    return found[0].value if found else math.nan


def _taken(text: str, found: list[Number], take: str) -> Number | str:
    """The number that is the answer, or why there is none."""
    if not found:
        return f"no number in {shown(text)!r}" if text.strip() else "the answer is empty"
    if take == "only" and len(found) > 1:
        return f"{len(found)} numbers where one was asked for"
    if take == "first":
        return found[0]
    if take in {"auto", "marked"}:
        for mark in reversed(list(_MARK.finditer(text))):
            behind = next((each for each in found if each.start >= mark.end() - 1), None)
            if behind is not None and "\n\n" not in text[mark.end() : behind.start]:
                return _last_of_chain(text, found, behind) if mark[0].lower().startswith("there") else behind
        if take == "marked":
            return "no number is marked as the answer"
    return found[-1]


def _last_of_chain(text: str, found: list[Number], first: Number) -> Number:
    """`3 + 4 = 7` behind a mark: the number behind the last `=` of the line."""
    line_end = text.find("\n", first.start)
    end = len(text) if line_end < 0 else line_end
    chain = [each for each in found if first.start <= each.start < end]
    return chain[-1] if "=" in text[first.start : end] else first


def _in_units(text: str, number: Number, item: Item) -> float:
    """The value in the unit of the reference."""
    units = argument(NUMERIC, item, "units")
    if not isinstance(units, Mapping):
        return number.value
    behind = _UNIT.match(text, number.end)
    before = text[number.start : number.start + 1]
    for unit in (behind[1] if behind else "", before):
        factor = units.get(unit, units.get(unit.lower()))
        if isinstance(factor, int | float):
            return number.value * factor
    return number.value


def _number(item: Item, name: str) -> float:
    value = argument(NUMERIC, item, name)
    return float(value) if isinstance(value, int | float) else 0.0


def _faults(item: Item) -> Iterator[Fault]:
    for name in ("tolerance", "relative"):
        value = item.args.get(name)
        if isinstance(value, int | float) and value < 0:
            yield Fault(("args", name), f"`{name}` is below zero", "no answer could be right")
    factors = item.args.get("units")
    if isinstance(factors, Mapping) and any(not factor for factor in factors.values()):
        yield Fault(("args", "units"), "a unit with the factor 0", "every number in it would be zero")


NUMERIC: Final = Scorer(
    what="The number of the answer is that of the reference, within a tolerance.",
    judge=_judge,
    reference_kind=Kind.FIGURE,
    arguments={
        "tolerance": Argument(Kind.NUMBER, "greatest difference that is still right", 0),
        "relative": Argument(Kind.NUMBER, "the same as a share of the reference", 0),
        "take": Argument(
            Kind.TEXT,
            "which number of the answer counts; `auto` is the marked one, else the last",
            "auto",
            ("auto", "last", "first", "only", "marked"),
        ),
        "decimal": Argument(Kind.TEXT, "the decimal sign of answer and reference", ".", (".", ",")),
        "units": Argument(Kind.FACTORS, "factor of each unit that may stand behind the number"),
    },
    faults=_faults,
    examples=(
        Example(("12 boxes of 6 make 72.\n#### 72",), passed=True, reference=72),
        Example(("It costs $1,250.50 in total.",), passed=True, reference=1250.5),
        Example(
            ("The distance is 1.5 km.",), passed=True, reference=1500, args={"units": {"km": 1000, "m": 1}}
        ),
        Example(("About 3.1",), passed=True, reference=3.14159, args={"tolerance": 0.05}),
        Example(("The answer is 41.",), passed=False, reference=42),
        Example(("I do not know.",), passed=False, reference=42),
    ),
)
