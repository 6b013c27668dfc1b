"""`tierlock review`: its subcommands by name; each is imported when it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import click

from governance.cli.group import Commands

REVIEW: Final = {
    "gate": "governance.cli.review.gate",
    "approve": "governance.cli.review.approve",
    "status": "governance.cli.review.status",
    "simulate": "governance.cli.review.simulate",
    "test": "governance.cli.review.test",
    "audit": "governance.cli.review.audit",
    "install": "governance.cli.review.install",
    "records": "governance.cli.review.records",
}


class ReviewCommands(Commands):
    """The subcommands of `review`."""

    modules: ClassVar[Mapping[str, str]] = REVIEW


@click.group("review", cls=ReviewCommands)
def command() -> None:
    """Who must approve a change, who has, and whether it may land.

    An approval is signed, and bound to one config with its digest before and after: what was approved is what
    lands. The policy is always the one of the base revision.

    \b
    Examples:
      tierlock review simulate                       who would have to approve this?
      tierlock review gate                           judge the commit being made
      tierlock review gate --range origin/main..HEAD what CI runs
      tierlock review approve sampling/factual       look at the change, and sign it
      tierlock review status                         what is missing, from whom
      tierlock review audit v1..main                 what landed without approval
    """
