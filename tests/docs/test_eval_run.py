"""docs/eval-run.md tells of every column of a row, every state and every option there is."""

from __future__ import annotations

import json
import re
from pathlib import Path

from governance.cli.eval.run import command
from governance.evals.model import State
from governance.evals.results import dump_row
from tests.support import evals

PAGE = (Path(__file__).resolve().parents[2] / "docs/eval-run.md").read_text()


def rows(head: str) -> list[str]:
    """The first cells of the table whose head begins like this."""
    table = PAGE[PAGE.index(head) :].split("\n\n")[0]
    return [line.split("|")[1] for line in table.splitlines()[2:]]


def test_every_column_is_told_once() -> None:
    suite = evals.suite_of(evals.files(items=1))
    row = json.loads(dump_row(evals.result("q0"), evals.run(suite, [])))
    told = [name for cell in rows("| column |") for name in re.findall(r"`(\w+)`", cell)]
    assert sorted(told) == sorted(row)


def test_every_state_is_told() -> None:
    assert [cell.strip(" `") for cell in rows("| state |")] == [state.value for state in State]


def test_the_options_it_names_are_there() -> None:
    there = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    assert named <= there
