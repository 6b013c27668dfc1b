"""Servers that stay when the command that started them has ended: start, find, end.

- Each folder holds one server, kept by the small program of `supervise.py`, which is run by its path.
- What runs is asked of the kernel: a process is ours by boot, pid and start time, all three written down by
  itself. A stranger with a recycled pid is neither shown nor touched.
- Variables are handed over in the environment, never on a command line or in a file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from governance.adapters import supervise
from governance.errors import Unreachable
from governance.values import Unknown

GRACE: Final = 30.0
"""Seconds a server has to end when asked: engines wait for the requests they have."""
_SLACK: Final = 5.0
_STEP: Final = 0.02
_TAIL: Final = 4000


@dataclass(frozen=True, slots=True)
class Spec:
    """A server to keep: its command, its whole environment, and the labels it is found by."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    cwd: Path
    labels: Mapping[str, str]
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class Kept:
    """A server that runs. `supervised` is false when its supervisor was killed: nothing restarts it then."""

    pid: int
    ticks: int
    started_at: float
    labels: Mapping[str, str]
    restarts: int
    supervised: bool


def start(spec: Spec, folder: Path) -> int:
    """The pid of the started server. Raises `Unreachable` when its program cannot be run."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    asked = {
        "argv": list(spec.argv),
        "folder": str(folder),
        "cwd": str(spec.cwd),
        "labels": dict(spec.labels),
        "grace": spec.grace,
    }
    name = spec.labels.get("service", folder.name)
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(Path(supervise.__file__)), name],
        input=json.dumps(asked).encode(),
        capture_output=True,
        env=dict(spec.environment),
        cwd="/",
        start_new_session=True,
        check=False,
    )
    with contextlib.suppress(ValueError):
        said = json.loads(done.stdout)
        if "pid" in said:
            return int(said["pid"])
        raise Unreachable(f"the server cannot be started: {said['failed']}", where=spec.argv[0])
    tail = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    raise Unreachable(f"the supervisor ended at once: {tail or done.returncode}", where=spec.argv[0])


def find(folder: Path) -> Kept | Unknown | None:
    """The server of this folder that runs now; None when none does, unknown when the notes are damaged."""
    record = _record(folder)
    if record is None or isinstance(record, Unknown):
        return record
    try:
        server = record.get("server")
        if record["boot"] != supervise.boot_id() or server is None:
            return None
        if not supervise.is_alive(server["pid"], server["ticks"]):
            return None
        keeper = record["supervisor"]
        return Kept(
            int(server["pid"]),
            int(server["ticks"]),
            float(server["started_at"]),
            {str(name): str(value) for name, value in record["labels"].items()},
            int(record["restarts"]),
            supervise.is_alive(keeper["pid"], keeper["ticks"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return _damaged()


def restarting(folder: Path) -> int | None:
    """The exit status of the last server while its supervisor waits to start it again; None otherwise."""
    record = _record(folder)
    if record is None or isinstance(record, Unknown) or record.get("state") != "waiting":
        return None
    keeper = _process(record, "supervisor")
    return int(record.get("last_status", 0)) if keeper and supervise.is_alive(*keeper) else None


def belongs(pid: int, kept: Kept) -> bool:
    """Whether the process is the server or one of its workers."""
    found = supervise.stat_of(pid)
    return pid == kept.pid or (found is not None and found[1] == kept.pid)


def end(folder: Path, *, grace: float = GRACE) -> None:
    """End the server of this folder and its supervisor. Nothing to end is no error.

    Raises `Unreachable` when another supervisor comes in between.
    """
    record = _record(folder)
    if record is None:
        return
    if not isinstance(record, Unknown) and record.get("boot") == supervise.boot_id():
        _end_one(_process(record, "supervisor"), grace + _SLACK)
    # Held by the supervisor, and by a server until it is written down: once it is ours, the notes are whole.
    with _held(folder):
        record = _record(folder)
        if record is None or isinstance(record, Unknown) or record.get("boot") != supervise.boot_id():
            return
        server = _process(record, "server")
        workers = supervise.members(server[0]) if server and supervise.is_alive(*server) else []
        _end_one(server, grace)
        supervise.end_all(workers, _SLACK)


def tail(folder: Path) -> str:
    """The last lines the server wrote; those of its former run when it wrote none."""
    for name in (supervise.LOG, f"{supervise.LOG}.1"):
        with contextlib.suppress(OSError):
            if text := (folder / name).read_bytes()[-_TAIL:].decode("utf-8", "replace").strip():
                return text
    return ""


def _end_one(process: tuple[int, int] | None, grace: float) -> None:
    """Ask one process to end, kill it after `grace` seconds, and wait until it is gone."""
    if process is None or not supervise.send(*process, signal.SIGTERM):
        return
    deadline = time.monotonic() + grace
    while supervise.is_alive(*process):
        if time.monotonic() > deadline:
            supervise.send(*process, signal.SIGKILL)
            deadline += _SLACK
        time.sleep(_STEP)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    handle = os.open(folder / supervise.LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + _SLACK
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as err:
                if time.monotonic() > deadline:
                    raise Unreachable(
                        "another supervisor has started this service meanwhile", hint="try again"
                    ) from err
                time.sleep(_STEP)
        yield
    finally:
        os.close(handle)


def _record(folder: Path) -> dict[str, Any] | Unknown | None:
    try:
        found = json.loads((folder / supervise.STATE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return _damaged()
    return found if isinstance(found, dict) and found.get("schema") == supervise.SCHEMA else _damaged()


def _process(record: Mapping[str, Any], key: str) -> tuple[int, int] | None:
    found = record.get(key)
    if not isinstance(found, dict):
        return None
    pid, ticks = found.get("pid"), found.get("ticks")
    return (pid, ticks) if isinstance(pid, int) and isinstance(ticks, int) and pid > 1 else None


def _damaged() -> Unknown:
    return Unknown(f"`{supervise.STATE}` of the process driver is damaged")


def command_line(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """The command as one line for a shell; `environment` is put before it."""
    import shlex

    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(environment.items())]
    return " ".join([*variables, shlex.join(argv)])
