"""A forward commit of single paths, made by plumbing: nothing else a person has staged or edited is touched.

- The commit is made first, out of a temporary index: objects only. Then the files are put on disk, then into
  the index, and last the branch moves, and only if it is where it was. Killed anywhere in between, `settle`
  carries on from what is there, and `undo` goes back.
- A path may be as it was before or as it shall be; anything else is somebody's edit, and is refused.
- No hook runs: a hook that stops the way back at night is worse than one that was passed over, and the review
  audit judges what landed. `commit.gpgsign` is honoured.
- What lands on disk went through git's own filters (line ends, smudge), as with a check-out.
- Paths are relative to the top level of the repository.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from governance.adapters.files import WorkTree, relative, write_atomic
from governance.adapters.git import Git
from governance.adapters.git_commits import NOT_FOR_HOOKS
from governance.adapters.git_trees import text_of
from governance.errors import TierlockError, Unreadable
from governance.records import dataclass

ABSENT: Final = ("", "")
"""Mode and blob id of a path that is not there."""
_ZERO: Final = "0" * 40
_REGULAR: Final = ("100644", "100755")
_DURABLE: Final = ("-c", "core.fsync=all")
_LOCKED: Final = (b"index.lock", b"cannot lock ref", b"Unable to create")
PATIENCE_S: Final = 5.0
"""How long another git that holds a lock is waited for."""
_STEP: Final = 0.05

Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Change:
    """One path: mode and blob id before and after, `ABSENT` where it is not there."""

    path: str
    before: tuple[str, str]
    after: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Forward:
    """A commit that is ready to land: on which branch, upon which commit, with which changes."""

    branch: str
    head: str
    commit: str
    changes: tuple[Change, ...]


class Moved(Exception):
    """The branch is no longer where the commit was made for, or what it changes was changed meanwhile."""


def branch_of(git: Git) -> str:
    """The full name of the branch that is checked out; empty when HEAD is detached."""
    status, out, _ = git.ask("symbolic-ref", "--quiet", "HEAD")
    return out.decode().strip() if status == 0 else ""


def refusal(git: Git) -> TierlockError | None:
    """Why no forward commit can be made here, or None when one can."""
    if not git.has_commits():
        return Unreadable("there is no commit yet", where=git.root, hint="git commit")
    if not branch_of(git):
        return Unreadable(
            "no branch is checked out (HEAD is detached), so the commit would be on none",
            where=git.root,
            hint="git switch BRANCH",
        )
    for name, ref in (
        ("merge", "MERGE_HEAD"),
        ("cherry-pick", "CHERRY_PICK_HEAD"),
        ("revert", "REVERT_HEAD"),
    ):
        if git.ask("rev-parse", "--verify", "--quiet", ref)[0] == 0:
            return Unreadable(f"a {name} is under way", where=git.root, hint=f"git {name} --abort")
    status, _, err = git.ask("var", "GIT_COMMITTER_IDENT")
    if status != 0:
        why = err.decode("utf-8", "replace").strip().rpartition("\n")[2].removeprefix("fatal: ")
        hint = 'git config user.name "…" && git config user.email "…"'
        return Unreadable(f"git does not know who commits: {why}", where=git.root, hint=hint)
    return None


def blob_of(git: Git, data: bytes) -> str:
    """The id of a blob that holds `data`; it is written into the object store."""
    return git.run(*_DURABLE, "hash-object", "-w", "--no-filters", "--stdin", given=data).decode().strip()


def entries_of(git: Git, commit: str, paths: Iterable[str]) -> Mapping[str, tuple[str, str]]:
    """Mode and blob id of every path at or below `paths` in a commit."""
    wanted = [path.rstrip("/") for path in paths]
    if not wanted:
        return {}
    out = git.run("ls-tree", "-r", "-z", "--full-tree", commit, "--", *wanted)
    found = {}
    for row in filter(None, out.split(b"\0")):
        head, _, path = row.partition(b"\t")
        mode, _, oid = head.decode().split(" ")
        found[text_of(path)] = (mode, oid)
    return found


def prepare(git: Git, changes: Sequence[Change], message: str) -> Forward:
    """A commit of `changes` upon HEAD that is on no branch yet; only objects are written.

    Raises `Moved` when HEAD does not have what the changes start from, `Unreadable` when git makes no commit.
    """
    head, branch = git.resolve("HEAD"), branch_of(git)
    there = entries_of(git, head, [change.path for change in changes])
    if any(there.get(change.path, ABSENT) != change.before for change in changes):
        raise Moved
    with tempfile.TemporaryDirectory() as folder:
        apart = Git(git.root)
        apart.environment = {**git.environment, "GIT_INDEX_FILE": os.path.join(folder, "index")}  # noqa: PTH118
        apart.run("read-tree", head)
        apart.run("update-index", "-z", "--index-info", given=_index_rows(changes))
        tree = apart.run(*_DURABLE, "write-tree").decode().strip()
    signed = git.ask("config", "--type=bool", "commit.gpgsign")[1].strip() == b"true"
    made = git.run(*_DURABLE, "commit-tree", tree, "-p", head, *(("-S",) if signed else ()), "-F", "-",
                   given=message.encode())  # fmt: skip
    return Forward(branch, head, made.decode().strip(), tuple(changes))


def is_landed(git: Git, forward: Forward) -> bool:
    """Whether the branch has the commit already."""
    tip = git.find(forward.branch)
    return tip is not None and git.ask("merge-base", "--is-ancestor", forward.commit, tip)[0] == 0


def settle(
    git: Git, forward: Forward, watch: Watch = lambda _: None, *, patience_s: float = PATIENCE_S
) -> None:
    """Bring files, index and branch to `forward`, from wherever a killed call left them.

    Raises `Moved` when the branch has other commits meanwhile, `Unreadable` when a person's edit is in the
    way; what was not written by then is as it was.
    """
    landed = is_landed(git, forward)
    if not _is_at(git, forward, landed=landed):
        raise Moved
    _refuse_edits(git, forward.changes)
    _put(git, forward.changes, watch, patience_s)
    if not landed:
        watch("branch")
        _move(git, forward.branch, forward.commit, forward.head, "rollback")


def undo(git: Git, forward: Forward, watch: Watch = lambda _: None) -> str:
    """The id of HEAD after the changes of `forward` were taken back.

    A commit that landed, is the tip and lies on no remote is taken off the branch; one that others build on,
    or may have, is taken back by a commit of its own.
    """
    if not is_landed(git, forward):
        return _put_back(git, forward, watch)
    back = tuple(Change(one.path, one.after, one.before) for one in forward.changes)
    _refuse_edits(git, back)
    if git.find(forward.branch) == forward.commit and not _published(git, forward.commit):
        _move(git, forward.branch, forward.head, forward.commit, "rollback: taken back")
        _put(git, back, watch)
        return forward.head
    again = prepare(git, back, "take back a rollback that was given up\n")
    settle(git, again, watch)
    return again.commit


def push(git: Git) -> str:
    """Where the branch that is checked out was pushed to, as `origin/main`. The hooks of the repository run.

    Raises `Unreadable` with git's own words and the command when it cannot be.
    """
    branch = branch_of(git).removeprefix("refs/heads/")
    remote = _config(git, f"branch.{branch}.remote") or _only_remote(git)
    target = _config(git, f"branch.{branch}.merge") or f"refs/heads/{branch}"
    if not remote:
        raise Unreadable("there is no remote to push to", hint="git remote add origin URL && git push")
    own = Git(git.root)
    own.environment = {name: value for name, value in git.environment.items() if name not in NOT_FOR_HOOKS}
    status, _, err = own.ask("push", "--porcelain", remote, f"HEAD:{target}")
    if status != 0:
        lines = [line.strip() for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
        raise Unreadable(
            f"`git push` failed: {'; '.join(lines[-3:]) or 'it gave no reason'}",
            where=remote,
            hint=f"git push {remote} HEAD:{target}",
        )
    return f"{remote}/{target.removeprefix('refs/heads/')}"


def _config(git: Git, key: str) -> str:
    return git.ask("config", "--get", key)[1].decode().strip()


def _only_remote(git: Git) -> str:
    names = git.run("remote").decode().split()
    return "origin" if "origin" in names else names[0] if len(names) == 1 else ""


def _put_back(git: Git, forward: Forward, watch: Watch) -> str:
    """Files and index as HEAD has them; the commit never landed, and the branch may have moved meanwhile."""
    head = git.resolve("HEAD")
    there = entries_of(git, head, [one.path for one in forward.changes])
    back = [Change(one.path, one.after, there.get(one.path, ABSENT)) for one in forward.changes]
    seen = [
        one if one.after == old.before else Change(one.path, old.before, one.after)
        for one, old in zip(back, forward.changes, strict=True)
    ]
    _refuse_edits(git, back, also=seen)
    _put(git, back, watch)
    return head


def _is_at(git: Git, forward: Forward, *, landed: bool) -> bool:
    """Whether the branch is where the commit belongs, or has it with its changes as they were made."""
    if not landed:
        return git.find(forward.branch) == forward.head
    there = entries_of(git, forward.branch, [change.path for change in forward.changes])
    return all(there.get(change.path, ABSENT) == change.after for change in forward.changes)


def _published(git: Git, commit: str) -> bool:
    out = git.run("for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit, "refs/remotes")
    return bool(out.strip())


def _refuse_edits(git: Git, changes: Sequence[Change], also: Sequence[Change] = ()) -> None:
    """Raise `Unreadable` when a path, on disk or staged, is neither as before nor as after; `also` knows
    further states that are nobody's edit.
    """
    staged = _staged(git, changes)
    known: dict[str, set[str]] = {}
    for one in (*changes, *also):
        known.setdefault(one.path, set()).update((one.before[1], one.after[1]))
    for change in changes:
        seen = (_on_disk(git, change.path), staged.get(change.path, ABSENT)[1])
        if any(one not in known[change.path] for one in seen):
            raise Unreadable(
                f"`{change.path}` was edited meanwhile",
                where=change.path,
                hint=f"save the edit, then call again: git stash push -- {change.path}",
            )


def _on_disk(git: Git, path: str) -> str:
    """The blob id of a file of the work tree as git would store it; empty when it is not there."""
    full = Path(git.root, path)
    if not os.path.lexists(full):
        return ""
    if full.is_symlink() or not full.is_file():
        return "other"
    status, out, _ = git.ask("hash-object", "--path", path, "--stdin", given=full.read_bytes())
    return out.decode().strip() if status == 0 else "other"


def _staged(git: Git, changes: Sequence[Change]) -> Mapping[str, tuple[str, str]]:
    out = git.run("ls-files", "-s", "-z", "--", *(change.path for change in changes)) if changes else b""
    found: dict[str, tuple[str, str]] = {}
    for row in filter(None, out.split(b"\0")):
        head, _, path = row.partition(b"\t")
        mode, oid, stage = head.decode().split(" ")
        found[text_of(path)] = (mode, oid) if stage == "0" else (mode, "other")
    return found


def _put(git: Git, changes: Sequence[Change], watch: Watch, patience_s: float = PATIENCE_S) -> None:
    """Files, then the index."""
    for change in changes:
        watch(f"file {change.path}")
        if _on_disk(git, change.path) != change.after[1] or change.before[0] != change.after[0]:
            _write_file(git, change)
    watch("index")
    rows = _index_rows(changes)
    if rows:
        _patiently(git, ("update-index", "--add", "--remove", "-z", "--index-info"), rows, patience_s)
        git.ask("update-index", "-q", "--refresh")


def _write_file(git: Git, change: Change) -> None:
    WorkTree(git.root).refuse_link_above(relative(change.path))
    full = Path(git.root, change.path)
    mode, oid = change.after
    if not oid:
        full.unlink(missing_ok=True)
        _drop_empty(full.parent, Path(git.root))
        return
    if mode not in _REGULAR:
        raise Unreadable(f"`{change.path}` is no regular file in the release", where=change.path)
    data = git.run("cat-file", "--filters", f"--path={change.path}", oid)
    write_atomic(full, data)
    executable = full.stat().st_mode & 0o111
    if bool(executable) != (mode == "100755"):
        full.chmod(0o755 if mode == "100755" else 0o644)


def _drop_empty(folder: Path, top: Path) -> None:
    while folder != top and folder.is_relative_to(top):
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _index_rows(changes: Iterable[Change]) -> bytes:
    rows = []
    for change in changes:
        mode, oid = change.after
        path = change.path.encode("utf-8", "surrogateescape")
        zero = "0" * len(oid or change.before[1] or _ZERO)
        rows.append(f"{mode or '0'} {oid or zero} 0\t".encode() + path + b"\0")
    return b"".join(rows)


def _move(git: Git, branch: str, new: str, old: str, why: str) -> None:
    """Move the branch from `old` to `new`; raises `Moved` when it is no longer at `old`."""
    try:
        _patiently(git, (*_DURABLE, "update-ref", "-m", why, branch, new, old))
    except Unreadable:
        if git.find(branch) != old:
            raise Moved from None
        raise


def _patiently(git: Git, args: Sequence[str], given: bytes = b"", patience_s: float = PATIENCE_S) -> None:
    """Run git, waiting a while for another git that holds the lock."""
    deadline = time.monotonic() + patience_s
    while True:
        status, _, err = git.ask(*args, given=given)
        if status == 0:
            return
        if not any(word in err for word in _LOCKED) or time.monotonic() >= deadline:
            break
        time.sleep(_STEP)
    why = err.decode("utf-8", "replace").strip().partition("\n")[0]
    raise Unreadable(
        f"git did not write: {why.removeprefix('fatal: ').removeprefix('error: ')}",
        where=git.root,
        hint="end the other git, or remove a lock that a killed one left, then call again",
    )
