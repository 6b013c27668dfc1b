"""`tierlock golden show`: what is golden, and whether it still is."""

from __future__ import annotations

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("show")
@click.argument("service", shell_complete=service_names)
@root
@reporting
def command(service: str, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """Show the golden release of SERVICE, its evidence, the ones before it, and what is held.

    A run that failed since takes the status away, whether or not somebody wrote that down: exit 1 then.

    \b
    Examples:
      tierlock golden show summarizer
      tierlock golden show summarizer --format json
    """
    from governance.cli.repository import find
    from governance.release.deploy.target import state_folder
    from governance.release.golden_report import show_golden
    from governance.release.sides import Place

    place = Place(find(root or ""))
    folder = state_folder(place, service) if place.git() is not None else None
    return show_golden(place, service, now=clock.now(), notes_folder=folder)
