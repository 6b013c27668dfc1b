"""`tierlock review records` without the command line: which records differ, in the index or in a range.

- The hook comes through here without click.
- A merge is compared with each of its parents: what one of them holds must not get lost or change.
- Nothing staged means that the last commit is looked at; nothing is passed over.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from governance.adapters import git_history as history
from governance.adapters.git_trees import kind_of
from governance.cli.review import judging
from governance.verdict import Check, Outcome, Report

if TYPE_CHECKING:
    from governance.adapters.files import FileSource
    from governance.adapters.git import Moved
    from governance.review.landings import Where

ROOT = ".tierlock/"


def hook() -> int:
    """The exit code of `tierlock review records`, its report shown."""
    from governance.cli.output import Finished, Output, deliver

    report = of_hook(judging.where(""))
    deliver(Finished(report, Output()))
    return int(report.exit_code)


def of_hook(place: Where) -> Report:
    """The report on what git or pre-commit is about: the commit being made, or what is pushed."""
    between = _pushed(place)
    return range_of(place, between) if between else _staged(place)


def range_of(place: Where, text: str) -> Report:
    """The report on what a range brings to its base."""
    base, _, head = text.replace("...", "..").partition("..")
    start, top = place.git.merge_base(base or "HEAD", head or "HEAD"), place.git.resolve(head or "HEAD")
    moved = place.git.moved(start, top, _folder(place))
    return _checked(place, moved, place.tree(head or "HEAD", oid=top), text)


def _staged(place: Where) -> Report:
    git, folder = place.git, _folder(place)
    if not git.staged():  # an amended message, or CI: the last commit is looked at, nothing is passed over
        if git.has_commits() and not history.merging(git, os.environ):
            return range_of(place, "HEAD^..HEAD") if git.find("HEAD^") else whole(place)
        return _nothing("the commit being made")
    moved = list(git.staged(folder))
    for parent in history.merging(git, os.environ):
        moved += [one for one in git.staged_against(parent, folder) if one.status != "A"]
    return _checked(place, moved, place.index(), "the commit being made")


def whole(place: Where) -> Report:
    """The report on every record that is staged, changed or not."""
    from governance.review import records
    from governance.review.records import Touched

    index = place.index()
    entries = index.entries(ROOT)
    touched = [Touched(entry.path, None, entry.kind) for entry in entries]
    paths = {entry.path for entry in entries}
    return records.check(touched, index.read, paths.__contains__, "the index")


def _checked(place: Where, moved: Iterable[Moved], after: FileSource, label: str) -> Report:
    differing = list(moved)
    if not differing:
        return _nothing(label)
    from governance.review import records
    from governance.review.records import Touched

    touched = {
        one.path: Touched(
            place.inner(one.path),
            kind_of(one.before_mode) if one.before_mode else None,
            kind_of(one.after_mode) if one.after_mode else None,
            one.before_oid != one.after_oid,
        )
        for one in differing
    }
    return records.check(touched.values(), after.read, lambda path: bool(after.entries(path)), label)


def _nothing(label: str) -> Report:
    """As `records.check` of nothing, without its imports: most commits touch no record."""
    said = f"{label} touches no record"
    check = Check("records", Outcome.PASS, said)
    return Report("review records", checks=(check,), summary=said, run={"records": 0})


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
