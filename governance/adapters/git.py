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
from governance.adapters.git_trees import IndexTree, RevisionTree, text_of
from governance.adapters.git_trouble import absent_object, failure, no_such, shallow
from governance.adapters.pipes import Talk, call, later
from governance.errors import Unreadable

__all__ = ["Git", "IndexTree", "Moved", "RevisionTree", "find_root"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import NoReturn

_SETTINGS = ("-c", "core.warnAmbiguousRefs=true", "-c", "core.fsmonitor=false")
_RAW = ("--raw", "-r", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv")
_WINDOW = 60  # ids asked for at once; two windows fit in any pipe, so neither side waits for the other
_MAX_BYTES = 64 * 1024 * 1024  # as `files.MAX_BYTES`, without importing it


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
        return call(self._argv(args), environment=self.environment, given=given)

    def _argv(self, args: Sequence[str]) -> Sequence[str]:
        return ("git", "-C", self.root, *_SETTINGS, *args)

    def resolve(self, revision: str) -> str:
        """The full id of the commit that `revision` names.

        Raises `Usage` when the name means several things, `IncompleteHistory` when the commit is not in
        this clone, `Unreadable` when there is no such revision.
        """
        found = self.find(revision)
        if found is None:
            raise no_such(self, revision)
        return found

    def find(self, revision: str) -> str | None:
        """As `resolve`; None when there is no such revision here, for whatever reason."""
        return self.find_later(revision)()

    def find_later(self, revision: str) -> Callable[[], str | None]:
        """As `find`; git starts at once, and the answer, to be asked for once, waits for it."""
        name = f"{revision}^{{commit}}"
        argv = self._argv(("rev-parse", "--verify", "--end-of-options", name))
        answer = later(argv, environment=self.environment)

        def found() -> str | None:
            status, out, err = answer()
            if status != 0:
                return None
            if b"is ambiguous" in err:
                raise no_such(self, revision)
            return out.decode().strip()

        return found

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
        return self.moved_later(before, after, *prefixes)()

    def moved_later(self, before: str, after: str, *prefixes: str) -> Callable[[], list[Moved]]:
        """As `moved`; git starts at once, and the answer, to be asked for once, waits for it."""
        args = ("diff-tree", *_RAW, "--end-of-options", before, after, "--", *_trim(prefixes))
        answer = later(self._argv(args), environment=self.environment)

        def moved() -> list[Moved]:
            status, out, err = answer()
            if status != 0:
                raise failure(self.root, args, err)
            return _parse_raw(out)

        return moved

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
        return list(self.each_blob(wanted))

    def each_blob(self, wanted: Sequence[tuple[str, str]]) -> Iterator[bytes]:
        """As `blobs`, one after the other: git reads ahead while the caller works on what came."""
        windows = [wanted[start : start + _WINDOW] for start in range(0, len(wanted), _WINDOW)]
        try:
            for number, window in enumerate(windows):
                if number == 0:
                    self._ask_for(window)
                if number + 1 < len(windows):
                    self._ask_for(windows[number + 1])
                for oid, path in window:
                    yield self._next_content(oid, path)
        except BaseException:
            self.close()  # answers not taken would be read as those of the next question
            raise

    def start_reading(self) -> None:
        """Start the blob reader, to have it ready when the first blob is asked for."""
        if self._batch is None:
            self._batch = Talk(self._argv(("cat-file", "--batch")), environment=self.environment)

    def _ask_for(self, window: Sequence[tuple[str, str]]) -> None:
        self.start_reading()
        try:
            if self._batch is not None:
                self._batch.say("".join(f"{oid}\n" for oid, _ in window).encode())
        except BrokenPipeError:
            self._ended()

    def _next_content(self, oid: str, path: str) -> bytes:
        batch = self._batch
        if batch is None:
            self._ended()
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


def find_root(start: Path | str) -> str:
    """The top level of the repository that holds the folder `start`. Raises `Unreadable` outside of one."""
    at = os.path.realpath(start)
    while True:
        if os.path.lexists(f"{at}/.git") or _is_bare(at):
            return at
        above = os.path.dirname(at)
        if above == at:
            break
        at = above
    git = Git(start)  # a bare repository, or one that the environment names
    bare = git.run("rev-parse", "--is-bare-repository").strip() == b"true"
    out = git.run("rev-parse", *(("--absolute-git-dir",) if bare else ("--show-toplevel",)))
    return text_of(out.removesuffix(b"\n"))


def _is_bare(folder: str) -> bool:
    """Whether `folder` is itself a bare repository, which may lie inside the work tree of another."""
    parts = (f"{folder}/HEAD", f"{folder}/objects", f"{folder}/refs")
    return all(map(os.path.exists, parts)) and os.path.basename(folder) != ".git"


def _trim(prefixes: Iterable[str]) -> list[str]:
    return [part.rstrip("/") for part in prefixes]


def _parse_raw(out: bytes) -> list[Moved]:
    """`:mode mode oid oid letter NUL path NUL …`; an id of zeros is "not there"."""
    fields = text_of(out).split("\0")
    found = []
    for at in range(0, len(fields) - 1, 2):
        old_mode, new_mode, old_oid, new_oid, status = fields[at][1:].split(" ")
        before = ("", "") if status == "A" else (old_mode, old_oid)
        after = ("", "") if status == "D" else (new_mode, new_oid)
        found.append(Moved(fields[at + 1], status, before, after))
    return found
