"""`tierlock golden drill`: can golden still be started?"""

from __future__ import annotations

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("drill")
@click.argument("service", shell_complete=service_names)
@click.argument("release", required=False)
@click.option("--no-cache", is_flag=True, help="Hash every weight file again, cached digests or not.")
@click.option("--insecure", is_flag=True, help="Ask a registry on another host over plain HTTP.")
@root
@reporting
def command(
    service: str,
    release: str | None,
    no_cache: bool,
    insecure: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Prove that the golden release of SERVICE can still be started from this host, without starting it.

    The record is recomputed from its commit. Image and blobs are in the registry by digest, every weight file
    is here with its digest, packages have no known vulnerability (what nobody could look up is "not
    audited"), no advisory touches them, the hardware is of its class, the last smoke eval is not too old.

    \b
    Examples:
      tierlock golden drill summarizer
      tierlock golden drill summarizer v37           one that was golden before
      tierlock golden drill summarizer --no-cache --write json=drill.json
    """
    from governance.cli.progress import progress
    from governance.cli.release.naming import split
    from governance.cli.repository import cache_folder, find
    from governance.release.deploy.target import state_folder
    from governance.release.drill import remember
    from governance.release.golden_report import drill_golden
    from governance.release.restorable.host import this_host
    from governance.release.sides import Place

    place = Place(find(root or ""))
    name, wanted = split(service, release)
    with progress("weights") as advance:
        world = this_host(
            cache=None if no_cache else cache_folder("digests"), progress=advance, insecure=insecure
        )
        report, done = drill_golden(place, name, wanted, world, now=clock.now())
    if place.git() is not None and done.fingerprint:
        remember(state_folder(place, name), done)
    return report
