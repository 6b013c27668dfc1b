"""A program nobody trusts, run within bounds: time, memory, output, files, no network, no writing elsewhere.

- Bounds that hold on every POSIX system: resource limits, an own process group that is killed as a whole,
  an empty environment, a folder of its own that is removed, output into files of bounded size.
- On Linux, where the kernel lets us: no network and no reach to other processes (namespaces), no process of
  its own (seccomp; threads are allowed), writing only below the own folder (Landlock). `Ended.open` names
  what the system did not let us close.
- The end is judged by the kernel's word alone: `Ended.reason` says which bound was hit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

from governance.errors import MissingTool

_CUT: Final = 64 * 1024
_OPEN: Final = b"tierlock-open:"

# Run by a Python of its own: a `preexec_fn` may deadlock in a process with threads.
# - The system calls of Landlock are 444 to 446 on every architecture; its access bits 1 and 4 to 12 are
#   writing, removing and making (ABI 1), 13 is linking elsewhere (2), 14 truncating (3).
# - The first process of a namespace ignores the signals it sends itself: it only waits, and hands on how
#   the program ended. When it ends, all others in the namespace end.
# - The filter refuses new processes and lets threads be. `clone3` is answered "not known", since its
#   arguments lie behind a pointer: the C library then takes `clone`.
_SHIM: Final = """
import ctypes, os, platform, resource, struct, sys
report, seconds, memory, size, folder = int(sys.argv[1]), *map(int, sys.argv[2:5]), sys.argv[5]
libc, left = ctypes.CDLL(None, use_errno=True), []
def limit(what, value):
    hard = resource.getrlimit(what)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (value, value))
def landlock():
    abi = libc.syscall(444, None, ctypes.c_size_t(0), 1)
    if abi < 1:
        return False
    bits = 0x1ff2 | (0x2000 if abi > 1 else 0) | (0x4000 if abi > 2 else 0)
    rules = libc.syscall(444, struct.pack("Q", bits), ctypes.c_size_t(8), 0)
    if rules < 0:
        return False
    for path, allowed in ((folder, bits), ("/dev/null", bits & 0x4002)):
        target = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if libc.syscall(445, rules, 1, struct.pack("=Qi", allowed, target), 0):
            return False
        os.close(target)
    return libc.syscall(446, rules, 0) == 0
def no_processes():
    known = {"x86_64": (0xC000003E, 56, (57, 58)), "aarch64": (0xC00000B7, 220, ())}
    if platform.machine() not in known:
        return False
    arch, clone, forks = known[platform.machine()]
    rows = [(0x20, 0, 0, 4), (0x15, 0, 6 + len(forks), arch), (0x20, 0, 0, 0)]
    rows += [(0x15, 5 + len(forks) - n, 0, fork) for n, fork in enumerate(forks)]
    rows += [(0x15, 3, 0, 435), (0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 1, 2, 0x10000)]
    rows += [(6, 0, 0, 0x50026), (6, 0, 0, 0x7FFF0000), (6, 0, 0, 0x50001)]
    program = b"".join(struct.pack("HBBI", *row) for row in rows)
    held = ctypes.create_string_buffer(program)
    return libc.prctl(22, 2, struct.pack("HP", len(rows), ctypes.addressof(held)), 0, 0) == 0
def ended_like(status):
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status))
if sys.platform == "linux":
    libc.prctl(1, 9, 0, 0, 0)
    libc.prctl(38, 1, 0, 0, 0)
    spaces = 0x40000000 | 0x20000000 | 0x08000000
    if libc.unshare(spaces) and libc.unshare(spaces | 0x10000000):
        left.append("network")
    else:
        told, tell = os.pipe()
        first = os.fork()
        if first:
            os.close(tell)
            status = os.waitpid(first, 0)[1]
            word = os.read(told, 4)
            ended_like(int.from_bytes(word, "little") if word else status)
        libc.prctl(1, 9, 0, 0, 0)
        os.close(told)
        program = os.fork()
        if program:
            os.close(report)
            status = os.waitpid(program, 0)[1]
            os.write(tell, status.to_bytes(4, "little"))
            os._exit(0)
        os.close(tell)
    left += [] if landlock() else ["files"]
    left += [] if no_processes() else ["processes"]
else:
    left += ["network", "files", "processes"]
os.write(report, ("tierlock-open:" + ",".join(left)).encode())
os.close(report)
limit(resource.RLIMIT_CORE, 0)
limit(resource.RLIMIT_CPU, seconds)
limit(resource.RLIMIT_FSIZE, size)
limit(resource.RLIMIT_NOFILE, 64)
if sys.platform != "darwin":
    limit(resource.RLIMIT_AS, memory)
os.execv(sys.argv[6], sys.argv[6:])
"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a program may use: seconds on the clock, bytes of memory, bytes of each file it writes."""

    seconds: float = 10.0
    memory: int = 512 << 20
    file_size: int = 1 << 20


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: `status` (negative for a signal), its output, and the bound it hit, if any.

    `open` names what this system did not let us close: `network`, `files`, `processes`.
    """

    status: int
    stdout: str
    stderr: str
    reason: str = ""
    open: tuple[str, ...] = ()


def run(argv: Sequence[str], *, stdin: bytes = b"", bounds: Bounds = Bounds()) -> Ended:
    """How `argv` ended, run within `bounds` in an empty folder of its own.

    `argv[0]` is the path of a program. Raises `MissingTool` on a system without resource limits.
    """
    if os.name != "posix":
        raise MissingTool("programs cannot be bounded on this system: it has no resource limits")
    with (
        tempfile.TemporaryDirectory(prefix="tierlock-code-") as folder,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as told,
    ):
        given.write(stdin)
        given.seek(0)
        status, late = _wait(argv, folder, bounds, (given, out, err, told))
        stdout, stderr = _content(out), _content(err)
        told.seek(0)
        left = told.read(_CUT).removeprefix(_OPEN).decode()
    return Ended(status, stdout, stderr, _reason(status, late, bounds), tuple(filter(None, left.split(","))))


def _wait(argv: Sequence[str], folder: str, bounds: Bounds, files: tuple[IO[bytes], ...]) -> tuple[int, bool]:
    """The status of the program, and whether it had to be killed."""
    given, out, err, told = files
    numbers = (told.fileno(), max(1, round(bounds.seconds + 1)), bounds.memory, bounds.file_size)
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SHIM, *map(str, numbers), folder, *argv],
        cwd=folder,
        env=_environment(folder),
        stdin=given,
        stdout=out,
        stderr=err,
        pass_fds=(told.fileno(),),
        start_new_session=True,
    )
    late = False
    try:
        process.wait(bounds.seconds)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode, late


def _environment(folder: str) -> dict[str, str]:
    # A fixed hash seed: the order of a set must not decide whether an answer is right.
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "LC_ALL": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "PYTHONHASHSEED": "0",
        "PYTHONUTF8": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _reason(status: int, late: bool, bounds: Bounds) -> str:
    if late or status == -signal.SIGXCPU:
        return f"it ran longer than {bounds.seconds:g} s"
    if status == -signal.SIGXFSZ:
        return f"it wrote more than {bounds.file_size:,} bytes"
    return ""


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_CUT).decode("utf-8", errors="replace")
