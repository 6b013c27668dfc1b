"""`tierlock eval`: its subcommands by name; each is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import click

from governance.cli.group import Commands

EVAL: Final = {
    "run": "governance.cli.eval.run",
    "compare": "governance.cli.eval.compare",
}


class EvalCommands(Commands):
    """The subcommands of `eval`."""

    modules: ClassVar[Mapping[str, str]] = EVAL


@click.group("eval", cls=EvalCommands)
def command() -> None:
    """Ask a running service the items of a suite, judge its answers, and compare two runs.

    A run is evidence for one fingerprint and one suite: the server is read back before and after, every
    decoding parameter of the config is sent, and what was not answered is never counted as wrong.

    \b
    Examples:
      tierlock eval run summarizer                   the smoke suite of the service
      tierlock eval run summarizer --suite full --record
      tierlock eval compare before.jsonl after.jsonl
    """
