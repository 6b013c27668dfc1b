"""A file of lines that grows as they come and survives a kill: a line is there whole, or it is not there.

- Each batch is written at once; the disk is asked to keep it at most a second later, and at the end.
- Going on with a file cuts off a last line that a kill left half-written, and nothing else.
- A new file never replaces one that is there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable, Usage

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_EVERY: Final = 1.0  # seconds between two syncs
_BACK: Final = 1 << 16


class Lines:
    """An open file of lines; a context manager. `go_on` takes a file that is there, else it must not be.

    Raises `Usage` when a new file is there already, `Unreadable` when the file cannot be written.
    """

    def __init__(
        self, path: Path | str, *, go_on: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.path = Path(path)
        self._now = now
        self._synced = now()
        try:
            _make_folder(self.path.parent)
            flags = os.O_RDWR | os.O_CREAT | (0 if go_on else os.O_EXCL) | getattr(os, "O_CLOEXEC", 0)
            self._handle = os.open(self.path, flags, 0o644)
            if go_on:
                os.ftruncate(self._handle, _whole(self._handle))
                os.lseek(self._handle, 0, os.SEEK_END)
        except FileExistsError as err:
            raise Usage(
                f"`{self.path}` is there already", hint="go on with it (--resume), or name another file"
            ) from err
        except OSError as err:
            raise _unwritable(self.path, err) from err

    def add(self, lines: Iterable[bytes]) -> None:
        """Append whole lines, each with its newline."""
        data = b"".join(lines)
        try:
            while data:
                data = data[os.write(self._handle, data) :]
            if self._now() - self._synced >= _EVERY:
                self.sync()
        except OSError as err:
            raise _unwritable(self.path, err) from err

    def sync(self) -> None:
        """Return once the disk has everything."""
        os.fsync(self._handle)
        self._synced = self._now()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.sync()
        except OSError as err:
            raise _unwritable(self.path, err) from err
        finally:
            os.close(self._handle)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as err:
        raise NotADirectoryError(err.errno, "a file is in the place of its folder") from err


def _whole(handle: int) -> int:
    """The length of the file up to its last newline."""
    end = os.fstat(handle).st_size
    while end:
        begin = max(0, end - _BACK)
        found = os.pread(handle, end - begin, begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0


def _unwritable(path: Path, err: OSError) -> Unreadable:
    return Unreadable(
        f"`{path.name}` cannot be written: {(err.strerror or str(err)).lower()}",
        where=os.fspath(path),
        hint="check the permissions and the free space of the folder",
    )
