"""A service with two releases, the first of them golden, and a runtime that survives whoever deploys to it.

- `FakeDriver` keeps one server in a file, as a runtime would: what was deployed stays when the caller is
  killed. It shows of itself what it was started with, and nothing else.
- The evals are real: they ask an address where a test answers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from governance.adapters.files import write_all
from governance.engines.keys import look
from governance.engines.model import Observed
from governance.engines.observe import Observation
from governance.errors import Unreachable
from governance.evals.endpoint import Endpoint
from governance.evals.read_back import Look
from governance.release.deploy.model import Replica, Target
from governance.release.pointing import Terms as PointingTerms
from governance.release.pointing import set_golden
from governance.release.record import Record
from governance.release.rollback import World
from governance.release.rollback_gate import Terms
from governance.values import ABSENT, Unknown
from tests.support.completions_server import Say
from tests.support.drilled import world as drilled
from tests.support.governed import BASE, FILES, place
from tests.support.released import SERVICE, SMOKE, released, stamp
from tests.support.repos import Repo, make_repo

NOW = datetime(2026, 11, 30, 18, tzinfo=UTC)
SAMPLING = "configs/sampling/factual.yaml"
BASE_FILE = "configs/base/qwen.yaml"
SYSTEM = "configs/prompts/summarize/system.md"
ADDED = "configs/base/qwen/notes.lock"
SERVICES = """\
version: 1
services:
  # the one that is paged for
  summarizer:
    base: qwen
    sampling: factual   # do not touch
    prompts: summarize
    evals: {smoke: smoke}
    endpoint: {url: "URL"}
    deploy: {driver: command, host: 127.0.0.1, port: 8080, command: [deploy]}
  other: {base: qwen-other, sampling: other, prompts: summarize-other}
"""


def right(number: int, body: Mapping[str, Any]) -> Say:
    """The answer that both items of the suite take."""
    return Say("Paris 5")


def wrong(number: int, body: Mapping[str, Any]) -> Say:
    """An answer that neither takes."""
    return Say("I would rather not say")


def repository(path: Path, url: str) -> tuple[Repo, Record, Record]:
    """The repository with `v1` golden and `v2` at HEAD, which is hotter, shorter and less careful."""
    others = {
        "configs/base/qwen-other.yaml": BASE.replace("generation_config: {file: generation_config.json}", ""),
        "configs/sampling/other.yaml": "kind: sampling\ntemperature: 0.5\n",
        "configs/prompts/summarize-other.yaml": "kind: prompts\nsystem: {text: You answer.}\n",
    }
    base = FILES[BASE_FILE] + "environment: {packages: requirements.lock}\n"
    files = {
        **FILES, **others, BASE_FILE: base, "configs/base/qwen/requirements.lock": "vllm==0.7.3\n",
        "tierlock.yaml": SERVICES.replace("URL", url), "evals/smoke.jsonl": SMOKE, "README.md": "readme\n",
    }  # fmt: skip
    repo = make_repo(path, files=files)
    first = released(repo)
    golden(repo, "v1")
    repo.write(
        {
            SAMPLING: FILES[SAMPLING].replace("temperature: 0.2", "temperature: 0.3"),
            BASE_FILE: base.replace("max_model_len: 8192", "max_model_len: 4096"),
            SYSTEM: "You answer.\n",
            "README.md": "another readme\n",
        }
    )
    repo.commit("make summaries richer")
    second = released(repo)
    return repo, first, second


def golden(repo: Repo, release: str) -> None:
    """Make a release golden, committed."""
    done = set_golden(place(repo), SERVICE, release, PointingTerms("author-a", stamp(NOW), "measured"))
    assert done.files, done.report
    write_all(repo.path, done.files)
    repo.commit(f"golden {release}")


@dataclass
class FakeDriver:
    """One server in a file of the target's folder. `fails` is why it cannot be started."""

    folder: Path
    watch: Callable[[str], None] = lambda _: None
    fails: str = ""
    clock: Callable[[], float] = lambda: NOW.timestamp() + 5
    blind: str = ""
    NAME: str = "fake"

    @property
    def file(self) -> Path:
        return self.folder / "server.json"

    def check(self, target: Target) -> None:
        """It needs nothing."""

    def plan(self, target: Target) -> tuple[str, ...]:
        return (f"start   {target.release}",)

    def deploy(self, target: Target) -> None:
        self.stop(target)
        self.watch("server ended")
        if self.fails:
            raise Unreachable(self.fails)
        self.start(target.fingerprint, target.release, look(target.base, "engine.options.max_model_len"))
        self.watch("server started")

    def start(self, fingerprint: str, release: str, length: Any, *, at: float | None = None) -> None:
        """A server as somebody may have started it."""
        told = {"fingerprint": fingerprint, "release": release, "max_model_len": length,
                "started_at": self.clock() if at is None else at}  # fmt: skip
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(told))
        part.replace(self.file)

    def now(self) -> Any:
        """What runs, as it was started; None when nothing does."""
        return json.loads(self.file.read_text()) if self.file.exists() else None

    def running(self, target: Target) -> tuple[Replica, ...] | Unknown:
        if self.blind:
            return Unknown(self.blind)
        found = self.now()
        if found is None:
            return ()
        return (
            Replica("server 1", target.url, found["started_at"], ABSENT, fingerprint=found["fingerprint"]),
        )

    def stop(self, target: Target) -> None:
        self.file.unlink(missing_ok=True)

    def log(self, target: Target) -> str:
        return ""

    def look_at(self, endpoint: Endpoint) -> Look:
        """What the running server shows of itself."""

        def observed(engine: str, version: str) -> Observation:
            found = self.now()
            if found is None:
                raise Unreachable("nothing answers")
            values = {
                "engine.name": Observed("vllm", "GET /version"),
                "engine.version": Observed("0.7.3", "GET /version"),
                "engine.options.max_model_len": Observed(found["max_model_len"], "GET /v1/models"),
            }
            return Observation("vllm", "0.7.3", endpoint.url, values)

        return observed


@dataclass
class Events:
    """The steps of a rollback as they came; the process is killed at the `kill`-th."""

    kill: int = -1
    seen: list[str] = field(default_factory=list)

    def __call__(self, what: str) -> None:
        if len(self.seen) == self.kill:
            os.kill(os.getpid(), 9)
        self.seen.append(what)


def world(driver: FakeDriver, **more: Any) -> World:
    """The neighbours: a drill whose host has nothing, the driver, and the clock at `NOW`."""
    plain: dict[str, Any] = {
        "drilled": drilled(hub=lambda model, revision: revision, audit=audited),
        "environ": {},
        "tool": "tierlock 0.1.0",
        "stamp": lambda: stamp(NOW),
        "clock": NOW.timestamp,
        "load": lambda name: driver,
        "ready": lambda target, found: 0.5,
        "look_at": driver.look_at,
        "watch": driver.watch,
    }
    return World(**(plain | more))


def audited(pins: Any, service: str, url: str) -> Any:
    """Every package is looked up, and none has a vulnerability."""
    from governance.adapters.audit import Audited

    return tuple(Audited(name, version) for name, version in pins)


def terms(**more: Any) -> Terms:
    """Back to golden, for a reason."""
    return Terms(
        **({"service": SERVICE, "by": "on-call-a", "now": NOW, "reason": "summaries got worse"} | more)
    )
