"""`tierlock review records`: records are added, never changed, never taken away."""

from __future__ import annotations

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.review import judging, recording
from governance.verdict import Report


@click.command("records")
@click.option("--staged", is_flag=True, help="Look at the commit being made. The default.")
@click.option(
    "--range", "between", metavar="BASE..HEAD", default="", help="Look at what HEAD brings to BASE."
)
@click.option(
    "--all", "everything", is_flag=True, help="Look at every record that is staged, changed or not."
)
@root
@reporting
def command(
    staged: bool,
    between: str,
    everything: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Check that records under .tierlock/ are well-formed, unaltered, and none is taken away.

    Approvals, releases, snapshots and evidence are kept for ever. Whether an approval counts is said by
    `tierlock review gate`.

    \b
    Examples:
      tierlock review records
      tierlock review records --range origin/main..HEAD
      tierlock review records --all
    """
    if staged + bool(between) + everything > 1:
        raise click.UsageError("--staged, --range and --all exclude each other: name one")
    place = judging.where(root or "")
    if everything:
        return recording.whole(place)
    return recording.range_of(place, between) if between else recording.of_hook(place)
