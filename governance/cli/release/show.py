"""`tierlock release show`: one release in full."""

from __future__ import annotations

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("show")
@click.argument("service", shell_complete=service_names)
@click.argument("release", required=False)
@click.option("--full", is_flag=True, help="Show whole digests, not their first 12 digits.")
@root
@reporting
def command(service: str, release: str | None, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """Show one release of SERVICE: layers, commit, evidence, approvals. Without RELEASE, the newest.

    \b
    Examples:
      tierlock release show summarizer
      tierlock release show summarizer v41 --full
      tierlock release show summarizer@v41 --format json
    """
    from governance.adapters.files import WorkTree
    from governance.cli.release.naming import chosen
    from governance.cli.repository import find
    from governance.release.showing import shown

    return shown(chosen(WorkTree(find(root or "")), service, release))
