"""`tierlock release verify`: is a record still true?"""

from __future__ import annotations

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.cli.progress import progress
from governance.verdict import Report


@click.command("verify")
@click.argument("service", required=False, shell_complete=service_names)
@click.argument("release", required=False)
@click.option("--full", is_flag=True, help="Show whole digests, not their first 12 digits.")
@root
@reporting
def command(service: str | None, release: str | None, root: str | None, output: Output) -> Report:  # noqa: ARG001
    """Recompute a release from its commit and hold it against its record.

    The record is whole, every layer comes out of the commit as recorded, the capture, the evidence and the
    snapshots have the digests that are written down, and a signature, if there is one, is by a key of the
    policy. Without RELEASE every release of SERVICE is verified, without SERVICE every one there is.

    \b
    Examples:
      tierlock release verify summarizer v41
      tierlock release verify summarizer
      tierlock release verify --format junit
    """
    from governance.adapters.files import WorkTree
    from governance.cli.release.naming import split
    from governance.cli.repository import find
    from governance.release.record import services_in
    from governance.release.showing import all_verified, verified
    from governance.release.sides import Place

    place = Place(find(root or ""))
    source = WorkTree(place.root)
    name, written = split(service or "", release)
    if written:
        return verified(place, name, written, source)
    with progress("verifying") as advance:
        return all_verified(place, source, [name] if name else services_in(source), advance)
