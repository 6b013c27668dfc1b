"""Which scorers there are, and the one door to a score.

- `SCORERS` is the whole list; beside it `python:module:function` names a function of the user's own.
- An item asked several times passes when each of its answers passes, and has the mean value. One answer that
  could not be judged leaves the item without a score, unless another is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from governance.evals.model import NOT_SCORED, Item, Score
from governance.evals.scorers.all_of import ALL_OF
from governance.evals.scorers.choice import CHOICE
from governance.evals.scorers.code import CODE
from governance.evals.scorers.contract import CONTRACT
from governance.evals.scorers.entities import ENTITIES
from governance.evals.scorers.entry_point import ENTRY_POINT, PREFIX
from governance.evals.scorers.exact import EXACT, NORMALISED
from governance.evals.scorers.kinds import argument_faults
from governance.evals.scorers.limits import LIMITS
from governance.evals.scorers.model import Context, Fault, Scorer, right, unscored, wrong
from governance.evals.scorers.numeric import NUMERIC
from governance.evals.scorers.patterns import CONTAINS, REGEX
from governance.evals.scorers.repeats import REPEATS
from governance.evals.scorers.schema import JSON_SCHEMA

SCORERS: Final[Mapping[str, Scorer]] = {
    "exact": EXACT,
    "normalised": NORMALISED,
    "numeric": NUMERIC,
    "choice": CHOICE,
    "contains": CONTAINS,
    "regex": REGEX,
    "entities": ENTITIES,
    "json-schema": JSON_SCHEMA,
    "limits": LIMITS,
    "contract": CONTRACT,
    "code": CODE,
    "repeats": REPEATS,
    "all-of": ALL_OF,
}


def find(name: str) -> Scorer | None:
    """The scorer of that name; None when there is none."""
    return ENTRY_POINT if name.startswith(PREFIX) else SCORERS.get(name)


def item_faults(item: Item) -> Iterator[Fault]:
    """What is wrong with the scorer of `item`, its arguments and its reference."""
    scorer = find(item.scorer)
    if scorer is None:
        from governance.tiers.hints import nearest

        near = nearest(item.scorer, SCORERS)
        hint = (
            f"did you mean `{near}`?"
            if near
            else f"choose from: {', '.join(SCORERS)}, {PREFIX}module:function"
        )
        yield Fault(("scorer",), f"there is no scorer `{item.scorer}`", hint)
        return
    faults = list(argument_faults(item.scorer, scorer, item))
    yield from faults
    if not faults:
        yield from scorer.faults(item)


def score_item(item: Item, answers: Sequence[str], context: Context = Context()) -> Score:  # noqa: B008  frozen
    """The score of `item` for the texts of all its answers, in the order they were asked for.

    Takes as long as its scorer: code runs for seconds, so score outside of an event loop. Raises nothing that
    an answer could cause.
    """
    scorer = find(item.scorer)
    if scorer is None:
        return unscored(f"there is no scorer `{item.scorer}`")
    if not answers:
        return NOT_SCORED
    if scorer.together is not None:
        return scorer.together(item, answers, context)
    assert scorer.judge is not None
    scores = [scorer.judge(item, answer, context) for answer in answers]
    return scores[0] if len(scores) == 1 else _over_repeats(scores)


def _over_repeats(scores: Sequence[Score]) -> Score:
    values = [score.value for score in scores if score.value is not None]
    failed = [(number, score) for number, score in enumerate(scores, 1) if score.passed is False]
    if failed:
        number, first = failed[0]
        told = f"{len(failed)} of {len(scores)} answers wrong, the first is number {number}: {first.reason}"
        return wrong(told, value=sum(values) / len(values))
    missing = next((score for score in scores if score.passed is None), None)
    if missing is not None:
        return missing
    return right(value=sum(values) / len(values))
