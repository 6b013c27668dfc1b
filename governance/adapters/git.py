"""Every question put to git: revisions, trees, the index, blobs, and what changed between two states.

- One `run`. Plumbing commands only, NUL-separated, no rename detection, no external diff, no textconv,
  no colour, no pager, no optional locks: the answer does not depend on a user's settings, and nothing in
  the repository is written.
- Content is read from the object store by blob id, through one `cat-file --batch`; never from disk. So
  partial staging, line-end conversion, smudge filters and sparse check-outs cannot show another file.
- The index is the one git names in `GIT_INDEX_FILE`: `git commit -a` and `git commit FILE` build another.
- Variables that bind git to one repository reach it only in that repository (`git_environment.py`).
- This module imports nothing that costs the hook time: no typing, dataclasses, pathlib or subprocess.
"""

from __future__ import annotations

import os

from governance.adapters.git_environment import child_environment
from governance.adapters.git_trouble import absent_object, failure, no_such, shallow
from governance.adapters.pipes import Talk, call
from governance.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import NoReturn

    from governance.adapters.files import Entry, Kind

_SETTINGS = ("-c", "core.warnAmbiguousRefs=true", "-c", "core.fsmonitor=false")
_RAW = ("--raw", "-r", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv")
_WINDOW = 60  # ids asked for at once: under 4 KiB, so that neither side of a pipe can wait for the other
_MAX_BYTES = 64 * 1024 * 1024  # as `files.MAX_BYTES`, without importing it
_MODES = {"100644": "FILE", "100755": "FILE", "100664": "FILE", "120000": "SYMLINK", "160000": "SUBMODULE"}


class Moved:
    """One path that differs between two trees: mode and blob id on each side, `""` where it is not there.

    `status` is git's letter: A added, M content or mode, D deleted, T type (a file became a link).
    """

    __slots__ = ("after_mode", "after_oid", "before_mode", "before_oid", "path", "status")

    def __init__(self, path: str, status: str, before: tuple[str, str], after: tuple[str, str]) -> None:
        self.path = path
        self.status = status
        self.before_mode, self.before_oid = before
        self.after_mode, self.after_oid = after

    def __repr__(self) -> str:
        return f"Moved({self.status} {self.path!r} {self.before_oid[:7]}→{self.after_oid[:7]})"


class Git:
    """The repository whose top level is `root` (for a bare one: its own folder)."""

    def __init__(self, root: Path | str, environ: Mapping[str, str] | None = None) -> None:
        self.root = os.fspath(root)
        self.environment = child_environment(self.root, os.environ if environ is None else environ)
        self._batch: Talk | None = None

    def run(self, *args: str, given: bytes = b"") -> bytes:
        """What `git args` prints. Raises `MissingTool`, `Unreadable`, `IncompleteHistory`."""
        status, out, err = self.ask(*args, given=given)
        if status != 0:
            raise failure(self.root, args, err)
        return out

    def ask(self, *args: str, given: bytes = b"") -> tuple[int, bytes, bytes]:
        """Exit status, output and messages of `git args`, for questions that git may answer with no."""
        argv = ("git", "-C", self.root, *_SETTINGS, *args)
        return call(argv, environment=self.environment, given=given)

    def resolve(self, revision: str) -> str:
        """The full id of the commit that `revision` names.

        Raises `Usage` when the name means several things, `IncompleteHistory` when the commit is not in
        this clone, `Unreadable` when there is no such revision.
        """
        status, out, err = self.ask("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        if status == 0 and b"is ambiguous" not in err:
            return out.decode().strip()
        raise no_such(self, revision)

    def has_commits(self) -> bool:
        """False before the first commit."""
        return self.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")[0] == 0

    def empty_tree(self) -> str:
        """The id of the tree with nothing in it, under this repository's hash."""
        return self.run("hash-object", "-t", "tree", "--stdin").decode().strip()

    def is_shallow(self) -> bool:
        """Whether history was cut off when this was cloned."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    def merge_base(self, left: str, right: str) -> str:
        """The best common ancestor. Raises `IncompleteHistory` in a shallow clone without one."""
        one, other = self.resolve(left), self.resolve(right)
        status, out, err = self.ask("merge-base", one, other)
        if status == 0:
            return out.decode().split("\n", 1)[0]
        if status == 1 and not self.is_shallow():
            raise Unreadable(f"`{left}` and `{right}` have no common ancestor", hint="name the base yourself")
        raise shallow("the merge base") if status == 1 else failure(self.root, ("merge-base",), err)

    def moved(self, before: str, after: str, *prefixes: str) -> list[Moved]:
        """What differs between two commits or trees, at or below `prefixes` (everywhere when none)."""
        out = self.run("diff-tree", *_RAW, "--end-of-options", before, after, "--", *_trim(prefixes))
        return _parse_raw(out)

    def staged(self, *prefixes: str) -> list[Moved]:
        """What the commit being made would change. Before the first commit everything is added."""
        return self.staged_against("HEAD", *prefixes)

    def staged_against(self, revision: str, *prefixes: str) -> list[Moved]:
        """What differs between `revision` and the index."""
        args = ("diff-index", "--cached", *_RAW, "--ignore-submodules=none")
        paths = ("--", *_trim(prefixes))
        status, out, err = self.ask(*args, "--end-of-options", revision, *paths)
        if status != 0:
            if revision != "HEAD" or self.has_commits():
                raise failure(self.root, args, err)
            out = self.run(*args, self.empty_tree(), *paths)
        return _parse_raw(out)

    def blob(self, oid: str, path: str) -> bytes:
        """The content of one blob; `path` is how messages call it."""
        return self.blobs([(oid, path)])[0]

    def blobs(self, wanted: Sequence[tuple[str, str]]) -> list[bytes]:
        """The contents of blobs, in the order asked for; each is asked for as `(blob id, path)`.

        Raises `Unreadable` for one that is missing or larger than 64 MiB.
        """
        try:
            return [
                content
                for start in range(0, len(wanted), _WINDOW)
                for content in self._contents(wanted[start : start + _WINDOW])
            ]
        except BaseException:
            self.close()  # answers not taken would be read as those of the next question
            raise

    def _contents(self, window: Sequence[tuple[str, str]]) -> list[bytes]:
        if self._batch is None:
            argv = ("git", "-C", self.root, *_SETTINGS, "cat-file", "--batch")
            self._batch = Talk(argv, environment=self.environment)
        try:
            self._batch.say("".join(f"{oid}\n" for oid, _ in window).encode())
        except BrokenPipeError:
            self._ended()
        return [self._next_content(self._batch, oid, path) for oid, path in window]

    def _next_content(self, batch: Talk, oid: str, path: str) -> bytes:
        head = batch.line().split()
        if len(head) == 3 and head[1] == b"blob":
            size = int(head[2])
            if size > _MAX_BYTES:
                raise Unreadable(
                    f"`{path}` has {size} bytes, more than the {_MAX_BYTES} that are read",
                    where=path,
                    hint="keep weights and data out of the config folders",
                )
            content = batch.take(size)
            if batch.take(1) == b"\n":
                return content
            head = []
        if not head:
            self._ended()
        if head[-1] == b"missing":
            raise absent_object(self, f"the content of `{path}` ({oid[:12]})", path)
        raise Unreadable(f"`{path}` is not a file in git ({oid[:12]})", where=path)

    def _ended(self) -> NoReturn:
        """`cat-file` is gone: raise with git's own reason."""
        self.run("rev-parse", "--git-dir")
        raise Unreadable("`git cat-file` ended before it answered", where=self.root, hint="git fsck")

    def close(self) -> None:
        """End the blob reader. The next read starts another."""
        if self._batch is not None:
            self._batch.close()
            self._batch = None

    def __enter__(self) -> Git:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class RevisionTree:
    """The files of one commit. `scope` names the prefixes that are listed together, in one call to git."""

    def __init__(self, git: Git, revision: str, scope: Sequence[str] = ()) -> None:
        self.git = git
        self.oid = git.resolve(revision)
        self.label = f"revision {self.oid[:12]}"
        self._listing = _Listing(git, scope, self._list)

    def entries(self, prefix: str) -> Sequence[Entry]:
        """Every entry at or below `prefix`, sorted by path."""
        return self._listing.below(prefix)

    def read(self, path: str) -> bytes:
        """The bytes of the regular file `path` as committed."""
        return self._listing.read(path, self.label)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read many files in one exchange with git; `read` then has them at hand, once each."""
        self._listing.prefetch(paths)

    def _list(self, prefixes: Sequence[str]) -> bytes:
        """As `mode type oid<tab>path`, one per NUL."""
        return self.git.run("ls-tree", "-r", "-z", "--full-tree", self.oid, "--", *prefixes)


class IndexTree:
    """The files of the commit being made: the index, less what was only announced (`git add -N`)."""

    label = "index"

    def __init__(self, git: Git, scope: Sequence[str] = ()) -> None:
        self.git = git
        self._listing = _Listing(git, scope, self._list)

    def entries(self, prefix: str) -> Sequence[Entry]:
        """Every entry at or below `prefix`, sorted by path. Raises `Unreadable` on an unmerged path."""
        return self._listing.below(prefix)

    def read(self, path: str) -> bytes:
        """The bytes of the regular file `path` as staged."""
        return self._listing.read(path, self.label)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read many files in one exchange with git; `read` then has them at hand, once each."""
        self._listing.prefetch(paths)

    def _list(self, prefixes: Sequence[str]) -> bytes:
        out = self.git.run("ls-files", "-s", "-z", "--full-name", "--", *prefixes)
        rows = []
        for row in filter(None, out.split(b"\0")):
            head, _, path = row.partition(b"\t")
            mode, oid, stage = head.split(b" ")
            if stage != b"0":
                name = _text(path)
                raise Unreadable(
                    f"`{name}` has unresolved conflicts", where=name, hint=f"resolve it and `git add {name}`"
                )
            rows.append(b"%s blob %s\t%s" % (mode, oid, path))
        announced = self._announced(prefixes, out)
        return b"\0".join(row for row in rows if row.partition(b"\t")[2] not in announced)

    def _announced(self, prefixes: Sequence[str], listing: bytes) -> set[bytes]:
        """Paths that `git add -N` put in the index, with the id of the empty blob; they are not committed."""
        if not any(f" {empty} 0\t".encode() in listing for empty in _EMPTY_BLOBS):
            return set()
        flags = self.git.run("ls-files", "--debug", "-z", "--full-name", "--", *prefixes)
        return _intent_to_add(flags)


class _Listing:
    """What a tree source knows of its entries, and the blobs it was told to fetch."""

    def __init__(self, git: Git, scope: Sequence[str], listed: Callable[[Sequence[str]], bytes]) -> None:
        self._git = git
        self._scope = tuple(part.rstrip("/") for part in scope)
        self._listed = listed
        self._known: dict[str, list[Entry]] = {}
        self._by_path: dict[str, Entry] = {}
        self._fetched: dict[str, bytes] = {}

    def below(self, prefix: str) -> Sequence[Entry]:
        from governance.adapters.files import relative

        start = relative(prefix)
        found = self._all(start)
        if not start:
            return found
        folder = f"{start}/"
        return [entry for entry in found if entry.path.startswith(folder) or entry.path == start] or [
            entry for entry in found if folder.startswith(f"{entry.path}/")
        ]

    def read(self, path: str, label: str) -> bytes:
        from governance.adapters.files import Kind, not_regular

        if (content := self._fetched.pop(path, None)) is not None:
            return content
        entry = self._find(path)
        if entry is None or entry.oid is None:
            raise Unreadable(f"`{path}` is not in the {label}", where=path)
        if entry.kind is not Kind.FILE:
            raise not_regular(path, entry.kind)
        return self._git.blob(entry.oid, path)

    def prefetch(self, paths: Iterable[str]) -> None:
        from governance.adapters.files import Kind

        entries = [entry for path in paths if (entry := self._find(path)) and entry.kind is Kind.FILE]
        wanted = [(entry.oid, entry.path) for entry in entries if entry.oid]
        for (_, path), content in zip(wanted, self._git.blobs(wanted), strict=True):
            self._fetched[path] = content

    def _find(self, path: str) -> Entry | None:
        if path not in self._by_path:
            self._all(path)
        return self._by_path.get(path)

    def _all(self, start: str) -> list[Entry]:
        """Every entry in the part of the tree that holds `start`; listed once."""
        covered = [part for part in self._scope if start == part or start.startswith(f"{part}/")]
        parts = self._scope if covered else (start.partition("/")[0],)
        key = "\0".join(parts)
        if key not in self._known:
            self._known[key] = entries = _parse_listing(self._listed([part for part in parts if part]))
            self._by_path.update((entry.path, entry) for entry in entries)
        return self._known[key]


def find_root(start: Path | str) -> str:
    """The top level of the repository that holds the folder `start`. Raises `Unreadable` outside of one."""
    at = os.path.realpath(start)
    while True:
        if os.path.lexists(f"{at}/.git"):
            return at
        above = os.path.dirname(at)
        if above == at:
            break
        at = above
    git = Git(start)  # a bare repository, or one that the environment names
    bare = git.run("rev-parse", "--is-bare-repository").strip() == b"true"
    out = git.run("rev-parse", *(("--absolute-git-dir",) if bare else ("--show-toplevel",)))
    return _text(out.removesuffix(b"\n"))


def kind_of(mode: str) -> Kind:
    """What a git file mode stands for."""
    from governance.adapters.files import Kind

    return Kind[_MODES.get(mode, "OTHER")]


def _trim(prefixes: Iterable[str]) -> list[str]:
    return [part.rstrip("/") for part in prefixes]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _parse_listing(out: bytes) -> list[Entry]:
    from governance.adapters.files import Entry

    entries = []
    for row in out.split(b"\0"):
        if row:
            head, _, path = row.partition(b"\t")
            mode, _, oid = head.decode().split(" ")
            entries.append(Entry(_text(path), kind_of(mode), None, oid))
    entries.sort()
    return entries


def _parse_raw(out: bytes) -> list[Moved]:
    """`:mode mode oid oid letter NUL path NUL …`; an id of zeros is "not there"."""
    fields = _text(out).split("\0")
    found = []
    for at in range(0, len(fields) - 1, 2):
        old_mode, new_mode, old_oid, new_oid, status = fields[at][1:].split(" ")
        before = ("", "") if status == "A" else (old_mode, old_oid)
        after = ("", "") if status == "D" else (new_mode, new_oid)
        found.append(Moved(fields[at + 1], status, before, after))
    return found


_EMPTY_BLOBS = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
_INTENT_TO_ADD = 1 << 29  # CE_INTENT_TO_ADD in git's cache.h


def _intent_to_add(listing: bytes) -> set[bytes]:
    """The paths flagged so in `ls-files --debug -z`: `path NUL`, then lines that end in `flags: <hex>`."""
    found = set()
    path = b""
    for part in listing.split(b"\0"):
        *lines, following = part.split(b"\n") if path else (part,)
        flags = next((line.rpartition(b"flags: ")[2] for line in lines if b"flags: " in line), b"0")
        if path and int(flags, 16) & _INTENT_TO_ADD:
            found.add(path)
        path = following
    return found
