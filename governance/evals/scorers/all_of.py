"""`all-of`: several scorers on one answer, each of which must pass.

- The value is the mean of theirs. One that could not judge leaves the whole without a score, unless another
  has failed: what is known to be wrong stays wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.model import (
    Argument,
    Context,
    Example,
    Fault,
    Kind,
    Need,
    Scorer,
    argument,
    right,
    unscored,
    wrong,
)
from governance.records import replace
from governance.values import ABSENT, Json

_KEYS: Final = ("scorer", "args", "reference")


def _together(item: Item, answers: Sequence[str], context: Context) -> Score:
    from governance.evals.scorers.registry import score_item

    parts = [(part.scorer, score_item(part, answers, context)) for part in parts_of(item)]
    failed = [f"{name}: {score.reason}" for name, score in parts if score.passed is False]
    open_ = [f"{name}: {score.reason}" for name, score in parts if score.passed is None]
    values = [score.value for _, score in parts if score.value is not None]
    if failed:
        return wrong("; ".join(failed), value=sum(values) / len(parts))
    if open_ or not values:
        return unscored("; ".join(open_) or "no scorer is named")
    return right(value=sum(values) / len(values))


def parts_of(item: Item) -> list[Item]:
    """The item once for each of its scorers."""
    listed = argument(ALL_OF, item, "scorers")
    found = []
    for part in listed if isinstance(listed, list) else ():
        args = part.get("args", {})
        found.append(
            replace(
                item,
                scorer=str(part.get("scorer", "")),
                args=args if isinstance(args, Mapping) else {},
                reference=part.get("reference", ABSENT),
            )
        )
    return found


def _faults(item: Item) -> Iterator[Fault]:
    from governance.evals.scorers.registry import item_faults
    from governance.tiers.hints import nearest

    listed = item.args.get("scorers")
    if not isinstance(listed, list) or not all(isinstance(part, dict) for part in listed):
        return
    for index, (part, inner) in enumerate(zip(listed, parts_of(item), strict=True)):
        at = ("args", "scorers", index)
        for key in part:
            if key not in _KEYS:
                near = nearest(str(key), _KEYS)
                hint = f"did you mean `{near}`?" if near else f"the keys here are: {', '.join(_KEYS)}"
                yield Fault((*at, key), f"`{key}` is no key of a part of `all-of`", hint, on_key=True)
        yield from _shape_faults(part, at)
        if inner.scorer == "all-of":
            yield Fault((*at, "scorer"), "`all-of` inside `all-of`", "name the scorers in one list")
            continue
        for fault in item_faults(inner):
            # a repeated question is a matter of the item, not of the part
            key = fault.key if fault.key[:1] == ("repeats",) else (*at, *fault.key)
            yield replace(fault, key=key)


def _shape_faults(part: Mapping[str, Json], at: tuple[str | int, ...]) -> Iterator[Fault]:
    if not isinstance(part.get("args", {}), Mapping):
        yield Fault((*at, "args"), "`args` must be a mapping", "write {} around its arguments")


ALL_OF: Final = Scorer(
    what="Each of several scorers passes the answer.",
    together=_together,
    reference=Need.NONE,
    arguments={
        "scorers": Argument(
            Kind.SCORERS, "the scorers, each with its own `args` and `reference`", required=True
        ),
    },
    faults=_faults,
    examples=(
        Example(
            ("Oslo, in Norway.",),
            passed=True,
            args={
                "scorers": [
                    {"scorer": "contains", "args": {"all": ["Oslo"]}},
                    {"scorer": "limits", "args": {"max_sentences": 1}},
                ]
            },
        ),
        Example(
            ("Oslo. It lies in Norway.",),
            passed=False,
            args={
                "scorers": [
                    {"scorer": "contains", "args": {"all": ["Oslo"]}},
                    {"scorer": "limits", "args": {"max_sentences": 1}},
                ]
            },
        ),
    ),
)
