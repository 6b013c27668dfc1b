"""`tierlock release list`: what was released."""

from __future__ import annotations

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("list")
@click.argument("service", required=False, shell_complete=service_names)
@root
@reporting
def command(service: str | None, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """List the releases of SERVICE, or of every service, newest first.

    \b
    Examples:
      tierlock release list
      tierlock release list summarizer --format json
    """
    from governance.adapters.files import WorkTree
    from governance.cli.repository import find
    from governance.release.record import services_in
    from governance.release.showing import listed

    source = WorkTree(find(root or ""))
    return listed(source, [service] if service else services_in(source))
