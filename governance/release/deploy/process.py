"""The `process` driver: the server runs on this host, under a small supervisor of its own.

- The server survives the command that started it, is started again when it ends, and writes to a log in the
  folder of the driver. Only the start of the machine does not bring it back: `systemd` is for that.
- It inherits this environment without what shapes answers and without credentials: these come from the base
  config and from `deploy.environment` alone.
- A port that is taken by a process the driver did not start is refused, and that process is left alone.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

from governance.adapters import ports, processes, supervisor
from governance.adapters.environment import inherited, resolved
from governance.adapters.processes import Program
from governance.errors import MissingTool, Unreadable, Usage
from governance.fingerprint.layers import short
from governance.release.deploy.model import Replica, Target
from governance.tiers.rules.variables import classify
from governance.values import Unknown

NAME: Final = "process"


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    if not sys.platform.startswith("linux"):
        raise MissingTool("the process driver needs Linux", hint="use `deploy.driver: command`")
    _program(target)
    weights = target.settings.get("weights")
    if isinstance(weights, str) and not (target.root / weights).exists():
        raise Unreadable(
            f"there are no weights at `{weights}`",
            where="deploy.weights",
            hint="put them there, or correct `deploy.weights` in tierlock.yaml",
        )
    resolved(target.launch.environment)
    _refuse_a_stranger(target)


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
        argv=(_program(target), *target.launch.argv[1:]),
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
    other = _stranger(target, kept)
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


def _program(target: Target) -> str:
    """The program as a path. A relative one with a folder in it lies below the root of the repository."""
    name = target.launch.argv[0]
    path = str(target.root / name) if "/" in name else name
    found = shutil.which(path)
    if found is None:
        raise MissingTool(
            f"the program `{name}` is not on this host",
            where="deploy.binary",
            hint="install the engine, or say where it lies: `deploy.binary` in tierlock.yaml",
        )
    return found


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


def _stranger(target: Target, kept: supervisor.Kept | None) -> Program | Unknown | None:
    found = ports.taken_by(target.host, target.port)
    ours = isinstance(found, Program) and kept is not None and supervisor.belongs(found.pid, kept)
    return None if ours else found


def _refuse_a_stranger(target: Target) -> None:
    kept = supervisor.find(_folder(target))
    if isinstance(kept, Unknown):
        raise Unreadable(kept.reason, where=str(_folder(target)), hint="end the server, remove the file")
    found = _stranger(target, kept)
    if found is None:
        return
    named = found.reason if isinstance(found, Unknown) else f"process {found.pid} ({found.argv[0]})"
    raise Usage(
        f"port {target.port} is taken by a server that tierlock did not start: {named}",
        where="deploy.port",
        hint="end that server, or set another `deploy.port` in tierlock.yaml"
        if isinstance(found, Unknown)
        else f"kill {found.pid}",
    )
