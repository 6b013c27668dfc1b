"""The audit: what landed without approval, however it landed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from governance.errors import IncompleteHistory
from governance.review.audit import Audited, Standing, audit_history
from governance.review.audit_report import audit_report
from governance.verdict import Outcome, Report, Severity
from tests.support.repos import isolated
from tests.support.reviewed import NOW, PROMPT, SAMPLING, Reviewed, at, reviewed


def audited(repo: Reviewed, history: str = "HEAD", *, days: int = 0) -> Audited:
    base, dots, head = history.partition("..")
    git = repo.neighbour()
    before = git.resolve(base) if dots else None
    return audit_history(git, before, git.resolve(head or base), at(NOW + timedelta(days=days)))


def told(repo: Reviewed, history: str = "HEAD", *, days: int = 0) -> Report:
    return audit_report(audited(repo, history, days=days), history)


def codes(report: Report, severity: Severity | None = None) -> list[str]:
    return [one.code for one in report.findings if severity is None or one.severity is severity]


def test_the_first_policy_is_told_and_nothing_before_it_is_judged(tmp_path: Path) -> None:
    report = told(reviewed(tmp_path))
    assert report.outcome is Outcome.PASS
    assert any("first review policy came with" in note for note in report.notes)


def test_an_approved_change_is_clean(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.3)
    repo.git("add", "-A")
    repo.approve()
    repo.commit("warmer")
    report = told(repo)
    assert report.outcome is Outcome.PASS
    assert codes(report) == []


def test_a_change_without_approval_is_a_violation_with_commit_and_command(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.3)
    oid = repo.commit("warmer")
    report = told(repo)
    assert report.outcome is Outcome.BLOCK
    assert codes(report) == ["TL540"]
    assert oid[:12] in report.findings[0].message
    assert "temperature 0.2 → 0.3" in report.findings[0].message
    assert report.next == f"tierlock review approve sampling/factual --commit {oid[:12]}"


def test_a_change_that_was_put_back_is_found(tmp_path: Path) -> None:
    """The ends of the range are the same; what was between them shaped answers."""
    repo = reviewed(tmp_path)
    repo.hotter(0.9)
    repo.commit("urgent")
    repo.hotter(0.2)
    repo.commit("put back")
    report = told(repo, "HEAD~2..HEAD")
    assert codes(report) == ["TL540", "TL540"]


def test_a_late_approval_makes_good_and_stays_marked(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.3)
    oid = repo.commit("warmer")
    repo.approve(commit=oid)
    repo.commit("approve")
    repo.commit("more", {"README.md": "x\n"})
    report = told(repo)
    assert report.outcome is Outcome.PASS
    assert codes(report) == ["TL541"]
    assert "1 late" in report.summary


def test_an_approval_of_the_whole_way_makes_each_step_good(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.3)
    repo.commit("one")
    repo.hotter(0.4)
    repo.commit("two")
    repo.git("branch", "base", "HEAD~2")
    repo.approve(between="base..HEAD")
    repo.commit("approve")
    report = told(repo)
    assert report.outcome is Outcome.PASS
    assert codes(report) == ["TL541", "TL541"]


def test_a_merge_lands_what_it_brings_with_the_approval_in_its_tree(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.git("checkout", "-q", "-b", "side")
    repo.hotter(0.3)
    repo.commit("one")
    repo.hotter(0.4)
    repo.commit("two")
    repo.approve(between="main..side")
    repo.commit("approve")
    repo.git("checkout", "-q", "main")
    repo.commit("more", {"README.md": "x\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    found = audited(repo)
    assert [one.standing for one in found.landed] == [Standing.FIRST_POLICY, Standing.APPROVED]
    assert len(found.aside) == 1
    assert codes(audit_report(found, "HEAD")) == []


def test_a_merge_whose_value_is_in_neither_parent_is_a_violation(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.git("checkout", "-q", "-b", "side")
    repo.hotter(0.3)
    repo.git("add", "-A")
    repo.approve()
    repo.commit("approved")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "side")
    repo.hotter(0.9)
    repo.commit("evil merge")
    assert codes(told(repo)) == ["TL540"]


def test_a_merge_that_drops_an_approved_state_is_a_violation(tmp_path: Path) -> None:
    """Made the wrong way round and pushed as a fast-forward, the first parents never show the value."""
    repo = reviewed(tmp_path)
    repo.git("checkout", "-q", "-b", "old")
    repo.commit("work", {"README.md": "x\n"})
    repo.git("checkout", "-q", "main")
    repo.hotter(0.3)
    repo.git("add", "-A")
    repo.approve()
    approved = repo.commit("approved")
    repo.git("checkout", "-q", "old")
    repo.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "sync", "main")
    report = told(repo)
    assert codes(report, Severity.ERROR) == ["TL543"]
    since = told(repo, f"{approved}..HEAD")
    assert codes(since, Severity.ERROR) == ["TL540"]
    assert "TL546" in codes(since)


def test_a_merge_that_leaves_out_what_nobody_approved_is_no_violation(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.git("checkout", "-q", "-b", "side")
    repo.hotter(0.9)
    repo.commit("tried")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "leave it", "side")
    assert told(repo).outcome is Outcome.PASS


def test_an_approval_is_used_up_by_the_change_it_was_given_for(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    for value in (0.3, 0.2):
        repo.hotter(value)
        repo.git("add", "-A")
        repo.approve()
        repo.commit(str(value))
    repo.hotter(0.3)
    repo.commit("again")
    assert codes(told(repo), Severity.ERROR) == ["TL540"]


def test_a_comment_or_another_layout_needs_nothing(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.change(SAMPLING, "temperature: 0.2", "temperature: 0.20  # as measured")
    repo.commit("comment")
    assert told(repo).outcome is Outcome.PASS


def test_a_newline_in_a_prompt_needs_approval(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.change(PROMPT, "Never guess.\n", "Never guess.\n\n")
    repo.commit("newline")
    assert codes(told(repo)) == ["TL540"]


def test_the_policy_cannot_be_weakened_by_the_change_it_would_judge(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.change("tierlock.yaml", "sampling: {approvals: 1", "sampling: {approvals: 0")
    repo.hotter(0.9)
    repo.commit("both at once")
    assert sorted(one.path for one in told(repo).findings) == [SAMPLING, "tierlock.yaml"]


def test_taking_the_policy_away_does_not_free_what_follows(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    text = (repo.path / "tierlock.yaml").read_text()
    repo.commit("away", {"tierlock.yaml": text.partition("review:")[0]})
    repo.hotter(0.9)
    repo.commit("free")
    assert codes(told(repo)) == ["TL540", "TL540"]


def test_no_policy_anywhere_is_undecided(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    text = (repo.path / "tierlock.yaml").read_text()
    repo.git("checkout", "-q", "--orphan", "other")
    repo.commit("no policy", {"tierlock.yaml": text.partition("review:")[0]})
    assert told(repo).outcome is Outcome.UNDECIDED


def test_a_link_in_the_place_of_a_config_is_an_error_until_it_is_mended(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    text = (repo.path / SAMPLING).read_bytes()
    (repo.path / SAMPLING).unlink()
    (repo.path / SAMPLING).symlink_to("../../elsewhere.yaml")
    repo.commit("link")
    assert codes(told(repo)) == ["TL545"]
    (repo.path / SAMPLING).unlink()
    repo.commit("mended", {SAMPLING: text})
    report = told(repo)
    assert codes(report, Severity.WARNING) == ["TL545"]
    assert codes(report, Severity.ERROR) == ["TL540"]  # what it was mended to


def test_an_emergency_stays_open_until_a_regular_approval_and_is_overdue_in_time(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.9)
    repo.git("add", "-A")
    repo.approve(emergency=True)
    oid = repo.commit("outage")
    assert codes(told(repo), Severity.WARNING) == ["TL542"]
    assert told(repo).outcome is Outcome.PASS
    assert told(repo, days=4).outcome is Outcome.BLOCK
    repo.approve("reviewer-b", commit=oid)
    repo.commit("follow up")
    assert codes(told(repo, days=4)) == []


def test_an_emergency_approval_of_the_next_commit_is_late_and_owes_too(tmp_path: Path) -> None:
    """Change and approval are pushed together as two commits: the gate takes them, so the audit does."""
    repo = reviewed(tmp_path)
    repo.hotter(0.9)
    oid = repo.commit("outage")
    repo.approve(emergency=True, commit=oid)
    repo.commit("break the glass")
    report = told(repo)
    assert report.outcome is Outcome.PASS
    assert sorted(codes(report)) == ["TL541", "TL542"]


def test_whoever_broke_the_glass_does_not_follow_up(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.9)
    repo.git("add", "-A")
    repo.approve(emergency=True)
    oid = repo.commit("outage")
    repo.approve("reviewer-a", commit=oid)
    repo.commit("follow up")
    assert codes(told(repo)) == ["TL542"]


def test_a_withdrawal_after_the_landing_changes_nothing_that_landed(tmp_path: Path) -> None:
    """It lay in the tree of the commit that landed; taking it back later is a matter for a new change."""
    repo = reviewed(tmp_path)
    repo.hotter(0.3)
    repo.git("add", "-A")
    (record,) = repo.approve()
    repo.commit("warmer")
    repo.commit("withdrawn", {record.removesuffix(".json") + ".withdrawn.json": "{}\n"})
    assert told(repo).outcome is Outcome.PASS


def test_an_approval_by_the_author_does_not_count(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    repo.hotter(0.3)
    repo.git("add", "-A")
    repo.approve()
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "warmer", GIT_AUTHOR_EMAIL="reviewer-a@example.org")
    assert sorted(codes(told(repo))) == ["TL540", "TL544"]


def test_a_shallow_clone_is_undecided(tmp_path: Path) -> None:
    repo = reviewed(tmp_path / "origin")
    repo.hotter(0.9)
    repo.commit("landed")
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    clone = Reviewed(tmp_path / "clone", isolated())
    with pytest.raises(IncompleteHistory, match="shallow"):
        told(clone)


def test_an_empty_range_is_undecided(tmp_path: Path) -> None:
    assert told(reviewed(tmp_path), "HEAD..HEAD").outcome is Outcome.UNDECIDED


def test_a_governed_folder_inside_a_larger_repository(tmp_path: Path) -> None:
    from tests.support.repos import make_repo
    from tests.support.reviewed import files

    inner = {f"services/news/{path}": text for path, text in files().items()}
    repo = Reviewed(make_repo(tmp_path, files={**inner, "README.md": "x\n"}).path, isolated())
    repo.hotter(0.9, f"services/news/{SAMPLING}")
    repo.commit("hot")
    git = repo.neighbour()
    found = audit_history(git, None, git.resolve("HEAD"), at(), folder="services/news")
    assert [one.path for one in audit_report(found, "HEAD").findings] == [SAMPLING]
