"""`exact` and `normalised`: the answer against texts that are right, as it is or in the compared form.

- `exact` forgives white space at the ends and nothing else.
- `normalised` compares what `words.plain` leaves: case, punctuation, articles and blanks do not count. Below
  equality the score is the share of words in common (token F1 of SQuAD, Rajpurkar et al. 2016).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.model import (
    Argument,
    Context,
    Example,
    Kind,
    Scorer,
    argument,
    right,
    shown,
    texts,
    verdict,
    wrong,
)
from governance.evals.scorers.words import plain


def _exact(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    strip = argument(EXACT, item, "strip") is True
    given = answer.strip() if strip else answer
    for expected in texts(item.reference):
        if given == (expected.strip() if strip else expected):
            return right()
    return wrong(f"{shown(answer)!r} is not {shown(texts(item.reference)[0])!r}")


def _normalised(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    articles = argument(NORMALISED, item, "articles") is True
    bar = argument(NORMALISED, item, "min_f1")
    given = plain(answer, articles=articles)
    best, nearest = -1.0, ""
    for expected in texts(item.reference):
        form = plain(expected, articles=articles)
        value = 1.0 if form == given else token_f1(given, form)
        if value > best:
            best, nearest = value, expected
    enough = isinstance(bar, int | float) and best >= bar
    return verdict(enough, best, "" if best == 1 else f"{shown(answer)!r} against {shown(nearest)!r}")


def token_f1(given: str, expected: str) -> float:
    """The harmonic mean of precision and recall over the words of two texts in compared form, 0 to 1.

    Below 1 also when the words are the same in another order.
    """
    ours, theirs = given.split(), expected.split()
    common = sum((Counter(ours) & Counter(theirs)).values())
    if not common:
        return 0.0
    f1 = 2 * common / (len(ours) + len(theirs))
    return min(f1, 0.999) if given != expected else 1.0


EXACT: Final = Scorer(
    what="The answer is the reference, or one of them, letter for letter.",
    judge=_exact,
    arguments={"strip": Argument(Kind.FLAG, "whether white space at the ends is passed over", True)},
    examples=(
        Example(("positive\n",), passed=True, reference="positive"),
        Example(("negative",), passed=True, reference=["negative", "neg"]),
        Example(("Positive",), passed=False, reference="positive"),
    ),
)
NORMALISED: Final = Scorer(
    what="The answer is the reference, or one of them; case, punctuation, articles and blanks do not count.",
    judge=_normalised,
    arguments={
        "articles": Argument(Kind.FLAG, "whether a, an and the count", False),
        "min_f1": Argument(Kind.SHARE, "share of words in common from which the answer is right", 1.0),
    },
    examples=(
        Example(("The Eiffel Tower.",), passed=True, reference="eiffel tower"),
        Example(("It is the Eiffel Tower",), passed=True, reference="Eiffel Tower", args={"min_f1": 0.6}),
        Example(("The Louvre",), passed=False, reference="Eiffel Tower"),
    ),
)
