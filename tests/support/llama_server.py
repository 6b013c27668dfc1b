"""A real llama-server with real weights for tests: started on a free port, ended by its own pid.

- One server at a time on a machine: two of them on two cores block each other. A lock file keeps other test
  processes waiting; inside one process a second server may run beside an idle first one.
- The launch is what the engine module renders, so a test that starts a server tests that too.
"""

from __future__ import annotations

import contextlib
import fcntl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.http import Client
from governance.adapters.processes import Server, free_port, running
from governance.engines import llama_cpp
from governance.errors import Unreachable
from governance.values import Json, Tree, Unknown

WEIGHTS = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
# What `configs/base/smollm2-q4.yaml` says, small enough to start in a second.
BASE: dict[str, Json] = {
    "kind": "base",
    "model": {
        "id": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "revision": "12fd25f77366fa6b3b4b768ec3050bf629380bac",
        "weights": {
            "format": "gguf",
            "files": {"SmolLM2-135M-Instruct.Q4_1.gguf": f"sha256:{WEIGHTS}"},
        },
    },
    "precision": {
        "weights": {"method": "gguf", "type": "q4_1"},
        "kv_cache": {"dtype": "f16", "eviction": "none"},
    },
    "engine": {
        "name": "llama.cpp",
        "version": "b10068",
        "commit": "571d0d5",
        "options": {
            "max_model_len": 1024,
            "max_num_seqs": 2,
            "prefix_caching": True,
            "attention": "flash",
            "threads": 1,
            "gpu_layers": 0,
        },
    },
    "hardware": {"device": "cpu"},
}
SAMPLING: dict[str, Json] = {
    "kind": "sampling",
    "temperature": 0.1,
    "top_p": 1.0,
    "top_k": "inherit",
    "repetition_penalty": 1.0,
    "seed": 42,
    "max_tokens": 64,
}
# The `general.sampling.*` keys of these weights: there are none.
METADATA: dict[str, Json] = {}


@dataclass(frozen=True)
class LlamaServer:
    """A running server: its address, a client, its process."""

    url: str
    port: int
    client: Client
    server: Server

    def chat(self, text: str, **fields: Json) -> Mapping[str, Json]:
        """The answer to one question, greedy unless `fields` say otherwise."""
        body: dict[str, Json] = {
            "messages": [{"role": "user", "content": text}],
            "temperature": 0.0,
            "max_tokens": 16,
            **fields,
        }
        answer = self.client.post("/v1/chat/completions", body)
        assert isinstance(answer, Mapping), answer
        return answer


class _Lock:
    """A lock file that one process may take several times."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if self.depth == 0:
                handle = stack.enter_context(self.path.open("w"))
                fcntl.flock(handle, fcntl.LOCK_EX)
            self.depth += 1
            try:
                yield
            finally:
                self.depth -= 1


_ONE_AT_A_TIME = _Lock(Path(tempfile.gettempdir(), "tierlock-llama-server.lock"))


def one_at_a_time() -> AbstractContextManager[None]:
    """Hold the machine's one place for a model server."""
    return _ONE_AT_A_TIME.held()


@contextmanager
def started(
    engine: DemoEngine,
    folder: Path,
    *,
    base: Tree = BASE,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[LlamaServer]:
    """A healthy server of `base`; `arguments` and `environment` are added behind what it renders."""
    with one_at_a_time():
        port = free_port()
        launch = llama_cpp.render(base, host="127.0.0.1", port=port, weights=str(engine.weights))
        argv = (str(engine.binary), *launch.argv[1:], *arguments)
        url = f"http://127.0.0.1:{port}/v1"
        with (
            Client(url, timeout=30.0) as client,
            running(
                argv,
                {**launch.environment, **(environment or {})},
                log=folder / f"llama-server-{port}.log",
                healthy=lambda: healthy(client),
            ) as server,
        ):
            yield LlamaServer(url, port, client, server)


def healthy(client: Client) -> bool:
    """Whether the server has loaded its weights."""
    try:
        return not isinstance(client.get("/health"), Unknown)
    except Unreachable:
        return False
