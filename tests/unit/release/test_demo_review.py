"""The review scenes of the demo: real commits, a real hook, real keys; a scene that did not happen fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from governance.adapters.demo_repository import DemoRepository, Said
from governance.cli.scaffold import files
from governance.release.demo_review import AUTHOR, scenes
from governance.verdict import Outcome, Report


def told(repository: DemoRepository) -> Sequence[Report]:
    return list(scenes(repository, files("llama.cpp")))


def test_the_story_comes_out_as_told(tmp_path: Path) -> None:
    edited, approved, audited = told(DemoRepository(tmp_path, AUTHOR))
    assert [one.outcome for one in (edited, approved, audited)] == [Outcome.PASS] * 3
    shown = "\n".join(edited.notes)
    assert "temperature  0.1 → 0.2" in shown
    assert "a reviewer runs: tierlock review approve sampling/factual" in shown
    assert "nobody approves their own" in "\n".join(approved.notes)
    assert "none without approval" in "\n".join(audited.notes)


def test_a_hook_that_does_not_stop_is_told_as_such(tmp_path: Path) -> None:
    """The demo must not claim what did not happen."""

    class Unhooked(DemoRepository):
        def git(self, *args: str) -> Said:
            return super().git(*args, *(["--no-verify"] if args[0] == "commit" else []))

    edited, *_, audited = told(Unhooked(tmp_path, AUTHOR))
    assert edited.outcome is Outcome.BLOCK
    assert audited.outcome is Outcome.BLOCK


def test_without_ssh_keygen_the_scenes_are_undecided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (only,) = told(DemoRepository(tmp_path, AUTHOR))
    assert only.outcome is Outcome.UNDECIDED
    assert "ssh-keygen" in only.summary


def test_nothing_of_the_user_reaches_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent's keys, a global hook path or a signing setting would change the story, or be used by it."""
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    environment = DemoRepository(tmp_path, AUTHOR).environment
    assert "SSH_AUTH_SOCK" not in environment
    assert "GIT_DIR" not in environment
    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
