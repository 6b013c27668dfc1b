"""Where a report goes: one format on standard output, any number of them into files.

- A file is written whole or not at all. A closed pipe ends the writing, not the verdict.
- Colour only on a terminal, never with `NO_COLOR`, always with `--colour always`.
- What is kept back (secrets, prompts, answers) is taken out before any renderer sees the report.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from governance.records import dataclass
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.report.style import Style


@dataclass(frozen=True, slots=True)
class Output:
    """What the output options say. `files` are pairs of format and path."""

    format: str = "text"
    files: tuple[tuple[str, str], ...] = ()
    colour: str = "auto"
    exempted: bool = False
    full: bool = False
    show_content: bool = False
    pin: bool = False


@dataclass(frozen=True, slots=True)
class Finished:
    """A report and where it goes: what every command returns. `then` is called once the report was shown, and
    what it returns is the exit code: a process that becomes another one.
    """

    report: Report
    output: Output
    then: Callable[[], int] | None = None


def deliver(finished: Finished) -> None:
    """Write the files that were asked for, then the report on standard output."""
    from governance.report.content import hidden, without_secrets

    report, output = without_secrets(finished.report), finished.output
    if not output.show_content:
        report = hidden(report)
    for name, path in output.files:
        _write_file(path, rendered(report, name))
    if output.format == "text":
        from governance.report.text import render

        write(sys.stdout, render(report, style(output)))
    else:
        write(sys.stdout, rendered(report, output.format))


def rendered(report: Report, name: str) -> str:
    """`report` in the format `name`, without colour."""
    from governance.report.registry import renderer

    return renderer(name)(report)


def style(output: Output) -> Style:
    """Colour and width of the text on this standard output."""
    from governance.report.style import Style

    return Style(colour=_coloured(output.colour), width=_width(), exempted=output.exempted, full=output.full)


def write(stream: TextIO, text: str) -> None:
    """`text` to `stream`, characters it cannot encode as escapes; nothing when nobody reads it."""
    encoding = stream.encoding or "utf-8"
    safe = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        stream.write(safe)
        stream.flush()
    except BrokenPipeError:
        _drop(stream)


def _drop(stream: TextIO) -> None:
    """Point a closed stream at nothing, so that the flush at exit does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _write_file(path: str, text: str) -> None:
    from pathlib import Path

    from governance.adapters.files import write_atomic

    write_atomic(Path(path), text.encode("utf-8", "backslashreplace"))


def _coloured(wish: str) -> bool:
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stdout.isatty()


def _width() -> int:
    """80 to 100 columns: a pipe gets 100, a terminal what it has."""
    if not sys.stdout.isatty():
        return 100
    from shutil import get_terminal_size

    return min(100, max(60, get_terminal_size((100, 24)).columns))
