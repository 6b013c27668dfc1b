"""`tierlock rollback` as a user has it, on a real llama-server: drift, the way back, kills from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.processes import free_port
from governance.release import journal as journals
from governance.release.deploy import container, process, registry
from governance.release.deploy.model import Driver, Target
from governance.release.deploy.ready import wait_ready
from governance.release.deploy.target import state_folder, target_of
from governance.tiers.writer import dump
from governance.values import Json, Tree
from tests.support.command import PROGRAM, Ran, environment
from tests.support.containers import COMPOSE, ContainerTools, engine_image
from tests.support.deployed import SERVICE, files_of
from tests.support.governed import place
from tests.support.llama_server import BASE, SAMPLING, one_at_a_time
from tests.support.repos import Repo, isolated, make_repo
from tests.support.systemd_manager import user_manager

BASE_FILE = "configs/base/smollm2.yaml"
SAMPLING_FILE = "configs/sampling/factual.yaml"
ITEMS = (
    {"id": "said", "task": "summarising", "variables": {"article": "The bridge closes on Monday."},
     "scorer": "limits", "args": {"min_chars": 1, "max_chars": 2000}},
    {"id": "again", "task": "summarising", "variables": {"article": "Tickets cost 6.50."},
     "scorer": "limits", "args": {"min_chars": 1, "max_chars": 2000}},
)  # fmt: skip
GOOD: dict[str, Json] = {
    **BASE,
    "model": {**BASE["model"], "generation_config": {"file": "generation_config.json"}},  # type: ignore[dict-item]
}
DRIFTED: dict[str, Json] = {
    **GOOD,
    "precision": {**BASE["precision"], "kv_cache": {"dtype": "q4_0", "eviction": "none"}},  # type: ignore[dict-item]
}


@dataclass
class Serving:
    """The repository, and the command as processes."""

    repo: Repo
    engine: DemoEngine

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*PROGRAM, *args],
            cwd=self.repo.path,
            env=environment(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *args: str) -> Ran:
        running = self.start(*args)
        out, err = running.communicate()
        return Ran(running.returncode, out.decode(), err.decode())

    def good(self, *args: str) -> Ran:
        ran = self.run(*args)
        assert ran.code == 0, ran.out + ran.err
        return ran

    @property
    def driver(self) -> Driver:
        found = place(self.repo).state("HEAD").bindings()[SERVICE]["deploy"]
        assert isinstance(found, Mapping)
        return registry.load(str(found["driver"]))

    @property
    def environment(self) -> dict[str, str]:
        names = {name: value for name, value in isolated().items() if name.startswith("GIT_")}
        return {**names, "XDG_CACHE_HOME": str(self.repo.path.parent / "cache")}

    @property
    def folder(self) -> Path:
        return state_folder(place(self.repo), SERVICE)

    def target(self, release: str) -> Target:
        at = place(self.repo)
        service = at.state("worktree").service(SERVICE)
        assert service is not None
        return target_of(service, at, release=release)

    def deploy(self, release: str) -> None:
        target = self.target(release)
        self.driver.deploy(target)
        wait_ready(target, self.driver)

    def released(self, release: str) -> None:
        """What the work tree says, deployed, evaluated and cut."""
        self.deploy(release)
        self.good("eval", "run", SERVICE, "--record")
        self.good("release", "cut", SERVICE, "--unreviewed", "a test of its own", "--commit")

    def is_golden(self) -> None:
        """Everything is as v1, seen from outside."""
        shown = self.good("diff", f"{SERVICE}@v1", f"{SERVICE}@live", "--exit-code")
        assert "kv_cache" not in shown.out
        assert self.good("diff", f"{SERVICE}@v1", SERVICE).out
        assert self.repo.git("status", "--porcelain", "-uall") == ""
        assert not (self.folder / journals.FILE).exists()


@pytest.fixture
def serving(llama_engine: DemoEngine, tmp_path: Path) -> Iterator[Serving]:
    """v1 was golden, v2 with a quantised cache and another temperature was released and runs."""
    port = free_port()
    deploy: dict[str, Json] = {
        "driver": "process", "host": "127.0.0.1", "port": port,
        "binary": str(llama_engine.binary), "weights": str(llama_engine.weights),
    }  # fmt: skip
    with released_twice(llama_engine, tmp_path / "repo", deploy, good=GOOD, drifted=DRIFTED) as found:
        yield found


@contextmanager
def released_twice(
    engine: DemoEngine,
    path: Path,
    deploy: Mapping[str, Json],
    *,
    good: Tree,
    drifted: Tree,
    beside: Mapping[str, str] | None = None,
) -> Iterator[Serving]:
    """A service whose `good` release is golden, and whose `drifted` one runs; `beside` are more files."""
    files = {**(beside or {})} | files_of(deploy, base=good, url=f"http://127.0.0.1:{deploy['port']}/v1")
    files["tierlock.yaml"] = files["tierlock.yaml"].replace(
        "    deploy:", "    evals:\n      smoke: smoke\n    deploy:"
    )
    files["configs/base/smollm2/generation_config.json"] = "{}"
    files["evals/smoke.jsonl"] = "".join(json.dumps(item) + "\n" for item in ITEMS)
    found = Serving(make_repo(path, files=files), engine)
    with one_at_a_time():
        try:
            found.released("v1")
            found.good("golden", "set", SERVICE, "v1", "--commit")
            hotter = {**SAMPLING, "temperature": 0.9}
            found.repo.commit("worse", {BASE_FILE: dump(drifted), SAMPLING_FILE: dump(hotter)})
            found.released("v2")
            yield found
        finally:
            found.driver.stop(found.target("v1"))


def test_one_command_takes_a_real_server_back_to_golden_and_holds_what_it_left(serving: Serving) -> None:
    assert "kv_cache" in serving.run("diff", f"{SERVICE}@v1", f"{SERVICE}@live").out
    plan = serving.good("rollback", SERVICE, "--dry-run")
    assert "end     process" in plan.out
    done = serving.good("rollback", SERVICE, "--reason", "the cache was quantised")
    assert "PASS  rolled back: summarizer runs golden v1" in done.out
    serving.is_golden()
    serving.good("release", "verify", SERVICE, "v3")
    serving.good("review", "records", "--all")
    serving.repo.git("revert", "--no-edit", "HEAD~1")
    serving.good("eval", "run", SERVICE, "--unobserved", "--record")
    refused = serving.run("release", "cut", SERVICE, "--unreviewed", "automation", "--commit")
    assert (refused.code, "is held since" in refused.out) == (1, True)


def test_killed_from_outside_while_it_works_it_ends_at_golden_when_called_again(serving: Serving) -> None:
    for stage in ("restore begun", "deploy begun", "deploy done", "record begun"):
        assert kill_at(serving, stage), stage
    ended = serving.run("rollback", SERVICE)
    assert ended.code == 0, ended.out + ended.err
    serving.is_golden()


def test_a_missing_weight_file_refuses_and_nothing_is_written(serving: Serving) -> None:
    running = process.running(serving.target("v2"))
    text = (serving.repo.path / "tierlock.yaml").read_text()
    gone = text.replace(str(serving.engine.weights), str(serving.repo.path / "gone.gguf"))
    (serving.repo.path / "tierlock.yaml").write_text(gone)
    serving.repo.git("commit", "-qam", "moved")
    head = serving.repo.git("rev-parse", "HEAD")
    refused = serving.run("rollback", SERVICE)
    told = " ".join(refused.out.split())
    assert (refused.code, "Q4_1.gguf is not in" in told) == (1, True), refused.out
    assert told.endswith("; nothing was written")
    assert serving.repo.git("rev-parse", "HEAD") == head
    assert serving.repo.git("status", "--porcelain", "-uall") == ""
    assert process.running(serving.target("v2")) == running


def test_a_container_comes_back_by_digest_although_its_tag_has_moved(
    llama_engine: DemoEngine, containers: ContainerTools, tmp_path: Path
) -> None:
    """Two images of one tag: golden's is the one of then, and it is what runs in the end."""
    layout = engine_image(llama_engine)
    refs = [containers.push(layout, image, "team/llama") for image in ("a", "b")]
    assert containers.registry.digest("team/llama", "stable") == refs[1].rpartition("@")[2]
    good, drifted = ({**GOOD, "image": {"ref": ref}} for ref in refs)
    deploy: dict[str, Json] = {
        "driver": "container", "host": "127.0.0.1", "port": free_port(), "runtime": str(containers.podman),
        "binary": "/bin/llama-server", "weights": f"/models/{llama_engine.weights.name}",
        "arguments": ["--network=host"],
    }  # fmt: skip
    with released_twice(llama_engine, tmp_path / "repo", deploy, good=good, drifted=drifted) as serving:
        plan = serving.good("rollback", SERVICE, "--dry-run")
        assert refs[0].rpartition(":")[2][:12] in plan.out
        done = serving.good("rollback", SERVICE, "--reason", "the image was built anew")
        assert f"image sha256:{refs[0].rpartition(':')[2][:12]}" in " ".join(done.out.split())
        found = container.running(serving.target("v1"))
        assert isinstance(found, tuple)
        assert [one.image_digest for one in found] == [refs[0].rpartition("@")[2]]
        serving.is_golden()
        containers.registry.delete("team/llama", refs[1].rpartition("@")[2])
        refused = serving.run("rollback", SERVICE, "--to", "v2")
        told = " ".join(refused.out.split())
        assert (refused.code, told.endswith("nothing was written")) == (1, True), refused.out
        assert refs[1].rpartition(":")[2][:12] in told
        serving.is_golden()


@pytest.mark.parametrize("driver", ["compose", "kubernetes"])
def test_a_project_and_a_pod_come_back_too(
    driver: str, llama_engine: DemoEngine, containers: ContainerTools, tmp_path: Path
) -> None:
    """podman-compose and `podman kube play` start what the release says, under another file of the user."""
    ref = containers.push(engine_image(llama_engine), "a", "team/llama")
    deploy: dict[str, Json] = {
        "driver": driver, "host": "127.0.0.1", "port": free_port(), "runtime": str(containers.podman),
        "binary": "/bin/llama-server", "weights": f"/models/{llama_engine.weights.name}",
    }  # fmt: skip
    if driver == "compose":
        if not COMPOSE.exists():
            pytest.skip("podman-compose is not installed: run scripts/container_tools.sh")
        runtime = f"{COMPOSE} --podman-path {containers.podman}"
        deploy |= {"runtime": runtime, "service": "llm", "file": "compose.yaml"}
    else:
        deploy["arguments"] = ["--network", "host"]
    good, drifted = ({**one, "image": {"ref": ref}} for one in (GOOD, DRIFTED))
    own = f"services:\n  llm:\n    image: {ref}\n    network_mode: host\n"
    path = tmp_path / "repo"
    with released_twice(
        llama_engine, path, deploy, good=good, drifted=drifted, beside={"compose.yaml": own}
    ) as serving:
        comes_back(serving)
        assert (path / "compose.yaml").read_text() == own


def test_a_unit_of_systemd_comes_back_too(
    llama_engine: DemoEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy: dict[str, Json] = {
        "driver": "systemd", "host": "127.0.0.1", "port": free_port(), "arguments": ["--user"],
        "binary": str(llama_engine.binary), "weights": str(llama_engine.weights),
    }  # fmt: skip
    with (
        user_manager(monkeypatch),
        released_twice(llama_engine, tmp_path / "repo", deploy, good=GOOD, drifted=DRIFTED) as serving,
    ):
        comes_back(serving)


def comes_back(serving: Serving) -> None:
    """The drifted release runs; after one command golden does, and the drifted one is held."""
    before = serving.driver.running(serving.target("v2"))
    assert "kv_cache" in serving.run("diff", f"{SERVICE}@v1", f"{SERVICE}@live").out
    done = serving.good("rollback", SERVICE, "--reason", "the cache was quantised")
    assert "PASS  rolled back: summarizer runs golden v1" in done.out
    serving.is_golden()
    after = serving.driver.running(serving.target("v1"))
    assert isinstance(before, tuple)
    assert isinstance(after, tuple)
    assert [one.fingerprint for one in before] != [one.fingerprint for one in after]


def kill_at(serving: Serving, stage: str) -> bool:
    """Call it, and kill it (SIGKILL) as soon as the journal shows `stage`; whether that was in time."""
    running = serving.start("rollback", SERVICE)
    try:
        while running.poll() is None:
            found = journals.read(serving.folder)
            if found is not None and stage in found.told:
                os.kill(running.pid, signal.SIGKILL)
                running.wait()
                return True
            time.sleep(0.002)
        return running.returncode == 0
    finally:
        running.communicate()
