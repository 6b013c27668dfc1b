"""Who made which commit, and which paths it touched: read from the commits themselves.

- Commits are read raw: no mailmap, no replacement, no re-encoding of what was signed.
- A merge touches a path only when its content is in none of its parents: what it merely brings along was
  made by others.
- Paths are asked for with full history: a change that was made and undone has authors too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from governance.adapters.git import Git
from governance.adapters.git_trees import text_of
from governance.adapters.git_trouble import failure
from governance.errors import Unreadable

if TYPE_CHECKING:
    from datetime import datetime


class Commit(NamedTuple):
    """One commit: its id, its raw text, and the paths below the prefixes asked for that it touched."""

    oid: str
    raw: bytes
    paths: tuple[str, ...]


def commits_between(git: Git, before: str | None, after: str, prefixes: Sequence[str]) -> list[Commit]:
    """The commits reachable from `after` and not from `before` that touch a path at or below `prefixes`,
    newest first; with `before` None every one.
    """
    reach = [after] if before is None else [after, f"^{before}"]
    below = [part.rstrip("/") for part in prefixes]
    out = git.run(
        "log", "-z", "--format=%x01%H", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--full-history", "-c", "--root", "--no-show-signature", "--no-notes", "--no-color",
        "--ignore-submodules=none", "--end-of-options", *reach, "--", *below,
    )  # fmt: skip
    found = list(_touching(out))
    raws = raw_commits(git, [oid for oid, _ in found])
    return [Commit(oid, raw, paths) for (oid, paths), raw in zip(found, raws, strict=True)]


def _touching(out: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """`\\x01id NUL [NL path NUL path NUL …]`: the paths follow an empty line, or nothing follows."""
    found = []
    for part in out.split(b"\x01")[1:]:
        oid, _, rest = part.partition(b"\0")
        if b"\n" in oid:
            oid, _, more = oid.partition(b"\n")
            rest = more.lstrip(b"\n") + b"\0" + rest
        paths = tuple(text_of(one.removeprefix(b"\n")) for one in rest.split(b"\0") if one.strip(b"\n"))
        if paths:
            found.append((oid.decode().strip(), paths))
    return found


def raw_commits(git: Git, oids: Sequence[str]) -> list[bytes]:
    """The text of each commit, as stored."""
    if not oids:
        return []
    out = git.run("cat-file", "--batch", given="".join(f"{oid}\n" for oid in oids).encode())
    found, at = [], 0
    for oid in oids:
        end = out.index(b"\n", at)
        head = out[at:end].split()
        if len(head) != 3 or head[1] != b"commit":
            raise Unreadable(f"`{oid[:12]}` is not a commit that can be read", hint="git fsck")
        start, size = end + 1, int(head[2])
        found.append(out[start : start + size])
        at = start + size + 1
    return found


def parents_of(raw: bytes) -> tuple[str, ...]:
    """The ids of the parents of a raw commit, first parent first."""
    head = raw.partition(b"\n\n")[0]
    return tuple(line[7:].decode() for line in head.split(b"\n") if line.startswith(b"parent "))


def idents(git: Git) -> dict[str, str]:
    """Who the commit being made would name, as `Name <address> time zone`, by `author` and `committer`.

    A name that git does not know is left out: git itself will refuse to commit.
    """
    found = {}
    for role in ("author", "committer"):
        name, address = (git.environment.get(f"GIT_{role.upper()}_{part}") for part in ("NAME", "EMAIL"))
        if name and address:  # git told its hook
            found[role] = f"{name} <{address}>"
            continue
        status, out, _ = git.ask("var", f"GIT_{role.upper()}_IDENT")
        if status == 0:
            found[role] = text_of(out.strip())
    return found


def head_branch(git: Git) -> str:
    """The full name of the branch that HEAD is on, or that a rebase is moving; empty when it is detached."""
    status, out, _ = git.ask("symbolic-ref", "--quiet", "HEAD")
    return text_of(out.strip()) if status == 0 else _rebasing(git)


def _rebasing(git: Git) -> str:
    """The full name of the branch that a rebase in progress is moving; empty when there is none."""
    for name in ("rebase-merge", "rebase-apply"):
        path = text_of(git.run("rev-parse", "--git-path", f"{name}/head-name").removesuffix(b"\n"))
        try:
            with open(os.path.join(git.root, path), encoding="utf-8", errors="surrogateescape") as file:
                branch = file.read().strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        return branch if branch.startswith("refs/heads/") else ""
    return ""


def merging(git: Git, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The commits that the commit being made would merge; none when it is no merge.

    git writes `MERGE_HEAD` only after its pre-merge-commit hook; until then the `GITHEAD_<id>` variables of
    the merge tell.
    """
    path = os.path.join(git.root, ".git", "MERGE_HEAD")
    if "GIT_DIR" in git.environment or not os.path.isdir(os.path.dirname(path)):  # a linked worktree
        path = text_of(git.run("rev-parse", "--git-path", "MERGE_HEAD").removesuffix(b"\n"))
        path = os.path.join(git.root, path)
    try:
        with open(path, encoding="ascii") as file:
            named = file.read().split()
    except FileNotFoundError:
        named = sorted(name.removeprefix("GITHEAD_") for name in environ if name.startswith("GITHEAD_"))
    return tuple(oid for name in named if (oid := git.find(name)) is not None)


def refs(git: Git, *prefixes: str) -> dict[str, str]:
    """The commits of the refs below `prefixes` by full name; tags of anything else are left out."""
    out = git.run("for-each-ref", "--format=%(objectname) %(objecttype) %(refname)", *prefixes)
    rows = [line.split(" ", 2) for line in text_of(out).splitlines()]
    return {name: oid for oid, kind, name in rows if kind == "commit"}


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether `older` is part of the history of `newer`. Raises when either is not here."""
    status, _, err = git.ask("merge-base", "--is-ancestor", older, newer)
    if status > 1:
        raise failure(git.root, ("merge-base",), err)
    return status == 0


def count_between(git: Git, before: str, after: str) -> int:
    """How many commits `after` has that `before` has not."""
    return int(git.run("rev-list", "--count", "--end-of-options", after, f"^{before}"))


@contextmanager
def merged(git: Git, ours: str, theirs: str) -> Iterator[tuple[Git, str, tuple[str, ...]]]:
    """What merging `theirs` into `ours` gives: a git that can read it, the id of the tree, and the paths in
    conflict. Nothing is written to the repository: the objects of the merge live in a temporary folder.
    """
    from tempfile import TemporaryDirectory

    objects = text_of(git.run("rev-parse", "--git-path", "objects").removesuffix(b"\n"))
    objects = objects if os.path.isabs(objects) else os.path.join(git.root, objects)
    with TemporaryDirectory(prefix="tierlock-") as folder:
        apart = Git(git.root)
        known = git.environment.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
        own = git.environment.get("GIT_OBJECT_DIRECTORY", "")
        stores = [store for store in (own, objects, *known.split(os.pathsep)) if store]
        apart.environment = git.environment | {
            "GIT_OBJECT_DIRECTORY": folder,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.pathsep.join(dict.fromkeys(stores)),
        }
        with apart:
            args = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
            status, out, err = apart.ask(*args)
            if status not in (0, 1) or not out:
                raise failure(git.root, args, err)
            tree, *conflicts = [text_of(part) for part in out.split(b"\0") if part]
            yield apart, tree, tuple(conflicts)


def committed_at(git: Git, oid: str) -> datetime | None:
    """When a commit says it was committed; None when it does not say so."""
    from datetime import UTC, datetime

    head = raw_commits(git, [oid])[0].partition(b"\n\n")[0]
    line = next((one for one in head.split(b"\n") if one.startswith(b"committer ")), b"")
    words = line.rsplit(b" ", 2)
    if len(words) != 3 or not words[1].isdigit():
        return None
    return datetime.fromtimestamp(int(words[1]), UTC)
