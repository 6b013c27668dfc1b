"""The command driver believes its program's exit status and a well-formed list, and nothing else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from governance.errors import MissingTool, Unreachable, Usage
from governance.release.deploy import command
from governance.release.deploy.model import Target
from governance.values import ABSENT, Json, Unknown
from tests.support.deployed import deployed, target

PROGRAM = """\
import json, sys
action, given = sys.argv[1], json.load(sys.stdin)
with open("asked.jsonl", "a") as file:
    file.write(json.dumps([sys.argv[1:], given]) + "\\n")
if action == "running":
    print(open("runs.json").read())
sys.exit(open("status").read() or 0 if action != "running" else 0)
"""


def service(tmp_path: Path, *words: str, status: str = "", runs: str = "[]", **more: Json) -> Target:
    said = [sys.executable, "deploy.py", *(words or ("{action}", "{release}"))]
    settings = {"driver": "command", "port": 8123, "weights": "a.gguf", "command": said, **more}
    repo = deployed(tmp_path / "repo", settings)
    (repo.path / "deploy.py").write_text(PROGRAM)
    (repo.path / "status").write_text(status)
    (repo.path / "runs.json").write_text(runs)
    return target(repo, "v7")


def asked(one: Target) -> list[tuple[list[str], dict[str, Json]]]:
    return [json.loads(line) for line in (one.root / "asked.jsonl").read_text().splitlines()]


def test_the_program_gets_the_target_as_words_and_as_json(tmp_path: Path) -> None:
    one = service(tmp_path, "{action}", "--id={release}-{fingerprint}", '{"kept": {port}}')
    command.deploy(one)
    ((words, given),) = asked(one)
    assert words == ["deploy", f"--id=v7-{one.fingerprint}", '{"kept": 8123}']
    assert given["argv"] == list(one.launch.argv)
    assert (given["schema"], given["action"], given["url"]) == ("tierlock.target/1", "deploy", one.url)


def test_a_secret_is_given_as_its_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret-value")
    one = service(tmp_path, environment={"HF_TOKEN": "env:MY_TOKEN"})
    command.deploy(one)
    assert asked(one)[0][1]["environment"] == {"HF_TOKEN": "env:MY_TOKEN"}


def test_a_status_that_is_not_zero_is_a_failure_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="failed with status 1: quota exceeded"):
        command.deploy(service(tmp_path, status="quota exceeded"))


def test_what_runs_is_what_the_program_lists(tmp_path: Path) -> None:
    one_runs = {"name": "pod-1", "started_at": 12.5, "image_digest": "sha256:ab", "fingerprint": "f"}
    one = service(tmp_path, runs=json.dumps([one_runs, {"name": "pod-2"}]))
    found = command.running(one)
    assert isinstance(found, tuple)
    first, second = found
    assert (first.name, first.started_at, first.image_digest) == ("pod-1", 12.5, "sha256:ab")
    assert isinstance(second.started_at, Unknown)
    assert second.image_digest is ABSENT
    assert second.fingerprint == ""


@pytest.mark.parametrize(
    "runs", ["", "{}", "null", "[1]", '[{"url": "x"}]', '[{"name": "a", "started_at": "?"}]']
)
def test_a_list_of_another_form_is_unknown_and_never_nothing_runs(tmp_path: Path, runs: str) -> None:
    assert isinstance(command.running(service(tmp_path, runs=runs)), Unknown)


def test_a_program_that_only_deploys_cannot_say_what_runs(tmp_path: Path) -> None:
    one = service(tmp_path, "deploy")
    found = command.running(one)
    assert isinstance(found, Unknown)
    assert "{action}" in found.reason
    with pytest.raises(Usage, match="cannot be asked to stop"):
        command.stop(one)
    assert not (one.root / "asked.jsonl").exists()


def test_stopping_asks_the_program(tmp_path: Path) -> None:
    one = service(tmp_path)
    command.stop(one)
    assert asked(one)[0][0] == ["stop", "v7"]


def test_a_missing_program_and_a_missing_command_are_told(tmp_path: Path) -> None:
    settings: dict[str, Json] = {"driver": "command", "port": 8123, "weights": "a.gguf"}
    with pytest.raises(Usage, match="has no command"):
        command.check(target(deployed(tmp_path / "a", settings)))
    missing = target(deployed(tmp_path / "b", {**settings, "command": ["./no-such.sh", "{action}"]}))
    with pytest.raises(MissingTool, match=r"`\./no-such\.sh`"):
        command.check(missing)
    assert isinstance(command.running(missing), Unknown)


def test_the_plan_is_the_command_line(tmp_path: Path) -> None:
    assert command.plan(service(tmp_path)) == (f"run     {sys.executable} deploy.py deploy v7",)
