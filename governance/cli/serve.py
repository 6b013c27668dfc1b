"""`tierlock serve`: start the server through the start-up gate."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from governance.cli.options import reporting, root, service_names
from governance.cli.output import Finished, Output
from governance.cli.progress import progress
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.adapters.ready_port import ReadyPort

    _AddressType = click.ParamType[tuple[str, int]]
else:  # before click 8.2 the class takes no parameter
    _AddressType = click.ParamType

_LOCAL = "127.0.0.1"


class Address(_AddressType):
    """`[HOST:]PORT`; this machine alone without a host."""

    name = "[HOST:]PORT"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """The pair."""
        host, _, port = str(value).rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            self.fail(f"`{value}` is not [HOST:]PORT, for example 9090 or 0.0.0.0:9090", param, ctx)
        return host.strip("[]") or _LOCAL, int(port)


@click.command("serve")
@click.argument("service", shell_complete=service_names)
@click.argument("extra", metavar="[-- ARGUMENTS]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--expect", default="golden", metavar="RELEASE|golden|worktree", help="What must run. Default: golden."
)
@click.option(
    "--on-mismatch",
    type=click.Choice(("refuse", "degrade")),
    default="refuse",
    help="Start nothing, or start with readiness down.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=0),
    default=60.0,
    metavar="SECONDS",
    help="Compare again, while it runs. 0: never. Default: 60.",
)
@click.option("--ready-port", type=Address(), help="Answer GET /ready here: 200 or 503.")
@click.option("--alert", default="", metavar="COMMAND", help="Gets each alert as JSON on standard input.")
@click.option(
    "--python", type=click.Path(path_type=Path), help="The serving interpreter, if not the program's."
)
@click.option("--no-cache", is_flag=True, help="Hash every weight file again.")
@click.option("--dry-run", is_flag=True, help="Compare, and start nothing.")
@root
@reporting
def command(service: str, root: str | None, output: Output, **given: Any) -> Report | Finished:
    """Start the server of SERVICE, if this host is what a release says; else start nothing.

    Before the weights load, the configs of this checkout, the launch with its arguments and variables, the
    packages, the platform and the weight files are compared with the release. Then this process becomes the
    server: same process id, so a supervisor sees one program. A watcher stays beside it: it reads the server
    back once it answers, and goes on comparing. Each mismatch is told once, with how long it lasts, and again
    when it is mended.

    \b
    Exit code when nothing is started: 1 when this host differs, 3 when it cannot be compared. A held
    fingerprint is never started. Afterwards the exit code is that of the server.

    \b
    Examples:
      tierlock serve summarizer
      tierlock serve summarizer --expect v41 --dry-run
      tierlock serve summarizer --ready-port 9090 --alert "notify-on-call --json -"
      tierlock serve summarizer --on-mismatch degrade --every 30 -- --log-file server.log
    """
    from governance.cli import serving
    from governance.cli.repository import cache_folder, find
    from governance.monitor.gate import Asked, OnMismatch, judge
    from governance.release.sides import Place

    asked = Asked(
        service, given["expect"], OnMismatch(given["on_mismatch"]), tuple(given["extra"]), given["python"]
    )
    tell = serving.Told(serving.asked_words(given["alert"]), given["every"])
    port = _bound(given["ready_port"], tell.every) if not given["dry_run"] else None
    place = Place(find(root or ""), cache=cache_folder("digests"))
    with progress("hashing weights") as advance:
        here = serving.world(place, cached=not given["no_cache"], advance=advance)
        judged = judge(asked, here)
    if given["dry_run"]:
        return serving.previewed(judged, place)
    if not judged.starts:
        return serving.refused(judged, place, tell.alert, _say)
    from governance.cli.watching import start

    report = serving.starting(judged, place)
    return Finished(report, output, then=partial(start, judged, here, tell, port, _say))


def _bound(address: tuple[str, int] | None, every: float) -> ReadyPort | None:
    from governance.adapters.ready_port import ReadyPort
    from governance.errors import Usage

    if address is None:
        return None
    if every <= 0:
        raise Usage("--ready-port needs a watcher", hint="leave --every out, or give seconds above 0")
    return ReadyPort(*address)


def _say(line: str) -> None:
    import sys

    from governance.cli.output import write
    from governance.report.escape import plain

    write(sys.stderr, f"tierlock: {plain(line)}\n")
