"""Who made which commit, and which paths it touched: read from the commits themselves.

- Commits are read raw: no mailmap, no replacement, no re-encoding of what was signed.
- A merge touches a path only when its content is in none of its parents: what it merely brings along was
  made by others.
- Paths are asked for with full history: a change that was made and undone has authors too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from governance.adapters.git import Git
from governance.adapters.git_trees import text_of
from governance.errors import Unreadable


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
