"""Base and head of a CI run come from its event, and a clone without history is deepened or undecided."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from governance.adapters import git_fetch
from governance.errors import IncompleteHistory, Unreadable
from governance.review.ci import Event, Proposed, Pushed, event_of, gate_ci, gate_event, of_github, of_gitlab
from governance.review.landings import PushedRef
from governance.values import Json
from governance.verdict import ExitCode, Outcome, Report
from tests.ci.conftest import NOTHING, Forge
from tests.support.reviewed import SAMPLING, Reviewed, at

A, B, C = "a" * 40, "b" * 40, "c" * 40


def pull_request(head: str, *, branch: str = "main", base: str = A) -> dict[str, Json]:
    """The parts of a pull_request event that count; `base` is what GitHub recorded, stale by now."""
    return {
        "number": 7,
        "pull_request": {"number": 7, "base": {"ref": branch, "sha": base}, "head": {"sha": head}},
    }


def judged(repo: Reviewed, event: Event) -> Report:
    return gate_event(repo.where, at(), event)


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target", "pull_request_review"])
def test_a_pull_request_lands_its_head_on_its_branch_whatever_base_was_recorded(name: str) -> None:
    event = of_github(name, pull_request(B, branch="release/1"), C)
    assert event == Proposed("pull request 7", "release/1", B, tested=C)


def test_a_queue_entry_has_the_base_that_the_event_names() -> None:
    group: Json = {"merge_group": {"base_ref": "refs/heads/main", "base_sha": A, "head_sha": B}}
    assert of_github("merge_group", group, B) == Proposed("merge queue", "main", B, base=A)


@pytest.mark.parametrize(
    ("before", "after", "ref"),
    [(A, B, PushedRef("refs/heads/main", A, B)), (NOTHING, B, PushedRef("refs/heads/main", None, B)),
     (A, NOTHING, PushedRef("refs/heads/main", A, None))],
)  # fmt: skip
def test_a_push_is_its_line(before: str, after: str, ref: PushedRef) -> None:
    assert of_github("push", {"before": before, "after": after, "ref": ref.ref}, B) == Pushed(ref)


@pytest.mark.parametrize("name", ["schedule", "workflow_dispatch", "repository_dispatch", "workflow_run", ""])
def test_an_event_without_a_base_is_undecided_and_says_how_to_look(name: str) -> None:
    with pytest.raises(Unreadable) as caught:
        of_github(name, {"ref": "refs/heads/main"}, B)
    assert "tierlock review audit" in caught.value.hint


@pytest.mark.parametrize(
    "head", [None, 7, "", "HEAD~1", "--upload-pack=touch x", "A" * 40, f"{B}\n", "b" * 39, ["x"]]
)
def test_what_is_no_commit_id_reaches_no_git(head: Json) -> None:
    event = pull_request(B)
    event["pull_request"] = {"base": {"ref": "main"}, "head": {"sha": head}}
    with pytest.raises(Unreadable):
        of_github("pull_request", event, C)


@pytest.mark.parametrize(
    "branch", ["", "-x", "a..b", "a b", "a:b", "*", "x\n", "x.lock", "/x", "x/", "a~1", "a^", "a@{0}", "a\\b"]
)
def test_what_is_no_branch_name_reaches_no_git(branch: str) -> None:
    with pytest.raises(Unreadable):
        of_github("pull_request", pull_request(B, branch=branch), C)


@pytest.mark.parametrize("event", [None, [], "x", 1, {}, {"pull_request": []}, {"pull_request": {"base": 1}}])
def test_an_event_that_is_something_else_is_undecided(event: Json) -> None:
    with pytest.raises(Unreadable):
        of_github("pull_request", event, C)


GITLAB = {
    "CI_PIPELINE_SOURCE": "merge_request_event",
    "CI_COMMIT_SHA": B,
    "CI_MERGE_REQUEST_IID": "4",
    "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
    "CI_MERGE_REQUEST_DIFF_BASE_SHA": A,
}


@pytest.mark.parametrize(
    ("more", "head", "tested"),
    [
        ({}, B, ""),
        ({"CI_MERGE_REQUEST_EVENT_TYPE": "merged_result", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": C}, C, B),
        ({"CI_MERGE_REQUEST_EVENT_TYPE": "merge_train", "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": C}, B, B),
    ],
)  # fmt: skip
def test_a_merge_request_lands_its_own_head_and_a_train_what_it_carries(
    more: Mapping[str, str], head: str, tested: str
) -> None:
    assert of_gitlab({**GITLAB, **more}) == Proposed("merge request 4", "main", head, tested=tested)


def test_a_push_pipeline_is_the_line_of_its_push() -> None:
    given = {"CI_PIPELINE_SOURCE": "push", "CI_COMMIT_SHA": B, "CI_COMMIT_BEFORE_SHA": A}
    assert of_gitlab({**given, "CI_COMMIT_BRANCH": "main"}) == Pushed(PushedRef("refs/heads/main", A, B))
    assert of_gitlab({**given, "CI_COMMIT_TAG": "v1"}) == Pushed(PushedRef("refs/tags/v1", A, B))


@pytest.mark.parametrize("source", ["schedule", "web", "api", "trigger", "pipeline", ""])
def test_a_pipeline_without_a_base_is_undecided(source: str) -> None:
    with pytest.raises(Unreadable):
        of_gitlab({**GITLAB, "CI_PIPELINE_SOURCE": source})


def test_a_change_without_approval_is_blocked_in_a_clone_of_depth_1(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    """actions/checkout as it is by default: one commit, the test merge, and neither base nor head."""
    forge, head = proposed
    clone = forge.test_merge(head, tmp_path / "ci")
    report = judged(clone, of_github("pull_request", pull_request(head), clone.git("rev-parse", "HEAD")))
    assert report.outcome is Outcome.BLOCK
    assert [(one.code, one.path) for one in report.findings if one.blocks] == [("TL501", SAMPLING)]


def test_an_approved_change_passes_in_a_clone_of_depth_1(proposed: tuple[Forge, str], tmp_path: Path) -> None:
    forge, _ = proposed
    forge.author.approve(between="main..HEAD")
    forge.author.commit("approve")
    head = forge.push("change")
    clone = forge.test_merge(head, tmp_path / "ci")
    assert judged(clone, of_github("pull_request", pull_request(head), NOTHING)).outcome is Outcome.PASS


def test_a_shallow_clone_whose_remote_is_gone_is_undecided(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    forge, head = proposed
    clone = forge.test_merge(head, tmp_path / "ci")
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    given = {"GITHUB_EVENT_PATH": "x", "GITHUB_EVENT_NAME": "pull_request"}
    content = json.dumps(pull_request(head)).encode()
    report = gate_ci(clone.where, at(), "github", given, lambda _: content)
    assert report.exit_code is ExitCode.UNDECIDED
    assert head[:12] in report.checks[0].detail
    assert "fetch-depth: 0" in report.next


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_authors_are_known_whatever_the_depth(
    proposed: tuple[Forge, str], tmp_path: Path, depth: int
) -> None:
    """At depth 1 all that came before the last commit would seem its author's; who made it could approve."""
    forge, _ = proposed
    author = forge.author
    author.approve(person="reviewer-a", between="main..HEAD")
    author.git("reset", "-q", "--soft", "main")
    author.git("commit", "-q", "-m", "raise it", SAMPLING, GIT_AUTHOR_EMAIL="reviewer-a@example.org")
    author.commit("approve my own")
    author.commit("note", {"notes/last.md": "text\n"})
    head = forge.push("change")
    clone = forge.clone(tmp_path / "ci", f"--depth={depth}", branch="change")
    report = judged(clone, of_github("pull_request", pull_request(head), NOTHING))
    assert report.outcome is Outcome.BLOCK
    refused = [one.message for one in report.findings if one.code == "TL502"]
    assert any("made the change" in one for one in refused), refused


def test_the_policy_is_the_one_of_the_branch_as_it_is_now(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    """The recorded base still asked for one approval; main has moved on and asks for two."""
    forge, _ = proposed
    forge.author.approve(between="main..HEAD")
    forge.author.commit("approve")
    head = forge.push("change")
    clone = forge.clone(tmp_path / "ci")
    stale = clone.git("rev-parse", "origin/main")
    forge.author.git("checkout", "-q", "main")
    forge.author.change("tierlock.yaml", "sampling: {approvals: 1", "sampling: {approvals: 2")
    forge.author.commit("ask for two")
    forge.push("main")
    report = judged(clone, of_github("pull_request", pull_request(head, base=stale), NOTHING))
    assert report.outcome is Outcome.BLOCK


def test_without_a_remote_the_first_parent_of_the_test_merge_is_the_base(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    forge, head = proposed
    clone = forge.clone(tmp_path / "ci")
    clone.git("fetch", "-q", "origin", head)
    clone.git("merge", "-q", "--no-ff", "-m", "test merge", head)
    merge = clone.git("rev-parse", "HEAD")
    clone.git("remote", "remove", "origin")
    report = judged(clone, of_github("pull_request", pull_request(head), merge))
    assert report.outcome is Outcome.BLOCK
    assert "could not be fetched" in report.notes[0]


def test_a_base_that_is_nowhere_is_undecided(proposed: tuple[Forge, str], tmp_path: Path) -> None:
    forge, head = proposed
    clone = forge.clone(tmp_path / "ci", branch="change")
    with pytest.raises(IncompleteHistory):
        judged(clone, of_github("pull_request", pull_request(head, branch="release/9"), NOTHING))


def test_a_queue_entry_is_judged_on_its_own_base(proposed: tuple[Forge, str], tmp_path: Path) -> None:
    forge, head = proposed
    base = forge.author.git("rev-parse", "main")
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="change")
    group: Json = {"merge_group": {"base_ref": "refs/heads/main", "base_sha": base, "head_sha": head}}
    assert judged(clone, of_github("merge_group", group, head)).outcome is Outcome.BLOCK


@pytest.mark.parametrize("depth", ["--depth=1", "--no-single-branch"])
def test_a_push_to_a_protected_branch_is_judged_from_what_it_was(
    proposed: tuple[Forge, str], tmp_path: Path, depth: str
) -> None:
    forge, head = proposed
    old = forge.author.git("rev-parse", "main")
    forge.push("main")
    clone = forge.clone(tmp_path / "ci", depth)
    report = judged(clone, of_github("push", {"before": old, "after": head, "ref": "refs/heads/main"}, head))
    assert report.outcome is Outcome.BLOCK
    assert "replaces its history" not in str(report.findings)


def test_a_push_to_another_branch_passes_and_says_what_will_be_needed(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    forge, head = proposed
    old = forge.author.git("rev-parse", "main")
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="change")
    event = of_github("push", {"before": old, "after": head, "ref": "refs/heads/change"}, head)
    report = judged(clone, event)
    assert report.outcome is Outcome.PASS
    assert any(one.code == "TL501" for one in report.findings)


def test_a_new_protected_branch_is_compared_with_the_one_it_left(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    """The clone knows no other branch: without a look at them all, nothing would seem to stand before it."""
    forge, head = proposed
    forge.push("release/1")
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="release/1")
    event = of_github("push", {"before": NOTHING, "after": head, "ref": "refs/heads/release/1"}, head)
    assert judged(clone, event).outcome is Outcome.BLOCK


def test_a_new_branch_that_can_be_compared_with_nothing_is_undecided(
    proposed: tuple[Forge, str], tmp_path: Path
) -> None:
    forge, head = proposed
    forge.push("release/1")
    clone = forge.clone(tmp_path / "ci", "--single-branch", branch="release/1")
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    event = of_github("push", {"before": NOTHING, "after": head, "ref": "refs/heads/release/1"}, head)
    with pytest.raises(IncompleteHistory):
        judged(clone, event)


def test_a_replaced_tip_that_nobody_has_any_more_is_undecided(forge: Forge, tmp_path: Path) -> None:
    clone = forge.clone(tmp_path / "ci")
    head = clone.git("rev-parse", "HEAD")
    event = of_github("push", {"before": "d" * 40, "after": head, "ref": "refs/heads/main"}, head)
    with pytest.raises(IncompleteHistory):
        judged(clone, event)


def test_a_clone_cut_off_on_the_way_is_not_complete(proposed: tuple[Forge, str], tmp_path: Path) -> None:
    forge, head = proposed
    clone = forge.clone(tmp_path / "ci", "--depth=1", branch="change")
    base = forge.author.git("rev-parse", "main")
    clone.git("fetch", "-q", "--depth=1", "origin", base)
    with clone.neighbour() as git:
        assert not git_fetch.is_complete(git, base, head)
        git_fetch.bring_between(git, base, head)
        assert git_fetch.is_complete(git, base, head)


def test_an_event_file_that_is_no_json_is_undecided() -> None:
    given = {"GITHUB_EVENT_PATH": "event.json", "GITHUB_EVENT_NAME": "push"}
    with pytest.raises(Unreadable):
        event_of("github", given, lambda _: b"{")
    with pytest.raises(Unreadable):
        event_of("github", {}, lambda _: b"{}")
