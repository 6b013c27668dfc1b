"""Killed before any step, the same command ends at golden, or everything is as it was: never in between."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.files import WorkTree
from governance.fingerprint.services import fingerprint_of
from governance.release import journal as journals
from governance.release.deploy.target import state_folder
from governance.release.holds import read_holds
from governance.release.record import Record, list_records
from governance.release.verifying import verify
from governance.tiers.naming import TIERS
from governance.verdict import Outcome
from tests.support.command import ROOT
from tests.support.completions_server import serving
from tests.support.governed import place
from tests.support.released import SERVICE
from tests.support.repos import Repo
from tests.support.rollbacks import NOW, FakeDriver, repository, right


@dataclass
class Template:
    """The state before the rollback, and where copies of it go."""

    repo: Repo
    first: Record
    second: Record
    runtime: Path
    scratch: Path

    def killed_everywhere(self, again: str) -> list[Any]:
        """How each kill and the call after it ended."""
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.rollback_kills",
             self.repo.path, self.runtime, self.scratch, again],
            cwd=ROOT, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        told = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(told) > 15
        assert all(one["killed"] for one in told)
        return told

    def after(self, step: int) -> After:
        folder = self.scratch / str(step)
        return After(Repo(folder / "repo"), FakeDriver(folder / "runtime"))


@dataclass
class After:
    """What is left after a kill and another call."""

    repo: Repo
    driver: FakeDriver

    def fold(self) -> object:
        found = place(self.repo).state("HEAD").service(SERVICE)
        assert found is not None
        return fingerprint_of(found).only(TIERS).fold()

    def journal(self) -> object:
        return journals.read(state_folder(place(self.repo), SERVICE))


@pytest.fixture
def template(tmp_path: Path) -> Iterator[Template]:
    with serving(right) as server:
        repo, first, second = repository(tmp_path / "repo", server.url)
        FakeDriver(tmp_path / "runtime").start(second.fingerprint, "v2", 4096, at=NOW.timestamp() - 3600)
        yield Template(repo, first, second, tmp_path / "runtime", tmp_path / "scratch")


def test_the_same_command_again_always_ends_at_golden(template: Template) -> None:
    before = int(template.repo.git("rev-list", "--count", "HEAD"))
    for told in template.killed_everywhere("same"):
        step, after = told["step"], template.after(told["step"])
        where = f"killed before {told['before']}: {told['summary']}"
        assert told["outcome"] == "pass", where
        assert after.fold() == template.first.fingerprint, where
        assert after.driver.now()["fingerprint"] == template.first.fingerprint, where
        assert after.repo.git("status", "--porcelain", "-uall") == "", where
        assert after.journal() is None, where
        made = list_records(WorkTree(after.repo.path), SERVICE)
        assert [(one.id, one.restores) for one in made] == [("v1", ""), ("v2", ""), ("v3", "v1")], where
        assert {one.outcome for one in verify(made[-1], place(after.repo))} == {Outcome.PASS}, where
        held = read_holds(WorkTree(after.repo.path), SERVICE).standing
        assert [one.fingerprint for one in held] == [template.second.fingerprint], where
        assert int(after.repo.git("rev-list", "--count", "HEAD")) == before + 2, (step, where)
        assert after.repo.git("fsck", "--no-dangling") == "", where


def test_taken_back_before_anything_was_deployed_everything_is_as_it_was(template: Template) -> None:
    head = template.repo.git("rev-parse", "HEAD")
    running = FakeDriver(template.runtime).now()
    undone = 0
    for told in template.killed_everywhere("abort"):
        after, where = template.after(told["step"]), f"killed before {told['before']}: {told['summary']}"
        journal = after.journal()
        if told["outcome"] == "pass" or "no rollback" in told["summary"]:
            undone += told["outcome"] == "pass"
            if "no rollback" in told["summary"] and after.fold() == template.first.fingerprint:
                assert told["before"] == "ended", where
                continue
            assert after.repo.git("rev-parse", "HEAD") == head, where
            assert after.repo.git("status", "--porcelain", "-uall") == "", where
            assert after.driver.now() == running, where
            assert journal is None, where
        else:
            assert (told["outcome"], "can only be finished" in told["summary"]) == ("block", True), where
            assert journal is not None, where
    assert undone > 4


def test_a_gate_that_no_longer_passes_takes_everything_back_until_something_was_deployed(
    template: Template,
) -> None:
    head = template.repo.git("rev-parse", "HEAD")
    running = FakeDriver(template.runtime).now()
    for told in template.killed_everywhere("refused"):
        after, where = template.after(told["step"]), f"killed before {told['before']}: {told['summary']}"
        assert after.journal() is None, where
        if told["outcome"] == "pass":
            assert after.fold() == template.first.fingerprint, where
            assert after.driver.now()["fingerprint"] == template.first.fingerprint, where
        elif after.fold() == template.first.fingerprint:
            assert told["before"] == "ended", where  # it had ended before, and the second call was a new one
        else:
            assert after.repo.git("rev-parse", "HEAD") == head, where
            assert after.driver.now() == running, where
        assert after.repo.git("status", "--porcelain", "-uall") == "", where
