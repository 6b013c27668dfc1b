"""A second, different build of llama.cpp on the same weights: what an upgrade of the engine is like."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.http import Client
from governance.adapters.processes import free_port, running
from tests.support.llama_server import healthy, one_at_a_time

VERSION = "b11549"
SCRIPT = Path(__file__).with_name("xllamacpp_server.py")


def installed() -> bool:
    """Whether there is a wheel of it for this interpreter."""
    return importlib.util.find_spec("xllamacpp") is not None


@contextmanager
def started(engine: DemoEngine, folder: Path, *, attention: str = "flash") -> Iterator[str]:
    """The address of a healthy server of the second build; `attention` is `flash` or `eager`."""
    port = free_port()
    argv = (sys.executable, str(SCRIPT), str(engine.weights), str(port), attention)
    url = f"http://127.0.0.1:{port}"
    with (
        one_at_a_time(),
        Client(url, timeout=60) as client,
        running(argv, {"OMP_NUM_THREADS": "1"}, log=folder / "server.log", healthy=lambda: healthy(client)),
    ):
        yield f"{url}/v1"
