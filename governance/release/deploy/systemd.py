"""The `systemd` driver: one unit, rendered whole, of the system's manager or of the user's.

- `deploy.arguments` may be `[--user]` or `[--system]`; without, root has the system's manager and everybody
  else their own.
- The unit file is written, the unit enabled (it comes back with the machine) and started again. A unit of the
  name that somebody else wrote is refused and left alone.
- The fingerprint is a variable of the process (`TIERLOCK_FINGERPRINT`): what runs says it, not the file.
- A secret is passed on from the manager's own environment (`PassEnvironment`), so that no file holds it: set
  it there with `systemctl import-environment NAME`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from governance.adapters import environment, processes
from governance.adapters import systemd as adapter
from governance.adapters.files import write_atomic
from governance.adapters.processes import Program
from governance.adapters.systemd import Manager, Shown, quoted, quoted_command
from governance.errors import MissingTool, Unreachable, Usage
from governance.release.deploy.host import need_weights, program_of, refuse_a_stranger
from governance.release.deploy.model import Replica, Target
from governance.values import Unknown

NAME: Final = "systemd"
VARIABLE: Final = "TIERLOCK_FINGERPRINT"
_SECTION: Final = "X-Tierlock"
_UNIT: Final = re.compile(r"[A-Za-z0-9:_.@-]+\.service")
_LINES: Final = 15
_GRACE: Final = 30


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    manager, unit = _manager(target), _unit(target)
    render(target)
    if shutil.which("systemctl") is None:
        raise MissingTool("this host has no systemctl", hint="set another `deploy.driver`")
    need_weights(target)
    shown = manager.show(unit)
    file = manager.folder / unit
    other = shown.path if shown.path and Path(shown.path) != file else ""
    if not other and file.exists() and f"[{_SECTION}]\nService={target.service}\n" not in file.read_text():
        other = str(file)
    if other:
        raise Usage(
            f"there is a unit `{unit}` that tierlock did not write: {other}",
            where="deploy.unit",
            hint="set another `deploy.unit` in tierlock.yaml",
        )
    if not shown.pid:
        refuse_a_stranger(target)


def plan(target: Target) -> tuple[str, ...]:
    """What `deploy` would do, one line each."""
    manager, unit = _manager(target), _unit(target)
    start = next(line for line in render(target).decode().splitlines() if line.startswith("ExecStart="))
    return (
        f"write   {manager.folder / unit}",
        f"        {start}",
        *(manager.command(*words) for words in _steps(unit)),
    )


def deploy(target: Target) -> None:
    """Write the unit, enable it, and start it again."""
    check(target)
    manager, unit = _manager(target), _unit(target)
    write_atomic(manager.folder / unit, render(target))
    for words in _steps(unit):
        try:
            manager.call(*words)
        except Unreachable as err:
            tail = manager.journal(unit, lines=_LINES)
            raise Unreachable("\n".join([err.message, *([tail] if tail else [])]), where=unit) from err


def running(target: Target) -> tuple[Replica, ...] | Unknown:
    """The main process of the unit, as the manager and the kernel show it."""
    unit = _unit(target)
    try:
        shown = _manager(target).show(unit)
    except (Unreachable, MissingTool) as err:
        return Unknown(err.message)
    return (_replica(unit, shown, target),) if shown.pid else ()


def stop(target: Target) -> None:
    """End the unit and remove its file."""
    manager, unit = _manager(target), _unit(target)
    file = manager.folder / unit
    if not file.exists():
        return
    manager.call("disable", "--now", unit)
    file.unlink()
    manager.call("daemon-reload")


def log(target: Target) -> str:
    """The last lines of the unit in the journal."""
    return _manager(target).journal(_unit(target), lines=_LINES)


def render(target: Target) -> bytes:
    """The unit file. Raises `Usage` for a secret under another name, `MissingTool` for a missing program."""
    given, secrets = target.launch.environment, environment.references(target.launch.environment)
    renamed = next((name for name, source in secrets.items() if name != source), None)
    if renamed is not None:
        raise Usage(
            f"systemd passes a variable on under its own name: `{renamed}` refers to `{secrets[renamed]}`",
            where=f"deploy.environment.{renamed}",
            hint=f"write {renamed}: env:{renamed}",
        )
    values = {name: value for name, value in given.items() if name not in secrets}
    values[VARIABLE] = target.fingerprint
    command = " ".join(map(quoted_command, (program_of(target), *target.launch.argv[1:])))
    service = (
        ("Type", "exec"),
        ("WorkingDirectory", str(target.root).replace("%", "%%")),
        *(("Environment", quoted(f"{name}={value}")) for name, value in sorted(values.items())),
        *((("PassEnvironment", " ".join(sorted(secrets))),) if secrets else ()),
        ("ExecStart", command),
        ("Restart", "always"),
        ("RestartSec", "1"),
        ("TimeoutStopSec", str(_GRACE)),
    )
    wanted = "default.target" if _manager(target).user else "multi-user.target"
    return adapter.unit(
        {
            "Unit": (
                ("Description", f"{target.service} {target.release}, deployed by tierlock"),
                ("StartLimitIntervalSec", "0"),
            ),
            "Service": service,
            "Install": (("WantedBy", wanted),),
            _SECTION: (
                ("Service", target.service),
                ("Release", target.release),
                ("Fingerprint", target.fingerprint),
            ),
        }
    )


def _steps(unit: str) -> tuple[tuple[str, ...], ...]:
    return ("daemon-reload",), ("enable", unit), ("restart", unit)


def _manager(target: Target) -> Manager:
    said = target.settings.get("arguments")
    words = [str(word) for word in said] if isinstance(said, list | tuple) else []
    if words not in ([], ["--user"], ["--system"]):
        raise Usage(
            f"the systemd driver takes `--user` or `--system`, not `{' '.join(words)}`",
            where="deploy.arguments",
        )
    return Manager(user=words == ["--user"] or (not words and not adapter.is_root()))


def _unit(target: Target) -> str:
    said = str(target.settings.get("unit", f"tierlock-{target.service}"))
    name = said if said.endswith(".service") else f"{said}.service"
    if not _UNIT.fullmatch(name):
        raise Usage(f"`{said}` is no name of a unit", where="deploy.unit", hint="letters, digits, -, _, .")
    return name


def _replica(unit: str, shown: Shown, target: Target) -> Replica:
    seen = processes.program(shown.pid, wanted=lambda name: name == VARIABLE)
    if not isinstance(seen, Program):
        return Replica(f"unit {unit}", target.url, seen, argv=seen, restarts=shown.restarts)
    fingerprint = "" if isinstance(seen.environment, Unknown) else seen.environment.get(VARIABLE, "")
    return Replica(
        f"unit {unit}",
        target.url,
        seen.started_at,
        argv=seen.argv,
        fingerprint=fingerprint,
        restarts=shown.restarts,
    )
