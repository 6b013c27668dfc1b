"""One commit, or the index, as a source of files: listed by git, read by blob id, never from disk.

- A listing is asked for once per top-level folder, or once for a whole `scope`.
- What git calls a mode becomes a `Kind`; a link, a submodule or a name that is not UTF-8 is listed as such.
- `folder` makes a folder of a larger repository the root of what is seen.
"""

from __future__ import annotations

from governance.errors import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from governance.adapters.files import Entry, Kind
    from governance.adapters.git import Git

_MODES = {"100644": "FILE", "100755": "FILE", "100664": "FILE", "120000": "SYMLINK", "160000": "SUBMODULE"}


class RevisionTree:
    """The files of one commit below `folder`. `scope` names the prefixes that one call to git lists.

    `oid` is the commit's full id where the caller has resolved `revision` already.
    """

    def __init__(
        self, git: Git, revision: str, scope: Sequence[str] = (), *, folder: str = "", oid: str = ""
    ) -> None:
        self.git = git
        self.folder = folder
        self.oid = oid or git.resolve(revision)
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

    def focus(self, prefixes: Sequence[str]) -> None:
        """List these prefixes alone, in one call: for a few configs of many."""
        self._listing.focus(prefixes)

    def _list(self, prefixes: Sequence[str]) -> bytes:
        """As `mode type oid<tab>path`, one per NUL."""
        below = _below(self.folder, prefixes)
        return _inside(
            self.folder, self.git.run("ls-tree", "-r", "-z", "--full-tree", self.oid, "--", *below)
        )


class IndexTree:
    """The files of the commit being made: the index, less what was only announced (`git add -N`)."""

    label = "index"

    def __init__(self, git: Git, scope: Sequence[str] = (), *, folder: str = "") -> None:
        self.git = git
        self.folder = folder
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

    def focus(self, prefixes: Sequence[str]) -> None:
        """List these prefixes alone, in one call: for a few configs of many."""
        self._listing.focus(prefixes)

    def _list(self, prefixes: Sequence[str]) -> bytes:
        below = _below(self.folder, prefixes)
        out = self.git.run("ls-files", "-s", "-z", "--full-name", "--", *below)
        rows = []
        for row in filter(None, out.split(b"\0")):
            head, _, path = row.partition(b"\t")
            mode, oid, stage = head.split(b" ")
            if stage != b"0":
                name = text_of(path)
                raise Unreadable(
                    f"`{name}` has unresolved conflicts", where=name, hint=f"resolve it and `git add {name}`"
                )
            rows.append(b"%s blob %s\t%s" % (mode, oid, path))
        announced = self._announced(below, out)
        kept = b"\0".join(row for row in rows if row.partition(b"\t")[2] not in announced)
        return _inside(self.folder, kept)

    def _announced(self, prefixes: Sequence[str], listing: bytes) -> set[bytes]:
        """Paths that `git add -N` put in the index, with the id of the empty blob; they are not committed."""
        if not any(f" {empty} 0\t".encode() in listing for empty in _EMPTY_BLOBS):
            return set()
        flags = self.git.run("ls-files", "--debug", "-z", "--full-name", "--", *prefixes)
        return _intent_to_add(flags)


class _Listing:
    """What a tree source knows of its entries, and the blobs it was told to fetch.

    The listing stays as git wrote it: finding one config among 20,000 in it takes 0.3 ms, making an entry of
    each 60 ms.
    """

    def __init__(self, git: Git, scope: Sequence[str], listed: Callable[[Sequence[str]], bytes]) -> None:
        self._git = git
        self._scope = tuple(part.rstrip("/") for part in scope)
        self._listed = listed
        self._known: dict[str, bytes] = {}
        self._by_path: dict[str, Entry] = {}
        self._fetched: dict[str, bytes] = {}

    def below(self, prefix: str) -> Sequence[Entry]:
        from governance.adapters.files import relative

        start = relative(prefix)
        listing = self._listing(start)
        if not start:
            found = _entries(listing.split(b"\0"))
        else:
            wanted = start.encode("utf-8", "surrogateescape")
            found = _entries(_rows(listing, wanted))
            folder = f"{start}/"
            found = [entry for entry in found if entry.path.startswith(folder) or entry.path == start]
            if not found:
                found = _entries(row for above in _above(wanted) for row in _rows(listing, above + b"\0"))
        self._by_path.update((entry.path, entry) for entry in found)
        return found

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
            self.below(path)
        return self._by_path.get(path)

    def focus(self, prefixes: Sequence[str]) -> None:
        parts = [part.rstrip("/") for part in prefixes if not self._covering(part.rstrip("/"))]
        if parts:
            self._ask(parts)

    def _listing(self, start: str) -> bytes:
        """The rows of the part of the tree that holds `start`, asked for once; each ends in NUL."""
        known = self._covering(start)
        if known is None:
            inside = any(start == part or start.startswith(f"{part}/") for part in self._scope)
            known = self._ask(self._scope if inside else (start.partition("/")[0],))
        return known

    def _covering(self, start: str) -> bytes | None:
        """The listing that holds `start`, if it was asked for."""
        part = start
        while True:
            if part in self._known:
                return self._known[part]
            if not part:
                return None
            part = part.rpartition("/")[0]

    def _ask(self, parts: Sequence[str]) -> bytes:
        listing = self._listed([part for part in parts if part]).rstrip(b"\0") + b"\0"
        self._known.update(dict.fromkeys(parts, listing))
        return listing


def _rows(listing: bytes, start: bytes) -> Iterator[bytes]:
    """The rows whose path starts with `start` (which may end in the NUL that ends a row)."""
    needle = b"\t" + start
    at = listing.find(needle)
    while at >= 0:
        begin = listing.rfind(b"\0", 0, at) + 1
        if listing.find(b"\t", begin, at) < 0:  # the tab before the path, not one inside a name
            yield listing[begin : listing.find(b"\0", at)]
        at = listing.find(needle, at + 1)


def _above(path: bytes) -> Iterator[bytes]:
    """The folders above `path`, nearest first: one of them may be a link."""
    while path := path.rpartition(b"/")[0]:
        yield path


def text_of(raw: bytes) -> str:
    """A path as git wrote it; bytes that are not UTF-8 become surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def kind_of(mode: str) -> Kind:
    """What a git file mode stands for."""
    from governance.adapters.files import Kind

    return Kind[_MODES.get(mode, "OTHER")]


def _below(folder: str, prefixes: Sequence[str]) -> Sequence[str]:
    """The prefixes as git knows them, from the top level."""
    if not folder:
        return prefixes
    return [f"{folder}/{prefix}" for prefix in prefixes] or [f"{folder}/"]


def _inside(folder: str, listing: bytes) -> bytes:
    """The rows of a listing with their paths relative to `folder`; a link above it keeps its path."""
    if not folder:
        return listing
    above = b"\t" + folder.encode("utf-8", "surrogateescape") + b"/"
    return b"\0".join(row.replace(above, b"\t", 1) for row in listing.split(b"\0"))


def _entries(rows: Iterable[bytes]) -> list[Entry]:
    from governance.adapters.files import Entry

    entries = []
    for row in rows:
        if row:
            head, _, path = row.partition(b"\t")
            mode, _, oid = head.decode().split(" ")
            entries.append(Entry(text_of(path), kind_of(mode), None, oid))
    entries.sort()
    return entries


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
