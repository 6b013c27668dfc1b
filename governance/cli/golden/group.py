"""`tierlock golden`: its subcommands by name; each is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import click

from governance.cli.group import Commands

GOLDEN: Final = {
    "set": "governance.cli.golden.set",
    "show": "governance.cli.golden.show",
    "drill": "governance.cli.golden.drill",
    "revoke": "governance.cli.golden.revoke",
}


class GoldenCommands(Commands):
    """The subcommands of `golden`."""

    modules: ClassVar[Mapping[str, str]] = GOLDEN


@click.group("golden", cls=GoldenCommands)
def command() -> None:
    """The release a service returns to: set on evidence, drilled while nothing burns, revoked when it fails.

    The one before it stays within reach. A drill proves that golden can still be started (image, weights,
    packages, advisories, hardware, age of the last smoke eval) and starts nothing.

    \b
    Examples:
      tierlock golden set summarizer v38 --commit
      tierlock golden show summarizer
      tierlock golden drill summarizer               in a cron job, daily
      tierlock golden revoke summarizer --reason "leaks the system prompt"
    """
