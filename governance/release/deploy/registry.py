"""Which deploy drivers there are: one literal table from the name in `deploy.driver` to its module."""

from __future__ import annotations

from importlib import import_module
from typing import Final, cast

from governance.errors import Usage
from governance.release.deploy.model import Driver

NONE: Final = "none"
"""The driver of a service that somebody else starts: nothing is deployed and nothing is looked at."""

DRIVERS: Final[dict[str, str]] = {
    "process": "governance.release.deploy.process",
    "container": "governance.release.deploy.container",
    "compose": "governance.release.deploy.compose",
    "kubernetes": "governance.release.deploy.kubernetes",
    "systemd": "governance.release.deploy.systemd",
    "command": "governance.release.deploy.command",
}


def load(name: str) -> Driver:
    """The driver called `name`. Raises `Usage` for `none` and for a name that is no driver."""
    module = DRIVERS.get(name)
    if module is None:
        known = ", ".join(DRIVERS)
        said = "no driver starts this service" if name == NONE else f"`{name}` is no deploy driver"
        raise Usage(said, where="deploy.driver", hint=f"set `deploy.driver` in tierlock.yaml: {known}")
    return cast(Driver, import_module(module))
