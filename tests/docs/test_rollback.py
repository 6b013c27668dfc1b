"""docs/rollback.md: every check of the gate, what can be set aside, and the options that it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from governance.cli.rollback import command
from governance.release.drill import CHECKS
from governance.release.observation import OBSERVE
from governance.release.rollback import rollback
from governance.release.rollback_gate import ACCEPTABLE
from governance.release.rollback_world import How
from tests.support.completions_server import serving
from tests.support.governed import place
from tests.support.rollbacks import FakeDriver, repository, right, terms, world

PAGE = (Path(__file__).resolve().parents[2] / "docs/rollback.md").read_text("utf-8")


def rows(head: str) -> dict[str, str]:
    """The first cells of a table, each name in it with the last cell of its row."""
    text = re.split(r"^#+ ", PAGE.partition(f"# {head}\n")[2], flags=re.MULTILINE)[0]
    found = re.findall(r"^\| (`.*?) \|.*\| (.*?) \|$", text, re.MULTILINE)
    return {name: last for cell, last in found for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_names_every_check_of_the_gate(tmp_path: Path) -> None:
    with serving(right) as server:
        repo, _, _ = repository(tmp_path / "repo", server.url)
        driver = FakeDriver(tmp_path / "runtime")
        report = rollback(place(repo), terms(), world(driver), How(dry_run=True))
    assert {one.name for one in report.checks} == set(rows("The gate"))


def test_what_can_be_set_aside_is_what_the_command_takes() -> None:
    table = rows("The gate")
    assert {name for name, said in table.items() if said == "yes"} | {"effective", OBSERVE} == set(ACCEPTABLE)
    assert set(CHECKS) <= {name for name, said in table.items() if said == "yes"}


def test_the_commands_of_the_page_are_ones_that_the_command_line_takes() -> None:
    shown = re.findall(r"^tierlock rollback (.+?)(?: +#.*)?$", PAGE, re.MULTILINE)
    assert len(shown) >= 5
    for line in shown:
        given, _, _ = command.make_parser(
            command.make_context("rollback", ["x"], resilient_parsing=True)
        ).parse_args(shlex.split(line))
        assert given["service"] == "summarizer"
