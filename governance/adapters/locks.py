"""One actor at a time: a lock that the kernel gives back when its holder ends, however it ends.

- Who holds it is written into the lock file, so that whoever is turned away can say so. The text is told and
  never trusted: the lock itself is the kernel's.
- The file stays when the lock is given back: removing it would let two processes lock two files of one name.
- A child does not inherit the lock: a server that is started while it is held does not keep it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from governance.errors import Unreadable

_STEP: Final = 0.1
_MAX: Final = 500


@contextmanager
def held(
    path: Path,
    *,
    who: str,
    busy: Callable[[str], Exception],
    wait_s: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """A block in which this process alone holds the lock at `path`.

    `who` is what others are told of the holder, on one line. Raises `busy(holder)` when somebody else still
    holds it after `wait_s` seconds, `Unreadable` when there can be no lock there.
    """
    handle = _open(path)
    try:
        deadline = now() + wait_s
        while not _taken(handle, path):
            if now() >= deadline:
                raise busy(_holder(handle))
            sleep(min(_STEP, max(0.0, deadline - now())))
        _write(handle, who)
        try:
            yield
        finally:
            _write(handle, "")
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as err:
        raise _refused(path, err) from err


def _taken(handle: int, path: Path) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as err:
        raise _refused(path, err) from err
    return True


def _refused(path: Path, err: OSError) -> Unreadable:
    return Unreadable(
        f"`{path.name}` cannot be locked: {(err.strerror or str(err)).lower()}",
        where=os.fspath(path),
        hint="check the permissions and the file system of the folder",
    )


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.replace("\n", " ").encode("utf-8", "backslashreplace")[:_MAX], 0)


def _holder(handle: int) -> str:
    """What the holder wrote; nothing when it has not yet, or has just given the lock back."""
    return os.pread(handle, _MAX, 0).decode("utf-8", "replace").strip()
