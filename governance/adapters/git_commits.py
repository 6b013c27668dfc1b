"""Commits of single paths, and which paths stand uncommitted: what else a user has staged is left alone.

- A commit is made by `git commit` itself, so that the hooks of the repository run as they do for people.
- One that a hook refuses leaves the files where they are, staged as they were before.
- Paths are relative to the top level of the repository.
"""

from __future__ import annotations

from collections.abc import Sequence

from governance.adapters.git import Git
from governance.adapters.git_trees import text_of
from governance.errors import Unreadable

NOT_FOR_HOOKS = ("GIT_LITERAL_PATHSPECS", "GIT_NO_REPLACE_OBJECTS", "GIT_OPTIONAL_LOCKS")


def uncommitted(git: Git, prefixes: Sequence[str]) -> tuple[str, ...]:
    """The paths at or below `prefixes` that differ from HEAD, in the index or on disk, or are untracked."""
    below = [part.rstrip("/") for part in prefixes]
    out = git.run("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames",
                  "--ignore-submodules=none", "--", *below)  # fmt: skip
    return tuple(sorted(row[3:] for row in text_of(out).split("\0") if row))


def commit_paths(git: Git, paths: Sequence[str], message: str) -> str:
    """The id of a new commit on this branch that holds what lies at `paths`, and nothing else that is staged.

    Raises `Unreadable` with git's own words when it cannot be made (a hook, no identity); then `paths` are
    staged no more than they were.
    """
    if merging := _in_progress(git):
        raise Unreadable(
            f"nothing can be committed during a {merging}", hint=f"finish it, or: git {merging} --abort"
        )
    own = Git(git.root)
    own.environment = {name: value for name, value in git.environment.items() if name not in NOT_FOR_HOOKS}
    before = set(_known(git, paths))
    own.run("add", "--force", "--", *paths)
    status, out, err = own.ask("commit", "--quiet", "--only", "--message", message, "--", *paths)
    if status != 0:
        new = [path for path in paths if path not in before]
        if new:
            own.ask("reset", "--quiet", "--", *new)
        raise Unreadable(
            f"git did not commit: {_why(out + err)}",
            where=git.root,
            hint=f"the files are written; mend that, then: git add -f {' '.join(paths)} && git commit",
        )
    return git.resolve("HEAD")


def _known(git: Git, paths: Sequence[str]) -> tuple[str, ...]:
    """Of `paths`, those the index knows already."""
    out = git.run("ls-files", "-z", "--", *paths)
    return tuple(row for row in text_of(out).split("\0") if row)


def _in_progress(git: Git) -> str:
    """`merge`, `cherry-pick` or `revert` when one is under way: a partial commit is refused then."""
    for name, ref in (
        ("merge", "MERGE_HEAD"),
        ("cherry-pick", "CHERRY_PICK_HEAD"),
        ("revert", "REVERT_HEAD"),
    ):
        if git.ask("rev-parse", "--verify", "--quiet", ref)[0] == 0:
            return name
    return ""


def _why(said: bytes) -> str:
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    return "; ".join(lines[-3:]) or "it gave no reason"
