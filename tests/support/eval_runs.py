"""Runs of a suite without a server: what was right, what was answered, what the answers were."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from governance.evals.model import Attempt, Result, Run, Score, State
from governance.records import replace

DIGEST = hashlib.sha256(b"a suite").hexdigest()


def result(
    item: str,
    right: bool | None = True,
    *,
    task: str = "maths",
    text: str = "",
    state: State = State.ANSWERED,
    **more: object,
) -> Result:
    """One result; `right` None is an answer that could not be scored. Without `text` the answer says whether
    it is right.
    """
    if state is not State.ANSWERED:
        return Result(item, task, state, attempts=(Attempt(state, 500, "no answer"),), **more)  # type: ignore[arg-type]
    score = Score(None, None, "no scorer") if right is None else Score(float(right), right)
    fields: dict[str, object] = {"attempts": (Attempt(State.ANSWERED, 200),), "finish_reason": "stop", **more}
    return Result(item, task, state, score, text or f"{item} {right}", **fields)  # type: ignore[arg-type]


def run(results: Iterable[Result], **more: object) -> Run:
    """A run of these results in their order."""
    placed = tuple(_at(one, position) for position, one in enumerate(results))
    fields: dict[str, object] = {"suite_digest": DIGEST, "total": len(placed), **more}
    return Run("full", results=placed, **fields)  # type: ignore[arg-type]


def rights(passed: Mapping[str, bool] | Sequence[bool], *, task: str = "maths", **more: object) -> Run:
    """A run whose items are right or wrong as said."""
    named = passed if isinstance(passed, Mapping) else {f"i{n:04}": one for n, one in enumerate(passed)}
    return run((result(item, one, task=task) for item, one in named.items()), **more)


def pairs(
    both: int, lost: int, gained: int, neither: int, *, task: str = "maths", prefix: str = ""
) -> tuple[list[Result], list[Result]]:
    """The results of two runs in which items fell like this."""
    old = [True] * (both + lost) + [False] * (gained + neither)
    new = [True] * both + [False] * lost + [True] * gained + [False] * neither
    names = [f"{prefix}{task[:2]}{number:03}" for number in range(len(old))]
    return (
        [result(name, one, task=task) for name, one in zip(names, old, strict=True)],
        [result(name, one, task=task) for name, one in zip(names, new, strict=True)],
    )


def _at(one: Result, position: int) -> Result:
    return replace(one, position=position)
