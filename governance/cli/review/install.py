"""`tierlock review install`: our hooks in this clone, or on this server."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.review import judging
from governance.review.install import HOOKS
from governance.verdict import Report


@click.command("install")
@click.option(
    "--hook", "names", type=click.Choice(HOOKS), multiple=True, help="Which one. Default: what fits."
)
@click.option("--check", "only_look", is_flag=True, help="Only say whether they would run; exit 1 when not.")
@click.option("--remove", "take_away", is_flag=True, help="Take them away; what was there before comes back.")
@click.option(
    "--folder", metavar="FOLDER", default="", help="Where a bare repository has its governed files."
)
@root
@reporting
def command(
    names: tuple[str, ...],
    only_look: bool,
    take_away: bool,
    folder: str,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Put the hooks in place that judge a push: pre-push in a clone, pre-receive in a bare repository.

    A hook that is there already stays and runs first. Linked worktrees share their hooks; `core.hooksPath` is
    followed. Calling it again changes nothing.

    \b
    Examples:
      tierlock review install
      tierlock review install -C project.git     on the server: nobody who pushes can skip it
      tierlock review install --check            does a fresh clone have them?
    """
    from governance.review import install

    if only_look and take_away:
        raise click.UsageError("--check and --remove exclude each other: name one")
    place = judging.where(root or "", folder)
    chosen = names or install.names_for(place.git)
    if only_look:
        return install.look(place.git, chosen)
    if take_away:
        return install.remove(place.git, chosen)
    return install.install(place.git, chosen, _program(), place.folder)


def _program() -> str:
    """The console command of this very installation; its bare name when it was called in another way."""
    beside = Path(sys.executable).with_name("tierlock")
    called = Path(sys.argv[0])
    if called.name == "tierlock" and called.is_file():
        return str(called.absolute())
    return str(beside) if beside.is_file() else "tierlock"
