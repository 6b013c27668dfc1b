"""Get what a clone in CI was made without: a branch, a commit, the history between two commits.

- Only remote-tracking refs and objects are written; no branch, no tag, no work tree is touched.
- A fetch that is refused or impossible is an answer (False), not an error: the caller may do without.
- History is complete between two commits when both are here, have a common ancestor, and no cut-off commit
  lies on the way; only then are all authors of a change known.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.adapters.git_trees import text_of
from governance.adapters.git_trouble import shallow
from governance.errors import IncompleteHistory

if TYPE_CHECKING:
    from governance.adapters.git import Git

REMOTE: Final = "origin"
WHOLE: Final = "in CI, whole history: fetch-depth: 0 of actions/checkout, GIT_DEPTH: 0 in GitLab"
_STEPS: Final = ("--deepen=50", "--deepen=500", "--unshallow")
_QUIET: Final = (
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-recurse-submodules",
    "--no-auto-maintenance",
)


def fetch(git: Git, *wanted: str, how: str = "") -> bool:
    """Whether git fetched `wanted`, refspecs or full ids, from the remote; `how` is one more option."""
    args = ("fetch", *_QUIET, *([how] if how else []), REMOTE, *wanted)
    return git.ask(*args)[0] == 0


def fetch_branch(git: Git, branch: str) -> bool:
    """Whether the remote-tracking ref of `branch` now is what the remote has."""
    return fetch(git, f"+refs/heads/{branch}:{tracking(branch)}")


def fetch_branches(git: Git) -> bool:
    """Whether every branch of the remote is here now, and none that it no longer has."""
    return fetch(git, f"+refs/heads/*:{tracking('*')}", how="--prune")


def tracking(branch: str) -> str:
    """The full name of the remote-tracking ref of `branch`."""
    return f"refs/remotes/{REMOTE}/{branch}"


def bring(git: Git, oid: str) -> None:
    """See that the commit `oid` is here. Raises `IncompleteHistory`."""
    if git.find(oid) is not None:
        return
    git.run("rev-parse", "--git-dir")  # outside of a repository nothing is here, and that is the reason
    if not (fetch(git, oid) and git.find(oid) is not None):
        raise IncompleteHistory(
            f"commit {oid[:12]} is not in this clone, and `{REMOTE}` does not give it",
            hint=f"git fetch {REMOTE} {oid}     ({WHOLE})",
        )


def bring_between(git: Git, one: str, other: str) -> None:
    """See that all history between two commits is here, deepening in steps. Raises `IncompleteHistory`."""
    bring(git, one)
    bring(git, other)
    for how in _STEPS:
        if is_complete(git, one, other):
            return
        fetch(git, one, other, how=how)
    if not is_complete(git, one, other):
        raise shallow(f"the history between {one[:12]} and {other[:12]}")


def bring_everything(git: Git) -> None:
    """See that no history is cut off. Raises `IncompleteHistory`."""
    if git.is_shallow() and not (fetch(git, how="--unshallow") and not git.is_shallow()):
        raise shallow("part of the history")


def is_complete(git: Git, one: str, other: str) -> bool:
    """Whether every commit between two commits is here."""
    if not git.is_shallow():
        return True
    if git.ask("merge-base", one, other)[0] != 0:
        return False
    status, out, _ = git.ask("rev-list", "--end-of-options", f"{one}...{other}")
    return status == 0 and _cut_off(git).isdisjoint(text_of(out).split())


def _cut_off(git: Git) -> frozenset[str]:
    """The commits whose parents were left out."""
    path = text_of(git.run("rev-parse", "--git-path", "shallow").removesuffix(b"\n"))
    try:
        return frozenset((Path(git.root) / path).read_text("ascii").split())
    except FileNotFoundError:
        return frozenset()
