"""`tierlock rollback`: one command back to golden."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

import click

from governance.adapters import clock
from governance.cli.options import reporting, root, service_names
from governance.cli.output import Output
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.cli.progress import Advance
    from governance.release.deploy.model import Driver, Target
    from governance.release.rollback import World
    from governance.release.sides import Place

_STEPS: Final = {
    "gate": "gate      record, golden, drill, repository",
    "index": "restore   files are back, committing",
    "deploy": "deploy    starting",
    "ready": "deploy    waiting until it is ready",
    "observed": "observe   read back",
    "smoke": "smoke     asking",
    "ended": "record    written",
    "taken back": "restore   taken back",
}
"""What is told at a terminal while it happens, by the step."""


@click.command("rollback")
@click.argument("service", shell_complete=service_names)
@click.option("--to", metavar="RELEASE", default="", help="Another release than golden, such as v37.")
@click.option("--dry-run", is_flag=True, help="Show the gate and the plan, and write nothing.")
@click.option("--reason", default="", help="What is wrong; kept in the release record and the hold.")
@click.option("--by", metavar="NAME", default="", help="Who rolls back. Default: who git would name.")
@click.option(
    "--accept", multiple=True, metavar="CHECK=REASON",
    help="Set a check of the gate, `observe` or `smoke` aside. Recorded. Repeatable.",
)  # fmt: skip
@click.option("--push", is_flag=True, help="Push the branch once the release is observed to run.")
@click.option("--wait", "wait_s", metavar="SECONDS", type=click.FloatRange(min=0), default=0.0,
              help="Wait so long for another rollback of this service. Default: refuse at once.")  # fmt: skip
@click.option("--abort", is_flag=True, help="Take back a broken rollback that has deployed nothing yet.")
@click.option("--no-cache", is_flag=True, help="Hash every weight file again, cached digests or not.")
@click.option("--insecure", is_flag=True, help="Ask a registry on another host over plain HTTP.")
@root
@reporting
def command(
    service: str,
    to: str,
    dry_run: bool,
    reason: str,
    by: str,
    accept: tuple[str, ...],
    push: bool,
    wait_s: float,
    abort: bool,
    no_cache: bool,
    insecure: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Bring SERVICE back to its golden release: files, server and records.

    The gate comes first, and nothing is written unless it passes: the record is recomputed from its commit,
    golden still stands, the drill passes. Then the tier files come back as a forward commit, the release is
    deployed, read back from the running servers and asked its smoke suite. A new release is recorded, and
    what was taken away is held. Killed at any point, the same command carries on or takes it back.

    \b
    Examples:
      tierlock rollback summarizer --dry-run
      tierlock rollback summarizer --reason "summaries invent numbers" --push
      tierlock rollback summarizer --to v37
      tierlock rollback summarizer --accept packages="no network at night"
      tierlock rollback summarizer --abort
    """
    from governance.cli.golden.options import accepted
    from governance.cli.progress import progress
    from governance.cli.release.naming import actor
    from governance.cli.repository import cache_folder, find
    from governance.release import rollback as use
    from governance.release.rollback_gate import Terms
    from governance.release.sides import Place

    if abort and (to or dry_run or accept or push or reason):
        raise click.UsageError("--abort goes with none of --to, --dry-run, --accept, --push and --reason")
    place = Place(find(root or ""), cache=None if no_cache else cache_folder("digests"))
    name, _, at = service.partition("@")
    if at and to and at != to:
        raise click.UsageError(f"`{service}` and `--to {to}` are two releases: name one")
    terms = Terms(name, by or actor(place), clock.now(), to or at, reason, accepted(accept))
    how = use.How(dry_run=dry_run, push=push, wait_s=wait_s, who=_who(terms.by, terms.at))
    with progress(f"rollback {name}") as advance:
        world = _world(advance, no_cache=no_cache, insecure=insecure)
        try:
            return (use.abort if abort else use.rollback)(place, terms, world, how)
        except KeyboardInterrupt:
            _say_how_to_go_on(place, name)
            raise


def _world(advance: Advance, *, no_cache: bool, insecure: bool) -> World:
    """This host, its runtime, its clock."""
    from governance import __version__
    from governance.cli.repository import cache_folder
    from governance.release.deploy.ready import wait_ready
    from governance.release.restorable.host import this_host
    from governance.release.rollback import World

    def ready(target: Target, driver: Driver) -> float:
        limit = float(str(target.settings.get("ready_timeout_s", 0))) or 600.0
        return wait_ready(target, driver, tell=lambda seconds: advance(int(seconds * 10), int(limit * 10)))

    cache = None if no_cache else cache_folder("digests")
    return World(
        drilled=this_host(cache=cache, progress=advance, insecure=insecure),
        environ=os.environ,
        tool=f"tierlock {__version__}",
        stamp=clock.stamp,
        ready=ready,
        progress=advance,
        watch=_tell if sys.stderr.isatty() else lambda _: None,
    )


def _tell(step: str) -> None:
    """One line at a terminal as a step begins; what is only for the journal is not told."""
    from governance.cli.output import write

    if line := _STEPS.get(step):
        write(sys.stderr, f"\r{line}\n")


def _who(by: str, at: str) -> str:
    import socket

    return f"{by}, process {os.getpid()} on {socket.gethostname()}, since {at}"


def _say_how_to_go_on(place: Place, service: str) -> None:
    from governance.cli.output import write
    from governance.release import journal
    from governance.release.deploy.target import state_folder

    if journal.read(state_folder(place, service)) is not None:
        told = f"tierlock: the rollback is half done\n  go on: tierlock rollback {service}\n"
        write(sys.stderr, told)
