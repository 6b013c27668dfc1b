"""Waiting for a server that was deployed: until it answers, until it has ended, or until its time is over.

- Ready is what the engine says itself: 200 at `deploy.ready_path`, else at the health path of the engine.
- A server that ended, or was started again by its runtime, will not become ready: it is told at once, with
  the end of its log, and not after the whole time is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from governance.adapters.http import Client
from governance.engines.keys import look
from governance.errors import Unreachable
from governance.release.deploy.model import Driver, Target
from governance.values import Unknown

TIMEOUT: Final = 600.0
"""Seconds a start may take where the service does not say: large weights from a cold disk."""
_STEP: Final = 0.1
_LOOK: Final = 2.0  # asking a container engine what runs takes a tenth of a second
_PATHS: Final = {"ollama": "/api/version"}


def ready_path(target: Target) -> str:
    """The path that answers 200 once the server is ready."""
    said = target.settings.get("ready_path")
    return str(said) if said else _PATHS.get(str(look(target.base, "engine.name")), "/health")


def is_ready(target: Target) -> bool:
    """Whether the server answers 200 at its ready path now."""
    try:
        with Client(target.url) as client:
            return not isinstance(client.get(ready_path(target)), Unknown)
    except Unreachable:
        return False


def wait_ready(
    target: Target,
    driver: Driver,
    *,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    tell: Callable[[float], None] = lambda _: None,
) -> float:
    """The seconds it took. `tell` is called with the seconds so far.

    Raises `Unreachable` with the end of the log when the server ends, or is not ready in time.
    """
    limit = float(str(target.settings.get("ready_timeout_s", TIMEOUT)))
    begun = looked = now()
    while not is_ready(target):
        waited = now() - begun
        tell(waited)
        if waited > limit:
            raise _not_ready(target, driver, f"is not ready after {limit:g} s")
        if now() - looked >= _LOOK:
            looked = now()
            if reason := _ended(target, driver):
                raise _not_ready(target, driver, reason)
        sleep(_STEP)
    return now() - begun


def _ended(target: Target, driver: Driver) -> str:
    found = driver.running(target)
    if isinstance(found, Unknown):
        return ""
    if not found:
        return "ended before it was ready"
    again = max(replica.restarts for replica in found)
    return f"ended before it was ready and was started again {again} times" if again else ""


def _not_ready(target: Target, driver: Driver, what: str) -> Unreachable:
    tail = driver.log(target)
    return Unreachable(
        f"the server of `{target.service}` {what}" + (f"\n{tail}" if tail else ""),
        where=f"{target.url}{ready_path(target)}",
        hint="give it longer with `deploy.ready_timeout_s`" if "after" in what else "",
    )
