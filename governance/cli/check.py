"""`tierlock check`: every governed file, every rule."""

from __future__ import annotations

import click

from governance.cli.judge import judge
from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.verdict import Report


@click.command("check")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("--staged", is_flag=True, help="Judge the commit being made: the index, not the files on disk.")
@click.option("--rev", metavar="REV", default="", help="Judge a commit, branch or tag.")
@click.option("--exempted", is_flag=True, help="Show findings that an exemption excuses, with its reason.")
@click.option("--no-cache", is_flag=True, help="Judge every file again, whatever was judged before.")
@root
@reporting
def command(
    paths: tuple[str, ...],
    staged: bool,
    rev: str,
    no_cache: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Check tier files, services and what they refer to.

    Without arguments every file of the work tree is judged; PATHS narrow it. Each finding names file, line,
    column and a fix, and its rule says why it matters.

    \b
    Examples:
      tierlock check
      tierlock check configs/sampling/factual.yaml
      tierlock check --staged                      what `git commit` would commit
      tierlock check --rev origin/main --format json
      tierlock check --write sarif=tierlock.sarif  for code scanning
    """
    if staged + bool(rev) + bool(paths) > 1:
        raise click.UsageError("--staged, --rev and PATHS exclude each other: name one")
    return judge(root or "", staged=staged, rev=rev, paths=paths, cached=not no_cache)
