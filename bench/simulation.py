"""A thousand releases of a simulated service: how often `eval compare` blocks, beside what was computed.

- The true loss is known: 0, 3 or 5 points. Some items are borderline and flip by chance from run to run, so
  an unchanged service shows flips too; a loss makes items wrong that were surely right.
- Each release is two whole runs, compared as `tierlock eval compare` does, tasks and all.
- *Computed* is the exact chance of the verdict, summed over every outcome (`distributions.chances`).
- Beside it, on the same runs: the gate many use, `score >= baseline - 0.01`.
- Seeds are fixed: the same table on every machine. `--write` puts it into docs/statistics.md.

Exit codes: 0 all as promised · 1 a false alarm rate above 5 %, or a rate that is not the computed one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from bench.measure import ROOT
from governance.evals.comparing import compare_runs
from governance.evals.comparison_checks import comparison_checks
from governance.evals.deciding import ALPHA, MARGIN
from governance.evals.distributions import chances
from governance.evals.model import TASKS, Attempt, Result, Run, Score, State
from governance.evals.statistics import wilson
from governance.verdict import Outcome, decide

PAGE = ROOT / "docs" / "statistics.md"
START, END = "<!-- bench/simulation.py -->", "<!-- end -->"
RELEASES = 1000
ITEMS = (200, 312, 870)
LOSSES = (0.0, 0.03, 0.05)
FLIPPING = 0.1
USUAL = 0.01
"""The fixed margin of the gate that is compared with."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the table: so many releases of a service with this loss, over so many items."""

    items: int
    loss: float
    flipping: float = FLIPPING
    releases: int = RELEASES


@dataclass(frozen=True, slots=True)
class Seen:
    """How often each verdict was given: on the loss alone, by the whole report, by the usual gate."""

    cell: Cell
    loss: Counter[Outcome]
    report: Counter[Outcome]
    usual: int


class Service:
    """A service whose items are sure or borderline; a change may have made sure ones wrong.

    `flipping` is the share of items that differ between the two runs, the lost ones among them.
    """

    def __init__(self, cell: Cell) -> None:
        self.borderline = 2 * (cell.flipping - cell.loss)
        self.lost = cell.loss
        self.wrong = 0.1

    def ask(self, random: Random) -> tuple[bool, bool]:
        """Whether one item is right before the change, and after it."""
        drawn = random.random()
        if drawn < self.borderline:
            return random.random() < 0.5, random.random() < 0.5
        if drawn < self.borderline + self.lost:
            return True, False
        right = drawn >= self.borderline + self.lost + self.wrong
        return right, right


class Suite:
    """The results that items can have, made once: a thousand releases ask the same questions."""

    def __init__(self, items: int) -> None:
        self.results = [
            {right: _result(position, right) for right in (True, False)} for position in range(items)
        ]

    def run(self, rights: Iterable[bool]) -> Run:
        """The run in which the items are right or wrong as said."""
        results = tuple(found[right] for found, right in zip(self.results, rights, strict=True))
        return Run("full", "0" * 64, results, total=len(results))


def _result(position: int, right: bool) -> Result:
    return Result(
        item=f"i{position:04}",
        task=TASKS[position % len(TASKS)],
        state=State.ANSWERED,
        score=Score(float(right), right),
        text=str(right),
        attempts=(Attempt(State.ANSWERED, 200),),
        position=position,
    )


def simulate(cell: Cell) -> Seen:
    """The verdicts on the releases of `cell`."""
    service, suite = Service(cell), Suite(cell.items)
    loss: Counter[Outcome] = Counter()
    report: Counter[Outcome] = Counter()
    usual = 0
    for release in range(cell.releases):
        random = Random(f"{cell.items} {cell.loss} {cell.flipping} {release}")
        asked = [service.ask(random) for _ in range(cell.items)]
        before, after = zip(*asked, strict=True)
        found = compare_runs(suite.run(before), suite.run(after))
        loss[found.verdict.outcome] += 1
        report[decide(comparison_checks(found))] += 1
        usual += sum(after) / cell.items < sum(before) / cell.items - USUAL
    return Seen(cell, loss, report, usual)


HEAD = (
    *("true loss", "items", "blocked", "95 % interval", "computed"),
    *("passed", "computed", "undecided", "blocked, tasks too", "usual gate blocks"),
)


def row(seen: Seen) -> tuple[str, ...]:
    """One line of the table."""
    cell = seen.cell
    computed = chances(cell.items, loss=cell.loss, discordance=cell.flipping)
    ends = wilson(seen.loss[Outcome.BLOCK], cell.releases)
    return (
        f"{100 * cell.loss:g} points",
        f"{cell.items}",
        _percent(seen.loss[Outcome.BLOCK] / cell.releases),
        f"{100 * ends.low:.1f} to {100 * ends.high:.1f}",
        _percent(computed[Outcome.BLOCK]),
        _percent(seen.loss[Outcome.PASS] / cell.releases),
        _percent(computed[Outcome.PASS]),
        _percent(seen.loss[Outcome.UNDECIDED] / cell.releases),
        _percent(seen.report[Outcome.BLOCK] / cell.releases),
        _percent(seen.usual / cell.releases),
    )


def faults(seen: Seen) -> list[str]:
    """What is not as promised: a false alarm rate above alpha, a rate far from the computed one.

    Far is beyond an interval that one of a thousand rows leaves by chance.
    """
    cell = seen.cell
    computed = chances(cell.items, loss=cell.loss, discordance=cell.flipping)
    found = []
    alarms = seen.report[Outcome.BLOCK] / cell.releases
    if cell.loss == 0 and alarms > ALPHA:
        found.append(f"{cell}: {_percent(alarms)} false alarms, {_percent(ALPHA)} are promised")
    for outcome in (Outcome.BLOCK, Outcome.PASS):
        ends = wilson(seen.loss[outcome], cell.releases, confidence=0.999)
        if not ends.low <= computed[outcome] <= ends.high:
            rate = _percent(seen.loss[outcome] / cell.releases)
            found.append(f"{cell}: {outcome.value} {rate}, computed {_percent(computed[outcome])}")
    return found


def text(rows: Sequence[Sequence[str]]) -> str:
    """The table as Markdown, with what it rests on."""
    lines = [HEAD, ["---:"] * len(HEAD), *rows]
    told = (
        f"{RELEASES:,} releases a row, {100 * FLIPPING:g} % of the items flip, margin {100 * MARGIN:g} "
        f"points, alpha {ALPHA:g}."
    )
    return "\n".join([told, "", *(f"| {' | '.join(line)} |" for line in lines)])


def page(table: str, old: str) -> str:
    """The page with the table in its place."""
    head, rest = old.split(START, 1)
    return f"{head}{START}\n\n{table}\n\n{END}{rest.split(END, 1)[1]}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> int:
    """Simulate, print, and write the page when asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    seen = [simulate(Cell(items, loss)) for loss in LOSSES for items in ITEMS]
    table = text([row(one) for one in seen])
    print(table)
    wrong = [fault for one in seen for fault in faults(one)]
    for fault in wrong:
        print(fault, file=sys.stderr)
    if options.write:
        Path(PAGE).write_text(page(table, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
