"""`tierlock review simulate`: who would have to approve this?"""

from __future__ import annotations

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.repository import find, source
from governance.cli.review import judging
from governance.verdict import Report


@click.command("simulate")
@click.option("--staged", is_flag=True, help="Ask about what is staged, not about the files on disk.")
@click.option("--rev", metavar="REV", default="", help="Ask about a commit, branch or tag.")
@click.option("--base", metavar="REV", default="HEAD", help="Compared with this. Default: HEAD.")
@click.option("--author", metavar="PERSON", default="", help="A person of the policy who makes the change.")
@root
@reporting
def command(
    staged: bool,
    rev: str,
    base: str,
    author: str,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Say who would have to approve a change, before anyone is asked.

    Nothing is enforced and no approval is read; where the base has no policy yet, the one in the change is
    used.

    \b
    Examples:
      tierlock review simulate                       the files on disk, against HEAD
      tierlock review simulate --author reviewer-a   as if that person made it
      tierlock review simulate --rev feature --base main
    """
    if staged and rev:
        raise click.UsageError("--staged and --rev exclude each other: name one")
    from governance.review import verbs

    place = judging.where(root or "")
    after = place.index() if staged else place.tree(rev) if rev else source(find(root or ""))
    return verbs.simulate(place, judging.bench(), after, author=author, base=base)
