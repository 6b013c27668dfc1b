"""A whole stretch of history at once: its commits with their parents, and what differs between their trees.

- Two calls of git for any number of commits: one lists them, oldest first, one compares pairs of trees as a
  stream. No commit is left out for being alike (no history simplification), no merge is skipped.
- A commit whose parents a shallow clone cut off is an error, never a first commit.
- Trees are compared by id below the prefixes asked for, without rename detection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from governance.adapters.files import Entry, Kind, not_regular, relative
from governance.adapters.git import Git, Moved
from governance.adapters.git_trees import kind_of, text_of
from governance.adapters.git_trouble import shallow
from governance.errors import Unreadable

_RAW = ("--raw", "-r", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv")


Files: TypeAlias = Mapping[str, tuple[str, str]]
"""Mode and blob id by path."""


class Passed(NamedTuple):
    """One commit of a stretch: id, id of its tree, committer's time in seconds, parents, first one first."""

    oid: str
    tree: str
    time: int
    parents: tuple[str, ...]


def commits(git: Git, after: str, *before: str) -> list[Passed]:
    """Every commit that `after` reaches and none of `before` does, parents ahead of their children.

    Raises `IncompleteHistory` when one of them stands where a shallow clone was cut off.
    """
    reach = [after, *(f"^{oid}" for oid in before)]
    out = git.run(
        "log", "-z", "--topo-order", "--reverse", "--format=%H %T %ct %P", "--no-show-signature",
        "--no-notes", "--no-color", "--end-of-options", *reach, "--",
    )  # fmt: skip
    found = [_passed(row) for row in out.decode().split("\0") if row]
    cut = _cut_off(git)
    missing = next((one for one in found if one.oid in cut), None)
    if missing is not None:
        raise shallow(f"what came before commit {missing.oid[:12]}")
    return found


def trees(git: Git, oids: Sequence[str]) -> dict[str, str]:
    """The id of the tree of each commit. Raises `Unreadable` for one that is not here."""
    wanted = list(dict.fromkeys(oids))
    if not wanted:
        return {}
    given = "".join(f"{oid}^{{tree}}\n" for oid in wanted).encode()
    lines = git.run("cat-file", "--batch-check", given=given).decode().splitlines()
    found = {}
    for oid, line in zip(wanted, lines, strict=True):
        head = line.split()
        if len(head) != 3 or head[1] != "tree":
            raise Unreadable(f"the files of commit {oid[:12]} are not in this clone", hint="git fetch origin")
        found[oid] = head[0]
    return found


def moves(
    git: Git, pairs: Iterable[tuple[str, str]], prefixes: Sequence[str]
) -> dict[tuple[str, str], list[Moved]]:
    """What differs between the two trees of each pair, at or below `prefixes`."""
    found: dict[tuple[str, str], list[Moved]] = {pair: [] for pair in pairs}
    asked = [pair for pair in found if pair[0] != pair[1]]
    if not asked:
        return found
    below = [part.rstrip("/") for part in prefixes]
    given = "".join(f"{left} {right}\n" for left, right in asked).encode()
    out = git.run("diff-tree", "--stdin", *_RAW, "--ignore-submodules=none", "--", *below, given=given)
    answered = _parse(out, found)
    if answered != len(asked):
        raise Unreadable(f"git compared {answered} of {len(asked)} pairs of trees", hint="git fsck")
    return found


def listed(git: Git, tree: str, prefixes: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Mode and id of every file of `tree` at or below `prefixes`, by path."""
    below = [part.rstrip("/") for part in prefixes]
    out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, "--", *below)
    found = {}
    for row in text_of(out).split("\0"):
        if row:
            head, _, path = row.partition("\t")
            mode, _, oid = head.split(" ")
            found[path] = (mode, oid)
    return found


class Blobs:
    """Contents by blob id, read once each while they are wanted again and again."""

    def __init__(self, git: Git, *, keep: int = 64 * 1024 * 1024) -> None:
        self._git = git
        self._known: dict[str, bytes] = {}
        self._room = self._keep = keep

    def prefetch(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Read many blobs in few exchanges with git; each is named as `(blob id, path)`."""
        new = {oid: path for oid, path in wanted if oid not in self._known}
        for oid, content in zip(new, self._git.blobs(list(new.items())), strict=True):
            self._keep_one(oid, content)

    def read(self, oid: str, path: str) -> bytes:
        """The content of one blob; `path` is how messages call it."""
        content = self._known.get(oid)
        if content is None:
            content = self._git.blob(oid, path)
            self._keep_one(oid, content)
        return content

    def _keep_one(self, oid: str, content: bytes) -> None:
        self._room -= len(content)
        if self._room < 0:
            self._known.clear()
            self._room = self._keep - len(content)
        self._known[oid] = content


class Part:
    """Some files of one state, known by blob id, as a source of files: nothing else is listed."""

    def __init__(self, label: str, files: Files, blobs: Blobs) -> None:
        self.label = label
        self.files = files
        self._blobs = blobs

    def entries(self, prefix: str) -> Sequence[Entry]:
        """Every entry at or below `prefix`, sorted by path."""
        start = relative(prefix)
        folder = f"{start}/" if start else ""
        names = sorted(name for name in self.files if name.startswith(folder) or name == start)
        return [Entry(name, kind_of(self.files[name][0]), None, self.files[name][1]) for name in names]

    def read(self, path: str) -> bytes:
        """The bytes of the regular file `path`."""
        if path not in self.files:
            raise Unreadable(f"`{path}` is not in the {self.label}", where=path)
        mode, oid = self.files[path]
        if kind_of(mode) is not Kind.FILE:
            raise not_regular(path, kind_of(mode))
        return self._blobs.read(oid, path)


def _passed(row: str) -> Passed:
    oid, tree, time, *parents = row.strip("\n").split(" ")
    return Passed(oid, tree, int(time) if time.lstrip("-").isdigit() else 0, tuple(filter(None, parents)))


def _cut_off(git: Git) -> frozenset[str]:
    """The commits whose parents were not fetched."""
    if not git.is_shallow():
        return frozenset()
    from pathlib import Path

    name = text_of(git.run("rev-parse", "--git-path", "shallow").removesuffix(b"\n"))
    return frozenset((Path(git.root) / name).read_text("ascii").split())


def _parse(out: bytes, found: dict[tuple[str, str], list[Moved]]) -> int:
    """Read `tree tree NL :mode mode oid oid letter NUL path NUL …` into `found`; how many pairs it had."""
    tokens = iter(text_of(out).split("\0"))
    count = 0
    moved: list[Moved] = []
    for token in tokens:
        head = token
        while head and not head.startswith(":"):
            pair, _, head = head.partition("\n")
            left, _, right = pair.partition(" ")
            moved = found[left, right]
            count += 1
        if head:
            old_mode, new_mode, old_oid, new_oid, status = head[1:].split(" ")
            before = ("", "") if status == "A" else (old_mode, old_oid)
            after = ("", "") if status == "D" else (new_mode, new_oid)
            moved.append(Moved(next(tokens), status, before, after))
    return count
