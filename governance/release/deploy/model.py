"""What a deploy driver is: how a service gets onto its host, and what is said to run there.

- A driver is a *module* with the names of `Driver`; `registry.py` lists the modules.
- What is started is rendered from the base config (`target.py`): a driver adds nothing that shapes answers.
- `deploy` is idempotent: called again after a kill at any point, it ends with exactly the target running.
- `running` looks at the runtime itself (a process, a container engine), never at what a driver wrote down,
  except to know where to look. What it cannot see is `Unknown`.
- A driver declares nothing a success: `rollback.py` reads the running server back for that.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from governance.engines.model import Launch
from governance.records import dataclass, field
from governance.values import ABSENT, Absent, Tree, Unknown


@dataclass(frozen=True, slots=True)
class Target:
    """What shall run: one service as one release declares it.

    `fingerprint` is the fold of the three configs (64 hex); drivers put it on what they start, where the
    runtime has labels. `image` is `name@sha256:…`, as written when it has no digest (drivers refuse it),
    empty when the base config names none; `base` is that config. In `launch.environment` a secret is still
    its reference (`env:NAME`): it is looked up when the server is started and kept nowhere. `host` and
    `port` are where this host reaches the server, `address` where others do when that is elsewhere.
    `settings` is the `deploy` block of the service, `state` a folder of this host that a driver may keep its
    own notes in.
    """

    service: str
    release: str
    fingerprint: str
    launch: Launch
    image: str
    host: str
    port: int
    settings: Tree
    root: Path
    state: Path
    base: Tree = field(default_factory=dict)
    address: str = ""

    @property
    def url(self) -> str:
        """The address of the server itself, without the path of an interface."""
        if self.address:
            return self.address
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  a name, not a bind
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Replica:
    """One server of a service, as the runtime shows it.

    `image_digest` is `sha256:…` of what really runs, `ABSENT` where there is no image. `started_at` counts
    seconds since the epoch. `fingerprint` is the label the driver put on it, empty when there is none: then
    nobody says that the driver started it. `restarts` counts how often the runtime has started it again.
    """

    name: str
    url: str
    started_at: float | Unknown
    image_digest: str | Unknown | Absent = ABSENT
    argv: tuple[str, ...] | Unknown = ()
    fingerprint: str = ""
    restarts: int = 0


class Driver(Protocol):
    """What each driver module provides."""

    NAME: str

    def check(self, target: Target) -> None:
        """Return when `deploy` has all it needs. Raises `MissingTool`, `Usage` or `Unreadable`; writes
        nothing.
        """

    def plan(self, target: Target) -> tuple[str, ...]:
        """What `deploy` would do, one line each, in words an operator can paste or check."""

    def deploy(self, target: Target) -> None:
        """Make the runtime run `target` and nothing older of this service. Returns once it was started, not
        once it is ready. Raises `Unreachable` with the end of the log when it cannot be started.
        """

    def running(self, target: Target) -> tuple[Replica, ...] | Unknown:
        """The servers of this service that run now; empty when none does."""

    def stop(self, target: Target) -> None:
        """End what `deploy` started. Nothing to end is no error."""

    def log(self, target: Target) -> str:
        """The end of what the server wrote; empty when there is nothing to be had."""
