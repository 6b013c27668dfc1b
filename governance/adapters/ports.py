"""Who listens on a port of this host."""

from __future__ import annotations

import socket
from typing import Final

from governance.adapters.processes import Program, behind_port
from governance.values import Unknown

_SECONDS: Final = 1.0


def taken_by(host: str, port: int) -> Program | Unknown | None:
    """The program that listens on `port`; None when nobody does; unknown when it may not be looked at."""
    found = behind_port(port, wanted=lambda _: False)
    if isinstance(found, Program):
        return found
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  what a wildcard is reached by
    try:
        socket.create_connection((address, port), timeout=_SECONDS).close()
    except OSError:
        return None
    return found
