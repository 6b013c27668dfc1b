"""`tierlock review audit`: what landed without approval?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.review import judging
from governance.errors import Usage
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.review.landings import Where


@click.command("audit")
@click.argument("history", metavar="[RANGE]", default="HEAD")
@click.option(
    "--folder", metavar="FOLDER", default="", help="Where a bare repository has its governed files."
)
@root
@reporting
def command(history: str, folder: str, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """Judge what has landed, hooks or no hooks.

    Every step of the branch is judged by the policy before it, with the approvals that lie in its own tree:
    a merge stands for all that it brings. What came later makes good and stays marked as late. RANGE is
    BASE..HEAD, or a branch, tag or commit for all of its history; without one, HEAD.

    \b
    Examples:
      tierlock review audit                     all that the current branch has
      tierlock review audit v1..main            since a release
      tierlock review audit origin/main --format json
    """
    from governance.review.audit import audit_history
    from governance.review.audit_report import audit_report

    place = judging.where(root or "", folder)
    before, after = _ends(place, history)
    found = audit_history(place.git, before, after, judging.bench(), folder=place.folder)
    return audit_report(found, history)


def _ends(place: Where, text: str) -> tuple[str | None, str]:
    if "..." in text:
        raise Usage(f"`{text}` has three dots", hint="an audit goes from one commit to another: BASE..HEAD")
    base, dots, head = text.partition("..")
    git = place.git
    if not dots:
        return None, git.resolve(base)
    return git.resolve(base or "HEAD"), git.resolve(head or "HEAD")
