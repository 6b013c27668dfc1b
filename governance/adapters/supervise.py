"""Keeps one server running: the small program that outlives the command that started it.

It is run as a file, `python -I -S supervise.py NAME`, with a JSON object on its input: `argv`, `folder` (its
own, of mode 0700), `cwd`, `labels`, `grace` (seconds a server has to end). Standard library only. It answers
one JSON line, `{"pid": …}` or `{"failed": "…"}`, and goes into the background.

- One supervisor per folder: it holds a lock on `process.lock` for as long as it lives.
- A server is written into `process.json` by itself, before it becomes the engine: no server runs that is not
  written down. A process is known by boot, pid and start time; a pid alone may be a stranger's.
- A server that ends is started again, after 0.5 s, 1 s, 2 s … 60 s; one that ran for a minute counts afresh.
  What is left of its session (workers of an engine) is ended first.
- SIGTERM ends the server, asked first and killed after the grace, and then the supervisor.
- The log is cut in front when it grows over `LOG_LIMIT`; the last piece is kept beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

LOG, STATE, LOCK = "server.log", "process.json", "process.lock"
SCHEMA = "tierlock.process/1"
LOG_LIMIT = 64 << 20
LOCK_SECONDS = 2.0
_KEPT = 4 << 20
_FIRST_PAUSE, _LAST_PAUSE, _STEADY = 0.5, 60.0, 60.0
_WORKERS_GRACE = 2.0
_WATCH = 1.0  # seconds between looks at the log and the deadline


def boot_id() -> str:
    """The name of this start of the machine: pids and start times begin anew with each."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def stat_of(pid: int | str) -> tuple[str, int, int] | None:
    """(state letter, session, start time in ticks) of a process; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # the name in field 2 may hold blanks and parentheses: count from the last closing one
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[3]), int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def is_alive(pid: int, ticks: int) -> bool:
    """Whether this very process runs; one that ended and waits to be collected does not."""
    found = stat_of(pid)
    return found is not None and found[2] == ticks and found[0] not in "ZX"


def members(session: int) -> list[tuple[int, int]]:
    """(pid, ticks) of the living processes of a session, without its leader."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != session:
            stat = stat_of(name)
            if stat is not None and stat[1] == session and stat[0] not in "ZX":
                found.append((int(name), stat[2]))
    return found


def process_of(pid: int) -> dict[str, int]:
    """How `process.json` names a process."""
    stat = stat_of(pid)
    return {"pid": pid, "ticks": stat[2] if stat else 0}


class Supervisor:
    """One server, kept running until SIGTERM comes."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.folder: str = spec["folder"]
        self.me: dict[str, int] = {}
        self.server = 0
        self.restarts = 0
        self.stopping = False
        self.deadline = float("inf")
        self.log = -1

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, state: str, **more: object) -> None:
        """Replace `process.json`, whole or not at all."""
        record = {
            "schema": SCHEMA,
            "boot": boot_id(),
            "state": state,
            "supervisor": self.me,
            "labels": self.spec["labels"],
            "restarts": self.restarts,
            **more,
        }
        temporary = self.path(f".{STATE}.{os.getpid()}")
        with open(temporary, "w") as file:
            json.dump(record, file, indent=2, sort_keys=True)
            file.write("\n")
        os.replace(temporary, self.path(STATE))

    def lock(self) -> bool:
        """Hold the folder; False when another supervisor does."""
        handle = os.open(self.path(LOCK), os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                if time.monotonic() > until:
                    return False
                time.sleep(0.05)

    def open_log(self) -> None:
        path = self.path(LOG)
        with contextlib.suppress(OSError):
            os.replace(path, f"{path}.1")
        self.log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def start(self) -> str | None:
        """Start the server; the reason when its program cannot be run, else None."""
        heard, said = os.pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGALRM})
        pid = os.fork()
        if pid == 0:
            self.become(said)
        self.server = pid
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGALRM})
        os.close(said)
        with open(heard, "rb") as file:
            reason = file.read().decode()
        if not reason:
            return None
        os.waitpid(pid, 0)
        self.server = 0
        return reason

    def become(self, said: int) -> NoReturn:
        """In the child: written down, then the engine. Does not return."""
        try:
            os.setsid()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGALRM):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, 0)
            os.dup2(self.log, 1)
            os.dup2(self.log, 2)
            os.chdir(self.spec["cwd"])
            mine = process_of(os.getpid())
            self.write("running", server={**mine, "started_at": time.time()})
            signal.pthread_sigmask(signal.SIG_SETMASK, set())
            if os.getppid() == self.me["pid"]:
                os.execvp(self.spec["argv"][0], self.spec["argv"])
            os.write(said, b"the supervisor was ended")
        except OSError as err:
            os.write(said, f"{err.filename or self.spec['argv'][0]}: {err.strerror}".encode())
        finally:
            os._exit(127)

    def on_term(self, *_: object) -> None:
        self.stopping = True
        self.deadline = time.monotonic() + self.spec["grace"]
        if self.server:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.server, signal.SIGTERM)

    def on_alarm(self, *_: object) -> None:
        if time.monotonic() > self.deadline and self.server:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.server, signal.SIGKILL)
        with contextlib.suppress(OSError):
            if os.fstat(self.log).st_size > LOG_LIMIT:
                self.cut_log()

    def cut_log(self) -> None:
        path = self.path(LOG)
        with open(path, "rb") as file:
            file.seek(-_KEPT, os.SEEK_END)
            tail = file.read()
        with open(os.open(f"{path}.1", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(tail)
        os.truncate(path, 0)

    def wait(self) -> int:
        """Until the server has ended; what is left of its session is ended too. Its wait status."""
        # Not collected yet: until it is, its number cannot be given to a stranger.
        os.waitid(os.P_PID, self.server, os.WEXITED | os.WNOWAIT)
        end_all(members(self.server), _WORKERS_GRACE)
        _, status = os.waitpid(self.server, 0)
        self.server = 0
        return os.waitstatus_to_exitcode(status)

    def pause(self, seconds: float) -> bool:
        """Wait; whether to go on after it."""
        until = time.monotonic() + seconds
        while not self.stopping and time.monotonic() < until:
            time.sleep(0.05)
        return not self.stopping

    def run(self, answer: Callable[[dict[str, Any]], None]) -> None:
        """The life of a supervisor, from its lock to the end."""
        self.me = process_of(os.getpid())
        if not self.lock():
            answer({"failed": "another supervisor holds this service"})
            return
        signal.signal(signal.SIGTERM, self.on_term)
        signal.signal(signal.SIGINT, self.on_term)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, self.on_alarm)
        signal.setitimer(signal.ITIMER_REAL, _WATCH, _WATCH)
        self.open_log()
        reason = self.start()
        answer({"failed": reason} if reason else {"pid": self.server})
        if reason is None:
            self.keep()
        self.write("stopped")

    def keep(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            begun = time.monotonic()
            status = self.wait() if self.server else 127
            if self.stopping:
                return
            os.write(self.log, f"tierlock: the server {ended(status)}\n".encode())
            pause = _FIRST_PAUSE if time.monotonic() - begun > _STEADY else pause
            self.write("waiting", last_status=status)
            if not self.pause(pause):
                return
            pause = min(2 * pause, _LAST_PAUSE)
            self.restarts += 1
            reason = self.start()
            if reason:
                os.write(self.log, f"tierlock: the server cannot be started: {reason}\n".encode())


def ended(status: int) -> str:
    """How a server ended, in words: `ended with status 1`, `was ended by SIGKILL`."""
    if status >= 0:
        return f"ended with status {status}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-status).name
        why = {"SIGILL": ": it was built for another processor", "SIGKILL": ": out of memory?"}.get(name, "")
        return f"was ended by {name}{why}"
    return f"was ended by signal {-status}"


def end_all(processes: Sequence[tuple[int, int]], grace: float) -> None:
    """Ask these (pid, ticks) to end, and kill those that have not after `grace` seconds."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, grace)):
        for pid, ticks in processes:
            send(pid, ticks, number)
        until = time.monotonic() + seconds
        while any(is_alive(*one) for one in processes):
            if time.monotonic() > until:
                break
            time.sleep(0.02)


def send(pid: int, ticks: int, number: signal.Signals) -> bool:
    """Signal this very process; False when it is not there any more."""
    try:
        handle = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_alive(pid, ticks):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def main() -> None:
    """Read what is asked, go into the background, keep the server."""
    spec = json.load(sys.stdin)
    said = os.dup(1)

    def answer(value: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            os.write(said, json.dumps(value).encode() + b"\n")
        os.close(said)

    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(nowhere, handle)
    Supervisor(spec).run(answer)


if __name__ == "__main__":
    main()
