"""The tutorial, run: every command of its blocks in one shell, its output held to what the page shows.

- A line that begins with `$ ` is a command, `> ` continues it. Lines that follow are output, in their order;
  `…` stands for anything, blanks are as many as there are.
- What is not shown is not compared, but a block without any output line must print nothing but its notes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.hooks.guarded import program

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("tutorial-*.md"))
END = "-- end of command --"


class Step(NamedTuple):
    """One command and the lines that the page shows after it."""

    command: str
    shown: tuple[str, ...]


def steps(page: Path) -> Iterator[Step]:
    """The commands of a page, in order."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        command: list[str] = []
        shown: list[str] = []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command:
                    yield Step("\n".join(command), tuple(shown))
                command, shown = [line[2:]], []
            elif line.startswith("> ") and not shown:
                command.append(line[2:])
            else:
                shown.append(line)
        yield Step("\n".join(command), tuple(shown))


def run(page: Path, folder: Path) -> list[tuple[Step, str, int]]:
    """What each command of the page printed and how it ended, all in one shell that begins in `folder`."""
    commands = list(steps(page))
    script = "".join(
        f'{one.command}\nprevious=$?; echo "{END} $previous"; (exit $previous)\n' for one in commands
    )
    folders = (program(folder / "bin").parent, Path(sys.executable).parent, os.environ["PATH"])
    path = os.pathsep.join(map(str, folders))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_"))}
    environment |= {"PATH": path, "HOME": str(folder), "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C.UTF-8"}
    (folder / "work").mkdir()
    done = subprocess.run(
        ("bash", "-c", f"exec 2>&1\n{script}"), cwd=folder / "work", env=environment, capture_output=True,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    parts = re.split(rf"{END} (\d+)\n", done.stdout.decode("utf-8", "replace"))
    assert len(parts) == 2 * len(commands) + 1, parts[-1]
    return [(step, parts[2 * at], int(parts[2 * at + 1])) for at, step in enumerate(commands)]


def pattern(shown: tuple[str, ...]) -> str:
    """A regular expression for the lines, whatever the width they were wrapped to."""
    words = " ".join(shown).split()
    pieces = [re.escape(word).replace("…", r".*?") for word in words]
    return r"\s*".join(pieces)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_page_does_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for step, said, status in run(page, tmp_path):
        refused = any(line.startswith(("BLOCK", "UNDECIDED", "error:")) for line in step.shown)
        assert (status != 0) is refused, f"$ {step.command}\n{said}"
        if not step.shown:
            assert said == "", f"$ {step.command}\n{said}"
        else:
            assert re.fullmatch(rf"\s*{pattern(step.shown)}\s*", said, re.DOTALL), f"$ {step.command}\n{said}"


def test_there_is_a_tutorial_with_commands() -> None:
    assert PAGES
    assert all(len(list(steps(page))) > 10 for page in PAGES)
