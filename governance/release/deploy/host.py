"""What drivers that start a server on this host need to be there, and what must not be in the way."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from governance.adapters import ports
from governance.adapters.processes import Program
from governance.errors import MissingTool, Unreadable, Usage
from governance.release.deploy.model import Target
from governance.release.deploy.target import model_path
from governance.values import Unknown


def program_of(target: Target) -> str:
    """The program of the launch as an absolute path. One with a folder in it lies below the root.

    Raises `MissingTool` when it is not on this host, or may not be run.
    """
    name = target.launch.argv[0]
    found = shutil.which(str(target.root / name) if "/" in name else name)
    if found is None:
        raise MissingTool(
            f"the program `{name}` is not on this host",
            where="deploy.binary",
            hint="install the engine, or say where it lies: `deploy.binary` in tierlock.yaml",
        )
    return str(Path(found).absolute())


def need_weights(target: Target) -> None:
    """Return when there is something where `deploy.weights`, or a `model.id` that is a path, points.

    Raises `Unreadable`.
    """
    said = target.settings.get("weights")
    key = "deploy.weights" if isinstance(said, str) else "model.id"
    weights = said if isinstance(said, str) else model_path(target.base)
    if weights is not None and not (target.root / weights).exists():
        raise Unreadable(
            f"there are no weights at `{weights}`",
            where=key,
            hint=f"put them there, or correct `{key}`",
        )


def stranger(target: Target, is_ours: Callable[[Program], bool]) -> Program | Unknown | None:
    """Who listens on the port of the target and is not ours; None when nobody does."""
    found = ports.taken_by(target.host, target.port)
    return None if isinstance(found, Program) and is_ours(found) else found


def refuse_a_stranger(target: Target, is_ours: Callable[[Program], bool] = lambda _: False) -> None:
    """Return when the port is free, or taken by our own server. Raises `Usage` naming who has it."""
    found = stranger(target, is_ours)
    if found is None:
        return
    if isinstance(found, Program):
        named, hint = f"process {found.pid} ({found.argv[0]})", f"kill {found.pid}"
    else:
        named, hint = found.reason, "end that server, or set another `deploy.port` in tierlock.yaml"
    raise Usage(
        f"port {target.port} is taken by a server that tierlock did not start: {named}",
        where="deploy.port",
        hint=hint,
    )
