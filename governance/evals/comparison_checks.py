"""What a comparison of two runs means for a release: its checks, each with the numbers it rests on.

- `coverage`: too few answers on a side decide nothing; what became of the others is counted and named.
- `servers`: answers of several builds or models mixed in one run decide nothing.
- `loss`: the verdict on all compared items.
- `tasks`: a bucket that falls although the whole may not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.evals.comparing import Comparison, Task
from governance.evals.deciding import FEWEST_CLUSTERS, Verdict
from governance.evals.model import State
from governance.evals.pairing import Side
from governance.evals.statistics import mcnemar
from governance.verdict import Check, Outcome

SIDES: Final = ("before", "after")
_SHOWN: Final = 6


def comparison_checks(found: Comparison) -> tuple[Check, ...]:
    """The checks of `found`; with too few answers or a mixture, those alone: no loss is told from them."""
    stopped = (*_coverage(found), *_servers(found))
    return stopped or (_loss(found), *_tasks(found))


def points(share: float) -> str:
    """A share as people say a difference of scores: `5.1 points`."""
    return f"{100 * share:.1f} points"


def chance(value: float) -> str:
    """A p-value with two digits, and no more than anybody needs of a small one."""
    return "p < 0.0001" if value < 0.0001 else f"p {value:.2g}"


def _coverage(found: Comparison) -> Iterator[Check]:
    for name, side in zip(SIDES, found.sides, strict=True):
        if side.coverage < found.min_coverage:
            yield Check("coverage", Outcome.UNDECIDED, f"{name}: {coverage(side, found.min_coverage)}")


def coverage(side: Side, needed: float) -> str:
    """What came of what was asked, and what became of the rest."""
    text = f"{side.scored:,} of {side.asked:,} were answered and scored ({100 * side.coverage:.1f} %"
    return f"{text}, {100 * needed:g} % are needed); {', '.join(left_out(side)) or 'nothing was asked'}"


def left_out(side: Side) -> list[str]:
    """What became of the results that cannot be compared."""
    found = [
        f"{count:,} {state.value}" for state, count in side.states.items() if state is not State.ANSWERED
    ]
    found += [f"{side.unscored:,} answered and not scored"] if side.unscored else []
    never = side.asked - sum(side.states.values())
    return [*found, f"{never:,} never asked"] if never else found


def _servers(found: Comparison) -> Iterator[Check]:
    for name, side in zip(SIDES, found.sides, strict=True):
        if len(side.servers) > 1:
            shown = ", ".join(f"`{server}`" for server in side.servers[:_SHOWN])
            yield Check(
                "servers",
                Outcome.UNDECIDED,
                f"{name}: a mixture, {len(side.servers)} servers answered: {shown}; compare one at a time",
            )


def _loss(found: Comparison) -> Check:
    verdict = found.verdict
    if found.clusters and found.clusters < FEWEST_CLUSTERS and verdict.outcome is not Outcome.UNDECIDED:
        return Check(
            "loss",
            Outcome.UNDECIDED,
            f"the {len(found.items)} items stem from {found.clusters} templates or conversations; at least "
            f"{FEWEST_CLUSTERS} are needed to tell how much they vary",
        )
    return Check("loss", verdict.outcome, _told(verdict, found))


def _told(verdict: Verdict, found: Comparison) -> str:
    pairs = verdict.pairs
    if not pairs.items:
        why = f": all {len(found.retried)} were retried" if found.retried else ""
        return f"no item was answered and scored on both sides at the first try{why}"
    seen = f"{pairs.lost} lost, {pairs.gained} gained of {pairs.items:,}"
    accepted = f"{points(found.margin)} are accepted"
    sure = f"{100 * (1 - found.alpha):g} %"
    if verdict.outcome is Outcome.PASS:
        return f"{seen}: the true loss is below {points(verdict.at_most)} ({sure} sure), {accepted}"
    ends = f"{sure} {100 * verdict.interval.low:.1f} to {100 * verdict.interval.high:.1f}"
    loss = f"{_balance(pairs.loss)} ({ends}, {_chance(verdict)})"
    if verdict.outcome is Outcome.BLOCK:
        return f"{seen}: {loss}, {accepted}"
    return f"{seen}: {loss} neither proves a loss nor rules out one of {points(found.margin)}{_more(verdict)}"


def _balance(loss: float) -> str:
    if loss == 0:
        return "no change on balance"
    return f"a {'loss' if loss > 0 else 'gain'} of {points(abs(loss))}"


def _chance(verdict: Verdict) -> str:
    exact = mcnemar(verdict.pairs).exact
    if verdict.pairs.discordance == 0:
        return "nothing flipped"
    if verdict.effect != 1.0:
        return f"{chance(verdict.chance)}, items of one cluster counted {1 / verdict.effect:.2f}"
    if verdict.chance == exact:
        return f"{chance(exact)} exact"
    return f"{chance(verdict.chance)} by mid-p, {exact:.2g} exact" if exact >= 0.0001 else chance(exact)


def _more(verdict: Verdict) -> str:
    return f"; about {verdict.more:,} more items needed" if verdict.more else ""


def _tasks(found: Comparison) -> Iterator[Check]:
    if not found.tasks:
        return
    fallen = [task for task in found.tasks if task.fell]
    if fallen:
        yield Check("tasks", Outcome.BLOCK, "; ".join(_fell(task, found) for task in fallen))
    elif found.verdict.outcome is Outcome.PASS:
        yield Check("tasks", Outcome.PASS, f"none of {len(found.tasks)} tasks fell beyond chance")


def _fell(task: Task, found: Comparison) -> str:
    pairs = task.verdict.pairs
    whole = "" if found.verdict.outcome is Outcome.BLOCK else ", although the whole did not"
    return (
        f"{task.name} fell by {points(pairs.loss)}{whole}: {pairs.lost} lost, {pairs.gained} gained of "
        f"{pairs.items:,} ({chance(task.adjusted)} among {len(found.tasks)} tasks)"
    )
