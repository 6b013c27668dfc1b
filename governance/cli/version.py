"""`tierlock version`: what runs here, for bug reports."""

from __future__ import annotations

import sys

import click

from governance import __version__
from governance.cli.options import reporting
from governance.cli.output import Output
from governance.tiers.canonical import SCHEME
from governance.values import Json
from governance.verdict import REPORT_SCHEMA, Check, Outcome, Report


@click.command("version")
@reporting
def command(output: Output) -> Report:  # noqa: ARG001  every command gets it
    """Show the versions a bug report needs.

    \b
    Examples:
      tierlock version
      tierlock version --format json
    """
    python = ".".join(str(part) for part in sys.version_info[:3])
    run: dict[str, Json] = {
        "version": __version__,
        "python": python,
        "scheme": SCHEME,
        "report": REPORT_SCHEMA,
    }
    words = f"tierlock {__version__}, Python {python}, fingerprints {SCHEME}, reports {REPORT_SCHEMA}"
    return Report("version", checks=(Check("version", Outcome.PASS),), summary=words, run=run)
