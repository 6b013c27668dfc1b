"""The repository's own configs start a server that does what they say; a second build does not."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.files import WorkTree
from governance.adapters.http import Client
from governance.adapters.processes import free_port, running
from governance.engines.drift import drift
from governance.engines.observe import observe, process_behind
from governance.engines.services import effective, generation_config
from governance.fingerprint.layers import effective_digest
from governance.tiers.config import Service, load_repository
from governance.values import Json, Unknown
from tests.support.llama_server import BASE, METADATA, SAMPLING, LlamaServer, healthy, one_at_a_time

ROOT = Path(__file__).parents[2]
Start = Callable[..., AbstractContextManager[LlamaServer]]


@pytest.fixture(scope="module")
def service() -> Service:
    return load_repository(WorkTree(ROOT)).services["summarizer"]


def test_the_shipped_config_runs_as_declared_and_has_the_servers_fingerprint(
    service: Service, start_llama: Start
) -> None:
    """`make demo` shows this: one digest for what the repository says and one for what the server does."""
    assert service.base is not None
    assert service.sampling is not None
    declared = effective(service)
    assert not isinstance(declared, Unknown)
    with start_llama(base=service.base.tree) as server:
        seen = observe(
            "llama.cpp", "b10068", server.url, http=server.client, process=process_behind(server.url)
        )
        found = drift(service.base.tree, service.sampling.tree, generation_config(service.base), seen)
    assert found.changes == ()
    assert effective_digest(found.values) == effective_digest(declared)
    assert not isinstance(effective_digest(declared), Unknown)


@pytest.mark.parametrize(
    ("arguments", "key", "before", "after"),
    [
        (["-ctk", "q4_0", "-ctv", "q4_0"], "precision.kv_cache.dtype", "f16", "q4_0"),
        (["--dry-multiplier", "0.8"], "sampling.dry.multiplier", 0.0, 0.8),
    ],
)
def test_one_changed_thing_is_the_one_that_is_named(
    service: Service, start_llama: Start, arguments: list[str], key: str, before: Json, after: Json
) -> None:
    assert service.base is not None
    assert service.sampling is not None
    with start_llama(base=service.base.tree, arguments=arguments) as server:
        seen = observe(
            "llama.cpp", "b10068", server.url, http=server.client, process=process_behind(server.url)
        )
        found = drift(service.base.tree, service.sampling.tree, generation_config(service.base), seen)
    assert [(c.layer, c.key, c.before, c.after) for c in found.changes] == [("effective", key, before, after)]
    declared = effective(service)
    assert not isinstance(declared, Unknown)
    assert effective_digest(found.values) != effective_digest(declared)


@pytest.fixture(scope="module")
def other_build(llama_engine: DemoEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """The same weights under the build inside xllamacpp."""
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("there is no xllamacpp wheel for this interpreter")
    port, script = free_port(), ROOT / "tests" / "support" / "xllamacpp_server.py"
    argv = (sys.executable, str(script), str(llama_engine.weights), str(port))
    log = tmp_path_factory.mktemp("xllamacpp") / "server.log"
    with (
        one_at_a_time(),
        Client(f"http://127.0.0.1:{port}", timeout=60) as client,
        running(argv, {"OMP_NUM_THREADS": "1"}, log=log, healthy=lambda: healthy(client)),
    ):
        yield client


@pytest.mark.server
def test_a_build_that_does_not_name_itself_is_unseen_and_never_equal(other_build: Client) -> None:
    seen = observe(
        "llama.cpp", "b10068", other_build.url, http=other_build, process=process_behind(other_build.url)
    )
    found = drift(BASE, SAMPLING, METADATA, seen)
    assert "b0-unknown" in found.unseen["engine.version"]
    assert "b0-unknown" in found.unseen["engine.commit"]
    assert isinstance(seen.process, Unknown)  # a Python program, not llama-server
    assert found.unseen["precision.kv_cache.dtype"] == "the server does not show it"
    assert "sampling.top_k" in found.same
