"""What the commands of `golden` share: checks set aside on the command line, and writing what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from governance.records import replace
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.release.pointing import Done
    from governance.release.sides import Place


def accepted(values: tuple[str, ...]) -> Mapping[str, str]:
    """`CHECK=REASON` words as a mapping. Raises a usage error for a word that is none."""
    found: dict[str, str] = {}
    for word in values:
        name, equals, reason = word.partition("=")
        if not equals or not name or not reason.strip():
            raise click.UsageError(f"--accept {word!r} is not CHECK=REASON, as in image='no registry here'")
        found[name] = reason
    return found


def written(place: Place, done: Done, message: str, *, commit: bool) -> Report:
    """The report of `done` once its file is written, and committed when asked."""
    from governance.adapters.files import write_all

    if not done.files:
        return done.report
    write_all(Path(place.root), done.files)
    paths = list(done.files)
    notes = [f"  wrote      {path}" for path in paths]
    if not commit:
        following = f'git add {" ".join(paths)} && git commit -m "{message}"'
        return replace(done.report, notes=(*done.report.notes, *notes), next=following)
    from governance.cli.release.naming import commit_here

    notes.append(f"  commit     {commit_here(place, paths, message)} {message}")
    return replace(done.report, notes=(*done.report.notes, *notes))
