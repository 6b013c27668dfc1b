"""`tierlock release`: its subcommands by name; each is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import click

from governance.cli.group import Commands

RELEASE: Final = {
    "cut": "governance.cli.release.cut",
    "list": "governance.cli.release.list",
    "show": "governance.cli.release.show",
    "verify": "governance.cli.release.verify",
    "notes": "governance.cli.release.notes",
    "export": "governance.cli.release.export",
    "deploy": "governance.cli.release.deploy",
    "unhold": "governance.cli.release.unhold",
}


class ReleaseCommands(Commands):
    """The subcommands of `release`."""

    modules: ClassVar[Mapping[str, str]] = RELEASE


@click.group("release", cls=ReleaseCommands)
def command() -> None:
    """What was released, from which commit, on what evidence, and whether that is still true.

    A release is an immutable record in the repository: the fingerprint layer by layer, the commit, approvals,
    eval evidence and the release before it. Each is verified by recomputing it from its commit.

    \b
    Examples:
      tierlock release cut summarizer --capture host.json --commit
      tierlock release list
      tierlock release show summarizer v42
      tierlock release verify summarizer v42
      tierlock diff summarizer@v41 summarizer@v42    what moved between two releases
      tierlock release notes summarizer v42 -o NOTES.md
      tierlock release export summarizer v42 --attach
      tierlock release deploy summarizer v42
    """
