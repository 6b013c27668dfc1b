"""`tierlock golden set`: make a release the one to return to."""

from __future__ import annotations

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report


@click.command("set")
@click.argument("service", shell_complete=service_names)
@click.argument("release", required=False)
@click.option("--reason", default="", help="Why this one; kept beside it.")
@click.option("--by", metavar="NAME", default="", help="Who sets it. Default: who git would name.")
@click.option(
    "--accept", multiple=True, metavar="CHECK=REASON",
    help="Set a check aside: image, effective, full or revoked. Recorded. Repeatable.",
)  # fmt: skip
@click.option("--commit", is_flag=True, help="Commit what is written, and nothing else that is staged.")
@root
@reporting
def command(
    service: str,
    release: str | None,
    reason: str,
    by: str,
    accept: tuple[str, ...],
    commit: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Make RELEASE the golden one of SERVICE: what `tierlock rollback` returns to.

    Its record must verify, its newest smoke run must pass, its image must have a digest, and no hold may
    stand on it. The former golden release stays within reach. Without RELEASE, the newest one is meant.

    \b
    Examples:
      tierlock golden set summarizer v38
      tierlock golden set summarizer v38 --reason "three weeks without a complaint" --commit
      tierlock golden set summarizer v38 --accept image="the tag is immutable here"
    """
    from governance.adapters.files import WorkTree
    from governance.cli.golden.options import accepted, written
    from governance.cli.release.naming import actor, newest_id
    from governance.cli.repository import find
    from governance.release.pointing import Terms, set_golden
    from governance.release.sides import Place

    place = Place(find(root or ""))
    name, wanted = newest_id(WorkTree(place.root), service, release)
    terms = Terms(by or actor(place), clock.stamp(), reason, accepted(accept))
    done = set_golden(place, name, wanted, terms)
    return written(place, done, f"golden {name} {wanted}", commit=commit)
