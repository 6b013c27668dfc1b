"""Why git said no, as an error with a remedy: unborn, ambiguous, cut off, or simply not there."""

from __future__ import annotations

import os

from governance.errors import IncompleteHistory, TierlockError, Unreadable, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from governance.adapters.git import Git


def shallow(what: str) -> IncompleteHistory:
    """The error for something that a shallow clone left out."""
    return IncompleteHistory(
        f"the clone is shallow: {what} is not here",
        hint="git fetch --unshallow     (in GitHub Actions: actions/checkout with fetch-depth: 0)",
    )


def absent_object(git: Git, what: str, where: str) -> TierlockError:
    if git.is_shallow():
        return shallow(what)
    return Unreadable(f"{what} is not in this clone", where=where, hint="git fetch --refetch origin")


def no_such(git: Git, revision: str) -> TierlockError:
    """Why `revision` names no commit, and what would."""
    readings = _readings(git, revision)
    if len(readings) > 1:
        return Usage(
            f"`{revision}` is ambiguous: it names {' and '.join(f'`{name}`' for name in readings)}",
            hint=f"write one of them in full: {readings[0]}",
        )
    if revision.partition("~")[0].partition("^")[0] in ("HEAD", "@") and not git.has_commits():
        return Unreadable("`HEAD` has no commit yet", where=revision, hint="commit first, or name `index`")
    status, out, _ = git.ask("rev-parse", "--verify", "--quiet", "--end-of-options", revision)
    if status == 0 and (kind := git.ask("cat-file", "-t", out.decode().strip())[1].decode().strip()):
        return Unreadable(f"`{revision}` is a {kind}, not a commit", where=revision)
    if git.is_shallow():
        return shallow(f"`{revision}`")
    if status == 0:
        return IncompleteHistory(
            f"commit `{revision}` is not in this clone", hint=f"git fetch origin {revision}"
        )
    return Unreadable(
        f"`{revision}` is not a revision of this repository",
        where=revision,
        hint=_nearest(git, revision) or "git log --oneline --decorate --all",
    )


def _readings(git: Git, revision: str) -> list[str]:
    """The full names of branches, tags and commits that the word `revision` could mean."""
    word = revision.partition("^")[0].partition("~")[0]
    names = git.run("for-each-ref", "--format=%(refname)").decode("utf-8", "replace").splitlines()
    found = [name for name in names if name in (f"refs/tags/{word}", f"refs/heads/{word}")]
    if len(word) >= 4 and not word.strip("0123456789abcdefABCDEF"):
        ids = git.ask("rev-parse", f"--disambiguate={word}")[1].decode().split()
        given = "".join(f"{oid}\n" for oid in ids).encode()
        lines = git.run("cat-file", "--batch-check", given=given).decode().splitlines()
        found += [line.split()[0] for line in lines if " commit " in line or " tag " in line]
    return found


def _nearest(git: Git, revision: str) -> str:
    from difflib import get_close_matches

    listed = git.run("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags")
    close = get_close_matches(revision, listed.decode("utf-8", "replace").split(), n=1)
    return f"did you mean `{close[0]}`?" if close else ""


def failure(root: str, args: Sequence[str], err: bytes) -> TierlockError:
    """git's own message as one of our errors."""
    text = err.decode("utf-8", "replace").strip()
    if "not a git repository" in text:
        return Unreadable("this folder is not inside a git repository", where=root, hint="git init")
    if "dubious ownership" in text:
        command = f"git config --global --add safe.directory {root}"
        return Unreadable("git refuses a repository of another owner", where=root, hint=command)
    if not os.path.isdir(root):
        return Unreadable("the folder is not there", where=root)
    command = next((word for word in args if not word.startswith("-")), "")
    first = next((line for line in text.splitlines() if line.startswith(("fatal:", "error:"))), text)
    why = first.removeprefix("fatal: ").removeprefix("error: ") or "no message"
    kind = IncompleteHistory if "bad object" in text or "missing object" in text else Unreadable
    return kind(f"`git {command}` failed: {why}", where=root)
