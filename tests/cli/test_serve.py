"""`tierlock serve`: what is refused, what is started, and what is told while it runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.files import WorkTree
from governance.adapters.processes import free_port
from governance.fingerprint.capture import Capture, Wanted, take
from governance.release import golden as pointers
from governance.release.golden import Revocation
from governance.values import Json
from governance.verdict import Outcome
from tests.support.command import PROGRAM, Ran, Tierlock
from tests.support.deployed import SERVICE
from tests.support.llama_server import one_at_a_time
from tests.support.released import NOON, prove
from tests.support.repos import Repo, isolated
from tests.support.serving import change, golden, hold, quiet, serving, serving_repo, write

WEIGHTS = b"not really weights\n" * 10
FACTUAL = "configs/sampling/factual.yaml"
# What stands in for an engine where none needs to run: it leaves a mark when it is started.
ENGINE = """\
#!/bin/sh
echo "$@" > "$(dirname "$0")/started"
exec sleep 600
"""


class Gate:
    """A repository with a release, its weights and its stand-in engine; `serve` is the command in it."""

    def __init__(self, repo: Repo, tierlock: Tierlock) -> None:
        self.repo, self._tierlock = repo, tierlock
        self.release = golden(repo)

    def serve(self, *args: str) -> Ran:
        return self._tierlock.run("serve", SERVICE, *args, cwd=self.repo.path)

    @property
    def started(self) -> bool:
        return (self.repo.path / "bin" / "started").exists()

    @property
    def memory(self) -> Path:
        return self.repo.path / ".git" / "tierlock" / SERVICE / "gate.json"


@pytest.fixture
def gate(bare: Tierlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    """A service of which everything on this host is as golden says."""
    for name in set(os.environ) - set(quiet()):
        monkeypatch.delenv(name)
    for name, value in isolated().items():
        monkeypatch.setenv(name, value)
    repo = stand_in(tmp_path / "repo")
    return Gate(repo, bare)


def stand_in(path: Path) -> Repo:
    files: Json = {"m.gguf": f"sha256:{sha256(WEIGHTS).hexdigest()}"}
    repo = serving_repo(
        path,
        {"driver": "process", "port": free_port(), "binary": "bin/engine", "weights": "weights/m.gguf"},
        weights={"format": "gguf", "files": files},
    )
    write(repo, "weights/m.gguf", WEIGHTS)
    write(repo, "bin/engine", ENGINE.encode())
    (repo.path / "bin" / "engine").chmod(0o755)
    return repo


def refused(ran: Ran, code: int = 1) -> str:
    assert ran.code == code, ran
    assert "not started: " in ran.out or code == 2
    return ran.out


class TestRefusal:
    def test_a_host_that_is_what_golden_says_would_be_started(self, gate: Gate) -> None:
        ran = gate.serve("--dry-run")
        assert ran.code == 0, ran
        assert f"{SERVICE} is on this host what v1 says" in ran.out
        assert "would be started" in ran.out
        assert not gate.started
        assert not gate.memory.exists()

    def test_an_edited_config_is_named_with_field_expected_and_found(self, gate: Gate) -> None:
        change(gate.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
        ran = gate.serve("--format", "json")
        assert ran.code == 1
        (edit,) = [one for one in ran.json["changes"] if one["key"] == "temperature"]
        assert (edit["layer"], edit["before"], edit["after"]) == ("sampling", 0.1, 0.9)
        assert edit["path"] == FACTUAL
        assert ran.json["run"]["codes"] == ["TL801"]
        assert ran.json["next"] == f"tierlock diff {SERVICE}@v1 {SERVICE}@worktree"
        assert not gate.started

    def test_one_changed_byte_of_the_weights_is_found_before_the_engine_is_started(self, gate: Gate) -> None:
        write(gate.repo, "weights/m.gguf", WEIGHTS[:-2] + b"!\n")
        out = refused(gate.serve())
        assert "m.gguf" in out
        assert "weights of the model" in out
        assert not gate.started

    def test_weights_that_are_gone_are_named(self, gate: Gate) -> None:
        (gate.repo.path / "weights" / "m.gguf").unlink()
        (gate.repo.path / "weights" / "other.gguf").write_bytes(b"")
        change(gate.repo, "tierlock.yaml", "weights/m.gguf", "weights")
        assert "→ not set" in refused(gate.serve())
        assert not gate.started

    def test_another_class_of_hardware_than_the_base_config_asks_for_is_named(self, gate: Gate) -> None:
        """Where no host was captured, the class that the config declares is what must be here."""
        change(
            gate.repo, "configs/base/smollm2.yaml", "device: cpu", "device: cpu\n  cpu_features: [sve2, vax]"
        )
        gate.repo.commit("on another machine")
        out = refused(gate.serve("--expect", "worktree"))
        assert "cpu_features: sve2, vax not here" in " ".join(out.split())
        assert not gate.started

    def test_an_argument_that_moves_a_value_is_refused_and_one_that_does_not_is_taken(
        self, gate: Gate
    ) -> None:
        out = refused(gate.serve("--", "--cache-type-k", "q4_0"))
        assert "precision.kv_cache.key_dtype" in out
        assert "arguments after --" in out
        assert gate.serve("--dry-run", "--", "--log-file", "x.log").code == 0

    def test_an_argument_that_nobody_knows_is_undecided(self, gate: Gate) -> None:
        assert "`--frobnicate` is no option" in refused(gate.serve("--", "--frobnicate"), 3)
        assert not gate.started

    def test_a_variable_of_the_shell_that_chooses_kernels_is_refused_with_what_mends_it(
        self, gate: Gate, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GGML_CUDA_FORCE_MMQ", "1")
        assert "next    unset GGML_CUDA_FORCE_MMQ" in refused(gate.serve())

    def test_a_config_that_does_not_load_is_undecided_with_its_line(self, gate: Gate) -> None:
        change(gate.repo, FACTUAL, "temperature: 0.1", "tempurature: 0.1")
        assert f"{FACTUAL}:" in refused(gate.serve(), 3)

    def test_a_held_fingerprint_is_started_in_no_mode(self, gate: Gate) -> None:
        hold(gate.repo, gate.release.fingerprint)
        for mode in ("refuse", "degrade"):
            out = refused(gate.serve("--on-mismatch", mode))
            assert "is held since 2026-11-30T12:00:00Z by on-call" in out
            assert f"next    tierlock rollback {SERVICE}" in out
        assert refused(gate.serve("--expect", "worktree"))
        assert not gate.started

    def test_a_record_that_was_altered_by_one_byte_says_nothing(self, gate: Gate) -> None:
        path = gate.repo.path / gate.release.path
        path.write_text(path.read_text().replace('"actor": "author-a"', '"actor": "author-b"'))
        out = refused(gate.serve())
        assert "it was edited" in out
        assert f"next    tierlock release verify {SERVICE} v1" in refused(gate.serve("--expect", "v1"))

    def test_a_golden_that_was_revoked_is_none(self, gate: Gate) -> None:
        path = pointers.path_of(SERVICE)
        now = pointers.read_golden(WorkTree(gate.repo.path), SERVICE)
        why = Revocation("2026-11-30T13:00:00Z", "reviewer-b", "smoke fails since the driver update")
        write(gate.repo, path, pointers.dump(pointers.revoked(now, "v1", why)))
        out = refused(gate.serve())
        assert "smoke fails since the driver update" in " ".join(out.split())
        assert gate.serve("--expect", "v1", "--dry-run").code == 0

    def test_a_later_run_that_fails_takes_golden_away_here_too(self, gate: Gate) -> None:
        prove(gate.repo, outcome=Outcome.BLOCK, when=NOON + timedelta(days=1))
        assert "2 items fail: capital, sum" in " ".join(refused(gate.serve()).split())

    def test_what_does_not_exist_is_told_with_what_does(self, gate: Gate) -> None:
        assert gate.serve("--expect", "v7").code == 2
        (gate.repo.path / pointers.path_of(SERVICE)).unlink()
        ran = gate.serve()
        assert ran.code == 3
        assert f"tierlock serve {SERVICE} --expect worktree" in ran.err

    def test_an_engine_that_is_not_installed_is_a_missing_tool(self, gate: Gate) -> None:
        (gate.repo.path / "bin" / "engine").unlink()
        ran = gate.serve()
        assert ran.code == 3
        assert "the program `bin/engine` is not on this host" in ran.err

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("--ready-port", "9", "--every", "0"), "--ready-port needs a watcher"),
            (("--ready-port", "http"), "`http` is not [HOST:]PORT"),
            (("--alert", "notify 'on call"), "is no command: no closing quotation"),
            (("--every", "-1"), "-1"),
        ],
    )
    def test_a_wrong_command_line_starts_nothing(self, gate: Gate, args: tuple[str, ...], said: str) -> None:
        ran = gate.serve(*args)
        assert ran.code == 2
        assert said in ran.err
        assert not gate.started


class TestAlerts:
    def command(self, gate: Gate, *args: str) -> tuple[Ran, list[dict[str, object]]]:
        got = gate.repo.path.parent / "alerts.jsonl"
        ran = gate.serve("--alert", f"sh -c 'cat >> {got}'", *args)
        return ran, [json.loads(line) for line in got.read_text().splitlines()] if got.exists() else []

    def test_a_refusal_is_told_once_however_often_a_supervisor_tries(self, gate: Gate) -> None:
        change(gate.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
        for _ in range(3):
            ran, alerts = self.command(gate)
            assert ran.code == 1
        assert [(one["event"], one["count"]) for one in alerts] == [("refused", 1)]
        assert "expected 0.1, found 0.9" in str(alerts[0]["text"])

    def test_how_long_it_has_been_so_is_told_across_starts(self, gate: Gate) -> None:
        """On call at night: since when? The file says it, and the memory of the gate keeps it."""
        change(gate.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
        began = time.time() - 8 * 3600 - 200
        os.utime(gate.repo.path / FACTUAL, (began, began))
        assert "sampling temperature: for 8 h 3 min" in self.command(gate)[0].out
        os.utime(gate.repo.path / FACTUAL)
        assert "sampling temperature: for 8 h 3 min" in self.command(gate)[0].out

    def test_an_alert_that_was_not_taken_is_told_and_tried_again_at_the_next_start(self, gate: Gate) -> None:
        change(gate.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
        ran = gate.serve("--alert", "false")
        assert ran.code == 1
        assert "the alert was not delivered: `false` ended with 1" in ran.err
        assert [one["event"] for one in self.command(gate)[1]] == ["refused"]

    def test_a_clone_that_cannot_be_written_costs_the_memory_alone(self, gate: Gate) -> None:
        gate.memory.parent.parent.write_text("in the way")
        change(gate.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
        assert self.command(gate)[0].code == 1


class TestStart:
    """The stand-in engine: what is handed over, and what is said of a server that never answers."""

    def test_degraded_it_is_started_told_and_never_ready(self, gate: Gate) -> None:
        change(gate.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
        with serving(gate.repo, "--on-mismatch", "degrade", extra=("--metrics",)) as server:
            server.until(lambda: gate.started)
            server.until(lambda: server.alerts)
            status, body = server.ready()
            assert (status, body["state"]) == (503, "starting")
            assert [one["key"] for one in body["mismatches"]] == ["temperature"]
            assert "started degraded, readiness stays down" in server.out
            assert [one["event"] for one in server.alerts] == ["degraded"]
        assert (gate.repo.path / "bin" / "started").read_text().split()[-1] == "--metrics"

    def test_degraded_it_is_started_without_a_release_that_could_be_trusted(self, gate: Gate) -> None:
        path = gate.repo.path / gate.release.path
        path.write_text(path.read_text().replace('"actor": "author-a"', '"actor": "author-b"'))
        with serving(gate.repo, "--on-mismatch", "degrade") as server:
            server.until(lambda: gate.started)
            (told,) = server.until(lambda: server.alerts)
            assert told["event"] == "degraded"
            assert [one["code"] for one in told["mismatches"]] == ["TL811"]
            assert server.ready()[0] == 503

    def test_the_server_is_the_process_that_was_started_and_its_end_is_its_own(self, gate: Gate) -> None:
        with serving(gate.repo) as server:
            server.until(lambda: gate.started)
            name = Path(f"/proc/{server.process.pid}/cmdline").read_bytes().split(b"\0")[0]
            assert name == b"sleep"
            assert server.ready()[0] == 503
            assert server.end() == -15

    def test_without_a_watcher_nothing_stays(self, gate: Gate) -> None:
        ran = subprocess.Popen(
            [*PROGRAM, "serve", SERVICE, "--every", "0"],
            cwd=gate.repo.path,
            env=quiet(),
            stdout=-3,
            stderr=-1,
        )
        while not gate.started:
            assert ran.poll() is None
            time.sleep(0.05)
        ran.terminate()
        assert ran.communicate()[1] == b""


class Real:
    """A repository that serves the real weights on the real engine, one at a time on this machine."""

    def __init__(self, path: Path, engine: DemoEngine) -> None:
        self.engine = engine
        self.port = free_port()
        self.repo = serving_repo(path, self.deploy(str(engine.binary)))

    def deploy(self, binary: str) -> dict[str, Json]:
        return {
            "driver": "process",
            "port": self.port,
            "binary": binary,
            "weights": str(self.engine.weights),
            "ready_path": "/health",
        }


@pytest.fixture
def real(llama_engine: DemoEngine, tmp_path: Path) -> Iterator[Real]:
    with one_at_a_time():
        yield Real(tmp_path / "repo", llama_engine)


class TestServer:
    """A real llama-server with real weights."""

    def test_it_is_read_back_and_an_edit_is_told_and_mended(self, real: Real) -> None:
        with serving(real.repo, "--expect", "worktree") as server:
            body = server.until_ready()
            assert body["state"] == "as expected"
            assert body["mismatches"] == []
            change(real.repo, FACTUAL, "temperature: 0.1", "temperature: 0.9")
            server.until(lambda: server.alerts)
            status, body = server.ready()
            assert status == 200, "an edit takes no running server away"
            (edit,) = body["mismatches"]
            assert (edit["code"], edit["key"], edit["concerns"]) == ("TL808", "temperature", "the next start")
            change(real.repo, FACTUAL, "temperature: 0.9", "temperature: 0.1")
            server.until(lambda: len(server.alerts) == 2)
            assert [one["event"] for one in server.alerts] == ["mismatch", "mended"]
            assert any("is mended: sampling temperature" in line for line in server.said)
            assert server.end() == 0, "llama-server ends by itself when it is asked to"

    def test_what_a_start_script_changes_is_seen_at_the_running_server(self, real: Real) -> None:
        """The gate sees a program and its arguments; what that program does is seen when it runs."""
        script = real.repo.path / "bin" / "llama-server"
        script.parent.mkdir()
        script.write_text(f'#!/bin/sh\nexec {real.engine.binary} "$@" -ctk q4_0 -ctv q4_0\n')
        script.chmod(0o755)
        change(real.repo, "tierlock.yaml", str(real.engine.binary), "bin/llama-server")
        with serving(real.repo, "--expect", "worktree") as server:
            body = server.until_ready(503)
            assert body["state"] == "mismatch"
            (told,) = [one for one in body["mismatches"] if one["key"] == "precision.kv_cache.dtype"]
            assert (told["code"], told["expected"], told["found"]) == ("TL807", "f16", "q4_0")
            assert told["concerns"] == "this server"
            assert "command line of the server process" in told["text"]
            server.until(lambda: server.alerts)
            assert server.alerts[0]["event"] == "mismatch"

    def test_a_release_with_all_its_layers_is_what_runs_here_again(self, real: Real) -> None:
        """Captured of the running server, then held against the next start: libraries, host, weights."""
        with serving(real.repo, "--expect", "worktree") as server:
            server.until_ready()
            capture = captured(real, server.process.pid)
        record = golden(real.repo, capture=capture)
        assert all(isinstance(record.layers[name], str) for name in ("packages", "platform", "weights"))
        with serving(real.repo) as server:
            body = server.until_ready()
            assert body["expected"]["release"] == record.id
            assert body["not_covered"] == [{"layer": "image", "reason": "no image was named"}] or not [
                one for one in body["not_covered"] if one["layer"] != "image"
            ]
            assert re.search(r"packages +same +platform +same|weights +same", server.out)
        ran = subprocess.run(
            [*PROGRAM, "serve", SERVICE],
            cwd=real.repo.path,
            env=quiet({"OMP_NUM_THREADS": "2", "GGML_NO_BACKTRACE": "1"}),
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 1
        assert b"variables.GGML_NO_BACKTRACE" in ran.stdout

    def test_a_refusal_neither_runs_the_engine_nor_opens_the_weights(
        self, real: Real, tmp_path: Path
    ) -> None:
        """Seen by the kernel: with known digests the gate itself does not read them either."""
        strace = shutil.which("strace")
        if strace is None:
            pytest.skip("no strace")
        env = quiet({"XDG_CACHE_HOME": str(tmp_path / "cache")})

        def traced(name: str, *args: str) -> tuple[int, str]:
            log = tmp_path / name
            watch = [strace, "-f", "-qq", "-o", str(log), "-e", "trace=execve,openat"]
            command = [*watch, *PROGRAM, "serve", SERVICE, "--expect", "worktree", *args]
            done = subprocess.run(command, cwd=real.repo.path, env=env, capture_output=True, check=False)
            return done.returncode, log.read_text()

        code, _ = traced("first", "--dry-run")
        assert code == 0
        code, calls = traced("refused", "--", "-ctk", "q4_0")
        assert code == 1
        assert "openat" in calls
        assert str(real.engine.weights) not in calls
        assert f'execve("{real.engine.binary}"' not in calls
        code, calls = traced("started", "--every", "0", "--on-mismatch", "degrade", "--", "--help")
        assert code == 0, "the engine's own help, to show that its start would have been seen"
        assert f'execve("{real.engine.binary}"' in calls


def captured(real: Real, pid: int) -> Capture:
    """What `tierlock capture --pid` records of the running server."""
    wanted = Wanted(pid=pid, weights=real.engine.weights)
    return take(("packages", "platform", "weights"), wanted, generated_at="2026-11-30T12:00:00Z", tool="test")
