"""`tierlock resolve`: what the engine will really use, and who says so."""

from __future__ import annotations

import click

from governance.cli.options import pinning, root, service_names
from governance.cli.output import Output
from governance.cli.repository import find, source
from governance.verdict import Report


@click.command("resolve")
@click.argument("service", shell_complete=service_names)
@click.option("--at", "rev", metavar="REV", default="", help="As of a commit, branch or tag.")
@root
@pinning
def command(service: str, rev: str, root: str | None, output: Output) -> Report:
    """List every decoding and engine value of SERVICE with where it comes from.

    A value comes from the config, from the model's generation_config.json, from the engine's default at
    the named version, or depends on the GPU; what cannot be known is `unknown` and says why.

    \b
    Examples:
      tierlock resolve summarizer
      tierlock resolve summarizer --at v41           as of a commit or a tag
      tierlock resolve summarizer --write            pin: write the floating values into the config
      tierlock resolve summarizer --at v41 --write   pin what was used then
    """
    from governance.cli.pin import pin
    from governance.engines.services import resolve_report
    from governance.tiers.config import load_repository

    place = find(root or "")
    tree = source(place, rev=rev)
    report = resolve_report(load_repository(tree), service, label=tree.label)
    return pin(place, service, report) if output.pin else report
