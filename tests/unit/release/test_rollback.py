"""A rollback as a whole: what it refuses, what it does, and what it says when something is not right."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from governance.adapters.audit import Audited, Vulnerability
from governance.adapters.files import WorkTree, write_all
from governance.adapters.locks import held
from governance.errors import NewerFormat, Unreachable, Unreadable, Usage
from governance.fingerprint.services import fingerprint_of
from governance.release import journal as journals
from governance.release.deploy.model import Replica, Target
from governance.release.deploy.target import state_folder
from governance.release.drill import Drilled, remember
from governance.release.holds import read_holds
from governance.release.pointing import Terms as PointingTerms
from governance.release.pointing import revoke_golden
from governance.release.record import Override, Record, dump, latest, list_records
from governance.release.rollback import How, abort, rollback
from governance.release.sides import Place
from governance.release.verifying import verify
from governance.review.audit import Standing, audit_history
from governance.review.audit_report import audit_report
from governance.tiers.naming import TIERS
from governance.values import Unknown
from governance.verdict import Outcome, Report
from tests.support.completions_server import CompletionsServer, Say, serving
from tests.support.drilled import world as drilled
from tests.support.governed import place
from tests.support.released import SERVICE, cutting, prove, released, stamp
from tests.support.repos import Repo, isolated
from tests.support.reviewed import at as reviewed_at
from tests.support.reviewed import policy
from tests.support.rollbacks import (
    ADDED,
    BASE_FILE,
    NOW,
    SAMPLING,
    SYSTEM,
    FakeDriver,
    audited,
    golden,
    repository,
    right,
    terms,
    world,
    wrong,
)


class Scene(NamedTuple):
    """A service that runs its second release, and is to go back to its first."""

    repo: Repo
    first: Record
    second: Record
    driver: FakeDriver
    server: CompletionsServer

    def back(self, how: How | None = None, **more: Any) -> Report:
        said = {key: more.pop(key) for key in ("to", "accepted", "reason") if key in more}
        return rollback(place(self.repo), terms(**said), world(self.driver, **more), how)

    @property
    def folder(self) -> Path:
        return state_folder(place(self.repo), SERVICE)

    def fold(self) -> object:
        found = place(self.repo).state("HEAD").service(SERVICE)
        assert found is not None
        return fingerprint_of(found).only(TIERS).fold()

    def unchanged(self) -> Any:
        return (
            self.repo.git("rev-parse", "HEAD"),
            self.repo.git("status", "--porcelain", "-uall"),
            self.driver.now(),
        )


@pytest.fixture(scope="module")
def answering() -> Iterator[CompletionsServer]:
    with serving(right) as server:
        yield server


@pytest.fixture(scope="module")
def made(answering: CompletionsServer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("made") / "repo"
    return path, *repository(path, answering.url)


@pytest.fixture
def scene(made: Any, answering: CompletionsServer, tmp_path: Path) -> Scene:
    path, _, first, second = made
    shutil.copytree(path, tmp_path / "repo", symlinks=True)
    driver = FakeDriver(tmp_path / "runtime")
    driver.start(second.fingerprint, "v2", 4096, at=NOW.timestamp() - 3600)
    return Scene(Repo(tmp_path / "repo"), first, second, driver, answering)


def outcomes(report: Report) -> dict[str, Outcome]:
    return {check.name: check.outcome for check in report.checks}


def detail(report: Report, name: str) -> str:
    return next(check.detail for check in report.checks if check.name == name)


def test_one_command_brings_files_server_and_records_back(scene: Scene) -> None:
    report = scene.back()
    assert report.outcome is Outcome.PASS, report
    assert scene.fold() == scene.first.fingerprint
    assert scene.driver.now()["fingerprint"] == scene.first.fingerprint
    assert scene.repo.git("status", "--porcelain", "-uall") == ""
    assert report.summary.startswith("rolled back: summarizer runs golden v1, observed 00:00:")
    made = latest(WorkTree(scene.repo.path), SERVICE)
    assert made is not None
    assert (made.id, made.restores, made.rejected) == ("v3", "v1", scene.second.fingerprint)
    assert {check.outcome for check in verify(made, place(scene.repo))} == {Outcome.PASS}
    held = read_holds(WorkTree(scene.repo.path), SERVICE).standing
    assert [(one.fingerprint, one.release, one.restored) for one in held] == [
        (scene.second.fingerprint, "v2", "v1")
    ]
    assert not (scene.folder / journals.FILE).exists()


def vulnerable(pins: Any, service: str, url: str) -> Any:
    return tuple(Audited(name, version, (Vulnerability("PYSEC-2026-1"),)) for name, version in pins)


def skipped(pins: Any, service: str, url: str) -> Any:
    return tuple(Audited(name, version, skipped="not found on PyPI") for name, version in pins)


def gone(model: str, revision: str) -> str:
    raise Unreachable(f"the hub has no {model}")


@pytest.mark.parametrize(
    ("given", "name", "outcome"),
    [
        ({"audit": vulnerable}, "packages", Outcome.BLOCK),
        ({"audit": lambda pins, service, url: Unknown("it does not answer")}, "packages", Outcome.UNDECIDED),
        ({"hub": gone}, "weights", Outcome.UNDECIDED),
    ],
)
def test_a_drill_that_does_not_pass_refuses_before_anything_is_written(
    scene: Scene, given: dict[str, Any], name: str, outcome: Outcome
) -> None:
    before = scene.unchanged()
    report = scene.back(drilled=drilled(**({"hub": lambda m, r: r, "audit": audited} | given)))
    assert (report.outcome, outcomes(report)[name]) == (outcome, outcome)
    assert report.summary.endswith("; nothing was written")
    assert scene.unchanged() == before
    assert not (scene.folder / journals.FILE).exists()


def test_packages_nobody_could_audit_refuse_where_the_policy_says_so(scene: Scene) -> None:
    text = (scene.repo.path / "tierlock.yaml").read_text()
    scene.repo.commit("strict", {"tierlock.yaml": text + "release: {packages: {unaudited: block}}\n"})
    before = scene.unchanged()
    report = scene.back(drilled=drilled(hub=lambda m, r: r, audit=skipped))
    assert (report.outcome, outcomes(report)["packages"]) == (Outcome.BLOCK, Outcome.BLOCK)
    assert "not audited" in detail(report, "packages")
    assert report.next.startswith('tierlock rollback summarizer --accept packages="why"')
    assert scene.unchanged() == before


def test_what_a_person_accepts_is_recorded_with_who_and_why(scene: Scene) -> None:
    said = {"packages": "it is behind a proxy"}
    report = scene.back(accepted=said, drilled=drilled(hub=lambda m, r: r, audit=vulnerable))
    assert report.outcome is Outcome.PASS
    made = latest(WorkTree(scene.repo.path), SERVICE)
    assert made is not None
    assert made.overrides == (Override("packages", "it is behind a proxy", "on-call-a"),)


@pytest.mark.parametrize("name", ["record", "golden", "commit", "repository", "images"])
def test_what_says_whether_the_release_is_true_cannot_be_accepted(scene: Scene, name: str) -> None:
    with pytest.raises(Usage, match=f"`{name}` cannot be accepted"):
        scene.back(accepted={name: "because"})


def test_one_altered_byte_of_the_record_refuses(scene: Scene) -> None:
    file = scene.repo.path / ".tierlock/releases/summarizer/v1.json"
    file.write_bytes(file.read_bytes().replace(b"author-a", b"author-b", 1))
    before = scene.unchanged()
    report = scene.back()
    assert (report.outcome, "it was edited" in report.summary) == (Outcome.BLOCK, True)
    assert scene.unchanged() == before


def test_a_record_altered_and_digested_again_is_not_the_one_that_was_made_golden(scene: Scene) -> None:
    path = scene.repo.path / ".tierlock/releases/summarizer/v1.json"
    path.write_bytes(dump(replace(scene.first, reason="another")))
    report = scene.back()
    assert (report.outcome, outcomes(report)["golden"]) == (Outcome.BLOCK, Outcome.BLOCK)


def test_a_revoked_golden_is_not_gone_back_to(scene: Scene) -> None:
    done = revoke_golden(
        place(scene.repo), SERVICE, "v1", PointingTerms("author-a", stamp(NOW), "it invents")
    )
    write_all(scene.repo.path, done.files)
    scene.repo.commit("revoked")
    before = scene.unchanged()
    report = scene.back()
    assert (report.outcome, "it invents" in report.summary) == (Outcome.BLOCK, True)
    assert (report.next, scene.unchanged()) == ("tierlock golden show summarizer", before)


def test_a_service_without_golden_and_a_name_that_is_none_are_told(scene: Scene) -> None:
    with pytest.raises(Unreadable, match="`other` has no golden release"):
        rollback(place(scene.repo), terms(service="other"), world(scene.driver))
    with pytest.raises(Usage, match="is no name of a service"):
        rollback(place(scene.repo), terms(service="../../elsewhere"), world(scene.driver))
    with pytest.raises(Usage, match="has no release `v9`"):
        scene.back(to="v9")


def test_a_dry_run_tells_the_gate_and_the_plan_and_writes_nothing(scene: Scene) -> None:
    before = scene.unchanged()
    report = scene.back(How(dry_run=True))
    assert report.outcome is Outcome.PASS
    assert {(one.layer, one.key) for one in report.changes} >= {
        ("base", "engine.options.max_model_len"),
        ("sampling", "temperature"),
        ("prompts", "system"),
    }
    told = "\n".join(report.notes)
    assert all(path in told for path in (BASE_FILE, SAMPLING, SYSTEM))
    assert "README" not in told
    assert "fake       start   v1" in told
    assert scene.unchanged() == before
    assert not scene.folder.exists()


def test_edits_that_would_be_lost_refuse_with_the_command_that_saves_them(scene: Scene) -> None:
    scene.repo.write({SAMPLING: "kind: sampling\ntemperature: 0.1\n"})
    before = scene.unchanged()
    report = scene.back()
    assert (report.outcome, outcomes(report)["repository"]) == (Outcome.BLOCK, Outcome.BLOCK)
    assert scene.unchanged() == before
    assert report.next.startswith("git stash push")
    scene.repo.git(*shlex.split(report.next)[1:])
    assert scene.back().outcome is Outcome.PASS
    assert "+temperature: 0.1" in scene.repo.git("stash", "show", "-p")


def test_everything_else_a_person_has_staged_edited_or_not_added_is_left_alone(scene: Scene) -> None:
    scene.repo.write({"README.md": "staged\n", "staged.txt": "new\n"})
    scene.repo.git("add", "README.md", "staged.txt")
    scene.repo.write({"README.md": "edited after\n", "untracked.txt": "mine\n"})
    before = scene.repo.git("status", "--porcelain", "-uall")
    assert scene.back().outcome is Outcome.PASS
    assert scene.repo.git("status", "--porcelain", "-uall") == before
    assert scene.repo.git("show", ":README.md") == "staged"
    assert (scene.repo.path / "README.md").read_text() == "edited after\n"
    assert "README.md" not in scene.repo.git("log", "-2", "--name-only", "--format=")


def test_a_file_that_the_release_did_not_have_goes_and_one_it_had_comes_back(scene: Scene) -> None:
    (scene.repo.path / SYSTEM).unlink()
    scene.repo.commit(
        "move", {ADDED: "later\n", "configs/prompts/summarize.yaml": "kind: prompts\nsystem: {text: Hi}\n"}
    )
    assert scene.back().outcome is Outcome.PASS
    assert not (scene.repo.path / ADDED).exists()
    assert (scene.repo.path / SYSTEM).read_text().startswith("You answer briefly.")
    assert scene.fold() == scene.first.fingerprint


@pytest.mark.parametrize(
    ("break_", "said"),
    [
        (lambda repo: repo.git("switch", "-q", "--detach"), "HEAD is detached"),
        (
            lambda repo: (repo.path / ".git/MERGE_HEAD").write_text(repo.git("rev-parse", "HEAD") + "\n"),
            "merge",
        ),
    ],
)
def test_a_repository_in_which_no_commit_can_be_made_refuses(scene: Scene, break_: Any, said: str) -> None:
    break_(scene.repo)
    report = scene.back()
    assert (report.outcome, said in report.summary) == (Outcome.UNDECIDED, True)


def test_without_a_name_to_commit_under_nothing_is_begun(scene: Scene) -> None:
    plain = {
        name: value for name, value in isolated().items() if not name.startswith(("GIT_AUTHOR", "GIT_COMM"))
    }
    scene.repo.git("config", "user.useConfigOnly", "true")
    at = Place(scene.repo.path, here=scene.repo.path, environ=plain)
    report = rollback(at, terms(), world(scene.driver))
    assert report.outcome is Outcome.UNDECIDED
    assert "git config user.name" in report.next


def test_a_head_whose_configs_do_not_load_is_left_all_the_same(scene: Scene) -> None:
    scene.repo.commit("broken", {SAMPLING: "kind: sampling\ntemprature: 1\n"})
    report = scene.back()
    assert report.outcome is Outcome.PASS
    assert scene.fold() == scene.first.fingerprint


def test_a_failing_smoke_eval_says_where_things_are_and_finishes_once_it_passes(scene: Scene) -> None:
    with serving(wrong) as bad:
        scene.repo.commit("address", {"tierlock.yaml": at_address(scene, bad.url)})
        report = scene.back()
    assert (report.outcome, outcomes(report)["smoke"]) == (Outcome.BLOCK, Outcome.BLOCK)
    assert outcomes(report)["observe"] is Outcome.PASS
    assert any(note.startswith("  live       v1, read back equal") for note in report.notes)
    assert report.next.startswith("tierlock rollback summarizer --to RELEASE")
    assert [one.id for one in list_records(WorkTree(scene.repo.path), SERVICE)] == ["v1", "v2"]
    assert not read_holds(WorkTree(scene.repo.path), SERVICE).standing
    scene.repo.commit("address again", {"tierlock.yaml": at_address(scene, scene.server.url)})
    started = scene.driver.now()["started_at"]
    report = scene.back()
    assert report.outcome is Outcome.PASS, report
    assert scene.driver.now()["started_at"] == started, (
        "what is deployed and as released is not started again"
    )
    assert [one.id for one in list_records(WorkTree(scene.repo.path), SERVICE)] == ["v1", "v2", "v3"]


def test_a_smoke_eval_that_cannot_tell_neither_passes_nor_goes_back_by_itself(scene: Scene) -> None:
    with serving(lambda number, body: Say(status=500)) as out:
        scene.repo.commit("address", {"tierlock.yaml": at_address(scene, out.url)})
        report = scene.back()
        assert (report.outcome, outcomes(report)["smoke"]) == (Outcome.UNDECIDED, Outcome.UNDECIDED)
        assert "not evaluated" in detail(report, "smoke")
        assert scene.fold() == scene.first.fingerprint
        assert report.next == "tierlock rollback summarizer"
        report = scene.back(accepted={"smoke": "the gateway is down, traffic is off"})
    assert report.outcome is Outcome.PASS
    made = latest(WorkTree(scene.repo.path), SERVICE)
    assert made is not None
    assert Override("smoke", "the gateway is down, traffic is off", "on-call-a") in made.overrides
    assert {check.outcome for check in verify(made, place(scene.repo))} <= {Outcome.PASS}


def test_a_server_that_cannot_be_started_is_restored_on_disk_and_not_live(scene: Scene) -> None:
    broken = replace(scene.driver, fails="the port is taken")
    report = scene._replace(driver=broken).back()
    assert (report.outcome, outcomes(report)["deploy"]) == (Outcome.BLOCK, Outcome.BLOCK)
    assert detail(report, "deploy") == "restored on disk, not live: the port is taken"
    assert report.next == "tierlock rollback summarizer"
    with pytest.raises(Usage):
        scene.back(to="v9")
    report = scene.back()
    assert (report.outcome, scene.driver.now()["release"]) == (Outcome.PASS, "v1")


def test_a_runtime_that_goes_on_with_the_old_server_is_no_success(scene: Scene) -> None:
    class Stuck(FakeDriver):
        def deploy(self, target: Target) -> None:
            """It says nothing and does nothing."""

    report = scene._replace(driver=Stuck(scene.driver.folder)).back()
    assert (report.outcome, outcomes(report)["observe"]) == (Outcome.BLOCK, Outcome.BLOCK)
    told = detail(report, "observe")
    assert told.startswith("restored on disk, not live: engine.options.max_model_len is 4096, v1 has 8192")
    assert outcomes(report)["smoke"] is Outcome.UNDECIDED
    assert not read_holds(WorkTree(scene.repo.path), SERVICE).standing


def test_a_runtime_that_cannot_be_looked_into_is_undecided_until_a_person_accepts_it(scene: Scene) -> None:
    blind = scene._replace(driver=replace(scene.driver, blind="no access to the runtime"))
    report = blind.back()
    assert (report.outcome, outcomes(report)["observe"]) == (Outcome.UNDECIDED, Outcome.UNDECIDED)
    report = blind.back(accepted={"observe": "seen in the console of the provider"})
    assert report.outcome is Outcome.PASS


def test_a_server_that_alone_has_drifted_is_replaced_without_touching_a_file(scene: Scene) -> None:
    assert scene.back().outcome is Outcome.PASS
    scene.driver.start("", "by hand", 2048, at=NOW.timestamp())
    tip = scene.repo.git("rev-parse", "HEAD")
    report = scene.back()
    assert (report.outcome, detail(report, "restore")) == (
        Outcome.PASS,
        "no file had to move: HEAD has the configs of v1",
    )
    assert scene.driver.now()["release"] == "v1"
    assert scene.repo.git("rev-parse", "HEAD~1") == tip, "one commit: the record"
    assert "nothing is held" in " ".join(report.notes)


def test_the_fingerprint_that_ran_is_held_though_head_was_put_right_by_hand(scene: Scene) -> None:
    scene.repo.git("checkout", "-q", scene.first.commit, "--", "configs")
    scene.repo.commit("reverted by hand")
    assert scene.back().outcome is Outcome.PASS
    held = read_holds(WorkTree(scene.repo.path), SERVICE).standing
    assert [one.label for one in held] == [f"v2 {scene.second.fingerprint[:12]}"]


def test_a_return_to_what_runs_already_changes_nothing(scene: Scene) -> None:
    assert scene.back().outcome is Outcome.PASS
    before = scene.unchanged()
    report = scene.back()
    assert (report.outcome, report.summary) == (
        Outcome.PASS,
        "summarizer runs v1 already: nothing was changed",
    )
    assert scene.unchanged() == before


def test_what_was_taken_away_cannot_be_released_again_by_automation(scene: Scene) -> None:
    assert scene.back().outcome is Outcome.PASS
    scene.repo.git("checkout", "-q", scene.second.commit, "--", "configs")
    scene.repo.commit("again")
    prove(scene.repo, when=NOW)
    done = cutting(scene.repo)
    assert (done.record is None, done.report.outcome) == (True, Outcome.BLOCK)
    assert outcomes(done.report)["hold"] is Outcome.BLOCK


def test_one_actor_at_a_time_the_second_is_told_who_or_waits(scene: Scene) -> None:
    lock = held(scene.folder / journals.LOCK, who="on-call-b, process 7", busy=AssertionError)
    with ThreadPoolExecutor(1) as pool:
        with lock:
            with pytest.raises(Unreadable, match="is under way: on-call-b, process 7") as caught:
                scene.back()
            assert caught.value.hint == "tierlock rollback summarizer --wait 300"
            second = pool.submit(scene.back, How(wait_s=60))
            with pytest.raises(TimeoutError):
                second.result(0.3)
            assert scene.driver.now()["release"] == "v2"
        assert second.result(60).outcome is Outcome.PASS
    assert scene.driver.now()["release"] == "v1"


def test_another_release_can_be_gone_to_when_golden_turns_out_bad(scene: Scene) -> None:
    """Golden fails its smoke eval on this host: `--to` leaves it, and what was rejected first stays held."""
    assert scene.back().outcome is Outcome.PASS
    third = {SAMPLING: "kind: sampling\ntask: factual\ntemperature: 0.25\nmax_tokens: 256\n"}
    scene.repo.commit("third", third)
    released(scene.repo)
    golden(scene.repo, "v4")
    scene.repo.commit("fourth", {SAMPLING: third[SAMPLING].replace("0.25", "0.29")})
    bad = released(scene.repo)
    scene.driver.start(bad.fingerprint, "v5", 4096, at=NOW.timestamp())
    with serving(wrong) as server:
        scene.repo.commit("address", {"tierlock.yaml": at_address(scene, server.url)})
        assert outcomes(scene.back())["smoke"] is Outcome.BLOCK
    scene.repo.commit("address again", {"tierlock.yaml": at_address(scene, scene.server.url)})
    report = scene.back(to="v1")
    assert report.outcome is Outcome.PASS, report
    assert scene.fold() == scene.first.fingerprint
    labels = [one.release for one in read_holds(WorkTree(scene.repo.path), SERVICE).standing]
    assert labels == ["v2", "v5", "v4"]


def test_a_half_restored_rollback_is_finished_or_taken_back_before_another_begins(scene: Scene) -> None:
    class Broken(Exception):
        pass

    def watch(step: str) -> None:
        if step == "index":
            raise Broken

    with pytest.raises(Broken):
        scene.back(watch=watch)
    with pytest.raises(Usage, match="a rollback of `summarizer` to v1 was broken off") as caught:
        scene.back(to="v2")
    assert "--abort" in caught.value.hint
    report = abort(place(scene.repo), terms(), world(scene.driver))
    assert report.outcome is Outcome.PASS
    assert (scene.fold(), scene.repo.git("status", "--porcelain")) == (scene.second.fingerprint, "")
    with pytest.raises(Usage, match="no rollback of `summarizer` is under way"):
        abort(place(scene.repo), terms(), world(scene.driver))


def test_an_edit_made_between_a_kill_and_the_next_call_is_not_lost(scene: Scene) -> None:
    stop_at(scene, "index")
    scene.repo.write({SAMPLING: "kind: sampling\ntemperature: 0.11\n"})
    with pytest.raises(Unreadable, match="was edited meanwhile") as caught:
        scene.back()
    assert (scene.repo.path / SAMPLING).read_text() == "kind: sampling\ntemperature: 0.11\n"
    scene.repo.git(*shlex.split(caught.value.hint.rpartition(": ")[2])[1:])
    assert scene.back().outcome is Outcome.PASS


@pytest.mark.parametrize("step", ["index", "branch"])
def test_a_commit_that_came_in_between_is_built_upon(scene: Scene, step: str) -> None:
    """Both commits of the rollback meet one of somebody else, who used a work tree of his own."""
    scene.repo.git("worktree", "add", "-q", "--detach", str(scene.repo.path.parent / "other"))
    other = Repo(scene.repo.path.parent / "other")
    seen: list[str] = []

    def watch(what: str) -> None:
        if what == step:
            seen.append(what)
            other.git("checkout", "-q", "--detach", "main")
            other.commit(f"meanwhile {len(seen)}", {f"meanwhile-{len(seen)}.txt": "x\n"})
            if len(seen) in (1, 3):
                other.git("push", "-q", ".", "HEAD:main")

    scene.repo.git("config", "receive.denyCurrentBranch", "ignore")
    report = scene.back(watch=watch)
    assert report.outcome is Outcome.PASS, report
    log = scene.repo.git("log", "--format=%s", "-4").splitlines()
    assert log[0] == "release summarizer v3: back to v1"
    assert log.count("rollback summarizer to v1") == 1
    assert "meanwhile 1" in log
    assert scene.fold() == scene.first.fingerprint


def test_a_journal_that_is_damaged_or_newer_stops_the_call(scene: Scene) -> None:
    stop_at(scene, "index")
    file = scene.folder / journals.FILE
    data = file.read_bytes()
    file.write_bytes(data.replace(b"tierlock.rollback/1", b"tierlock.rollback/2"))
    with pytest.raises(NewerFormat, match="a newer tierlock has begun a rollback here"):
        scene.back()
    file.write_bytes(data[:-30])
    with pytest.raises(Unreadable, match="the journal of a rollback is damaged"):
        scene.back()
    file.write_bytes(data)
    assert scene.back().outcome is Outcome.PASS


def test_the_branch_is_pushed_when_asked_and_a_push_that_fails_takes_nothing_back(scene: Scene) -> None:
    report = scene.back(How(push=True))
    assert (report.outcome, outcomes(report)["push"]) == (Outcome.UNDECIDED, Outcome.UNDECIDED)
    assert "there is no remote" in report.summary
    assert scene.driver.now()["release"] == "v1"
    bare = scene.repo.path.parent / "bare.git"
    scene.repo.git("init", "-q", "--bare", str(bare))
    scene.repo.git("remote", "add", "origin", str(bare))
    scene.driver.start("", "by hand", 2048)
    report = scene.back(How(push=True))
    assert (report.outcome, detail(report, "push")) == (Outcome.PASS, "origin/main")
    assert Repo(bare).git("rev-parse", "main") == scene.repo.git("rev-parse", "HEAD")


def at_address(scene: Scene, url: str) -> str:
    text = (scene.repo.path / "tierlock.yaml").read_text()
    return re.sub(r'url: "[^"]*"', f'url: "{url}"', text)


def stop_at(scene: Scene, step: str, *, after: str = "") -> None:
    """A rollback that is broken off before `step`, or before the `after` that follows it."""
    seen: list[str] = []

    def watch(what: str) -> None:
        seen.append(what)
        if what == (after or step) and step in seen:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scene.back(watch=watch)


def test_the_way_back_passes_the_review_audit_and_its_commits_keep_every_record(scene: Scene) -> None:
    text = (scene.repo.path / "tierlock.yaml").read_text()
    since = scene.repo.commit("policy", {"tierlock.yaml": text + policy()})
    assert scene.back().outcome is Outcome.PASS
    at = place(scene.repo).git()
    assert at is not None
    found = audit_history(at, since, scene.repo.git("rev-parse", "HEAD"), reviewed_at(NOW), folder="")
    report = audit_report(found, "since the policy")
    assert report.outcome is Outcome.PASS, report
    assert {one.standing for one in found.landed} == {Standing.APPROVED}


def test_who_is_bound_to_the_same_configs_is_named_before_and_after(scene: Scene) -> None:
    text = (scene.repo.path / "tierlock.yaml").read_text()
    scene.repo.commit("shared", {"tierlock.yaml": text.replace("sampling: other,", "sampling: factual,")})
    plan = scene.back(How(dry_run=True))
    assert any(note.startswith("  moves too  other: bound to the same configs") for note in plan.notes)
    done = scene.back()
    assert done.outcome is Outcome.PASS
    assert any("tierlock diff other other@live" in note for note in done.notes)


def test_servers_in_two_states_are_a_mixture_and_are_not_asked(scene: Scene) -> None:
    class Two(FakeDriver):
        def running(self, target: Target) -> tuple[Replica, ...] | Unknown:
            """One that was replaced, and one that was not."""
            found = super().running(target)
            assert isinstance(found, tuple)
            old = replace(found[0], name="server 2", fingerprint="c9" * 32, started_at=1.0)
            return (*found, old)

    asked = len(scene.server.asked)
    report = scene._replace(driver=Two(scene.driver.folder)).back()
    assert report.outcome is Outcome.BLOCK
    assert detail(report, "observe") == "a mixture of servers: server 1 as released, server 2 not as released"
    assert detail(report, "smoke") == "not asked: the servers are a mixture, an eval over them is invalid"
    assert len(scene.server.asked) == asked


def test_a_service_nobody_deploys_is_restored_and_waits_for_whoever_does(scene: Scene) -> None:
    """`deploy.driver: none`: the server is seen at its endpoint, and was not started by this command."""
    text = (scene.repo.path / "tierlock.yaml").read_text()
    by_hand = re.sub(r"deploy: \{.*\}", "deploy: {driver: none}", text)
    scene.repo.commit("by hand", {"tierlock.yaml": by_hand})
    report = scene.back()
    assert report.outcome is Outcome.BLOCK
    assert detail(report, "observe").startswith("restored on disk, not live: engine.options.max_model_len is")
    assert report.next == "deploy v1 by hand, then: tierlock rollback summarizer"
    scene.driver.start("", "by hand", 8192)
    report = scene.back()
    assert (report.outcome, outcomes(report)["observe"]) == (Outcome.UNDECIDED, Outcome.UNDECIDED)
    assert "when it started is not known" in detail(report, "observe")
    report = scene.back(accepted={"observe": "restarted by the platform team at 18:02"})
    assert report.outcome is Outcome.PASS


def test_leaving_for_a_release_that_is_refused_keeps_the_rollback_that_is_under_way(scene: Scene) -> None:
    with serving(wrong) as bad:
        scene.repo.commit("address", {"tierlock.yaml": at_address(scene, bad.url)})
        assert scene.back().outcome is Outcome.BLOCK
    scene.repo.commit("address again", {"tierlock.yaml": at_address(scene, scene.server.url)})
    before = journals.read(scene.folder)
    report = scene.back(to="v2", drilled=drilled(hub=gone, audit=audited))
    assert (report.outcome, journals.read(scene.folder)) == (Outcome.UNDECIDED, before)
    assert scene.back().outcome is Outcome.PASS


def test_a_record_that_was_ready_lands_before_another_rollback_begins(scene: Scene) -> None:
    stop_at(scene, "journal restore done, deploy done, record begun", after="index")
    report = scene.back(to="v2")
    assert report.outcome is Outcome.BLOCK, "what was rejected is held by now"
    assert "is held since" in report.summary
    assert [one.restores for one in list_records(WorkTree(scene.repo.path), SERVICE)] == ["", "", "v1"]
    assert scene.repo.git("status", "--porcelain", "-uall") == ""


def test_configs_that_were_committed_over_a_restore_in_the_meantime_are_restored_again(scene: Scene) -> None:
    stop_at(scene, "deploy")
    hot = (scene.repo.path / SAMPLING).read_text().replace("0.2", "0.27")
    scene.repo.commit("hotter again", {SAMPLING: hot})
    report = scene.back()
    assert report.outcome is Outcome.PASS, report
    assert scene.fold() == scene.first.fingerprint
    log = scene.repo.git("log", "--format=%s", "-4").splitlines()
    assert log == [
        "release summarizer v3: back to v1",
        "rollback summarizer to v1",
        "hotter again",
        "rollback summarizer to v1",
    ]


def test_a_change_that_came_after_the_record_landed_is_left_alone(scene: Scene) -> None:
    stop_at(scene, "journal restore done, deploy done, record done")
    hot = (scene.repo.path / SAMPLING).read_text().replace("0.2", "0.27")
    tip = scene.repo.commit("on purpose", {SAMPLING: hot})
    assert scene.back().outcome is Outcome.PASS
    assert scene.repo.git("rev-parse", "HEAD") == tip
    assert journals.read(scene.folder) is None


def test_how_long_ago_golden_was_proven_restorable_is_told_first(scene: Scene) -> None:
    at = (NOW - timedelta(hours=6)).isoformat().replace("+00:00", "Z")
    remember(scene.folder, Drilled("v1", scene.first.fingerprint, at, Outcome.PASS))
    assert scene.back(How(dry_run=True)).title.endswith(" · proven restorable 6 h ago")
