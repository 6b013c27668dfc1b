"""`tierlock review records`: records are added, never changed, never taken away."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from governance.adapters import git_history as history
from governance.adapters.git_trees import kind_of
from governance.cli.options import reporting, root
from governance.cli.output import Output
from governance.cli.review import judging
from governance.review import records
from governance.review.records import ROOT, Touched
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.adapters.git import Moved
    from governance.review.landings import Where


@click.command("records")
@click.option("--staged", is_flag=True, help="Look at the commit being made. The default.")
@click.option(
    "--range", "between", metavar="BASE..HEAD", default="", help="Look at what HEAD brings to BASE."
)
@click.option(
    "--all", "everything", is_flag=True, help="Look at every record that is staged, changed or not."
)
@root
@reporting
def command(
    staged: bool,
    between: str,
    everything: bool,
    root: str | None,
    output: Output,  # noqa: ARG001
) -> Report:
    """Check that records under .tierlock/ are well-formed, unaltered, and none is taken away.

    Approvals, releases, snapshots and evidence are kept for ever. Whether an approval counts is said by
    `tierlock review gate`.

    \b
    Examples:
      tierlock review records
      tierlock review records --range origin/main..HEAD
      tierlock review records --all
    """
    if staged + bool(between) + everything > 1:
        raise click.UsageError("--staged, --range and --all exclude each other: name one")
    place = judging.where(root or "")
    if everything:
        return _all(place)
    between = between or _pushed(place)
    return _range(place, between) if between else _staged(place)


def _staged(place: Where) -> Report:
    git, folder = place.git, _folder(place)
    if not git.staged():  # an amended message, or CI: the last commit is looked at, nothing is passed over
        if git.has_commits() and not history.merging(git, os.environ):
            return _range(place, "HEAD^..HEAD") if git.find("HEAD^") else _all(place)
        return records.check((), place.index().read, lambda _: False, "the commit being made")
    moved = list(git.staged(folder))
    for parent in history.merging(git, os.environ):
        moved += [one for one in git.staged_against(parent, folder) if one.status != "A"]
    return _checked(place, moved, place.index(), "the commit being made")


def _range(place: Where, text: str) -> Report:
    base, _, head = text.replace("...", "..").partition("..")
    start, top = place.git.merge_base(base or "HEAD", head or "HEAD"), place.git.resolve(head or "HEAD")
    moved = place.git.moved(start, top, _folder(place))
    return _checked(place, moved, place.tree(head or "HEAD", oid=top), text)


def _all(place: Where) -> Report:
    index = place.index()
    entries = index.entries(ROOT)
    touched = [Touched(entry.path, None, entry.kind) for entry in entries]
    paths = {entry.path for entry in entries}
    return records.check(touched, index.read, paths.__contains__, "the index")


def _checked(place: Where, moved: Iterable[Moved], after: FileSource, label: str) -> Report:
    touched = {
        one.path: Touched(
            place.inner(one.path),
            kind_of(one.before_mode) if one.before_mode else None,
            kind_of(one.after_mode) if one.after_mode else None,
            one.before_oid != one.after_oid,
        )
        for one in moved
    }
    return records.check(touched.values(), after.read, lambda path: bool(after.entries(path)), label)


def _pushed(place: Where) -> str:
    """What pre-commit says is pushed, as a range; empty at a commit."""
    environ = os.environ
    old, new = environ.get("PRE_COMMIT_FROM_REF", ""), environ.get("PRE_COMMIT_TO_REF", "")
    if old and new:
        return f"{old}..{new}"
    if not environ.get("PRE_COMMIT_REMOTE_BRANCH"):
        return ""
    from governance.review import verbs

    return f"{verbs.target_of(place)}..{new or environ.get('PRE_COMMIT_LOCAL_BRANCH', 'HEAD')}"


def _folder(place: Where) -> str:
    return f"{place.folder}/{ROOT}" if place.folder else ROOT
