"""Server processes of this host: starting one that always ends, and finding the one behind a port.

- A started server writes to one file, is ended by its own pid (asked, then killed), and cannot outlive us:
  a context manager, an exit hook, and on Linux the kernel's parent-death signal.
- It leads a process group of its own: the workers an engine starts are killed with it, also when the server
  ended by itself and left them behind. On Linux a watcher does so when we are killed: vLLM's engine process
  was seen to live on without its server.
- The death signal is tied to the *thread* that starts the server: start it from one that stays.
- A running server is found by its listening port in `/proc`. Of its environment only the variables that
  the caller names are kept; the rest, keys among it, is never held. A key on a command line is masked.
"""

from __future__ import annotations

import atexit
import contextlib
import ipaddress
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from governance.errors import MissingTool, Unreachable
from governance.values import Unknown

GRACE = 5.0
_WORKERS_GRACE = 2.0
_TAIL = 2000
_FILE_LIMIT = 4 << 20
_CLOCK = 2.0  # seconds: a process's start is known to a second, and an engine reads its files later than that
_PROC = Path("/proc")
MASK = "***"
_SECRET_FLAG = re.compile(
    r"(?:api|admin|auth|access|hf|hub|ngrok)[-_]?(?:key|(?:auth)?token)$|password|secret|^-hft$",
    re.IGNORECASE,
)
_LISTEN = "0A"  # the state column of /proc/net/tcp

# Sets the parent-death signal, leaves a watcher that kills the process group once our end of the pipe is
# closed, then becomes the server: the pid and the final command line are the server's own. A `preexec_fn`
# would do the same but may deadlock in a process with threads.
_SHIM = """
import ctypes, os, signal, sys, time
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    os._exit(125)
leash, group = int(sys.argv[2]), os.getpid()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 3)
    os.read(leash, 1)
    try:
        os.killpg(group, signal.SIGTERM)
        time.sleep(2)
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
    os._exit(0)
os.wait()
os.close(leash)
try:
    os.execv(sys.argv[3], sys.argv[4:])
except OSError as err:
    print(f"{sys.argv[3]}: {err.strerror}", file=sys.stderr)
    os._exit(127)
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A running program: its argument list, the variables that were asked for, and when it started.

    `environment` is unknown when the process belongs to somebody else; `started_at` counts seconds since
    the epoch.
    """

    pid: int
    argv: tuple[str, ...]
    environment: Mapping[str, str] | Unknown
    started_at: float | Unknown
    folder: str = ""


class Server:
    """A server we started: `pid`, the `log` it writes to, whether it still runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, leash: int) -> None:
        self._process = process
        self._leash = leash
        self._swept = False
        self.pid = process.pid
        self.log = log

    @property
    def ended(self) -> int | None:
        """The exit status, or None while it runs. Workers that an ended server left are killed."""
        status = self._process.poll()
        if status is not None:
            self._sweep()
        return status

    def wait_until(self, healthy: Callable[[], bool], *, timeout: float = 60.0, step: float = 0.05) -> None:
        """Return once `healthy()` is true. Raises `Unreachable`, with the end of the log, when the server
        ends first or is not healthy within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not healthy():
            if self.ended is not None:
                raise Unreachable(f"the server {_end_of(self.ended)} before it was ready\n{self.tail()}")
            if time.monotonic() > deadline:
                raise Unreachable(f"the server is not ready after {timeout:g} s\n{self.tail()}")
            time.sleep(step)

    def stop(self, grace: float = GRACE) -> None:
        """Ask the server to end; kill it after `grace` seconds, and whatever is left of its group."""
        atexit.unregister(self.stop)
        if self.ended is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._sweep()

    def _sweep(self) -> None:
        """End what is left of the process group, once: later its number may be somebody else's.

        Asked first: Python's own helper process then removes the shared memory of killed workers.
        """
        if self._swept:
            return
        self._swept = True
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGTERM)
            deadline = time.monotonic() + _WORKERS_GRACE
            while time.monotonic() < deadline:
                os.killpg(self.pid, 0)
                time.sleep(0.02)
            os.killpg(self.pid, signal.SIGKILL)
        os.close(self._leash)

    def tail(self) -> str:
        """The last lines of the server's output."""
        with contextlib.suppress(OSError):
            return self.log.read_bytes()[-_TAIL:].decode("utf-8", errors="replace").strip()
        return ""


def start(argv: Sequence[str], environment: Mapping[str, str], *, log: Path) -> Server:
    """A started server. `environment` is added to ours; stdout and stderr go to `log`.

    Raises `MissingTool` when the program is not there.
    """
    program = shutil.which(argv[0])
    if program is None:
        raise MissingTool(f"the program `{argv[0]}` is not installed", hint="make .venv/.stamps/engine")
    held, leash = os.pipe()
    command = [program, *argv[1:]]
    if sys.platform == "linux":
        command = [sys.executable, "-I", "-S", "-c", _SHIM, str(os.getpid()), str(held), program, *argv]
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(held,) if sys.platform == "linux" else (),
            )
    except OSError:
        os.close(leash)
        raise
    finally:
        os.close(held)
    server = Server(process, log, leash)
    atexit.register(server.stop)
    return server


def _end_of(status: int) -> str:
    """How a server ended. One that a signal ended says nothing itself, so the signal is named."""
    if status == -signal.SIGILL:
        return "was ended by SIGILL (it was built for another processor)"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


@contextmanager
def running(
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    log: Path,
    healthy: Callable[[], bool],
    timeout: float = 60.0,
) -> Iterator[Server]:
    """A healthy server for the length of a `with` block."""
    server = start(argv, environment, log=log)
    try:
        server.wait_until(healthy, timeout=timeout)
        yield server
    finally:
        server.stop()


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody listens on now. Somebody may take it before you do: start at once."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        port: int = probe.getsockname()[1]
        return port


def is_local(host: str) -> bool:
    """Whether `host` is an address of this machine, so that its processes may be looked at."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return any(_own_address(family, str(address[0])) for family, _, _, _, address in found)


def behind_port(port: int, *, wanted: Callable[[str], bool], proc: Path = _PROC) -> Program | Unknown:
    """The process that listens on `port` on this host; of its environment the variables `wanted` accepts.

    Where several share the socket, the one that started first: the parent of the workers.
    """
    if not (proc / "net").is_dir():
        return Unknown("this system has no /proc to look processes up in")
    sockets = _listening_sockets(port, proc)
    if not sockets:
        return Unknown(f"no process of this host listens on port {port}")
    pids = sorted(_holders(sockets, proc), key=lambda pid: (_start_ticks(pid, proc) or 0, pid))
    if not pids:
        return Unknown(f"the process on port {port} belongs to another user or another container")
    return program(pids[0], wanted=wanted, proc=proc)


def program(pid: int, *, wanted: Callable[[str], bool], proc: Path = _PROC) -> Program | Unknown:
    """The running program with this pid."""
    folder = proc / str(pid)
    try:
        argv = _strings(folder / "cmdline")
    except OSError as err:
        return Unknown(f"process {pid}: {(err.strerror or str(err)).lower()}")
    if not argv:
        return Unknown(f"process {pid} has no command line")
    environment: Mapping[str, str] | Unknown
    try:
        pairs = (text.partition("=") for text in _strings(folder / "environ"))
        environment = {name: value for name, _, value in pairs if wanted(name)}
    except OSError:
        environment = Unknown(f"the environment of process {pid} may not be read by this user")
    cwd = ""
    with contextlib.suppress(OSError):
        cwd = str((folder / "cwd").readlink())
    return Program(pid, tuple(masked(argv)), environment, _started_at(pid, proc), cwd)


def masked(argv: Sequence[str]) -> Iterator[str]:
    """The command line with the values of keys, tokens and passwords replaced by `***`."""
    hide = False
    for word in argv:
        flag, equals, _ = word.partition("=")
        if hide and not word.startswith("--"):
            yield MASK
            hide = False
        elif _SECRET_FLAG.search(flag) and flag.startswith("-"):
            yield f"{flag}={MASK}" if equals else flag
            hide = not equals
        else:
            yield word
            hide = False


def file_of(program: Program, path: str, *, proc: Path = _PROC) -> bytes | Unknown | None:
    """The content of a file as `program` sees it, below its own root and working folder; None for no file.

    Unknown when it may not be read, and when it was written after the program started: that is not what the
    program has read.
    """
    root = proc / str(program.pid) / "root"
    place = PurePosixPath(program.folder or "/", path)
    file = root.joinpath(*place.parts[1:])
    try:
        if _leaves(root, place):
            return Unknown(f"`{path}` is a link out of the container of process {program.pid}")
        found = file.stat()
        if isinstance(program.started_at, Unknown) or found.st_mtime > program.started_at + _CLOCK:
            return Unknown(f"`{path}` may have been written after process {program.pid} started")
        if not stat.S_ISREG(found.st_mode) or found.st_size > _FILE_LIMIT:
            return Unknown(f"`{path}` is no file of at most {_FILE_LIMIT >> 20} MiB")
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as err:
        return Unknown(f"`{path}` of process {program.pid}: {(err.strerror or str(err)).lower()}")


def _leaves(root: Path, place: PurePosixPath) -> bool:
    """Whether an absolute link on the way would be followed below our root instead of the program's."""
    if root.samefile("/"):
        return False
    steps = (root.joinpath(*place.parts[1:end]) for end in range(2, len(place.parts) + 1))
    return any(step.is_symlink() and step.readlink().is_absolute() for step in steps)


def _own_address(family: int, address: str) -> bool:
    if ipaddress.ip_address(address.partition("%")[0]).is_loopback:
        return True
    with contextlib.suppress(OSError), socket.socket(family) as probe:
        probe.bind((address, 0))
        return True
    return False


def _listening_sockets(port: int, proc: Path) -> frozenset[str]:
    found: set[str] = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return frozenset(found)


def _holders(sockets: frozenset[str], proc: Path) -> Iterator[int]:
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if any(_link(entry) in sockets for entry in (folder / "fd").iterdir()):
                yield int(folder.name)


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _strings(path: Path) -> list[str]:
    content = path.read_bytes()
    return [part.decode("utf-8", errors="surrogateescape") for part in content.split(b"\0")[:-1]]


def _start_ticks(pid: int, proc: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        # the name in field 2 may hold blanks and parentheses: count from the last closing one
        return int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[19])
    return None


def _started_at(pid: int, proc: Path) -> float | Unknown:
    ticks = _start_ticks(pid, proc)
    with contextlib.suppress(OSError, ValueError, IndexError):
        boot = next(
            int(line.split()[1])
            for line in (proc / "stat").read_text().splitlines()
            if line.startswith("btime ")
        )
        if ticks is not None:
            return boot + ticks / os.sysconf("SC_CLK_TCK")
    return Unknown(f"the start time of process {pid} cannot be read")


def descends(pid: int, from_pid: int, *, proc: Path = _PROC) -> bool:
    """Whether `pid` is `from_pid`, or a child of it at any depth."""
    while pid > 0:
        if pid == from_pid:
            return True
        try:
            # the name in field 2 may hold blanks and parentheses: count from the last closing one
            pid = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
    return False
