"""The `command` driver: a program of the user deploys, and may be asked what runs.

- The program gets the target as one JSON object on its input, and as placeholders in its arguments:
  `{action}`, `{service}`, `{release}`, `{fingerprint}`, `{image}`, `{host}`, `{port}`. Other braces stay.
- With `{action}` among its arguments it is asked for `deploy`, `running` and `stop`; without, it deploys only
  and what runs is unknown to this driver.
- Its exit status is the answer: 0 is done, anything else is not, with its last line as the reason.
- `running` answers a JSON list of replicas. A list that is not what it should be is unknown, never empty.
- References to secrets stay references: the program has our environment and looks them up itself.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from typing import Any, Final

from governance.adapters import programs
from governance.errors import MissingTool, Unreachable, Usage
from governance.release.deploy.model import Replica, Target
from governance.values import ABSENT, Unknown

NAME: Final = "command"
SCHEMA: Final = "tierlock.target/1"
_ACTION: Final = "{action}"


def check(target: Target) -> None:
    """Return when `deploy` has all it needs; writes nothing."""
    program = _words(target, "deploy")[0]
    if shutil.which(str(target.root / program) if "/" in program else program) is None:
        raise MissingTool(
            f"the program `{program}` is not on this host, or may not be run", where="deploy.command"
        )


def plan(target: Target) -> tuple[str, ...]:
    """What `deploy` would do, one line each."""
    return (f"run     {shlex.join(_words(target, 'deploy'))}",)


def deploy(target: Target) -> None:
    """Have the program deploy the target."""
    check(target)
    said = _ask(target, "deploy")
    if said.status != 0:
        raise Unreachable(
            f"the program that deploys failed with status {said.status}: {said.last_line}",
            where="deploy.command",
        )


def running(target: Target) -> tuple[Replica, ...] | Unknown:
    """What the program says that runs; unknown when it cannot be asked."""
    if not _asks(target):
        return Unknown(f"`deploy.command` has no `{_ACTION}`: the program cannot be asked what runs")
    try:
        said = _ask(target, "running")
    except MissingTool as err:
        return Unknown(err.message)
    if said.status != 0:
        return Unknown(f"the program that deploys does not say what runs: {said.last_line}")
    try:
        listed = json.loads(said.out)
        if not isinstance(listed, list):
            raise TypeError("it is no list")
        return tuple(_replica(one, target) for one in listed)
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        return Unknown(f"the program that deploys says what runs in another form: {err}")


def stop(target: Target) -> None:
    """Have the program end the service. Raises `Usage` when it cannot be asked to."""
    if not _asks(target):
        raise Usage(f"`deploy.command` has no `{_ACTION}`: the program cannot be asked to stop")
    said = _ask(target, "stop")
    if said.status != 0:
        raise Unreachable(f"the program that deploys did not stop the service: {said.last_line}")


def log(target: Target) -> str:  # noqa: ARG001 - the program keeps it
    """Nothing: only the program knows where the server writes."""
    return ""


def _words(target: Target, action: str) -> list[str]:
    said = target.settings.get("command")
    if not isinstance(said, list | tuple) or not said:
        raise Usage(
            "the command driver has no command",
            where="deploy.command",
            hint='command: ["./deploy.sh", "{action}", "{release}"]',
        )
    values = {"action": action, **{name: str(value) for name, value in _fields(target).items()}}
    return [_filled(str(word), values) for word in said]


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


def _fields(target: Target) -> dict[str, Any]:
    return {
        "service": target.service,
        "release": target.release,
        "fingerprint": target.fingerprint,
        "image": target.image,
        "host": target.host,
        "port": target.port,
    }


def _asks(target: Target) -> bool:
    said = target.settings.get("command")
    return any(_ACTION in str(word) for word in said) if isinstance(said, list | tuple) else False


def _ask(target: Target, action: str) -> programs.Said:
    given = {
        "schema": SCHEMA,
        "action": action,
        **_fields(target),
        "url": target.url,
        "argv": list(target.launch.argv),
        "environment": dict(target.launch.environment),
    }
    program, *rest = _words(target, action)
    path = str(target.root / program) if "/" in program else program
    return programs.run([path, *rest], cwd=target.root, given=json.dumps(given, sort_keys=True).encode())


def _replica(tree: Mapping[str, Any], target: Target) -> Replica:
    digest, started = tree.get("image_digest", ""), tree.get("started_at")
    return Replica(
        name=str(tree["name"]),
        url=str(tree.get("url", target.url)),
        started_at=Unknown("the program does not say") if started is None else float(started),
        image_digest=str(digest) if digest else ABSENT,
        argv=tuple(map(str, tree.get("argv", ()))),
        fingerprint=str(tree.get("fingerprint", "")),
        restarts=int(tree.get("restarts", 0)),
    )
