"""The process driver runs exactly what the repository says, on a real llama-server."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.processes import free_port
from governance.errors import MissingTool, Unreachable, Unreadable, Usage
from governance.release.deploy import process
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.ready import wait_ready
from governance.values import Json
from tests.support.command import environment
from tests.support.deployed import deployed, stopped_after, target
from tests.support.llama_server import one_at_a_time
from tests.support.repos import Repo

LISTENER = (
    "import socket, sys, time\n"
    "with socket.create_server(('127.0.0.1', int(sys.argv[1]))) as s: print('up', flush=True); s.accept()"
)


def settings(engine: DemoEngine, port: int, **more: Json) -> dict[str, Json]:
    return {
        "driver": "process",
        "host": "127.0.0.1",
        "port": port,
        "binary": str(engine.binary),
        "weights": str(engine.weights),
        **more,
    }


def fake(tmp_path: Path, **more: Json) -> Repo:
    """A service that needs no engine: its program and weights are files of the repository."""
    repo = deployed(
        tmp_path / "repo",
        {"driver": "process", "port": free_port(), "binary": "bin/engine", "weights": "a.gguf", **more},
    )
    (repo.path / "a.gguf").write_bytes(b"GGUF")
    (repo.path / "bin").mkdir()
    engine = repo.path / "bin" / "engine"
    engine.write_text("#!/bin/sh\nexec sleep 600\n")
    engine.chmod(0o755)
    return repo


@contextmanager
def stranger(port: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", LISTENER, str(port)], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            other.stdout.readline()
            yield other
        finally:
            other.kill()


def only(found: Target) -> Replica:
    replicas = process.running(found)
    assert isinstance(replicas, tuple)
    (one,) = replicas
    return one


def test_a_real_server_is_deployed_replaced_and_stopped(llama_engine: DemoEngine, tmp_path: Path) -> None:
    repo = deployed(tmp_path / "repo", settings(llama_engine, free_port()))
    one = target(repo, "v1")
    with one_at_a_time(), stopped_after(process, one):
        assert process.running(one) == ()
        process.deploy(one)
        wait_ready(one, process)
        first = only(one)
        assert first.fingerprint == one.fingerprint
        assert first.argv == (str(llama_engine.binary), *one.launch.argv[1:])
        repo.commit("other", {"configs/sampling/factual.yaml": "kind: sampling\ntemperature: 0.9\n"})
        two = target(repo, "v2")
        begun = time.time()
        process.deploy(two)
        wait_ready(two, process)
        second = only(two)
        assert (second.fingerprint, second.name) == (two.fingerprint, second.name)
        assert second.name != first.name
        assert isinstance(second.started_at, float)
        assert second.started_at >= begun
        process.stop(two)
        assert process.running(two) == ()


def test_deploying_the_same_again_ends_with_one_new_server(tmp_path: Path) -> None:
    one = target(fake(tmp_path))
    with stopped_after(process, one):
        process.deploy(one)
        first = only(one)
        process.deploy(one)
        second = only(one)
    assert first.name != second.name
    assert first.fingerprint == second.fingerprint


KILLED = """
import os, signal, sys, threading
from pathlib import Path
from governance.release.deploy import process
from tests.support.command import environment
from tests.support.deployed import target
from tests.support.repos import Repo
one = target(Repo(Path(sys.argv[1])))
threading.Timer(float(sys.argv[2]), os.kill, (os.getpid(), signal.SIGKILL)).start()
process.deploy(one)
threading.Event().wait()
"""


@pytest.mark.parametrize("milliseconds", [0, 1, 2, 4, 8, 12, 16, 24])
def test_a_deployment_that_is_killed_anywhere_is_finished_by_the_next(
    tmp_path: Path, milliseconds: int
) -> None:
    """A real SIGKILL; where it falls differs from run to run, what holds after the next call does not."""
    repo = fake(tmp_path)
    one = target(repo)
    with stopped_after(process, one):
        process.deploy(one)
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(repo.path), str(milliseconds / 1000)],
            env=environment(),
            capture_output=True,
            check=False,
        )
        assert done.returncode == -9, done.stderr.decode()
        process.deploy(one)
        assert only(one).fingerprint == one.fingerprint
        assert len(processes_of(str(repo.path))) == 1
    assert not processes_of(str(repo.path))


def processes_of(folder: str) -> list[str]:
    """The command lines of the processes of this host that work in the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            where = (path / "cwd").readlink()
        except OSError:
            continue
        if str(where) == folder and line:
            found.append(line)
    return found


def test_a_server_that_cannot_load_is_told_with_its_last_words(
    llama_engine: DemoEngine, tmp_path: Path
) -> None:
    """It is started again and again by its supervisor; waiting for it ends at once all the same."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(60))
    repo = deployed(tmp_path / "repo", {**settings(llama_engine, free_port()), "weights": str(broken)})
    one = target(repo)
    with one_at_a_time(), stopped_after(process, one):
        process.deploy(one)
        with pytest.raises(Unreachable, match="ended before it was ready") as caught:
            wait_ready(one, process)
    assert "broken.gguf" in caught.value.message


def test_a_stranger_on_the_port_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    one = target(fake(tmp_path))
    with stranger(one.port) as other:
        with pytest.raises(Usage, match=f"process {other.pid}") as caught:
            process.deploy(one)
        assert caught.value.hint == f"kill {other.pid}"
        shown = only(one)
        assert "did not start" in shown.name
        assert shown.fingerprint == ""
        assert other.poll() is None
    assert not one.state.exists()


def test_a_worker_of_our_own_server_that_listens_is_no_stranger(tmp_path: Path) -> None:
    """vLLM's front end is another process than the one that was started."""
    repo = fake(tmp_path)
    one = target(repo)
    (repo.path / "listen.py").write_text(LISTENER)
    (repo.path / "bin" / "engine").write_text(
        f"#!/bin/sh\n{sys.executable} listen.py {one.port} & exec sleep 600\n"
    )
    with stopped_after(process, one):
        process.deploy(one)
        for _ in range(1000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", one.port)) == 0:
                    break
            time.sleep(0.01)
        assert only(one).fingerprint == one.fingerprint
        process.check(one)


def test_what_is_missing_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = fake(tmp_path, environment={"HF_TOKEN": "env:TOKEN_OF_THIS_TEST"})
    one = target(repo)
    with pytest.raises(Usage, match="`TOKEN_OF_THIS_TEST`"):
        process.check(one)
    monkeypatch.setenv("TOKEN_OF_THIS_TEST", "s3cret-value")
    process.check(one)
    (repo.path / "a.gguf").unlink()
    with pytest.raises(Unreadable, match=r"no weights at `a\.gguf`"):
        process.check(one)
    (repo.path / "bin" / "engine").unlink()
    with pytest.raises(MissingTool, match="`bin/engine` is not on this host") as caught:
        process.deploy(one)
    assert "deploy.binary" in caught.value.hint
    assert not one.state.exists()


def test_the_server_inherits_nothing_that_shapes_answers_and_no_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell of whoever deploys is no config: LLAMA_ARG_TEMP in it would change every answer."""
    inherited: Mapping[str, str] = {
        "LLAMA_ARG_TEMP": "0.9",
        "OMP_NUM_THREADS": "7",
        "CLOUD_SECRET_ACCESS_KEY": "s3cret-value",
        "TOKEN_OF_THIS_TEST": "given",
    }
    for name, value in inherited.items():
        monkeypatch.setenv(name, value)
    repo = fake(tmp_path, environment={"HF_TOKEN": "env:TOKEN_OF_THIS_TEST"})
    (repo.path / "bin" / "engine").write_text("#!/bin/sh\nenv; echo end; exec sleep 600\n")
    one = target(repo)
    with stopped_after(process, one):
        process.deploy(one)
        while "end" not in (seen := process.log(one).splitlines()):
            time.sleep(0.01)
    names = {line.partition("=")[0] for line in seen}
    assert not names & set(inherited)
    assert "HF_TOKEN=given" in seen
    assert "PATH" in names


def test_the_plan_shows_what_is_ended_and_the_command_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN_OF_THIS_TEST", "s3cret-value")
    one = target(fake(tmp_path, environment={"HF_TOKEN": "env:TOKEN_OF_THIS_TEST"}))
    with stopped_after(process, one):
        assert [line.split()[0] for line in process.plan(one)] == ["start", "listen"]
        process.deploy(one)
        lines = process.plan(one)
    assert lines[0].endswith(f"(v1 {one.fingerprint[:12]})")
    assert "HF_TOKEN=env:TOKEN_OF_THIS_TEST bin/engine --model" in lines[1]
    assert "s3cret-value" not in "\n".join(lines)


def test_damaged_notes_make_what_runs_unknown_and_a_deployment_refused(tmp_path: Path) -> None:
    one = target(fake(tmp_path))
    (one.state / "process").mkdir(parents=True)
    (one.state / "process" / "process.json").write_text("{")
    assert "damaged" in str(process.running(one))
    with pytest.raises(Unreadable, match="damaged"):
        process.deploy(one)
