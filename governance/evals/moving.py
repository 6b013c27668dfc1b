"""Where two answers to one question part.

- Answers are compared as tokens where both servers gave their ids, else as text.
- Equal text is an equal answer, whatever its tokens: only what a user can see has moved.
- A rate of answers that moved says little across lengths, for a long answer has more chances to part; the
  rate per 1,000 tokens compares.
- Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from governance.evals.model import Result
from governance.evals.pairing import Paired
from governance.records import dataclass


@dataclass(frozen=True, slots=True)
class Moved:
    """An answer that is not what it was. `at` counts `unit`s (`token` or `character`) from 1; `before_of` and
    `after_of` are how long the answers are; `flipped` says whether the item is right on one side only.
    `likely` has the probabilities of the two tokens that stand there, where the servers told them.
    """

    item: str
    task: str
    repeat: int
    unit: str
    at: int
    before_of: int
    after_of: int
    before: str
    after: str
    flipped: bool = False
    likely: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Movement:
    """All answers that moved, of how many were compared, and over how many tokens both sides were the same;
    `tokens` is 0 when the servers gave no token ids.
    """

    moved: tuple[Moved, ...]
    answers: int
    tokens: int


def movement(items: Iterable[Paired]) -> Movement:
    """What moved among the answers to `items`, in their order."""
    moved: list[Moved] = []
    answers = tokens = 0
    blind = False
    for paired in items:
        for old, new in zip(paired.before, paired.after, strict=True):
            answers += 1
            found = _moved(paired, old, new)
            moved += [found] if found else []
            blind |= not (old.token_ids and new.token_ids) and bool(old.text or new.text)
            tokens += _shared(old.token_ids, new.token_ids) + (found is not None)
    return Movement(tuple(moved), answers, 0 if blind else tokens)


def _moved(paired: Paired, old: Result, new: Result) -> Moved | None:
    if old.text == new.text:
        return None
    unit, one, two = _sequences(old, new)
    at = _shared(one, two)
    return Moved(
        item=paired.item,
        task=paired.task,
        repeat=old.repeat,
        unit=unit,
        at=at + 1,
        before_of=len(one),
        after_of=len(two),
        before=old.text or "",
        after=new.text or "",
        flipped=paired.lost or paired.gained,
        likely=_likely(old, new, at) if unit == "token" else None,
    )


def _sequences(old: Result, new: Result) -> tuple[str, Sequence[object], Sequence[object]]:
    """As tokens when they tell the answers apart, else as characters."""
    if old.token_ids and new.token_ids and old.token_ids != new.token_ids:
        return "token", old.token_ids, new.token_ids
    return "character", old.text or "", new.text or ""


def _likely(old: Result, new: Result, at: int) -> tuple[float, float] | None:
    from math import exp

    pair = old.logprobs[at : at + 1] + new.logprobs[at : at + 1]
    return (exp(pair[0]), exp(pair[1])) if len(pair) == 2 else None


def _shared(one: Sequence[object], two: Sequence[object]) -> int:
    """How many elements both start with."""
    return next((index for index, same in enumerate(_same(one, two)) if not same), min(len(one), len(two)))


def _same(one: Sequence[object], two: Sequence[object]) -> Iterator[bool]:
    return (left == right for left, right in zip(one, two, strict=False))
