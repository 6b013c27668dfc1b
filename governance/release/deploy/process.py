"""The `process` driver: the server runs on this host, under a small supervisor of its own.

- The server survives the command that started it, is started again when it ends, and writes to a log in the
  folder of the driver. Only the start of the machine does not bring it back: `systemd` is for that.
- It inherits this environment without what shapes answers and without credentials: these come from the base
  config and from `deploy.environment` alone.
- A port that is taken by a process the driver did not start is refused, and that process is left alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from governance.adapters import processes, supervisor
from governance.adapters.environment import inherited, resolved
from governance.adapters.processes import Program
from governance.errors import MissingTool, Unreadable
from governance.fingerprint.layers import short
from governance.release.deploy.host import need_weights, program_of, refuse_a_stranger, stranger
from governance.release.deploy.model import Replica, Target
from governance.tiers.rules.variables import classify
from governance.values import Unknown

NAME: Final = "process"


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    if not sys.platform.startswith("linux"):
        raise MissingTool("the process driver needs Linux", hint="use `deploy.driver: command`")
    program_of(target)
    need_weights(target)
    resolved(target.launch.environment)
    kept = supervisor.find(_folder(target))
    if isinstance(kept, Unknown):
        raise Unreadable(kept.reason, where=str(_folder(target)), hint="end the server, remove the file")
    refuse_a_stranger(target, _belonging(kept))


def plan(target: Target) -> tuple[str, ...]:
    """What `deploy` would do, one line each."""
    kept = supervisor.find(_folder(target))
    lines = []
    if isinstance(kept, supervisor.Kept):
        labels = kept.labels
        lines.append(f"end     process {kept.pid} ({labels['release']} {short(labels['fingerprint'])})")
    command = supervisor.command_line(target.launch.argv, target.launch.environment)
    return (*lines, f"start   {command}", f"listen  {target.url}")


def deploy(target: Target) -> None:
    """End the server of this service that runs, and start the one of `target`."""
    check(target)
    folder = _folder(target)
    environment = inherited(lambda name: classify(name) not in ("output", "secret"))
    spec = supervisor.Spec(
        argv=(program_of(target), *target.launch.argv[1:]),
        environment={**environment, **resolved(target.launch.environment)},
        cwd=target.root,
        labels={
            "service": target.service,
            "release": target.release,
            "fingerprint": target.fingerprint,
        },
    )
    supervisor.end(folder)
    supervisor.start(spec, folder)


def running(target: Target) -> tuple[Replica, ...] | Unknown:
    """The server the driver keeps, and a stranger that listens in its place."""
    kept = supervisor.find(_folder(target))
    if isinstance(kept, Unknown):
        return kept
    found = [_replica(kept, target)] if kept is not None else []
    other = stranger(target, _belonging(kept))
    if isinstance(other, Unknown):
        return Unknown(f"port {target.port} is taken: {other.reason}")
    if other is not None:
        name = f"process {other.pid}, which tierlock did not start"
        found.append(Replica(name, target.url, other.started_at, argv=other.argv))
    return tuple(found)


def stop(target: Target) -> None:
    """End the server and its supervisor."""
    supervisor.end(_folder(target))


def log(target: Target) -> str:
    """The end of the server's log."""
    return supervisor.tail(_folder(target))


def _folder(target: Target) -> Path:
    return target.state / NAME


def _belonging(kept: supervisor.Kept | None) -> Callable[[Program], bool]:
    return lambda found: kept is not None and supervisor.belongs(found.pid, kept)


def _replica(kept: supervisor.Kept, target: Target) -> Replica:
    seen = processes.program(kept.pid, wanted=lambda _: False)
    return Replica(
        f"process {kept.pid}",
        target.url,
        kept.started_at,
        argv=seen.argv if isinstance(seen, Program) else seen,
        fingerprint=kept.labels.get("fingerprint", ""),
        restarts=kept.restarts,
    )
