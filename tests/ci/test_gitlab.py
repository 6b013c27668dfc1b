"""The GitLab template run for real: gitlab-ci-local runs its jobs in a shell on this host."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.ci.conftest import GITLAB_CI_LOCAL, NOTHING, ROOT, Forge, needs
from tests.support.reviewed import SAMPLING, Reviewed

pytestmark = needs(GITLAB_CI_LOCAL, "node", "rsync", "bash")
TEMPLATE = ROOT / "ci" / "gitlab" / "tierlock.gitlab-ci.yml"


@dataclass
class Ran:
    """How a pipeline ended: its status, all it said, and the reports that its jobs left."""

    status: int
    said: str
    reports: Path

    def read(self, name: str) -> str:
        return next(self.reports.rglob(name)).read_text("utf-8")


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, tierlock: Path) -> Run:
    def runs(repo: Reviewed, source: str, *jobs: str, **variables: str) -> Ran:
        (repo.path / ".gitlab-ci.yml").write_bytes(TEMPLATE.read_bytes())
        given = {"CI_PIPELINE_SOURCE": source, **variables}
        argv = [GITLAB_CI_LOCAL, "--force-shell-executor", *jobs]
        argv += [part for name, value in given.items() for part in ("--variable", f"{name}={value}")]
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CI"))}
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        path = f"{tierlock.parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**plain, "HOME": str(home), "PATH": path, "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            argv, cwd=repo.path, env=environment, capture_output=True, text=True, check=False
        )
        return Ran(done.returncode, done.stdout + done.stderr, repo.path / ".gitlab-ci-local" / "artifacts")

    return runs


def merge_request(head: str) -> dict[str, str]:
    return {
        "CI_COMMIT_SHA": head,
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": NOTHING,
    }


def test_a_change_without_approval_fails_the_pipeline(
    proposed: tuple[Forge, str], tmp_path: Path, run: Run
) -> None:
    forge, head = proposed
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="change")
    ran = run(clone, "merge_request_event", **merge_request(head))
    assert ran.status != 0
    assert "FAIL  tierlock-review" in ran.said
    assert "PASS  tierlock-check" in ran.said
    assert f"{SAMPLING}:3:14  TL501" in ran.said
    assert "<failure" in ran.read("review.xml")


def test_an_approved_change_passes(proposed: tuple[Forge, str], tmp_path: Path, run: Run) -> None:
    forge, _ = proposed
    forge.author.approve(between="main..HEAD")
    forge.author.commit("approve")
    head = forge.push("change")
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="change")
    ran = run(clone, "merge_request_event", "tierlock-review", **merge_request(head))
    assert ran.status == 0, ran.said
    assert "PASS  tierlock-review" in ran.said


def test_a_clone_that_cannot_be_deepened_ends_with_3(
    proposed: tuple[Forge, str], tmp_path: Path, run: Run
) -> None:
    forge, head = proposed
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="change")
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    ran = run(clone, "merge_request_event", "tierlock-review", **merge_request(head))
    assert ran.status != 0
    assert "FAIL 3" in ran.said, ran.said
    assert "GIT_DEPTH: 0" in ran.read("review.md")


def test_a_scheduled_pipeline_audits_what_has_landed(forge: Forge, tmp_path: Path, run: Run) -> None:
    clone = forge.clone(tmp_path / "ci")
    head = clone.git("rev-parse", "HEAD")
    ran = run(clone, "schedule", CI_COMMIT_SHA=head)
    assert ran.status == 0, ran.said
    assert "PASS  tierlock-audit" in ran.said
    assert "tierlock-review" not in ran.said
