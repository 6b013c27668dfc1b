"""action.yml run for real: act runs the workflow of a user on this host, no containers, no network.

act's own actions/checkout copies the clone as it stands, so a clone of depth 1 stays one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from governance.values import Json
from tests.ci.conftest import ACT, NOTHING, ROOT, Forge, needs
from tests.ci.test_events import pull_request
from tests.support.reviewed import SAMPLING, Reviewed

pytestmark = needs(ACT, "git", "bash")

WORKFLOW = """
on: [push, pull_request, schedule]
permissions: {{}}
jobs:
  review:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: ./.action
        id: tierlock
        with: {with_}
      - if: always()
        env:
          SEEN: ${{{{ steps.tierlock.outputs.outcome }}}} ${{{{ steps.tierlock.outputs.exit-code }}}}
          REPORTS: ${{{{ steps.tierlock.outputs.reports }}}}
        run: echo "seen $SEEN"; if [ -n "$REPORTS" ]; then cp -r "$REPORTS" "{out}"; fi
"""


@dataclass
class Ran:
    """How a workflow ended: act's status, all it said, and the reports that the action left."""

    status: int
    said: str
    reports: Path

    def read(self, name: str) -> str:
        return (self.reports / name).read_text("utf-8")


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, tierlock: Path) -> Run:
    def runs(repo: Reviewed, event: str, payload: Json, **with_: str) -> Ran:
        action = repo.path / ".action"
        shutil.copytree(ROOT / "ci" / "github", action / "ci" / "github", dirs_exist_ok=True)
        shutil.copy(ROOT / "action.yml", action)
        out = tmp_path / "reports"
        given = json.dumps(
            {"command": str(tierlock), **{key.replace("_", "-"): v for key, v in with_.items()}}
        )
        (tmp_path / "workflow.yml").write_text(WORKFLOW.format(with_=given, out=out))
        (tmp_path / "event.json").write_text(json.dumps(payload))
        argv = (
            ACT, event, "--eventpath", tmp_path / "event.json", "--workflows", tmp_path / "workflow.yml",
            "--platform", "ubuntu-latest=-self-hosted",
        )  # fmt: skip
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("GIT", "CI"))}
        environment = {**plain, "HOME": str(home), "XDG_CACHE_HOME": str(home)}
        done = subprocess.run(
            argv, cwd=repo.path, env=environment, capture_output=True, text=True, check=False
        )
        return Ran(done.returncode, done.stdout + done.stderr, out)

    return runs


def test_a_change_without_approval_fails_the_job_and_is_told_everywhere(
    proposed: tuple[Forge, str], tmp_path: Path, run: Run
) -> None:
    forge, head = proposed
    ran = run(forge.test_merge(head, tmp_path / "ci"), "pull_request", pull_request(head))
    assert ran.status != 0
    assert "seen block 1" in ran.said
    assert f"::error file={SAMPLING},line=3,col=14" in ran.said
    assert "### ❌ tierlock review gate: block" in ran.read("review.md")
    assert "Summary - ### ❌ tierlock review gate: block" in ran.said
    results = json.loads(ran.read("review.sarif"))["runs"][0]["results"]
    assert SAMPLING in {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results}
    assert "<failure" in ran.read("review.xml")
    assert json.loads(ran.read("check.json"))["outcome"] == "pass"


def test_an_approved_change_passes(proposed: tuple[Forge, str], tmp_path: Path, run: Run) -> None:
    forge, _ = proposed
    forge.author.approve(between="main..HEAD")
    forge.author.commit("approve")
    head = forge.push("change")
    ran = run(forge.test_merge(head, tmp_path / "ci"), "pull_request", pull_request(head))
    assert ran.status == 0, ran.said
    assert "seen pass 0" in ran.said


def test_a_clone_that_cannot_be_deepened_is_undecided(
    proposed: tuple[Forge, str], tmp_path: Path, run: Run
) -> None:
    forge, head = proposed
    clone = forge.test_merge(head, tmp_path / "ci")
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    ran = run(clone, "pull_request", pull_request(head))
    assert ran.status != 0
    assert "seen undecided 3" in ran.said
    assert "fetch-depth: 0" in ran.read("review.md")


def test_a_push_to_a_protected_branch_is_judged(
    proposed: tuple[Forge, str], tmp_path: Path, run: Run
) -> None:
    forge, head = proposed
    old = forge.author.git("rev-parse", "main")
    forge.push("main")
    event: Json = {"before": old, "after": head, "ref": "refs/heads/main"}
    ran = run(forge.clone(tmp_path / "ci", "--depth=1"), "push", event, check="false")
    assert "seen block 1" in ran.said
    assert not (ran.reports / "check.md").exists()


def test_a_scheduled_run_has_no_base_and_audits_when_asked_to(forge: Forge, tmp_path: Path, run: Run) -> None:
    clone = forge.clone(tmp_path / "ci")
    assert "seen undecided 3" in run(clone, "schedule", {"schedule": "0 4 * * *"}).said
    shutil.rmtree(tmp_path / "reports")
    audited = run(clone, "schedule", {"schedule": "0 4 * * *"}, audit="HEAD", check="false")
    assert "seen pass 0" in audited.said, audited.said
    assert "tierlock review audit" in audited.read("review.md")


def test_without_a_program_the_job_fails(proposed: tuple[Forge, str], tmp_path: Path, run: Run) -> None:
    """A tool that cannot start has looked at nothing."""
    forge, head = proposed
    clone = forge.test_merge(head, tmp_path / "ci")
    ran = run(clone, "pull_request", pull_request(head), command="/nowhere/tierlock")
    assert ran.status != 0
    assert "seen undecided 3" in ran.said
    assert "no report was made" in ran.said


def test_a_policy_that_is_the_first_needs_the_word(tmp_path: Path, forge: Forge, run: Run) -> None:
    """`bootstrap` reaches the gate; without it the first policy of a project is undecided."""
    author = forge.author
    whole = (author.path / "tierlock.yaml").read_text()
    author.write({"tierlock.yaml": whole.partition("review:")[0]})
    author.commit("no policy")
    base = forge.push("bare")
    author.write({"tierlock.yaml": whole})
    author.commit("a policy")
    head = forge.push("change")
    event: Json = {"before": base, "after": head, "ref": "refs/heads/bare"}
    forge.push("bare")
    assert "seen undecided 3" in run(forge.clone(tmp_path / "a", branch="bare"), "push", event).said
    shutil.rmtree(tmp_path / "reports")
    pull = pull_request(head, branch="old")
    author.git("push", "-q", "origin", f"{base}:refs/heads/old")
    ran = run(forge.test_merge(head, tmp_path / "b"), "pull_request", pull, bootstrap="true")
    assert "seen pass 0" in ran.said, ran.said
    assert NOTHING not in ran.said
