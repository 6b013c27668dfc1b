"""`tierlock review status`: what is missing, and from whom."""

from __future__ import annotations

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.review import judging
from governance.verdict import Report


@click.command("status")
@click.option("--base", metavar="REV", default="", help="Where it will land. Default: the default branch.")
@root
@reporting
def command(base: str, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """Say what this branch, with what is staged, still needs before it may land.

    For every change: how many approvals the policy of the base asks for, who has given one, who can, and the
    command they run.

    \b
    Examples:
      tierlock review status
      tierlock review status --base origin/release/1
      tierlock review status --format json
    """
    from governance.records import replace
    from governance.review import install, verbs

    place = judging.where(root or "")
    told = verbs.status(place, judging.bench(), base=base)
    missing = install.missing(place.git)
    return replace(told, notes=(*told.notes, missing)) if missing else told
