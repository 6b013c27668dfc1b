"""`tierlock serve` as a process, the repository it serves from, and what it says while it runs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from governance.adapters.processes import free_port
from governance.fingerprint.capture import Capture
from governance.release import golden as pointers
from governance.release import holds
from governance.release.golden import Entry, Golden
from governance.release.holds import Hold, Holds
from governance.release.record import Record, digest_of, dump
from governance.tiers.rules.variables import classify
from governance.tiers.writer import dump as dump_yaml
from governance.values import Json
from tests.support.command import PROGRAM, environment
from tests.support.deployed import SERVICE, files_of
from tests.support.llama_server import BASE
from tests.support.released import SMOKE, released
from tests.support.repos import Repo, make_repo

PATIENCE = 120.0
"""Seconds after which a test gives up waiting: a busy machine is no failure."""


def serving_repo(
    path: Path, deploy: Mapping[str, Json], *, weights: Mapping[str, Json] | None = None
) -> Repo:
    """A committed repository whose one service runs on llama.cpp and has a smoke suite; `weights` are the
    declared ones.
    """
    said = BASE["model"]
    assert isinstance(said, Mapping)
    model: dict[str, Json] = {**said, "generation_config": {"file": "generation_config.json"}}
    files = files_of(deploy, base={"model": {**model, **({"weights": weights} if weights else {})}})
    bound: dict[str, Json] = {
        "base": "smollm2",
        "sampling": "factual",
        "prompts": "summarize",
        "endpoint": {"url": f"http://127.0.0.1:{deploy['port']}/v1"},
        "evals": {"smoke": "smoke"},
        "deploy": dict(deploy),
    }
    settings = dump_yaml({"version": 1, "services": {SERVICE: bound}})
    kept = {"configs/base/smollm2/generation_config.json": "{}\n", "evals/smoke.jsonl": SMOKE}
    return make_repo(path, files={**files, **kept, "tierlock.yaml": settings})


def golden(repo: Repo, *, capture: Capture | None = None) -> Record:
    """A release of HEAD that golden points to."""
    record = released(repo, capture=capture)
    entry = Entry(
        record.id, record.fingerprint, digest_of(dump(record)), "2026-11-30T12:00:00Z", "author-a", "a test"
    )
    write(repo, pointers.path_of(SERVICE), pointers.dump(pointers.pointed(Golden(SERVICE), entry)))
    return record


def hold(repo: Repo, fingerprint: str) -> None:
    """A hold that stands on `fingerprint`."""
    stands = Hold(fingerprint, "2026-11-30T12:00:00Z", "on-call", "answers lost their numbers", "v2", "v1")
    write(repo, holds.path_of(SERVICE), holds.dump(holds.hold(Holds(SERVICE), stands)))


def write(repo: Repo, path: str, data: bytes) -> None:
    """A file of the work tree."""
    file = repo.path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def change(repo: Repo, path: str, before: str, after: str) -> None:
    """Replace one piece of a file; it must be there."""
    file = repo.path / path
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def quiet(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a command without what would choose kernels on the machine of the test."""
    kept = {
        name: value for name, value in environment().items() if classify(name) not in ("output", "secret")
    }
    return {**kept, **(more or {})}


class Serving:
    """A running `tierlock serve`: its process, its readiness, what it said, what its alert command got."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, alerts: Path, out: Path) -> None:
        self.process = process
        self.lines: list[str] = []
        self._port, self._alerts, self._out = port, alerts, out
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line.decode("utf-8", "replace").rstrip())

    @property
    def said(self) -> list[str]:
        """What the watcher said: the lines that are not the server's."""
        return [line for line in list(self.lines) if line.startswith("tierlock: ")]

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def alerts(self) -> list[dict[str, Any]]:
        """Every alert that was delivered."""
        if not self._alerts.exists():
            return []
        return [json.loads(line) for line in self._alerts.read_text().splitlines()]

    def ready(self) -> tuple[int, dict[str, Any]]:
        """Status and body of GET /ready; status 0 while nobody listens."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("GET", "/ready")
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            return 0, {}
        finally:
            connection.close()

    def until(self, what: Callable[[], Any]) -> Any:
        """What `what` gives once it is true."""
        deadline = time.monotonic() + PATIENCE
        while not (found := what()):
            ended = self.process.poll() is not None or time.monotonic() > deadline
            assert not ended, "\n".join([self.out, *self.lines])
            time.sleep(0.05)
        return found

    def until_ready(self, status: int = 200) -> dict[str, Any]:
        """The body once /ready answers with `status` and the server was looked at."""

        def looked() -> dict[str, Any] | None:
            code, body = self.ready()
            return body if code == status and body.get("looked_at") else None

        found: dict[str, Any] = self.until(looked)
        return found

    def end(self) -> int:
        """End the server and see its watcher end too: the pipe of both is closed then. Its exit status."""
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert not self._reader.is_alive(), "the watcher outlives its server"
        return status


@contextmanager
def serving(
    repo: Repo, *args: str, extra: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> Iterator[Serving]:
    """`tierlock serve` of the service of `repo`, with a readiness port and an alert command, ended after."""
    port, scratch = free_port(), repo.path.parent
    alerts, out = scratch / f"alerts-{port}.jsonl", scratch / f"serve-{port}.log"
    more = ("--ready-port", str(port), "--alert", f"sh -c 'cat >> {alerts}'", "--every", "0.3")
    with out.open("wb") as stream:
        process = subprocess.Popen(
            [*PROGRAM, "serve", SERVICE, *more, *args, "--", *extra],
            cwd=repo.path,
            env=quiet({"XDG_CACHE_HOME": str(scratch / "cache"), **(env or {})}),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.PIPE,
        )
    running = Serving(process, port, alerts, out)
    try:
        yield running
    finally:
        running.end()
        assert process.stderr is not None
        process.stderr.close()
