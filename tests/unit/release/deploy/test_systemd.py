"""The systemd driver writes one unit that runs exactly the launch: under a real manager of a user."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from governance.adapters.processes import free_port
from governance.errors import MissingTool, Unreachable, Usage
from governance.release.deploy import systemd
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.ready import wait_ready
from governance.values import Json, Unknown
from tests.support.deployed import deployed, stopped_after, target
from tests.support.llama_server import one_at_a_time
from tests.support.repos import Repo
from tests.support.systemd_manager import user_manager
from tests.unit.release.deploy.test_process import fake, settings

UNIT = "tierlock-summarizer.service"
USER: dict[str, Json] = {"driver": "systemd", "arguments": ["--user"]}


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with user_manager(monkeypatch) as folder:
        yield folder


def service(tmp_path: Path, **more: Json) -> Repo:
    return fake(tmp_path, **{**USER, **more})


def only(one: Target) -> Replica:
    found = systemd.running(one)
    assert isinstance(found, tuple), found
    (replica,) = found
    return replica


def test_a_real_server_is_deployed_and_the_process_says_its_fingerprint(
    manager: Path, llama_engine: DemoEngine, tmp_path: Path
) -> None:
    repo = deployed(tmp_path / "repo", {**settings(llama_engine, free_port()), **USER})
    one = target(repo)
    with one_at_a_time(), stopped_after(systemd, one):
        systemd.deploy(one)
        wait_ready(one, systemd)
        seen = only(one)
        assert seen.fingerprint == one.fingerprint
        assert seen.argv == (str(llama_engine.binary), *one.launch.argv[1:])
        assert isinstance(seen.started_at, float)
    assert systemd.running(one) == ()
    assert not (manager / UNIT).exists()


def test_words_with_a_meaning_to_systemd_reach_the_server_as_they_are(manager: Path, tmp_path: Path) -> None:
    """`%h` would be the home folder, `$PATH` the path, and a blank the end of the word."""
    odd = {"ODD": '100%h of "$PATH" \\n \' end', "TWO": "a\nb"}
    weights = "my %h $HOME;weights.gguf"
    repo = service(tmp_path, environment=dict(odd), weights=weights)
    (repo.path / weights).write_bytes(b"GGUF")
    (repo.path / "bin" / "engine").write_text(
        '#!/bin/sh\nprintf \'%s|%s|%s\' "$2" "$ODD" "$TWO" > seen.tmp; mv seen.tmp seen; exec sleep 600\n'
    )
    one = target(repo)
    with stopped_after(systemd, one):
        systemd.deploy(one)
        for _ in range(1000):
            if (repo.path / "seen").exists():
                break
            time.sleep(0.01)
        seen = (repo.path / "seen").read_text()
    assert seen == "|".join([str(repo.path / weights), *odd.values()])


def test_deploying_again_starts_a_new_process(manager: Path, tmp_path: Path) -> None:
    one = target(service(tmp_path))
    with stopped_after(systemd, one):
        systemd.deploy(one)
        first = only(one)
        systemd.deploy(one)
        assert only(one).started_at != first.started_at


def test_a_secret_comes_from_the_manager_and_is_in_no_file(
    manager: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = service(tmp_path, environment={"HF_TOKEN": "env:HF_TOKEN"})
    (repo.path / "bin" / "engine").write_text(
        '#!/bin/sh\necho "${#HF_TOKEN}" > seen.tmp; mv seen.tmp seen; exec sleep 600\n'
    )
    monkeypatch.setenv("HF_TOKEN", "s3cret-value")
    subprocess.run(["systemctl", "--user", "import-environment", "HF_TOKEN"], check=True)
    one = target(repo)
    with stopped_after(systemd, one):
        systemd.deploy(one)
        for _ in range(1000):
            if (repo.path / "seen").exists():
                break
            time.sleep(0.01)
        assert (repo.path / "seen").read_text() == "12\n"
        assert "s3cret-value" not in (manager / UNIT).read_text()


def test_a_unit_that_somebody_else_wrote_is_refused_and_left_alone(manager: Path, tmp_path: Path) -> None:
    manager.mkdir(parents=True)
    file = manager / "web.service"
    file.write_text("[Service]\nExecStart=/bin/sleep 600\n")
    one = target(service(tmp_path, unit="web"))
    with pytest.raises(Usage, match=r"`web\.service` that tierlock did not write"):
        systemd.deploy(one)
    assert file.read_text() == "[Service]\nExecStart=/bin/sleep 600\n"


def test_a_server_that_ends_at_once_is_no_server_that_runs(manager: Path, tmp_path: Path) -> None:
    repo = service(tmp_path)
    (repo.path / "bin" / "engine").write_text("#!/bin/sh\nexit 3\n")
    one = target(repo)

    def deploy_and_wait() -> None:
        systemd.deploy(one)
        wait_ready(one, systemd)

    # systemd itself tells of the end when it comes before the start is done
    ended = "ended before it was ready|control process exited with error code"
    with stopped_after(systemd, one), pytest.raises(Unreachable, match=ended):
        deploy_and_wait()


def test_without_a_manager_what_runs_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "nowhere"))
    one = target(service(tmp_path))
    assert isinstance(systemd.running(one), Unknown)
    with pytest.raises((Unreachable, MissingTool)):
        systemd.check(one)


def test_the_unit_is_one_that_systemd_finds_no_fault_in(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    one = target(service(tmp_path, environment={"CACHE": "/var/cache/100%"}))
    file = tmp_path / UNIT
    file.write_bytes(systemd.render(one))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)], capture_output=True, text=True, check=False
    )
    assert UNIT not in done.stderr, done.stderr


def test_a_secret_under_another_name_is_refused_with_how_to_write_it(tmp_path: Path) -> None:
    one = target(service(tmp_path, environment={"HF_TOKEN": "env:MY_TOKEN"}))
    with pytest.raises(Usage, match="`HF_TOKEN` refers to `MY_TOKEN`") as caught:
        systemd.render(one)
    assert caught.value.hint == "write HF_TOKEN: env:HF_TOKEN"


def test_the_arguments_say_whose_manager_it_is(tmp_path: Path) -> None:
    assert b"WantedBy=default.target" in systemd.render(target(service(tmp_path)))
    system = target(service(tmp_path / "other", arguments=["--system"]))
    assert b"WantedBy=multi-user.target" in systemd.render(system)
    with pytest.raises(Usage, match="takes `--user` or `--system`"):
        systemd.render(target(service(tmp_path / "third", arguments=["--global"])))


def test_the_plan_names_the_file_the_command_and_each_step(tmp_path: Path) -> None:
    lines = systemd.plan(target(service(tmp_path)))
    assert lines[0].endswith(f".config/systemd/user/{UNIT}")
    assert "ExecStart=" in lines[1]
    assert lines[2:] == (
        "systemctl --user daemon-reload",
        f"systemctl --user enable {UNIT}",
        f"systemctl --user restart {UNIT}",
    )
