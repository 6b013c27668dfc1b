"""The gate with a review on a forge: real git, recorded answers, from the API and from disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Tierlock
from tests.support.fake_forge import FakeForge
from tests.support.forge_answers import (
    AUTHOR,
    REVIEWER,
    github_pull,
    github_review,
    github_user,
    gitlab_approvals,
    gitlab_request,
    gitlab_version,
)
from tests.support.reviewed import Reviewed, reviewed

TOP = "/repos/owner-a/configs"
GIVEN = "2026-11-02T10:00:00Z"


@pytest.fixture
def repo(tmp_path: Path) -> Reviewed:
    """A branch `topic` with a hotter temperature; reviewer-a has numbers on both forges."""
    made = reviewed(tmp_path / "repo")
    for person, number in (("reviewer-a", REVIEWER), ("author-a", AUTHOR)):
        made.change(
            "tierlock.yaml", f"    {person}: {{", f"    {person}: {{github: {number}, gitlab: {number}, "
        )
    made.commit("numbers")
    made.git("checkout", "-q", "-b", "topic")
    made.hotter(0.3)
    made.commit("hotter")
    return made


@pytest.fixture
def command(repo: Reviewed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    for name, value in repo.environment.items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)
    for name in ("GITHUB_TOKEN", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY", "GITHUB_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1793620800")  # 2026-11-02 12:00
    return Tierlock(repo.path, capsys, monkeypatch)


def pull(repo: Reviewed, **more: Any) -> dict[str, Any]:
    head = repo.git("rev-parse", "topic")
    return github_pull(head={"ref": "topic", "sha": head}, user=github_user(AUTHOR), **more)


def review(repo: Reviewed, **more: Any) -> dict[str, Any]:
    return github_review(**{"commit_id": repo.git("rev-parse", "topic"), "submitted_at": GIVEN, **more})


def saved(path: Path, tree: Any) -> str:
    path.write_text(json.dumps(tree))
    return str(path)


def answered(repo: Reviewed) -> dict[str, Any]:
    return {
        f"{TOP}/pulls/7": pull(repo),
        f"{TOP}/pulls/7/reviews": [review(repo)],
        f"{TOP}/issues/7/timeline": [],
    }


GATE = ("review", "gate", "--range", "main..topic")


def test_a_review_on_github_approves_the_head_it_was_given_for(command: Tierlock, repo: Reviewed) -> None:
    assert command.run(*GATE).code == 1
    answers = answered(repo)
    named = ("--forge", "github", "--request", "7", "--project", "owner-a/configs", "--forge-url")
    with FakeForge(answers) as server:
        ran = command.run(*GATE, *named, server.url)
        assert ran.code == 0, ran.out + ran.err
        repo.hotter(0.31)
        repo.commit("one more")
        ran = command.run(*GATE, *named, server.url)
    assert ran.code == 1
    assert "and what is judged is" in " ".join(ran.out.split())


def test_in_ci_the_request_is_the_one_of_the_event(
    command: Tierlock, repo: Reviewed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = answered(repo)
    monkeypatch.setenv("GITHUB_EVENT_PATH", saved(tmp_path / "event.json", {"pull_request": pull(repo)}))
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner-a/configs")
    with FakeForge(answers) as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        assert command.run(*GATE, "--forge", "github").code == 0


def test_the_json_that_ci_has_on_disk_is_enough(command: Tierlock, repo: Reviewed, tmp_path: Path) -> None:
    event = saved(tmp_path / "event.json", {"action": "submitted", "pull_request": pull(repo)})
    reviews = saved(tmp_path / "reviews.json", [review(repo)])
    named = ("--forge", "github", "--forge-json", event, "--forge-json")
    assert command.run(*GATE, *named, reviews).code == 0
    assert command.run(*GATE, *named, saved(tmp_path / "none.json", [])).code == 1
    dismissed = saved(tmp_path / "gone.json", [review(repo, state="DISMISSED")])
    assert command.run(*GATE, *named, dismissed).code == 1


def test_an_approval_on_gitlab_counts_too(command: Tierlock, repo: Reviewed, tmp_path: Path) -> None:
    head = repo.git("rev-parse", "topic")
    tree = {
        "merge_request": gitlab_request(sha=head),
        "approvals": gitlab_approvals((REVIEWER, GIVEN)),
        "versions": [gitlab_version(head, "2026-11-02T09:30:00.000Z")],
    }
    path = saved(tmp_path / "gitlab.json", tree)
    assert command.run(*GATE, "--forge", "gitlab", "--forge-json", path).code == 0


def test_what_the_base_brought_in_meanwhile_was_not_reviewed_there(
    command: Tierlock, repo: Reviewed, tmp_path: Path
) -> None:
    """The merge has a value in another place of the same config: nobody has seen the two together."""
    repo.git("checkout", "-q", "main")
    repo.change("configs/sampling/factual.yaml", ", 32000]", "]")
    repo.commit("longer")
    event = saved(tmp_path / "event.json", {"pull_request": pull(repo), "review": review(repo)})
    ran = command.run(*GATE, "--forge", "github", "--forge-json", event)
    assert ran.code == 1


def test_the_author_on_the_forge_is_no_reviewer(command: Tierlock, repo: Reviewed, tmp_path: Path) -> None:
    own = review(repo, user=github_user(AUTHOR))
    event = saved(tmp_path / "event.json", {"pull_request": pull(repo), "review": own})
    assert command.run(*GATE, "--forge", "github", "--forge-json", event).code == 1


def test_a_review_does_not_approve_what_is_only_staged(
    command: Tierlock, repo: Reviewed, tmp_path: Path
) -> None:
    repo.git("checkout", "-q", "main")
    repo.hotter(0.3)
    repo.git("add", "-A")
    event = saved(tmp_path / "event.json", {"pull_request": pull(repo), "review": review(repo)})
    assert command.run("review", "gate", "--forge", "github", "--forge-json", event).code == 1


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--request", "7"], 2, "go with --forge"),
        (["--forge", "github", "--request", "7"], 2, "no project is named"),
        (["--forge", "github"], 2, "which request is meant is not known"),
        (["--forge", "gitlab", "--project", "15"], 2, "which request is meant is not known"),
        (["--forge", "reviewboard", "--request", "7"], 2, "no Review Board is named"),
        (["--forge", "github", "--forge-json", "missing.json"], 3, "`missing.json` is not there"),
        (["--forge", "github", "--forge-json", "tierlock.yaml"], 3, "is no JSON"),
    ],
)
def test_what_cannot_be_asked_is_told(
    command: Tierlock, args: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CI_PROJECT_ID", "CI_MERGE_REQUEST_IID", "REVIEWBOARD_URL"):
        monkeypatch.delenv(name, raising=False)
    ran = command.run(*GATE, *args)
    assert ran.code == code, ran.out
    assert message in ran.err


def test_a_forge_that_does_not_answer_is_undecided(command: Tierlock) -> None:
    named = ("--forge", "github", "--request", "7", "--project", "owner-a/configs")
    ran = command.run(*GATE, *named, "--forge-url", "http://127.0.0.1:1")
    assert ran.code == 3
    assert "GitHub did not answer" in ran.err
