"""`tierlock fingerprint`: the layers of a service and their fold."""

from __future__ import annotations

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.cli.repository import find, source
from governance.verdict import Report


@click.command("fingerprint")
@click.argument("service", required=False, shell_complete=service_names)
@click.option("--at", "rev", metavar="REV", default="", help="As of a commit, branch or tag.")
@click.option("--staged", is_flag=True, help="As of the commit being made.")
@click.option("--capture", type=click.Path(dir_okay=False), help="Add the layers of a capture file.")
@click.option("--full", is_flag=True, help="Show whole digests, not their first 12 digits.")
@click.option("--left-out", is_flag=True, help="List what no fingerprint covers, and why.")
@root
@reporting
def command(
    service: str | None,
    rev: str,
    staged: bool,
    capture: str | None,
    left_out: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Show the fingerprint of SERVICE layer by layer, or of every service.

    Key order, comments and layout change nothing; one changed value changes one layer and the fold. A layer
    that cannot be known says why, and equals nothing.

    \b
    Examples:
      tierlock fingerprint
      tierlock fingerprint summarizer --full
      tierlock fingerprint summarizer --at v41 --capture host.json
      tierlock fingerprint --left-out
    """
    from governance.cli.capturing import read
    from governance.fingerprint.services import all_report, left_out_report, service_report
    from governance.tiers.config import load_repository

    if left_out:
        return left_out_report()
    tree = source(find(root or ""), staged=staged, rev=rev)
    repository = load_repository(tree)
    if service is None:
        return all_report(repository, label=tree.label)
    return service_report(repository, service, read(capture), label=tree.label)
