"""`tierlock demo`: a review with real keys, a real server, a release and the way back to it."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from governance.cli.options import reporting, root
from governance.cli.output import Output, style, write
from governance.errors import TierlockError
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.release.sides import Place


@click.command("demo")
@root
@reporting
def command(root: str | None, output: Output) -> Report:
    """Review a silent edit, run a real llama-server, let it drift, and take a bad release back.

    In a repository of its own an edit of `temperature` is stopped at the commit, approved with another
    person's SSH key, committed and audited. Then a base config is started and the running server read back:
    repository and server have one fingerprint. The KV cache is quantised and sampling defaults move at the
    server: no file changes, every request is answered with 200, and the comparison names what moved. Then
    a release is cut on eval evidence and made golden, two values move past the hook, the smoke eval and the
    comparison with golden tell what that did, and `tierlock rollback` goes back and looks.

    The server is started from the service of the repository you are in when that runs on the demo's engine
    and weights, else from the one of `tierlock init`.

    \b
    Examples:
      tierlock demo
      tierlock demo --format json
    """
    from governance.adapters.demo_engine import find as find_engine
    from governance.cli.scaffold import files
    from governance.release.demo import Cast, scenes, told

    with tempfile.TemporaryDirectory(prefix="tierlock-demo-") as scratch:
        place, service = _place(root, Path(scratch))
        today = datetime.now(UTC).date()
        cast = Cast(place, service, find_engine(), Path(scratch), today, files("llama.cpp"))
        reports = []
        for scene in scenes(cast):
            reports.append(scene)
            if output.format == "text":
                _show(scene, len(reports), output)
    return told(reports)


def _place(given: str | None, scratch: Path) -> tuple[Place, str]:
    """The repository to play in, and the service there that the demo's engine can run."""
    from governance.cli.repository import find, names
    from governance.release.demo import fits
    from governance.release.sides import Place

    try:
        here = Place(find(given or ""))
        state = here.state("worktree")
        for name in names(given or ""):
            service = state.service(name)
            if service is not None and fits(service):
                return here, name
    except TierlockError:
        if given:
            raise
    return _written(scratch)


def _written(scratch: Path) -> tuple[Place, str]:
    from governance.adapters.files import write_all
    from governance.cli.scaffold import files
    from governance.release.sides import Place

    folder = scratch / "repository"
    folder.mkdir()
    write_all(folder, files("llama.cpp"))
    return Place(folder), next(iter(Place(folder).state("worktree").bindings()))


def _show(scene: Report, number: int, output: Output) -> None:
    from governance.report.text import render

    untitled = replace(scene, title="")
    write(sys.stdout, f"\n── {number} ── {scene.title}\n\n{render(untitled, style(output))}")
