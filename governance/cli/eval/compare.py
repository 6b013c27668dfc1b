"""`tierlock eval compare`: does the service answer worse than before?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.evals.judging import Bar


_SHARE = click.FloatRange(0, 1, max_open=True)


@click.command("compare")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option(
    "--margin",
    metavar="SHARE",
    type=_SHARE,
    help="The loss that is accepted. Default: `max_drop` of the service, else 0.02.",
)
@click.option(
    "--alpha",
    metavar="SHARE",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="How often chance may give a false alarm, or a false pass.",
)
@click.option("--suite", default="", help="Which snapshots of the releases; needed when they keep several.")
@click.option("--all", "everything", is_flag=True, help="Show every answer that moved, not the first ten.")
@root
@reporting
def command(
    before: str,
    after: str,
    margin: float | None,
    alpha: float,
    suite: str,
    everything: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Compare two runs of one suite, item by item.

    A and B are results files, or releases whose results are kept: SERVICE@v41, SERVICE@golden. Pass: the
    loss is proven to be below the margin. Block: a loss that reaches the margin is proven, for all items
    or for those of one task. Undecided: neither, with how many more items it takes. What was not answered
    or not scored is counted apart, never as wrong.

    \b
    Examples:
      tierlock eval compare before.jsonl after.jsonl
      tierlock eval compare summarizer@golden after.jsonl --margin 0.03
      tierlock eval compare summarizer@v41 summarizer@v42 --suite full
      tierlock eval compare before.jsonl after.jsonl --show-content    with the answers that moved
    """
    from governance.cli.eval.runs import read_sides
    from governance.evals.comparing import compare_runs
    from governance.evals.comparison_report import comparison_report
    from governance.evals.deciding import MARGIN

    tree = _repository(root)
    runs = read_sides(before, after, tree, suite=suite)
    bar = _bar(tree, runs[1].service)
    accepted = bar.max_drop if margin is None else margin
    found = compare_runs(
        *runs,
        margin=MARGIN if accepted is None else accepted,
        alpha=alpha,
        min_coverage=bar.min_coverage,
    )
    return comparison_report(found, names=(before, after), everything=everything)


def _repository(given: str | None) -> FileSource | None:
    """The repository here, or none: two results files can be compared anywhere."""
    from governance.cli.repository import find, source
    from governance.errors import Unreadable

    try:
        return source(find(given or ""))
    except Unreadable:
        return None


def _bar(tree: FileSource | None, service: str) -> Bar:
    """What tierlock.yaml asks of the evals of `service`; the defaults where it says nothing."""
    from governance.evals.judging import Bar, bar_of

    if tree is None or not service:
        return Bar()
    from governance.tiers.config import load_repository

    found = load_repository(tree).services.get(service)
    return bar_of(found) if found is not None else Bar()
