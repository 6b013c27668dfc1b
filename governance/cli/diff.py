"""`tierlock diff`: which layer moved, which value, and what it does."""

from __future__ import annotations

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.verdict import Report

UNITS = ("word", "token")


@click.command("diff")
@click.argument("left", metavar="[A]", default="HEAD")
@click.argument("right", metavar="[B]", default="worktree")
@click.option("--exit-code", is_flag=True, help="A difference is exit 1, as in `diff`; otherwise it is 0.")
@click.option("--all", "everything", is_flag=True, help="Leave nothing out: every package, every line.")
@click.option("--unit", type=click.Choice(UNITS), default="word", help="Compare texts by word or by token.")
@click.option("--full", is_flag=True, help="Show whole digests, not their first 12 digits.")
@root
@reporting
def command(
    left: str,
    right: str,
    exit_code: bool,
    everything: bool,
    unit: str,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Compare any two: files, git revisions, services, releases, captures, running servers.

    First the layers that moved, then each value with before, after, where it came from and what it does to
    answers. Equal fingerprints are told as the same meaning, whatever the bytes. Without A and B: what the
    work tree changes against HEAD.

    \b
    Examples:
      tierlock diff                                      HEAD with the work tree
      tierlock diff main HEAD --exit-code
      tierlock diff summarizer@v41 summarizer@v42        two releases, or one service at two tags
      tierlock diff summarizer@golden summarizer@live    what runs beside what we return to
      tierlock diff summarizer summarizer@live           what is declared with what runs
      tierlock diff summarizer http://127.0.0.1:8080
      tierlock diff host.json other-host.json            two captures
      tierlock diff HEAD~3:configs/sampling/a.yaml configs/sampling/a.yaml
    """
    from governance.fingerprint.changes import Showing
    from governance.release.diff import compare
    from governance.release.sides import Place, parse_side

    place = Place(_root(root))
    sides = parse_side(left, place), parse_side(right, place)
    showing = Showing(unit="token" if unit == "token" else "word", everything=everything)
    return compare(*sides, fail_on_difference=exit_code, showing=showing)


def _root(given: str | None) -> str:
    """The repository; two files or two captures need none."""
    from governance.cli.repository import find
    from governance.errors import Unreadable

    try:
        return find(given or "")
    except Unreadable:
        return "."
