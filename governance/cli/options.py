"""The options that several commands share, each said once.

- `reporting` gives a command the output options and turns the report it returns into `Finished`.
- `root` is where the governed repository is; every other path on a command line is the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from governance.cli.output import Finished, Output
from governance.report.registry import RENDERERS
from governance.verdict import Report

Command = Callable[..., Any]
FORMATS = tuple(RENDERERS)
PIN = ("pin", "")
"""What `--write` without a value stands for, in the commands that can pin."""

COLOURS = ("auto", "always", "never")


if TYPE_CHECKING:
    _PairType = click.ParamType[tuple[str, str]]
else:  # before click 8.2 the class takes no parameter
    _PairType = click.ParamType


class FormatPath(_PairType):
    """`FORMAT=PATH`, as in `sarif=tierlock.sarif`; where `pins`, no value at all is `PIN`."""

    def __init__(self, *, pins: bool = False) -> None:
        self.pins = pins
        self.name = "[FORMAT=PATH]" if pins else "FORMAT=PATH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The pair, with the mistake named when there is one."""
        if isinstance(value, tuple):
            return value
        if self.pins and value == PIN[0]:
            return PIN
        name, equals, path = str(value).partition("=")
        if not equals or not path:
            self.fail(f"`{value}` is not FORMAT=PATH, for example sarif=tierlock.sarif", param, ctx)
        if name not in FORMATS:
            self.fail(f"`{name}` is not a format: choose from {', '.join(FORMATS)}", param, ctx)
        return name, path


def reporting(function: Callable[..., Report | Finished]) -> Command:
    """`function` with the output options; it gets them as `output` and returns its report."""
    files = click.option(
        "--write", "report_files", type=FormatPath(), multiple=True, help="Also write this file. Repeatable."
    )
    return files(_reporting(function))


def pinning(function: Callable[..., Report | Finished]) -> Command:
    """As `reporting`; `--write` without a value asks to pin."""
    files = click.option(
        "--write",
        "report_files",
        type=FormatPath(pins=True),
        is_flag=False,
        flag_value=PIN[0],
        multiple=True,
        help="Pin the values; with FORMAT=PATH, also write this file. Repeatable.",
    )
    return files(_reporting(function))


def _reporting(function: Callable[..., Report | Finished]) -> Command:
    @click.option(
        "--format", "report_format", type=click.Choice(FORMATS), default="text", help="Shown on stdout."
    )
    @click.option(
        "--colour", "--color", "report_colour", type=click.Choice(COLOURS), default="auto", help="In text."
    )
    @click.option("--show-content", is_flag=True, help="Show prompts and answers, not only that they differ.")
    @wraps(function)
    def call(
        *,
        report_format: str,
        report_files: tuple[tuple[str, str], ...],
        report_colour: str,
        show_content: bool,
        **given: Any,
    ) -> Finished:
        output = Output(
            format=report_format,
            files=tuple(pair for pair in report_files if pair != PIN),
            pin=PIN in report_files,
            colour=report_colour,
            exempted=bool(given.pop("exempted", False)),
            full=bool(given.pop("full", False)),
            show_content=show_content,
        )
        done = function(**given, output=output)
        return done if isinstance(done, Finished) else Finished(done, output)

    return call


def root(function: Command) -> Command:
    """The option `-C/--root`."""
    return click.option(
        "-C",
        "--root",
        type=click.Path(exists=True, file_okay=False),
        help="The governed repository. Default: the folder with tierlock.yaml, here or above.",
    )(function)


def service_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The services of this repository, for shell completion; none when it cannot be read."""
    from governance.cli.repository import names

    found = names(str(ctx.params.get("root") or ""))
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]
