"""`entities`: the set of things an answer names against the set it should name, in any order.

- A reference list is compared with the entries of the answer: a JSON list, else lines or bullets, else what
  commas, semicolons and `and` separate. An entry of the reference may list several spellings.
- A reference mapping is compared with a JSON object, pair by pair: fields of an extraction.
- Precision, recall and their harmonic mean are over distinct entries in compared form. `mentions` looks for
  the entries in running text, where only recall can be told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.json_answers import value_in
from governance.evals.scorers.model import (
    Argument,
    Context,
    Example,
    Fault,
    Kind,
    Scorer,
    argument,
    shown,
    verdict,
    wrong,
)
from governance.evals.scorers.words import plain
from governance.values import ABSENT, Absent, Json

_BULLET: Final = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)])\s+")
_BETWEEN: Final = re.compile(r"\s*[,;]\s*(?:and\s+|und\s+|et\s+|y\s+|or\s+)?|\s+(?:and|und|et|y)\s+")
_NONE: Final = frozenset({"", "none", "no entities", "nothing", "n/a", "na", "null"})


def _judge(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    wanted = _wanted(item.reference)
    if argument(ENTITIES, item, "read") == "mentions":
        given = _mentioned(wanted, answer)
        return _scored(item, wanted, given, precision=False)
    named = _named(answer, pairs=isinstance(item.reference, Mapping))
    if isinstance(named, str):
        return wrong(named)
    return _scored(item, wanted, named, precision=True)


def _scored(item: Item, wanted: list[tuple[str, ...]], given: dict[str, str], *, precision: bool) -> Score:
    hit = [spellings for spellings in wanted if any(form in given for form in spellings)]
    used = {form for spellings in hit for form in spellings}
    extra = [text for form, text in given.items() if form not in used]
    recall = len(hit) / len(wanted) if wanted else 1.0
    exact = len(given) - len(extra)
    precise = exact / len(given) if given else 1.0
    if not precision:
        precise = 1.0
    f1 = 0.0 if not precise + recall else 2 * precise * recall / (precise + recall)
    value = f1 if precision else recall
    bars = {"min_f1": f1, "min_recall": recall, "min_precision": precise}
    below = [name for name, reached in bars.items() if reached < _bar(item, name)]
    missing = [spellings[0] for spellings in wanted if spellings not in hit]
    told = [f"missing {', '.join(map(shown, missing))}"] if missing else []
    told += [f"not asked for: {', '.join(map(shown, extra))}"] if extra and precision else []
    return verdict(not below, value, "; ".join(told))


def _bar(item: Item, name: str) -> float:
    value = item.args.get(name)
    if isinstance(value, int | float):
        return float(value)
    # one bar that is given stands alone; with none given the sets must be equal
    return 1.0 if name == "min_f1" and not {"min_recall", "min_precision"} & set(item.args) else 0.0


def _wanted(reference: Json | Absent) -> list[tuple[str, ...]]:
    """The entries that should be named, each as its spellings in compared form."""
    if isinstance(reference, Mapping):
        return [(pair,) for pair in _pairs(reference)]
    found: list[tuple[str, ...]] = []
    for entry in reference if isinstance(reference, list) else ():
        forms = (entry,) if isinstance(entry, str) else entry
        spellings = tuple(plain(str(form)) for form in forms)
        found += [spellings] if spellings not in found else []
    return found


def _named(answer: str, *, pairs: bool) -> dict[str, str] | str:
    """What the answer names, by its compared form; or why nothing can be read from it."""
    value = value_in(answer, where="first")
    if pairs:
        if not isinstance(value, Mapping):
            return f"no JSON object in {shown(answer)!r}"
        return _pairs(value)
    if isinstance(value, list):
        entries = [_text(each) for each in value]
    else:
        entries = _entries(answer)
    named = {plain(entry): entry for entry in entries}
    return {form: entry for form, entry in named.items() if form not in _NONE}


def _entries(answer: str) -> list[str]:
    lines = [" ".join(line.split()) for line in answer.splitlines() if line.strip()]
    bullets = [_BULLET.sub("", line) for line in lines if _BULLET.match(line)]
    if bullets:
        return bullets
    if len(lines) > 1:
        lines = lines[1:] if lines[0].rstrip().endswith(":") else lines
        return [entry for line in lines for entry in _BETWEEN.split(line)]
    text = re.sub(r"^[^:,]{0,60}:\s+", "", " ".join(lines))
    return _BETWEEN.split(text.rstrip("."))


def _mentioned(wanted: list[tuple[str, ...]], answer: str) -> dict[str, str]:
    there = f" {plain(answer)} "
    return {form: form for spellings in wanted for form in spellings if f" {form} " in there}


def _pairs(value: Mapping[str, Json], above: str = "") -> dict[str, str]:
    """Each leaf of a mapping as one entry: its key path and its value in compared form."""
    found: dict[str, str] = {}
    for key, inner in value.items():
        name = f"{above}{key}"
        if isinstance(inner, Mapping):
            found |= _pairs(inner, f"{name}.")
        else:
            for each in inner if isinstance(inner, list) else [inner]:
                found[f"{name}={plain(_text(each))}"] = f"{name}: {_text(each)}"
    return found


def _text(value: Json) -> str:
    import json

    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _faults(item: Item) -> Iterator[Fault]:
    if isinstance(item.reference, Mapping) and item.args.get("read") == "mentions":
        message = "fields with values cannot be looked for in running text"
        yield Fault(("args", "read"), message, "give a list, or leave `read` out")
    if item.args.get("read") == "mentions" and item.reference in (ABSENT, []):
        yield Fault(("reference",), "there is nothing to look for", "name an entry")
    empty = [
        entry for entry in (item.reference if isinstance(item.reference, list) else ())
        if any(not plain(form) for form in ([entry] if isinstance(entry, str) else entry))
    ]  # fmt: skip
    if empty:
        yield Fault(("reference",), "an entry has no letter and no digit", "correct it")


ENTITIES: Final = Scorer(
    what="The set of things, or of fields with values, that the answer names is that of the reference.",
    judge=_judge,
    reference_kind=Kind.ENTITIES,
    arguments={
        "read": Argument(
            Kind.TEXT,
            "`list` reads entries, `mentions` looks for the reference's entries in running text",
            "list",
            ("list", "mentions"),
        ),
        "min_f1": Argument(
            Kind.SHARE, "harmonic mean of precision and recall that passes; 1 where no bar is set"
        ),
        "min_recall": Argument(Kind.SHARE, "share of the reference that must be named"),
        "min_precision": Argument(Kind.SHARE, "share of what is named that must be in the reference"),
    },
    faults=_faults,
    examples=(
        Example(("- Oslo\n- Bergen",), passed=True, reference=["Bergen", "Oslo"]),
        Example(('["NYC", "Boston"]',), passed=True, reference=[["New York", "NYC"], "Boston"]),
        Example(('{"name": "Ada", "born": 1815}',), passed=True, reference={"name": "Ada", "born": 1815}),
        Example(("Oslo, Bergen and Rome",), passed=False, reference=["Oslo", "Bergen"]),
        Example(("He met Ada in Oslo.",), passed=True, reference=["Oslo", "Ada"], args={"read": "mentions"}),
        Example(("Oslo",), passed=False, reference=["Oslo", "Bergen"], args={"min_recall": 0.8}),
    ),
)
