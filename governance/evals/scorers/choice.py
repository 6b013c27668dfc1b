"""`choice`: which of the given choices an answer takes, and whether that is right.

- The whole answer, the marked one (`answer: B`, `\\boxed{B}`), one at the very start (`B.`, `(B)`, `B)`),
  else the only one that is named at all. An answer that names several and marks none has chosen none.
- Choices may be labels, or labels with their texts (`{"A": "Oslo", "B": "Bergen"}`); a text counts as its
  label.
"""

from __future__ import annotations

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
    texts,
    wrong,
)
from governance.evals.scorers.words import plain

_MARK: Final = re.compile(
    r"(?:\b(?:answer|choice|option|label|sentiment|category|class)\s*(?:is|=|:)+|####|\\boxed\{(?:\\text\{)?)"
    r"[\s*`\"'(]*",
    re.IGNORECASE,
)


def _judge(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    labels = _labels(item)
    taken = _taken(answer, labels)
    if taken is None:
        return wrong(f"no choice in {shown(answer)!r}" if answer.strip() else "the answer is empty")
    if isinstance(taken, list):
        return wrong(f"names {', '.join(taken)} and settles for none")
    return right() if taken in texts(item.reference) else wrong(f"chose {taken}")


def _labels(item: Item) -> dict[str, list[str]]:
    """Each label with the forms that name it."""
    choices = argument(CHOICE, item, "choices")
    if isinstance(choices, Mapping):
        return {label: [label, str(text)] for label, text in choices.items()}
    return {label: [label] for label in texts(choices)}


def _taken(answer: str, labels: Mapping[str, list[str]]) -> str | list[str] | None:
    """The label that was chosen, several when it is open, None when none is named."""
    whole = plain(answer, articles=True)
    for label, forms in labels.items():
        if any(plain(form, articles=True) == whole for form in forms):
            return label
    for mark in reversed(list(_MARK.finditer(answer))):
        if found := _at_start(answer[mark.end() :], labels):
            return found
    if found := _at_start(answer.lstrip(" \n\t*`\"'("), labels, closed=True):
        return found
    named = [label for label, forms in labels.items() if any(_named(form, answer) for form in forms)]
    return named[0] if len(named) == 1 else named or None


def _at_start(text: str, labels: Mapping[str, list[str]], *, closed: bool = False) -> str | None:
    """The label `text` begins with, the longest form first; `closed` ones are followed by a sign or the end.

    "A dog" does not choose A.
    """
    forms = sorted(
        ((form, label) for label, all_ in labels.items() for form in all_), key=lambda f: -len(f[0])
    )
    for form, label in forms:
        end = r"\s*(?:[.):,*`\"'\n-]|$)" if closed else r"(?!\w)"
        if re.match(re.escape(form) + end, text, re.IGNORECASE):
            return label
    return None


def _named(form: str, answer: str) -> bool:
    """Whether the answer has `form` as a word. One letter must be written as the label is: `a` is no A."""
    flags = 0 if len(form) == 1 else re.IGNORECASE
    if form == "A" or form == "I":
        return re.search(rf"\(\s*{form}\s*\)|(?<!\w){form}(?=[.):]|\s*$)", answer) is not None
    return re.search(rf"(?<!\w){re.escape(form)}(?!\w)", answer, flags) is not None


def _faults(item: Item) -> Iterator[Fault]:
    labels = _labels(item)
    unknown = [each for each in texts(item.reference) if labels and each not in labels]
    if unknown:
        message = f"the reference `{shown(unknown[0])}` is none of the choices"
        yield Fault(("reference",), message, f"choose from: {', '.join(labels)}")
    forms = [plain(form, articles=True) for all_ in labels.values() for form in dict.fromkeys(all_)]
    twice = next((form for form in forms if forms.count(form) > 1), None)
    if twice is not None:
        yield Fault(("args", "choices"), f"`{twice}` is two choices at once", "make them differ")


_ABC: Final = {"choices": {"A": "Oslo", "B": "Bergen", "C": "Narvik"}}
CHOICE: Final = Scorer(
    what="The answer takes the right one of the given choices.",
    judge=_judge,
    arguments={
        "choices": Argument(Kind.CHOICES, "the labels, or the labels with their texts", required=True),
    },
    faults=_faults,
    examples=(
        Example(("B) Bergen",), passed=True, reference="B", args=_ABC),
        Example(("It cannot be A, so the answer is B.",), passed=True, reference="B", args=_ABC),
        Example(("Bergen",), passed=True, reference="B", args=_ABC),
        Example(("Either A) or B).",), passed=False, reference="B", args=_ABC),
        Example(
            ("Positive.",), passed=True, reference="positive", args={"choices": ["positive", "negative"]}
        ),
    ),
)
