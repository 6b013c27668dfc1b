"""Where the bytes of a governed repository come from: the work tree on disk, or a tree held in memory.

- A source lists entries with their kind and never follows a link: a symlink, a socket or a nested
  repository is reported as what it is, and whoever reads it decides.
- Paths are relative to the root with forward slashes on every system. A name that is not UTF-8 is listed
  with surrogate escapes, so that it can be refused by name and is never skipped in silence.
- `read` yields whole regular files of at most `MAX_BYTES`. A file that vanishes, grows or turns into
  something else between listing and reading is `Unreadable`, never a short read.
- Writing is atomic per file: a temporary file beside the target, fsync, replace. An interrupted write
  leaves the old file and no temporary one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from governance.errors import Unreadable

if TYPE_CHECKING:  # pathlib costs the hook 4 ms to import
    from pathlib import Path

MAX_BYTES = 64 * 1024 * 1024
_CHUNK = 1 << 20  # a buffer costs more to allocate than to fill: it is no larger than the file
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Kind(Enum):
    """What an entry is. A Git LFS pointer is a `FILE`: only its content tells."""

    FILE = "file"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"
    OTHER = "other"


class Entry(NamedTuple):
    """One name in a source: `size` in bytes and `oid`, its git blob id, where the source knows them.

    A named tuple: 20,000 of them are made in 6 ms, 20,000 frozen dataclasses in 13.
    """

    path: str
    kind: Kind
    size: int | None = None
    oid: str | None = None


class FileSource(Protocol):
    """Anything that can list and read the files of one state of a repository."""

    @property
    def label(self) -> str:
        """How messages call this state: `work tree`, `index`, `revision 1a2b3c`."""
        ...

    def entries(self, prefix: str) -> Sequence[Entry]:
        """Every entry at or below `prefix`, sorted by path; none when nothing is there.

        A link in the place of a folder of `prefix` is listed itself: what lies behind it is not here.
        """
        ...

    def read(self, path: str) -> bytes:
        """The bytes of one regular file. Raises `Unreadable`."""
        ...


class WorkTree:
    """The files on disk below `root`. `.git` is never listed; a nested repository is one `SUBMODULE`."""

    def __init__(self, root: Path | str) -> None:
        self.label = "work tree"
        self.root = os.fspath(root)
        self._plain_folders: set[str] = {""}

    def entries(self, prefix: str) -> Sequence[Entry]:
        """Every entry at or below `prefix` (a folder with or without its slash, or one file)."""
        start = relative(prefix)
        if (link := self._link_above(start)) is not None:
            return (Entry(link, Kind.SYMLINK),)
        top = f"{self.root}/{start}" if start else self.root
        try:
            status = os.lstat(top)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, ValueError) as err:
            raise _unreadable(start or ".", err) from err
        if not stat.S_ISDIR(status.st_mode):
            return (Entry(start, _kind(status.st_mode), status.st_size),)
        found: list[Entry] = []
        _walk(top, f"{start}/" if start else "", found)
        found.sort()
        return found

    def read(self, path: str) -> bytes:
        """The bytes of the regular file `path`; no folder on the way may be a link."""
        where = relative(path)
        self.refuse_link_above(where)
        return read_file(f"{self.root}/{where}", shown=path)

    def refuse_link_above(self, path: str) -> None:
        """Raises `Unreadable` when a folder on the way to `path` is a symbolic link."""
        if (link := self._link_above(path)) is not None:
            raise Unreadable(
                f"`{path}` lies behind the symbolic link `{link}`", where=path, hint="commit the file itself"
            )

    def _link_above(self, path: str) -> str | None:
        """The first folder above `path`, below the root, that is a link (the entry itself may be one)."""
        folder = path.rpartition("/")[0]
        if folder in self._plain_folders:
            return None
        above = self._link_above(folder)
        if above is None and os.path.islink(f"{self.root}/{folder}"):
            above = folder
        if above is None:
            self._plain_folders.add(folder)
        return above


class MemoryTree:
    """Files held in memory: rendered results, and states that tests describe.

    `kinds` names entries that are not regular files; reading one of them is refused as on disk.
    """

    def __init__(
        self, files: Mapping[str, bytes], *, label: str = "memory", kinds: Mapping[str, Kind] | None = None
    ) -> None:
        self.label = label
        self._files = {relative(path): data for path, data in files.items()}
        self._kinds = {relative(path): kind for path, kind in (kinds or {}).items()}

    def entries(self, prefix: str) -> Sequence[Entry]:
        """Every entry at or below `prefix`, sorted by path."""
        start = relative(prefix)
        below = f"{start}/" if start else ""
        exact = not prefix.endswith("/")
        return [
            Entry(path, self._kinds.get(path, Kind.FILE), len(self._files.get(path, b"")))
            for path in sorted({*self._files, *self._kinds})
            if path.startswith(below) or (exact and path == start)
        ]

    def read(self, path: str) -> bytes:
        """The bytes of `path`."""
        where = relative(path)
        kind = self._kinds.get(where, Kind.FILE)
        if kind is not Kind.FILE:
            raise not_regular(path, kind)
        try:
            data = self._files[where]
        except KeyError as err:
            raise Unreadable(f"`{path}` is not in the {self.label}", where=path) from err
        if len(data) > MAX_BYTES:
            raise too_large(path, len(data))
        return data


def read_file(path: Path | str, *, shown: str | None = None, limit: int = MAX_BYTES) -> bytes:
    """The bytes of one regular file on disk, opened without following a link. Raises `Unreadable`.

    `shown` is how messages call the file; the default is the path as given.
    """
    name = os.fspath(path) if shown is None else shown
    try:
        handle = os.open(path, os.O_RDONLY | _NOFOLLOW)
    except (OSError, ValueError) as err:
        raise _unreadable(name, err) from err
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise not_regular(name, _kind(status.st_mode))
        if status.st_size > limit:
            raise too_large(name, status.st_size, limit)
        return _read_all(handle, name, status.st_size, limit)
    except OSError as err:
        raise _unreadable(name, err) from err
    finally:
        os.close(handle)


def write_atomic(path: Path, data: bytes) -> None:
    """Put `data` at `path`, all of it or nothing, keeping the mode of a file it replaces.

    Raises `Unreadable` naming the file when the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_synced(temporary, data, _mode_of(path))
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as err:
        raise _unwritable(path, err) from err


def write_new(path: Path, data: bytes) -> None:
    """Put `data` at `path`, all of it or nothing. Raises `Unreadable` when something is there already: of two
    writers one wins, and nothing is written over.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            _write_synced(temporary, data, None)
            _link_new(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as err:
        raise _unwritable(path, err) from err


def write_all(root: Path, files: Mapping[str, bytes]) -> None:
    """Write every file of `files` (paths relative to `root`) with `write_atomic`, in sorted order.

    A path that leaves `root`, by its name or through a linked folder, raises `Unreadable` before anything
    is written.
    """
    tree = WorkTree(root)
    for path in files:
        tree.refuse_link_above(relative(path))
    for path in sorted(files):
        write_atomic(root.joinpath(*relative(path).split("/")), files[path])


def relative(path: str) -> str:
    """`path` without a closing slash. Raises `Unreadable` when it is absolute or climbs out."""
    trimmed = path.rstrip("/")
    parts = trimmed.split("/") if trimmed else []
    if path.startswith("/") or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise Unreadable(
            f"`{path}` is not a path inside the repository", where=path, hint="name it relative to the root"
        )
    return trimmed


def _walk(folder: str, prefix: str, found: list[Entry]) -> None:
    try:
        with os.scandir(folder) as listing:
            names = list(listing)
    except OSError as err:
        raise _unreadable(prefix.rstrip("/") or ".", err) from err
    for item in names:
        path = f"{prefix}{item.name}"
        if item.is_symlink():
            found.append(Entry(path, Kind.SYMLINK))
        elif item.is_dir(follow_symlinks=False):
            if item.name == ".git":
                continue
            if os.path.lexists(f"{item.path}/.git"):
                found.append(Entry(path, Kind.SUBMODULE))
            else:
                _walk(item.path, f"{path}/", found)
        elif item.is_file(follow_symlinks=False):
            if item.name != ".git":
                found.append(Entry(path, Kind.FILE))
        else:
            found.append(Entry(path, Kind.OTHER))


def _kind(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    return Kind.SYMLINK if stat.S_ISLNK(mode) else Kind.OTHER


def _read_all(handle: int, name: str, size: int, limit: int) -> bytes:
    first = os.read(handle, min(size, _CHUNK) + 1)
    if len(first) == size:
        return first
    parts, total = [first], len(first)
    while piece := os.read(handle, _CHUNK):
        parts.append(piece)
        total += len(piece)
        if total > limit:
            raise too_large(name, total, limit)
    return b"".join(parts)


def too_large(path: str, size: int, limit: int = MAX_BYTES) -> Unreadable:
    """The refusal of a file above the limit."""
    return Unreadable(
        f"`{path}` has {size} bytes, more than the {limit} that are read",
        where=path,
        hint="keep weights and data out of the config folders",
    )


def not_regular(path: str, kind: Kind) -> Unreadable:
    """The refusal of something that is not a regular file."""
    what = {Kind.SYMLINK: "a symbolic link", Kind.SUBMODULE: "a submodule"}.get(kind, "not a regular file")
    return Unreadable(f"`{path}` is {what}", where=path, hint="commit the file itself")


def _unreadable(path: str, err: OSError | ValueError) -> Unreadable:
    if isinstance(err, FileNotFoundError | NotADirectoryError):
        return Unreadable(f"`{path}` is not there", where=path)
    if isinstance(err, OSError) and err.errno == errno.ELOOP:
        return not_regular(path, Kind.SYMLINK)
    why = (err.strerror or str(err)) if isinstance(err, OSError) else str(err)
    return Unreadable(f"`{path}` cannot be read: {why.lower()}", where=path)


def _link_new(source: Path, path: Path) -> None:
    try:
        os.link(source, path)
    except FileExistsError as err:
        raise Unreadable(f"`{path.name}` is there already", where=os.fspath(path)) from err


def _unwritable(path: Path, err: OSError) -> Unreadable:
    return Unreadable(
        f"`{path.name}` cannot be written: {(err.strerror or str(err)).lower()}",
        where=os.fspath(path),
        hint="check the permissions and the free space of the folder",
    )


def _mode_of(path: Path) -> int | None:
    """The permissions of the regular file at `path`, to be kept; None for a new one."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _write_synced(path: Path, data: bytes, mode: int | None) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o666)
    with os.fdopen(handle, "wb") as out:
        out.write(data)
        if mode is not None:
            path.chmod(mode)
        out.flush()
        os.fsync(out.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
