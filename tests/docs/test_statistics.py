"""docs/statistics.md says what the code does: its tables are computed again, its simulation is run again."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from bench import simulation
from bench.simulation import Cell, Seen
from governance.evals.deciding import decide
from governance.evals.statistics import Pairs, items_to_clear, items_to_detect, loss_at_most
from governance.verdict import Outcome

SIMULATED = " | ".join(simulation.HEAD)
PAGE = simulation.PAGE.read_text(encoding="utf-8")


def rows(head: str) -> list[list[str]]:
    """The cells of the table with this head."""
    table = PAGE[PAGE.index(f"| {head} |\n") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def number(text: str) -> float:
    return float(re.sub(r"[^\d.]", "", text))


def test_the_table_of_items_that_show_a_loss() -> None:
    losses = (0.02, 0.03, 0.05, 0.1)
    for flip, *told in rows("items that flip | 2 points | 3 points | 5 points | 10 points"):
        share = number(flip) / 100
        expected = [f"{items_to_detect(loss, share):,}" if loss <= share else "-" for loss in losses]
        assert told == expected


def test_the_table_of_items_that_clear_a_margin() -> None:
    for flip, *told in rows("items that flip | 2 points | 3 points | 5 points"):
        assert told == [f"{items_to_clear(margin, number(flip) / 100):,}" for margin in (0.02, 0.03, 0.05)]


def test_what_twenty_clean_items_allow() -> None:
    assert "20 items, none lost, still allow a loss of 14 points" in PAGE
    assert round(100 * loss_at_most(Pairs(20, 0, 0, 0))) == 14
    assert decide(Pairs(20, 0, 0, 0)).outcome is Outcome.UNDECIDED


def test_each_row_is_the_simulation_and_its_computed_chance() -> None:
    """Every computed figure anew, and one row simulated anew, with all of its thousand releases."""
    table = rows(SIMULATED)
    assert len(table) == len(simulation.LOSSES) * len(simulation.ITEMS)
    for line in table:
        cell = Cell(int(line[1]), number(line[0]) / 100)
        computed = simulation.chances(cell.items, loss=cell.loss, discordance=cell.flipping)
        assert number(line[4]) == pytest.approx(100 * computed[Outcome.BLOCK], abs=0.051)
        assert number(line[6]) == pytest.approx(100 * computed[Outcome.PASS], abs=0.051)
    seen = simulation.simulate(Cell(200, 0.05))
    assert list(simulation.row(seen)) == next(
        line for line in table if (line[0], line[1]) == ("5 points", "200")
    )


def test_the_table_keeps_its_promises() -> None:
    """False alarms, the tests of the tasks among them, in five of a hundred at most."""
    unchanged = [line for line in rows(SIMULATED) if number(line[0]) == 0]
    assert len(unchanged) == len(simulation.ITEMS)
    assert all(number(line[8]) <= 5 for line in unchanged)
    detected = {line[1]: number(line[4]) for line in rows(SIMULATED) if number(line[0]) == 5}
    assert detected["312"] >= 80


def test_a_simulation_that_is_not_as_computed_is_told() -> None:
    cell = Cell(200, 0.0)
    verdicts = Counter({Outcome.BLOCK: 80, Outcome.PASS: 215, Outcome.UNDECIDED: 705})
    told = simulation.faults(Seen(cell, verdicts, verdicts, 0))
    assert ["8.0 % false alarms" in told[0], "block 8.0 %, computed 1.5 %" in told[1]] == [True, True]


def test_the_chances_at_the_margin_that_the_page_tells() -> None:
    for items, told in ((312, 18), (870, 46)):
        chance = simulation.chances(items, loss=0.02, discordance=0.1)[Outcome.BLOCK]
        assert round(100 * chance) == told
        assert f"{items}" in PAGE
        assert f"{told} %" in PAGE
