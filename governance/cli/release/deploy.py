"""`tierlock release deploy`: start what a release says, through its driver."""

from __future__ import annotations

import os

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("deploy")
@click.argument("service", shell_complete=service_names)
@click.argument("what", metavar="[RELEASE|REVISION]", required=False)
@click.option("--dry-run", is_flag=True, help="Judge and show the plan, and start nothing.")
@root
@reporting
def command(
    service: str,
    what: str | None,
    root: str | None,
    output: Output,  # noqa: ARG001
    *,
    dry_run: bool,
) -> Report:
    """Start SERVICE as a release says, and read the running server back.

    The launch is rendered from the release's own commit and handed to the driver of the service (`deploy` in
    tierlock.yaml). A record that does not verify and a fingerprint that a rollback holds back are refused.
    Without RELEASE the newest one is meant; a revision starts a candidate, for the evals a release needs.

    \b
    Examples:
      tierlock release deploy summarizer
      tierlock release deploy summarizer v42 --dry-run
      tierlock release deploy summarizer HEAD      then: tierlock eval run summarizer --record
    """
    from governance.adapters.files import WorkTree
    from governance.cli.release.naming import newest_id
    from governance.cli.repository import cache_folder, find
    from governance.release.deploying import World, deploy
    from governance.release.sides import Place

    place = Place(find(root or ""), cache=cache_folder("digests"))
    name, chosen = service, what
    if what is None or "@" in service:
        name, chosen = newest_id(WorkTree(place.root), service, what)
    return deploy(place, name, str(chosen), World(os.environ), dry_run=dry_run)
