"""`tierlock release notes`: one release for people, as Markdown."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from governance.cli.options import root, service_names


@click.command("notes")
@click.argument("service", shell_complete=service_names)
@click.argument("release", required=False)
@click.option("-o", "--output", "target", type=click.Path(path_type=Path), help="Write the notes here.")
@root
def command(service: str, release: str | None, target: Path | None, root: str | None) -> None:
    """Print the notes of a release of SERVICE as Markdown: what moved, risk, evidence, approvals.

    Without RELEASE, the newest. Contents of prompts are not part of the notes.

    \b
    Examples:
      tierlock release notes summarizer
      tierlock release notes summarizer v42 -o NOTES.md
      gh release create summarizer-v42 --notes-file NOTES.md
    """
    from governance.adapters.files import WorkTree, write_atomic
    from governance.cli.output import write
    from governance.cli.release.naming import chosen
    from governance.cli.repository import find
    from governance.release.releases import since_parent
    from governance.release.sides import Place
    from governance.report.release_notes import render

    place = Place(find(root or ""))
    source = WorkTree(place.root)
    record = chosen(source, service, release)
    text = render(record, since_parent(record, source, place))
    if target is None:
        write(sys.stdout, text)
    else:
        write_atomic(target, text.encode())
        write(sys.stderr, f"written  {target}\n")
