"""Becoming another program while a watcher stays: the same process id, seen from outside as one start.

- `leave` forks a watcher that is no child of ours: what we become is not told of children it never had.
- The watcher leads a session of its own, so that Ctrl-C of a terminal is the server's alone; it ends by
  itself when the server has ended.
- `become` gives the new program the signal dispositions of a fresh start. Python ignores SIGPIPE, and what is
  ignored stays so across `exec`: a server would not notice that nobody reads.
- Only a process with a single thread may fork here.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NoReturn

from governance.errors import MissingTool

_STEP: Final = 0.5
_BUG: Final = 70
_IGNORED_BY_PYTHON: Final = ("SIGPIPE", "SIGXFSZ")


class Self:
    """This process as others will see it: alive until whatever it becomes has ended.

    Made before the fork; the kernel's handle for a process outlives its number.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._handle: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # Linux since 5.3
            self._handle = os.pidfd_open(self.pid)

    def ends_within(self, seconds: float) -> bool:
        """Wait at most `seconds`; true as soon as the process has ended."""
        if self._handle is not None:
            waiting = select.poll()
            waiting.register(self._handle, select.POLLIN)
            return bool(waiting.poll(max(0.0, seconds) * 1000))
        deadline = time.monotonic() + seconds
        while _exists(self.pid):
            if time.monotonic() >= deadline:
                return False
            time.sleep(min(_STEP, max(0.0, deadline - time.monotonic())))
        return True


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def leave(work: Callable[[], int]) -> None:
    """Start a watcher that runs `work` and ends with what it returns. Returns in this process at once."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    code = 0
    try:
        os.setsid()
        if os.fork() == 0:
            code = _BUG
            _own_streams()
            code = work()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()
        os._exit(code)


def _own_streams() -> None:
    """Standard output is the server's: what a watcher says goes to standard error."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(2, 1)
    os.close(nowhere)


def become(program: Path, argv: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Run `program` in place of this process. Raises `MissingTool` when the system cannot."""
    for name in _IGNORED_BY_PYTHON:
        with contextlib.suppress(AttributeError, ValueError):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    try:
        os.execve(program, list(argv), dict(environment))  # noqa: S606  no shell is wanted
    except OSError as err:
        raise MissingTool(
            f"`{program.name}` cannot be run: {(err.strerror or str(err)).lower()}",
            where=str(program),
            hint="check that it is a program for this machine and may be executed",
        ) from err
