"""`limits`: how long an answer may and must be, in sentences, paragraphs, words, lines and characters.

- How each is counted is in `words.py`. An answer of blanks has no sentence and no word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from governance.evals.model import Item, Score
from governance.evals.scorers.model import Argument, Context, Example, Fault, Kind, Need, Scorer, right, wrong
from governance.evals.scorers.words import paragraphs, sentences, words

UNITS: Final[Mapping[str, Callable[[str], int]]] = {
    "sentences": lambda text: len(sentences(text)),
    "paragraphs": lambda text: len(paragraphs(text)),
    "words": lambda text: len(words(text)),
    "lines": lambda text: len([line for line in text.splitlines() if line.strip()]),
    "chars": lambda text: len(text.strip()),
}
_NAMES: Final = {"chars": "characters"}


def breaches(limits: Mapping[str, object], answer: str) -> Iterator[str]:
    """Each limit (`max_sentences`, `min_words` …) that the answer does not keep."""
    for unit, count in UNITS.items():
        least, most = limits.get(f"min_{unit}"), limits.get(f"max_{unit}")
        if not isinstance(least, int) and not isinstance(most, int):
            continue
        has = count(answer)
        name = _NAMES.get(unit, unit)
        if isinstance(most, int) and has > most:
            yield f"{has} {name if has != 1 else name[:-1]}, at most {most}"
        if isinstance(least, int) and has < least:
            yield f"{has} {name if has != 1 else name[:-1]}, at least {least}"


def _judge(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    told = list(breaches(item.args, answer))
    return wrong("; ".join(told)) if told else right()


def _faults(item: Item) -> Iterator[Fault]:
    if not item.args:
        yield Fault(("args",), "no limit is given", f"add one of {', '.join(LIMITS.arguments)}")
    for unit in UNITS:
        least, most = item.args.get(f"min_{unit}"), item.args.get(f"max_{unit}")
        if isinstance(least, int) and isinstance(most, int) and least > most:
            yield Fault(
                ("args", f"min_{unit}"), f"`min_{unit}` is above `max_{unit}`", "no answer could pass"
            )


LIMITS: Final = Scorer(
    what="The answer is neither too long nor too short.",
    judge=_judge,
    reference=Need.NONE,
    arguments={
        f"{side}_{unit}": Argument(
            Kind.COUNT, f"{'most' if side == 'max' else 'fewest'} {_NAMES.get(unit, unit)}"
        )
        for unit in UNITS
        for side in ("max", "min")
    },
    faults=_faults,
    examples=(
        Example(("One. Two, by Dr. Low. Three.",), passed=True, args={"max_sentences": 3}),
        Example(("- tea\n- milk",), passed=True, args={"min_lines": 2, "max_lines": 2}),
        Example(("Yes, of course I can do that.",), passed=False, args={"max_words": 1}),
        Example((" ",), passed=False, args={"min_chars": 1}),
    ),
)
