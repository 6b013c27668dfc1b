"""`tierlock golden revoke`: a release is no longer one to return to."""

from __future__ import annotations

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("revoke")
@click.argument("service", shell_complete=service_names)
@click.argument("release", required=False)
@click.option("--reason", required=True, help="What it does wrong; kept beside it.")
@click.option("--by", metavar="NAME", default="", help="Who revokes it. Default: who git would name.")
@click.option("--commit", is_flag=True, help="Commit what is written, and nothing else that is staged.")
@root
@reporting
def command(
    service: str,
    release: str | None,
    reason: str,
    by: str,
    commit: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Take the golden status from a release of SERVICE. Without RELEASE, from the current one.

    A rollback refuses to return to it from then on. Nothing steps into its place by itself: set another one.

    \b
    Examples:
      tierlock golden revoke summarizer --reason "leaks the system prompt"
      tierlock golden revoke summarizer v37 --reason "engine with a known hole" --commit
    """
    from governance.cli.golden.options import written
    from governance.cli.release.naming import actor, split
    from governance.cli.repository import find
    from governance.release.pointing import Terms, revoke_golden
    from governance.release.sides import Place

    place = Place(find(root or ""))
    name, wanted = split(service, release)
    done = revoke_golden(place, name, wanted, Terms(by or actor(place), clock.stamp(), reason))
    return written(place, done, f"revoke golden {name} {done.report.run['release']}", commit=commit)
