"""A real vLLM on CPU for `make test-engines`: started from a base config, ended with all its workers.

- The launch is what the engine module renders; a test adds arguments and variables behind it, as a start
  script would.
- One engine at a time on a machine, llama-server included: the same lock file.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from governance.adapters.http import Client
from governance.adapters.processes import Server, free_port, running
from governance.engines import vllm
from governance.engines.model import Launch
from governance.errors import Unreachable
from governance.values import Json, Tree, Unknown

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENTS = {"0.32.0": ROOT / ".venv-vllm", "0.29.0": ROOT / ".venv-vllm-older"}
MODEL = ROOT / ".cache" / "smollm2-safetensors"
# Variables that change no answer: no download, no report home.
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
DEVELOPMENT = {"VLLM_SERVER_DEV_MODE": "1"}
START_SECONDS = 480.0  # 25 on an idle machine
HOST = "127.0.0.1"


@dataclass(frozen=True)
class VllmServer:
    """A running server: its address, a client, its process, how it was started and how long that took."""

    url: str
    client: Client
    server: Server
    launch: Launch
    seconds: float

    def chat(self, text: str, **fields: Json) -> Mapping[str, Json]:
        """The answer to one question, greedy unless `fields` say otherwise."""
        body: dict[str, Json] = {
            "messages": [{"role": "user", "content": text}],
            "temperature": 0.0,
            "max_tokens": 8,
            **fields,
        }
        answer = self.client.post("/v1/chat/completions", body)
        assert isinstance(answer, Mapping), answer
        return answer


def program(name: str, version: str = "0.32.0") -> Path:
    """`vllm` or `transformers` in the environment of that version; the test fails where it is not made."""
    found = ENVIRONMENTS[version] / "bin" / name
    if not found.exists() or not MODEL.is_dir():
        pytest.fail(f"{found.parent.parent.name} is not there: run `make test-engines`")
    return found


@contextmanager
def started(
    base: Tree,
    folder: Path,
    *,
    arguments: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    version: str = "0.32.0",
    development: bool = True,
) -> Iterator[VllmServer]:
    """A healthy server of `base`; none of its processes is left when the block ends."""
    port = free_port(HOST)
    rendered = vllm.render(base, host=HOST, port=port)
    launch = Launch((*rendered.argv, *arguments), {**rendered.environment, **(environment or {})})
    mode = DEVELOPMENT if development else {}
    argv = (str(program("vllm", version)), *launch.argv[1:])
    with serving(argv, {**QUIET, **mode, **launch.environment}, port, folder) as (client, server, seconds):
        yield VllmServer(client.url, client, server, launch, seconds)


@contextmanager
def serving(
    argv: Sequence[str], environment: Mapping[str, str], port: int, folder: Path
) -> Iterator[tuple[Client, Server, float]]:
    """Any healthy server of one of the environments, started in the root of this repository."""
    url = f"http://{HOST}:{port}/v1"
    with one_at_a_time(), contextlib.chdir(ROOT), Client(url, timeout=120.0) as client:
        begin = time.monotonic()
        with running(
            argv,
            environment,
            log=folder / f"server-{port}.log",
            healthy=lambda: healthy(client),
            timeout=START_SECONDS,
        ) as server:
            yield client, server, time.monotonic() - begin
        assert survivors(server.pid) == []


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the lock of all tests that start an engine."""
    with Path(tempfile.gettempdir(), "tierlock-llama-server.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def healthy(client: Client) -> bool:
    """Whether the server answers for itself."""
    try:
        return not isinstance(client.get("/health"), Unknown)
    except Unreachable:
        return False


def survivors(group: int, *, seconds: float = 10.0) -> list[int]:
    """The processes of a group that still run after `seconds`; being killed takes a moment."""
    deadline = time.monotonic() + seconds
    while (found := members(group)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def members(group: int) -> list[int]:
    """The running processes of a process group."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            state, _, number, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(number) == group and state != "Z" and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found
