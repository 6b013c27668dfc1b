"""`tierlock eval compare`: does the service answer worse than before?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.values import Tree


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
    from governance.evals.comparing import MIN_COVERAGE, compare_runs
    from governance.evals.comparison_report import comparison_report
    from governance.evals.deciding import MARGIN

    tree = _repository(root)
    runs = read_sides(before, after, tree, suite=suite)
    policy = _policy(tree, runs[1].service)
    found = compare_runs(
        *runs,
        margin=margin if margin is not None else _number(policy, "max_drop", MARGIN),
        alpha=alpha,
        min_coverage=_number(policy, "min_coverage", MIN_COVERAGE),
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


def _policy(tree: FileSource | None, service: str) -> Tree:
    """What tierlock.yaml says of the evals of `service`; nothing when it says nothing, or is not there."""
    if tree is None or not service:
        return {}
    from governance.tiers.config import load_repository

    found = load_repository(tree).services.get(service)
    evals = found.tree.get("evals") if found is not None else None
    return evals if isinstance(evals, Mapping) else {}


def _number(policy: Tree, name: str, default: float) -> float:
    value = policy.get(name)
    return float(value) if isinstance(value, int | float) else default
