"""`repeats`: whether one question, asked several times, gets one answer.

- `identical` is the share of answers equal to the most frequent one; `similarity` the mean over all pairs of
  the words two answers have in common in the same order (Ratcliff and Obershelp, over words).
- The value is the similarity where it is asked for, else the identical share. What is asked for must be met.
- One answer says nothing about repeats: no score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import combinations
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
    unscored,
    verdict,
)

_MAX_WORDS: Final = 2000


def _together(item: Item, answers: Sequence[str], context: Context) -> Score:  # noqa: ARG001
    if len(answers) < 2:
        return unscored("one answer says nothing about repeats")
    identical, alike = identical_share(answers), None
    bar = argument(REPEATS, item, "similarity")
    told = []
    if isinstance(bar, int | float):
        alike = similarity(answers)
        if alike < bar:
            told.append(f"similarity {alike:.3f} of {len(answers)} answers, at least {bar:g}")
    wanted = item.args.get("identical", 0.0 if alike is not None else 1.0)
    if isinstance(wanted, int | float) and identical < wanted:
        distinct = len(set(answers))
        told.append(f"{distinct} different answers of {len(answers)}, {_first_difference(answers)}")
    return verdict(not told, identical if alike is None else alike, "; ".join(told))


def identical_share(answers: Sequence[str]) -> float:
    """The share of answers that are the most frequent one, letter for letter."""
    return Counter(answers).most_common(1)[0][1] / len(answers)


def similarity(answers: Sequence[str]) -> float:
    """The mean similarity of all pairs of answers over their words, 0 to 1. At least two answers."""
    split = [answer.split()[:_MAX_WORDS] for answer in answers]
    pairs = [_alike(left, right) for left, right in combinations(split, 2)]
    return sum(pairs) / len(pairs)


def _alike(left: list[str], right: list[str]) -> float:
    return 1.0 if left == right else SequenceMatcher(None, left, right, autojunk=False).ratio()


def _first_difference(answers: Sequence[str]) -> str:
    """Where the first answer that differs leaves the most frequent one."""
    usual = Counter(answers).most_common(1)[0][0]
    other = next(answer for answer in answers if answer != usual)
    at = next(
        (n for n, pair in enumerate(zip(usual.split(), other.split(), strict=False)) if pair[0] != pair[1]),
        min(len(usual.split()), len(other.split())),
    )
    return f"the first difference at word {at + 1}"


def _faults(item: Item) -> Iterator[Fault]:
    if item.repeats < 2:
        yield Fault(("repeats",), "one answer says nothing about repeats", "add `repeats`: 2 or more")


REPEATS: Final = Scorer(
    what="The answers to one question, asked several times, are the same, or alike.",
    together=_together,
    reference=Need.NONE,
    arguments={
        "identical": Argument(
            Kind.SHARE, "share of equal answers that is enough; 1 where no `similarity` is asked for"
        ),
        "similarity": Argument(Kind.SHARE, "mean similarity of all pairs that is enough"),
    },
    faults=_faults,
    examples=(
        Example(("four", "four", "four"), passed=True),
        Example(("It is four", "It is four."), passed=True, args={"similarity": 0.6}),
        Example(("four", "five"), passed=False),
    ),
)
