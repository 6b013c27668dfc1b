"""What the README says is what the program does: commands, options, exit codes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from governance.cli.group import COMMANDS, EXITS, tierlock
from governance.verdict import ExitCode

ROOT = Path(__file__).resolve().parents[2]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if page.exists()]
WORDS = {code: code.name.lower() for code in ExitCode}


def commands(page: Path) -> Iterator[str]:
    """Every line of a code block of `page` that calls tierlock, without prompt and comment."""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            words = line.strip().removeprefix("$ ")
            if re.match(r"tierlock( |$)", words):
                yield re.split(r"\s+(?:#|\||>|&&)\s*|\s{3,}", words)[0]


def unknown_words(line: str) -> list[str]:
    """The command or options of `line` that the program does not have; what follows `--` is another's."""
    _, *args = shlex.split(line)
    args = args[: args.index("--")] if "--" in args else args
    names = [arg for arg in args if not arg.startswith("-")]
    if not names:
        return []
    command: click.Command | None = tierlock
    for name in names:
        if not isinstance(command, click.Group):
            break
        command = command.get_command(click.Context(command), name)
        if command is None:
            return [name]
    assert command is not None
    known = {
        option
        for param in (*command.params, *tierlock.params)
        for option in (*param.opts, *param.secondary_opts)
    }
    options = [arg.partition("=")[0] for arg in args if arg.startswith("-") and arg != "-"]
    return [option for option in options if option not in {*known, "--help", "-h", "--version"}]


def test_the_readme_exists_and_shows_commands() -> None:
    assert len(list(commands(ROOT / "README.md"))) >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_command_shown_exists_with_its_options(page: Path) -> None:
    wrong = {line: words for line in commands(page) if (words := unknown_words(line))}
    assert wrong == {}


@pytest.mark.parametrize("code", ExitCode, ids=lambda code: str(int(code)))
def test_the_exit_table_of_the_readme_and_of_help_are_the_same(code: ExitCode) -> None:
    row = re.compile(rf"^\|\s*\**`?{int(code)}`?\**\s*\|.*\b{WORDS[code]}", re.MULTILINE | re.IGNORECASE)
    assert row.search((ROOT / "README.md").read_text())
    assert re.search(rf"^  {int(code)} +{WORDS[code]}", EXITS, re.MULTILINE)


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name in COMMANDS if f"tierlock {name}" not in text and f"`{name}`" not in text] == []
