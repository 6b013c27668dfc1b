"""The options that several commands share, each said once.

- `reporting` gives a command the output options and turns the report it returns into `Finished`.
- `root` is where the governed repository is; every other path on a command line is the user's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from click.shell_completion import CompletionItem

from governance.cli.output import Finished, Output
from governance.report.registry import RENDERERS
from governance.verdict import Report

Command = Callable[..., Any]
FORMATS = tuple(RENDERERS)


class FormatPath(click.ParamType):
    """`FORMAT=PATH`, as in `sarif=tierlock.sarif`."""

    name = "FORMAT=PATH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The pair, with the mistake named when there is one."""
        if isinstance(value, tuple):
            return value
        name, equals, path = str(value).partition("=")
        if not equals or not path:
            self.fail(f"`{value}` is not FORMAT=PATH, for example sarif=tierlock.sarif", param, ctx)
        if name not in FORMATS:
            self.fail(f"`{name}` is not a format: choose from {', '.join(FORMATS)}", param, ctx)
        return name, path


def reporting(function: Callable[..., Report]) -> Command:
    """`function` with the output options; it gets them as `output` and returns its report."""

    @click.option("--format", "format_", type=click.Choice(FORMATS), default="text", help="Format on stdout.")
    @click.option(
        "--write", "files", type=FormatPath(), multiple=True, help="Also write this file. Repeatable."
    )
    @click.option("--colour", "--color", type=click.Choice(("auto", "always", "never")), default="auto")
    @click.option("--show-content", is_flag=True, help="Show prompts and answers, not only that they differ.")
    @wraps(function)
    def call(
        *, format_: str, files: tuple[tuple[str, str], ...], colour: str, show_content: bool, **given: Any
    ) -> Finished:
        output = Output(
            format=format_,
            files=files,
            colour=colour,
            show_content=show_content,
            exempted=bool(given.pop("exempted", False)),
            full=bool(given.pop("full", False)),
        )
        return Finished(function(**given, output=output), output)

    return call


def root(function: Command) -> Command:
    """The option `-C/--root`."""
    return click.option(
        "-C",
        "--root",
        type=click.Path(exists=True, file_okay=False),
        default="",
        show_default="the folder with tierlock.yaml, here or above",
        help="The governed repository.",
    )(function)


def service_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The services of this repository, for shell completion; none when it cannot be read."""
    from governance.cli.repository import names

    found = names(str(ctx.params.get("root") or ""))
    return [CompletionItem(name) for name in found if name.startswith(incomplete)]
