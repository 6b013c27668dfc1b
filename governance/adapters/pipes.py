"""Run a program and collect what it says, or keep one running and talk to it, without `subprocess`.

- `subprocess` costs 5 ms to import, half of what a whole hook run may take over a bare interpreter; these
  two use `posix_spawn` and `poll`. Where the system has no `posix_spawn`, `subprocess` is used.
- No shell, no inherited input: a program that would ask a question gets end of file.
- A program that is not installed raises `MissingTool`.
"""

from __future__ import annotations

import os

from governance.errors import MissingTool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PIECE = 1 << 20
_SET_SIZE = 1031  # F_SETPIPE_SZ: a writer of 4 KiB pieces is then read 1 MiB at a time
_SPAWN = hasattr(os, "posix_spawnp")


def call(
    argv: Sequence[str], *, environment: Mapping[str, str], given: bytes = b"", spawn: bool = _SPAWN
) -> tuple[int, bytes, bytes]:
    """Exit status, standard output and standard error of `argv`, which gets `given` as its input.

    A negative status is the signal that ended the program, as in `subprocess`.
    """
    return later(argv, environment=environment, given=given, spawn=spawn)()


def later(
    argv: Sequence[str], *, environment: Mapping[str, str], given: bytes = b"", spawn: bool = _SPAWN
) -> Callable[[], tuple[int, bytes, bytes]]:
    """As `call`, but `argv` runs at once and the answer, to be asked for once, waits for it.

    Where there is no `posix_spawn` it runs when the answer is asked for.
    """
    if not spawn:
        return lambda: _call_portably(argv, environment, given)
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    mine = [in_write, out_read, err_read]
    _widen(out_read)
    try:
        wait = _spawn(argv, environment, in_read, out_write, err_write)
    except BaseException:
        for handle in mine:
            os.close(handle)
        raise
    finally:
        for handle in (in_read, out_write, err_write):
            os.close(handle)
    return lambda: _answer(mine, given, wait)


def _answer(mine: list[int], given: bytes, wait: Callable[[], int]) -> tuple[int, bytes, bytes]:
    try:
        out, err = _exchange(mine, given)
    finally:
        while mine:
            os.close(mine.pop())
        status = wait()
    return status, out, err


class Talk:
    """A running program: `say` writes to it, `line` and `take` read its answer. Close it when done.

    Its standard error is dropped. What is said at once must fit in a pipe (4 KiB everywhere) unless the
    program reads everything before it answers.
    """

    def __init__(self, argv: Sequence[str], *, environment: Mapping[str, str], spawn: bool = _SPAWN) -> None:
        self._buffer = bytearray()
        in_read, self._say = os.pipe()
        self._hear, out_write = os.pipe()
        _widen(self._hear)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        self._wait: Callable[[], int] | None = None
        start = _spawn if spawn else _start_portably
        try:
            self._wait = start(argv, environment, in_read, out_write, nowhere)
        except MissingTool:
            self.close()
            raise
        finally:
            for handle in (in_read, out_write, nowhere):
                os.close(handle)

    def say(self, words: bytes) -> None:
        """Write all of `words`. Raises `BrokenPipeError` when the program has ended."""
        view = memoryview(words)
        while view:
            view = view[os.write(self._say, view) :]

    def line(self) -> bytes:
        """The next line without its end; empty when the program has ended."""
        while (end := self._buffer.find(b"\n")) < 0:
            if not self._more():
                return b""
        found = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return found

    def take(self, size: int) -> bytes:
        """The next `size` bytes; fewer when the program has ended."""
        while len(self._buffer) < size:
            if not self._more():
                break
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    def skip(self, size: int) -> None:
        """Drop the next `size` bytes without holding them."""
        while size > 0 and (self._buffer or self._more()):
            dropped = min(size, len(self._buffer))
            del self._buffer[:dropped]
            size -= dropped

    def close(self) -> None:
        """End the conversation; the program sees end of file and is waited for."""
        for handle in (self._say, self._hear):
            if handle >= 0:
                os.close(handle)
        self._say = self._hear = -1
        if self._wait is not None:
            self._wait()
            self._wait = None

    def _more(self) -> bool:
        piece = os.read(self._hear, _PIECE)
        self._buffer += piece
        return bool(piece)


def _spawn(
    argv: Sequence[str], environment: Mapping[str, str], stdin: int, stdout: int, stderr: int
) -> Callable[[], int]:
    """Start `argv` on the three handles; the answer waits for its end and returns the exit status."""
    ends = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((stdin, stdout, stderr))]
    try:
        pid = os.posix_spawnp(argv[0], list(argv), dict(environment), file_actions=ends)
    except FileNotFoundError as err:
        raise _missing(argv[0]) from err
    return lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _start_portably(
    argv: Sequence[str], environment: Mapping[str, str], stdin: int, stdout: int, stderr: int
) -> Callable[[], int]:
    import subprocess

    try:
        child = subprocess.Popen(list(argv), stdin=stdin, stdout=stdout, stderr=stderr, env=dict(environment))
    except FileNotFoundError as err:
        raise _missing(argv[0]) from err
    return child.wait


def _widen(handle: int) -> None:
    """Let the pipe hold 1 MiB, where the system can."""
    try:
        import fcntl

        fcntl.fcntl(handle, _SET_SIZE, _PIECE)
    except (ImportError, OSError):
        pass


def _exchange(handles: list[int], given: bytes) -> tuple[bytes, bytes]:
    """Write `given` to the first handle while reading the other two; closed handles leave the list."""
    import select

    feed, out, err = handles
    heard: dict[int, list[bytes]] = {out: [], err: []}
    waiting = select.poll()
    for handle in (out, err):
        waiting.register(handle, select.POLLIN)
    rest = memoryview(given)
    if rest:
        os.set_blocking(feed, False)
        waiting.register(feed, select.POLLOUT)
    else:
        _drop(handles, feed)
    while out in handles or err in handles:
        for handle, _ in waiting.poll():
            if handle == feed:
                rest = _feed(feed, rest)
                if not rest:
                    waiting.unregister(feed)
                    _drop(handles, feed)
            elif piece := os.read(handle, _PIECE):
                heard[handle].append(piece)
            else:
                waiting.unregister(handle)
                _drop(handles, handle)
    return b"".join(heard[out]), b"".join(heard[err])


def _feed(handle: int, rest: memoryview) -> memoryview:
    try:
        return rest[os.write(handle, rest) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:  # the program did not want it all; its status tells why
        return rest[:0]


def _drop(handles: list[int], handle: int) -> None:
    handles.remove(handle)
    os.close(handle)


def _call_portably(
    argv: Sequence[str], environment: Mapping[str, str], given: bytes
) -> tuple[int, bytes, bytes]:
    import subprocess

    try:
        done = subprocess.run(
            list(argv), input=given, env=dict(environment), capture_output=True, check=False
        )
    except FileNotFoundError as err:
        raise _missing(argv[0]) from err
    return done.returncode, done.stdout, done.stderr


def _missing(program: str) -> MissingTool:
    return MissingTool(
        f"`{program}` is not installed or not on PATH", hint=f"install {program} and call again"
    )
