"""The gate on real repositories with real signatures: the acceptance tests T2 to T5, landing by landing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from governance.errors import IncompleteHistory, TierlockError, Unreadable, Usage
from governance.review import landings, verbs
from governance.verdict import Outcome, Report
from tests.support.governed import BASE, FILES
from tests.support.repos import Repo, make_repo
from tests.support.reviewed import NOW, PROMPT, SAMPLING, Reviewed, at, files, reviewed

BENCH = at(NOW + timedelta(minutes=1))
ZERO = "0" * 40


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.fixture
def repo(tmp_path: Path) -> Reviewed:
    return reviewed(tmp_path / "repo")


def stage(repo: Repo) -> None:
    repo.git("add", "-A")


def index(repo: Reviewed, **more: bool) -> Report:
    return verbs.gate_index(repo.where, BENCH, **more)


def between(repo: Reviewed, text: str = "main..HEAD") -> Report:
    return verbs.gate_range(repo.where, BENCH, text)


def push(repo: Reviewed, *lines: str, remote: str = "") -> Report:
    return verbs.gate_push(repo.where, BENCH, "".join(f"{line}\n" for line in lines).encode(), remote=remote)


def branch(repo: Reviewed, name: str = "feature") -> None:
    repo.git("checkout", "-q", "-b", name)


class TestTheCommitBeingMade:
    def test_an_unapproved_change_on_a_protected_branch_is_blocked(self, repo: Reviewed) -> None:
        repo.hotter(0.9)
        stage(repo)
        report = index(repo)
        assert (report.outcome, codes(report)) == (Outcome.BLOCK, ["TL501"])
        (finding,) = report.findings
        assert (finding.path, finding.line) == (SAMPLING, 3)
        for told in ("1 approval from platform", "reviewer-a", "author-a made the change"):
            assert told in finding.message
        assert "tierlock review approve sampling/factual" in report.next

    def test_the_same_change_on_another_branch_is_told_what_it_will_need(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.PASS
        assert "will need 1 approval" in report.checks[0].detail

    @pytest.mark.parametrize(
        ("at_commit", "on", "outcome"),
        [
            ("always", "feature", Outcome.BLOCK),
            ("never", "main", Outcome.PASS),
            ("protected", "release/1", Outcome.BLOCK),
        ],
    )
    def test_the_policy_says_where_commits_are_stopped(
        self, tmp_path: Path, at_commit: str, on: str, outcome: Outcome
    ) -> None:
        repo = reviewed(tmp_path / "repo", at_commit=at_commit)
        repo.git("checkout", "-q", "-B", on)
        repo.hotter(0.9)
        stage(repo)
        assert index(repo).outcome is outcome

    def test_a_detached_head_is_judged_like_a_protected_branch(self, repo: Reviewed) -> None:
        """The commit can be pushed to any branch, and nobody would have been asked."""
        repo.git("checkout", "-q", "--detach")
        repo.hotter(0.9)
        stage(repo)
        assert index(repo).outcome is Outcome.BLOCK

    def test_while_a_branch_is_rebased_its_own_rule_holds(self, repo: Reviewed) -> None:
        repo.git("checkout", "-q", "-b", "feature")
        repo.commit("one", {"README.md": "a\n"})
        repo.git("checkout", "-q", "-b", "other", "main")
        repo.commit("two", {"README.md": "b\n"})
        with pytest.raises(AssertionError):
            repo.git("rebase", "feature")
        repo.hotter(0.9)
        stage(repo)
        assert index(repo).outcome is Outcome.PASS

    def test_nothing_staged_has_the_last_commit_judged(self, repo: Reviewed) -> None:
        """An amended message, or a run in CI, must not pass over a commit made with `--no-verify`."""
        repo.hotter(0.9)
        repo.commit("slipped through")
        assert index(repo).outcome is Outcome.BLOCK

    def test_an_approved_change_passes(self, repo: Reviewed) -> None:
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.PASS, report
        assert report.checks[0].detail == "1 of 1 approval: reviewer-a"

    def test_whoever_commits_is_an_author(self, repo: Reviewed) -> None:
        """git tells its hook who the author is; a commit made in the name of another has both."""
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        stage(repo)
        repo.environment |= {"GIT_COMMITTER_EMAIL": "reviewer-a@example.org"}
        report = index(repo)
        assert report.outcome is Outcome.BLOCK
        assert "reviewer-a made the change" in " ".join(one.message for one in report.findings)


class TestTheFirstPolicy:
    def test_the_first_commit_with_a_policy_is_bootstrap_and_says_so(self, tmp_path: Path) -> None:
        repo = Reviewed(make_repo(tmp_path / "new").path)
        repo.write(files())
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.PASS
        assert any("there was no policy before" in note for note in report.notes)

    def test_the_first_commit_without_a_policy_is_undecided(self, tmp_path: Path) -> None:
        repo = Reviewed(make_repo(tmp_path / "new").path)
        repo.write(FILES)
        stage(repo)
        report = index(repo)
        assert (report.outcome, codes(report)) == (Outcome.UNDECIDED, ["TL503"])
        assert "review:" in report.next

    def test_a_first_policy_on_top_of_history_is_undecided_until_it_is_asked_for(
        self, tmp_path: Path
    ) -> None:
        repo = Reviewed(make_repo(tmp_path / "old", files=FILES).path)
        repo.write(files())
        stage(repo)
        report = index(repo)
        assert (report.outcome, codes(report)) == (Outcome.UNDECIDED, ["TL508"])
        assert index(repo, bootstrap=True).outcome is Outcome.PASS

    def test_bootstrap_accepts_the_policy_and_nothing_beside_it(self, tmp_path: Path) -> None:
        repo = Reviewed(make_repo(tmp_path / "old", files=FILES).path)
        repo.write(files())
        repo.hotter(0.9)
        stage(repo)
        report = index(repo, bootstrap=True)
        assert (report.outcome, codes(report)) == (Outcome.BLOCK, ["TL501"])

    def test_bootstrap_does_not_set_aside_a_policy_that_is_there(self, repo: Reviewed) -> None:
        repo.change("tierlock.yaml", "sampling: {approvals: 1", "sampling: {approvals: 0")
        repo.hotter(0.9)
        stage(repo)
        report = index(repo, bootstrap=True)
        assert report.outcome is Outcome.BLOCK
        assert codes(report) == ["TL501", "TL501"]

    def test_a_policy_that_cannot_be_read_is_undecided_and_can_be_mended(self, repo: Reviewed) -> None:
        good = (repo.path / "tierlock.yaml").read_text()
        repo.commit("broken", {"tierlock.yaml": good + "reviev: 1\n"})
        repo.write({"tierlock.yaml": good})
        stage(repo)
        report = index(repo)
        assert (report.outcome, codes(report)) == (Outcome.UNDECIDED, ["TL504"])


class TestThePolicyOfTheBase:
    """T4: a change cannot judge itself by rules that it brings along."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("sampling: {approvals: 1", "sampling: {approvals: 0"),
            ("roles: {platform: [author-a, ", "roles: {platform: ["),
            ('protected: [main, "release/*"]', "protected: []"),
            ("policy: {approvals: 1", "policy: {approvals: 0"),
        ],
    )
    def test_a_weaker_policy_is_judged_by_the_old_one(self, repo: Reviewed, before: str, after: str) -> None:
        repo.change("tierlock.yaml", before, after)
        repo.hotter(0.9)
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.BLOCK
        assert {"TL501"} == set(codes(report))
        assert len(report.findings) == 2
        note = next(each for each in report.notes if "judged by policy" in each)
        assert "the change brings" in note

    def test_taking_the_policy_away_is_a_change_of_it(self, repo: Reviewed) -> None:
        repo.write({"tierlock.yaml": FILES["tierlock.yaml"]})
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.BLOCK
        assert any("takes the policy away" in note for note in report.notes)

    def test_making_oneself_an_approver_in_the_same_change_does_not_count(self, repo: Reviewed) -> None:
        text = (repo.path / "tierlock.yaml").read_text()
        from tests.support.reviewed import public_key

        entry = f'  people:\n    outsider-a: {{keys: ["{public_key("outsider-a")}"]}}\n'
        text = text.replace("  people:\n", entry).replace("[author-a,", "[outsider-a, author-a,")
        repo.write({"tierlock.yaml": text})
        stage(repo)
        with pytest.raises(AssertionError, match="outsider-a is nobody in the policy in force"):
            repo.approve("outsider-a")
        assert index(repo).outcome is Outcome.BLOCK

    def test_both_digests_are_in_the_record(self, repo: Reviewed) -> None:
        repo.change("tierlock.yaml", "sampling: {approvals: 1", "sampling: {approvals: 0")
        stage(repo)
        (landing,) = index(repo).run["landings"]
        assert len(landing["policy"]) == len(landing["policy_of_change"]) == 64
        assert landing["policy"] != landing["policy_of_change"]


class TestOneApprovalForOnePair:
    """T3: what was approved is what lands, once, by somebody else."""

    def test_an_approval_does_not_cover_another_config(self, repo: Reviewed) -> None:
        repo.hotter(0.9)
        repo.change(PROMPT, "briefly", "at length")
        stage(repo)
        repo.approve("reviewer-a", names=["sampling/factual"])
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.BLOCK
        assert [finding.path for finding in report.findings] == ["configs/prompts/summarize.yaml"]

    def test_an_approval_does_not_cover_what_is_changed_after_it(self, repo: Reviewed) -> None:
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.hotter(0.91)
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.BLOCK
        assert sorted(codes(report)) == ["TL501", "TL502"]

    def test_an_approval_is_not_good_again_after_a_revert(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.git("merge", "-q", "--no-ff", "--no-edit", "feature")
        repo.hotter(0.2)
        stage(repo)
        assert index(repo).outcome is Outcome.BLOCK
        repo.approve("reviewer-a")
        repo.commit("back")
        repo.hotter(0.9)
        stage(repo)
        report = index(repo)
        assert report.outcome is Outcome.BLOCK
        assert "TL502" in codes(report)

    def test_a_readme_does_not_void_an_approval(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("hotter")
        repo.commit("words", {"README.md": "more"})
        repo.git("checkout", "-q", "main")
        repo.commit("other", {"NOTES.md": "x"})
        assert between(repo, "main..feature").outcome is Outcome.PASS

    def test_two_approvals_are_two_people(self, tmp_path: Path) -> None:
        repo = reviewed(tmp_path / "repo", sampling="{approvals: 2, from: [platform]}")
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        stage(repo)
        (landing,) = index(repo).run["landings"]
        assert landing["changes"][0]["missing"] == 1
        repo.approve("reviewer-b")
        stage(repo)
        assert index(repo).outcome is Outcome.PASS

    def test_a_policy_that_nobody_can_satisfy_is_told_so(self, tmp_path: Path) -> None:
        repo = reviewed(tmp_path / "repo", sampling="{approvals: 3, from: [platform]}")
        repo.hotter(0.9)
        stage(repo)
        assert codes(index(repo)) == ["TL506"]

    def test_an_output_change_can_need_more(self, tmp_path: Path) -> None:
        repo = reviewed(tmp_path / "repo", sampling="{approvals: 1, from: [platform], on_output_change: 2}")
        repo.hotter(0.9)
        stage(repo)
        assert "raises 1 to 2" in index(repo).findings[0].message


class TestARange:
    def test_what_a_branch_brings_is_judged_against_the_merge_base(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        repo.commit("hotter")
        assert between(repo).outcome is Outcome.BLOCK
        repo.approve("reviewer-a", between="main..HEAD")
        repo.commit("approved")
        assert between(repo).outcome is Outcome.PASS

    def test_what_will_land_is_judged_too(self, repo: Reviewed) -> None:
        """Both sides change one file in different places: what lands is a third value nobody has seen."""
        branch(repo)
        repo.change(SAMPLING, "stop_token_ids: [2, 32007, 32000]", "stop_token_ids: [2]")
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("fewer stops")
        assert between(repo).outcome is Outcome.PASS
        repo.git("checkout", "-q", "main")
        repo.change(SAMPLING, "kind: sampling\n", "kind: sampling\nmin_p: 0.1\n")
        repo.commit("meanwhile")
        report = between(repo, "main..feature")
        assert report.outcome is Outcome.BLOCK
        (landing,) = report.run["landings"]
        assert sorted(each["missing"] for each in landing["changes"]) == [0, 1]
        assert not list((repo.path / ".git/objects").glob("tierlock*"))

    def test_a_conflict_is_undecided_with_the_way_out(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.hotter(0.4)
        repo.commit("warmer")
        with pytest.raises(Unreadable, match="in conflict") as caught:
            between(repo, "main..feature")
        assert caught.value.hint.startswith("git merge main")

    def test_the_policy_is_the_one_of_the_base_as_it_is_now(self, repo: Reviewed) -> None:
        """A branch that forked before the policy became stricter does not keep the old one."""
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.change("tierlock.yaml", "sampling: {approvals: 1", "sampling: {approvals: 2")
        repo.commit("stricter")
        report = between(repo, "main..feature")
        assert report.outcome is Outcome.BLOCK
        assert report.run["landings"][0]["changes"][0]["needs"] == 2

    @pytest.mark.parametrize("text", ["main..main", "main..HEAD", "feature..main"])
    def test_an_empty_range_is_undecided(self, repo: Reviewed, text: str) -> None:
        repo.git("branch", "feature")
        with pytest.raises(Unreadable, match="is empty"):
            between(repo, text)

    @pytest.mark.parametrize("text", ["main", "a..b..c"])
    def test_what_is_no_range_is_a_wrong_command_line(self, repo: Reviewed, text: str) -> None:
        with pytest.raises(Usage):
            between(repo, text)

    def test_a_shallow_clone_without_the_merge_base_is_undecided(
        self, repo: Reviewed, tmp_path: Path
    ) -> None:
        branch(repo)
        repo.hotter(0.9)
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.commit("on", {"x": "1"})
        url = f"file://{repo.path}"
        repo.git("clone", "-q", "--depth=1", "--no-single-branch", url, str(tmp_path / "shallow"))
        clone = Reviewed(tmp_path / "shallow")
        with pytest.raises(IncompleteHistory, match="shallow") as caught:
            between(clone, "origin/main..origin/feature")
        assert "git fetch --unshallow" in caught.value.hint

    def test_a_base_that_is_not_here_is_undecided(self, repo: Reviewed) -> None:
        with pytest.raises(TierlockError) as caught:
            between(repo, f"{'1' * 40}..HEAD")
        assert caught.value.exit_code == 3

    def test_a_co_author_may_not_approve(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        repo.commit("hotter\n\nCo-authored-by: R <Reviewer-A@example.org>")
        assert "reviewer-a" in between(repo).findings[0].message
        with pytest.raises(AssertionError, match="nobody approves their own"):
            repo.approve("reviewer-a", between="main..HEAD")

    def test_an_author_who_is_nobody_in_the_policy_is_told(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.git("commit", "-q", "-m", "hotter", GIT_AUTHOR_EMAIL="stranger@example.org")
        assert "TL507" in codes(between(repo))

    def test_an_unprotected_target_is_told_and_not_stopped(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        repo.commit("hotter")
        where = repo.where
        assert verbs.gate_range(where, BENCH, "main..HEAD", ref="refs/heads/wip").outcome is Outcome.PASS
        assert verbs.gate_range(where, BENCH, "main..HEAD", ref="refs/heads/main").outcome is Outcome.BLOCK


class TestMerges:
    def test_a_merge_of_what_was_approved_passes(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.commit("on", {"x": "1"})
        repo.git("merge", "-q", "--no-commit", "--no-ff", "feature")
        assert index(repo).outcome is Outcome.PASS
        repo.git("commit", "-q", "-m", "merge")
        assert verbs.gate_commit(repo.where, BENCH, "HEAD").outcome is Outcome.PASS

    def test_whoever_merges_is_no_author_of_what_the_merge_brings(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.environment |= {
            "GIT_COMMITTER_EMAIL": "reviewer-a@example.org",
            "GIT_AUTHOR_EMAIL": "reviewer-a@example.org",
        }
        repo.git("merge", "-q", "--no-commit", "--no-ff", "feature")
        assert index(repo).outcome is Outcome.PASS

    def test_a_value_that_is_in_neither_parent_needs_its_own_approval(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        stage(repo)
        repo.approve("reviewer-a")
        repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        repo.git("merge", "-q", "--no-commit", "--no-ff", "feature")
        repo.hotter(1.5)
        stage(repo)
        assert index(repo).outcome is Outcome.BLOCK
        repo.git("commit", "-q", "-m", "evil")
        assert verbs.gate_commit(repo.where, BENCH, "HEAD").outcome is Outcome.BLOCK


class TestAPush:
    def test_every_ref_is_judged(self, repo: Reviewed) -> None:
        first = repo.git("rev-parse", "HEAD")
        branch(repo)
        good = repo.commit("words", {"README.md": "x"})
        repo.hotter(0.9)
        bad = repo.commit("hotter")
        report = push(
            repo,
            f"refs/heads/feature {bad} refs/heads/feature {first}",
            f"refs/heads/feature {good} refs/heads/release/1 {first}",
            f"refs/heads/feature {bad} refs/heads/main {first}",
        )
        assert report.outcome is Outcome.BLOCK
        assert [(one["ref"], one["enforced"]) for one in report.run["landings"]] == [
            ("refs/heads/feature", False),
            ("refs/heads/release/1", True),
            ("refs/heads/main", True),
        ]

    def test_an_unprotected_branch_may_be_pushed(self, repo: Reviewed) -> None:
        first = repo.git("rev-parse", "HEAD")
        branch(repo)
        repo.hotter(0.9)
        bad = repo.commit("hotter")
        assert push(repo, f"{first} {bad} refs/heads/feature").outcome is Outcome.PASS

    def test_a_new_protected_branch_at_an_old_commit_is_judged(self, repo: Reviewed) -> None:
        """Promotion: nothing but a name is pushed, and what it names was never approved."""
        branch(repo)
        repo.hotter(0.9)
        bad = repo.commit("hotter")
        assert push(repo, f"{ZERO} {bad} refs/heads/release/1").outcome is Outcome.BLOCK
        good = repo.git("rev-parse", "main")
        assert push(repo, f"{ZERO} {good} refs/heads/release/1").outcome is Outcome.PASS

    @pytest.mark.parametrize("known", [True, False])
    def test_a_deletion_of_what_is_not_here_is_not_taken_for_harmless(
        self, repo: Reviewed, known: bool
    ) -> None:
        """The branch moved on the other side: its policy is the one last seen, or there is none to ask."""
        if known:
            repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
        report = push(repo, f"(delete) {ZERO} refs/heads/main {'d' * 40}", remote="origin")
        assert report.outcome is (Outcome.BLOCK if known else Outcome.UNDECIDED)
        assert codes(report) == (["TL505"] if known else [])

    def test_deleting_a_protected_branch_is_a_violation(self, repo: Reviewed) -> None:
        tip = repo.git("rev-parse", "HEAD")
        report = push(repo, f"{tip} {ZERO} refs/heads/main")
        assert (report.outcome, codes(report)) == (Outcome.BLOCK, ["TL505"])
        assert push(repo, f"{tip} {ZERO} refs/heads/wip").outcome is Outcome.PASS

    def test_replacing_the_history_of_a_protected_branch_is_a_violation(self, repo: Reviewed) -> None:
        old = repo.commit("words", {"README.md": "x"})
        repo.git("reset", "-q", "--hard", "HEAD~1")
        new = repo.commit("others", {"NOTES.md": "x"})
        report = push(repo, f"{old} {new} refs/heads/main")
        assert (report.outcome, codes(report)) == (Outcome.BLOCK, ["TL509"])

    def test_a_tip_that_is_not_here_is_undecided_with_the_command(self, repo: Reviewed) -> None:
        new = repo.git("rev-parse", "HEAD")
        report = push(repo, f"refs/heads/main {new} refs/heads/main {'1' * 40}", remote="origin")
        assert report.outcome is Outcome.UNDECIDED
        assert report.next == "git fetch origin main"

    def test_one_ref_that_cannot_be_judged_does_not_hide_a_bad_one(self, repo: Reviewed) -> None:
        first = repo.git("rev-parse", "HEAD")
        repo.hotter(0.9)
        bad = repo.commit("hotter")
        report = push(repo, f"{'1' * 40} {bad} refs/heads/release/1", f"{first} {bad} refs/heads/main")
        assert report.outcome is Outcome.BLOCK

    def test_the_pushed_commit_is_read_and_not_what_is_checked_out(self, repo: Reviewed) -> None:
        first = repo.git("rev-parse", "HEAD")
        branch(repo)
        repo.hotter(0.9)
        bad = repo.commit("hotter")
        repo.git("checkout", "-q", "main")
        assert push(repo, f"{first} {bad} refs/heads/main").outcome is Outcome.BLOCK

    @pytest.mark.parametrize("line", ["rubbish", "a b c", f"{ZERO} {ZERO}", "x refs/heads/main y z"])
    def test_a_line_that_git_does_not_write_is_undecided(self, repo: Reviewed, line: str) -> None:
        with pytest.raises(Unreadable, match="no line of a push"):
            push(repo, line)

    def test_the_first_push_of_a_repository_is_bootstrap(self, repo: Reviewed) -> None:
        repo.git("branch", "-m", "trunk")
        oid = repo.git("rev-parse", "HEAD")
        report = push(repo, f"refs/heads/trunk {oid} refs/heads/main {ZERO}", remote="origin")
        assert report.outcome is Outcome.PASS
        assert any("there was no policy before" in note for note in report.notes)


class TestStatusAndSimulate:
    def test_status_says_what_is_missing_from_whom(self, repo: Reviewed) -> None:
        branch(repo)
        repo.hotter(0.9)
        repo.commit("hotter")
        repo.change("configs/base/qwen.yaml", "0.7.3", "0.8.2")
        stage(repo)
        report = verbs.status(repo.where, BENCH)
        assert report.outcome is Outcome.BLOCK
        missing = {each["subject"]: each["missing"] for each in report.run["landings"][0]["changes"]}
        assert missing == {"config:sampling/factual": 1, "config:base/qwen": 2}
        assert "tierlock review approve base/qwen sampling/factual" in report.next

    def test_simulate_asks_nobody_and_stops_nothing(self, repo: Reviewed) -> None:
        from governance.adapters.files import WorkTree

        repo.write({"configs/base/qwen.yaml": BASE.replace("0.7.3", "0.8.2")})
        report = verbs.simulate(repo.where, BENCH, WorkTree(repo.path), author="reviewer-b")
        assert report.outcome is Outcome.PASS
        (change,) = report.run["landings"][0]["changes"]
        assert (change["needs"], change["people"]) == (2, ["author-a", "reviewer-a"])

    def test_simulating_as_nobody_is_refused(self, repo: Reviewed) -> None:
        from governance.adapters.files import WorkTree

        with pytest.raises(Unreadable, match="is nobody in the policy"):
            verbs.simulate(repo.where, BENCH, WorkTree(repo.path), author="x")


def test_a_judge_that_cannot_judge_leaves_the_change_undecided(repo: Reviewed) -> None:
    """No ssh-keygen is no reason to call a change unapproved, and none to let it pass."""
    from governance.errors import MissingTool
    from governance.review import approval

    def verify(*_: object) -> bool:
        raise MissingTool("`ssh-keygen` is not installed")

    repo.hotter(0.9)
    stage(repo)
    repo.approve("reviewer-a")
    stage(repo)
    bench = replace(BENCH, judge=lambda *given: approval.judge(*given, verify))
    report = verbs.gate_index(repo.where, bench)
    assert report.outcome is Outcome.UNDECIDED


def test_a_change_without_a_verdict_is_never_a_pass(repo: Reviewed) -> None:
    """T5: nothing judged is undecided."""
    assert Report("review gate").outcome is Outcome.UNDECIDED
    assert landings.parse_push(b"") == []
