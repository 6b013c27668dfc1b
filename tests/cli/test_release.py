"""`tierlock release` as a user has it: code, report, and the files that are left."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from governance.adapters.locks import held
from governance.errors import Unreadable
from governance.release import journal
from governance.release.alone import alone
from governance.release.journal import Journal
from tests.support.command import Tierlock
from tests.support.governed import governed, place
from tests.support.released import SERVICES, WITH_SUITE, prove
from tests.support.repos import Repo
from tests.support.reviewed import SAMPLING, key_of, policy

CUT = ("release", "cut", "summarizer", "--unreviewed", "a test of its own", "--by", "author-a")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return governed(tmp_path / "repo", WITH_SUITE)


@pytest.fixture
def command(repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    for name, value in repo.environment.items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(repo.path.parent / "cache"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1795000000")
    return Tierlock(repo.path, capsys, monkeypatch)


def test_a_release_is_cut_committed_listed_shown_and_verified(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    cut = command.run(*CUT, "--reason", "first", "--commit")
    assert cut.code == 0, cut.out + cut.err
    assert "tierlock golden set summarizer v1" in cut.out
    assert repo.git("status", "--porcelain", "-uall") == ""
    changed = repo.git("show", "--format=%s", "--name-only").splitlines()
    assert changed[0].startswith("release summarizer v1 (")
    assert sorted(path.split("/")[1] for path in changed[2:]) == [
        "evidence",
        "evidence",
        "releases",
        "snapshots",
    ]
    listed = command.run("release", "list")
    assert (listed.code, "v1 " in listed.out, "smoke 2 of 2 right" in listed.out) == (0, True, True)
    shown = command.run("release", "show", "summarizer@v1")
    assert (shown.code, "sampling/factual" in shown.out, "first" in shown.out) == (0, True, True)
    for words in (("summarizer", "v1"), ("summarizer",), ()):
        assert command.run("release", "verify", *words).code == 0
    assert command.run("review", "records", "--all").code == 0


def test_without_commit_the_next_command_is_the_commit(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    ran = command.run(*CUT)
    assert "next    git add .tierlock && git commit -m" in ran.out
    assert "?? .tierlock/releases/summarizer/v1.json" in repo.git("status", "--porcelain", "-uall")


def test_a_dry_run_judges_and_writes_nothing(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    before = repo.git("status", "--porcelain", "-uall")
    ran = command.run(*CUT, "--dry-run")
    assert (ran.code, "dry run: nothing is written" in ran.out) == (0, True)
    assert repo.git("status", "--porcelain", "-uall") == before


def test_a_cut_that_does_not_pass_writes_nothing_and_says_why(command: Tierlock, repo: Repo) -> None:
    ran = command.run(*CUT, "--commit")
    assert ran.code == 3
    assert "UNDECIDED  summarizer is not released" in ran.out
    repo.write({SAMPLING: (repo.path / SAMPLING).read_text() + "\n# edited\n"})
    ran = command.run(*CUT, "--commit", "--format", "json")
    assert ran.code == 1
    assert [one["code"] for one in ran.json["findings"]] == ["TL601"]
    assert not (repo.path / ".tierlock").exists()


def test_a_hook_that_refuses_the_commit_leaves_the_record_and_says_how_to_go_on(
    command: Tierlock, repo: Repo
) -> None:
    prove(repo)
    hook = repo.path / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho 'not today' >&2\nexit 1\n")
    hook.chmod(0o755)
    ran = command.run(*CUT, "--commit")
    assert (ran.code, "not today" in ran.err, "git add -f" in ran.err) == (3, True, True)
    assert (repo.path / ".tierlock/releases/summarizer/v1.json").exists()


def test_a_signed_release_carries_a_signature_that_verify_judges(command: Tierlock, repo: Repo) -> None:
    repo.commit("policy", {"tierlock.yaml": SERVICES + policy()})
    prove(repo)
    ran = command.run("release", "cut", "summarizer", "--commit", "--key", str(key_of("reviewer-a")))
    assert ran.code == 0, ran.out + ran.err
    verified = command.run("release", "verify", "summarizer", "v1")
    assert (verified.code, "by reviewer-a" in verified.out) == (0, True)
    assert command.run("review", "records", "--all").code == 0
    outsider = command.run("release", "export", "summarizer", "--key", str(key_of("outsider-a")))
    assert (outsider.code, "nobody's in the policy" in outsider.err) == (3, True)


def test_a_key_that_is_nobodys_leaves_nothing_behind(command: Tierlock, repo: Repo) -> None:
    repo.commit("policy", {"tierlock.yaml": SERVICES + policy()})
    prove(repo)
    ran = command.run("release", "cut", "summarizer", "--key", str(key_of("outsider-a")))
    assert ran.code == 3
    assert not (repo.path / ".tierlock/releases").exists()


def test_one_altered_byte_makes_verify_exit_1_and_show_exit_3(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    assert command.run(*CUT, "--commit").code == 0
    file = repo.path / ".tierlock/releases/summarizer/v1.json"
    data = file.read_bytes()
    file.write_bytes(data.replace(b"author-a", b"author-b", 1))
    ran = command.run("release", "verify", "summarizer", "v1")
    assert (ran.code, "it was edited" in ran.out) == (1, True)
    ran = command.run("release", "show", "summarizer", "v1")
    assert (ran.code, "git restore --source=HEAD" in ran.err) == (3, True)
    assert command.run("release", "list").code == 3


def test_releases_are_sides_of_a_diff_with_its_exit_codes(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    assert command.run(*CUT, "--commit").code == 0
    text = (repo.path / SAMPLING).read_text().replace("temperature: 0.2", "temperature: 0.1")
    repo.commit("cooler", {SAMPLING: text})
    prove(repo)
    assert command.run(*CUT, "--commit").code == 0
    ran = command.run("diff", "summarizer@v1", "summarizer@v2", "--exit-code")
    assert (ran.code, "temperature" in ran.out, "0.2 → 0.1" in ran.out) == (1, True, True)
    assert command.run("diff", "summarizer@v1", "summarizer@v2").code == 0
    missing = command.run("release", "show", "summarizer", "v3")
    assert (missing.code, "there are v1 to v2" in missing.err) == (2, True)


def test_notes_are_markdown_on_standard_output_or_in_a_file(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    assert command.run(*CUT, "--commit").code == 0
    ran = command.run("release", "notes", "summarizer")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "# summarizer v1")
    ran = command.run("release", "notes", "summarizer", "v1", "-o", "NOTES.md")
    assert (ran.code, ran.out) == (0, "")
    assert (repo.path / "NOTES.md").read_text().startswith("# summarizer v1\n")


def test_exports_are_written_where_they_are_asked_for(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    assert command.run(*CUT, "--commit").code == 0
    assert command.run("release", "export", "summarizer").code == 0
    statement = json.loads((repo.path / "summarizer-v1.intoto.json").read_bytes())
    assert statement["predicate"]["id"] == "v1"
    ran = command.run("release", "export", "summarizer", "v1", "--bom", "-o", "bom.json")
    assert (ran.code, json.loads((repo.path / "bom.json").read_bytes())["bomFormat"]) == (0, "CycloneDX")
    ran = command.run("release", "export", "summarizer", "--attach")
    assert (ran.code, "has no image" in ran.err) == (3, True)
    assert command.run("release", "export", "summarizer", "--bom", "--sign").code == 2


def test_a_second_cut_of_the_same_state_passes_and_writes_nothing(command: Tierlock, repo: Repo) -> None:
    """A job of CI that runs again is no failure."""
    prove(repo)
    assert command.run(*CUT).code == 0
    first = (repo.path / ".tierlock/releases/summarizer/v1.json").read_bytes()
    again = command.run(*CUT)
    assert (again.code, "v1 is" in again.out) == (0, True)
    assert (repo.path / ".tierlock/releases/summarizer/v1.json").read_bytes() == first
    assert [one.name for one in (repo.path / ".tierlock/releases/summarizer").iterdir()] == ["v1.json"]


def test_of_two_cuts_at_once_one_releases_and_the_other_finds_it_done(command: Tierlock, repo: Repo) -> None:
    prove(repo)
    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(lambda _: command.spawn(*CUT, "--commit", env=repo.environment), range(2)))
    assert [one.code for one in ran] == [0, 0], [one.out + one.err for one in ran]
    assert sum("v1 is" in one.out and "already" in one.out for one in ran) == 1
    assert repo.git("log", "--format=%s").count("release summarizer v1") == 1
    assert command.run("release", "verify").code == 0


def test_a_cut_waits_for_nobody_who_goes_on_and_for_no_broken_off_rollback(
    command: Tierlock, repo: Repo
) -> None:
    prove(repo)
    folder = repo.path / ".git/tierlock/summarizer"
    begun = Journal("summarizer", "v1", "a" * 64, "2026-11-30T09:00:00Z", "reviewer-a", "worse answers")
    journal.write(folder, begun)
    ran = command.run(*CUT)
    assert (ran.code, "hint: tierlock rollback summarizer" in ran.err) == (3, True)
    journal.end(folder)
    with (
        held(folder / journal.LOCK, who="rollback by reviewer-a", busy=Unreadable),
        pytest.raises(Unreadable, match="released or rolled back: rollback by reviewer-a"),
        alone(place(repo), "summarizer", who="a cut", wait_s=0),
    ):
        raise AssertionError("two at once")
    assert command.run(*CUT).code == 0
    assert command.run("release", "cut", "../evil").code == 2
    assert not (repo.path / ".git/evil").exists()


def test_a_hold_is_lifted_with_a_reason_and_stays_on_record(command: Tierlock, repo: Repo) -> None:
    from governance.release import holds
    from governance.release.holds import Hold, Holds

    prove(repo)
    fold = json.loads(command.run("fingerprint", "summarizer", "--format", "json").out)["run"]["written"]
    held = holds.hold(Holds("summarizer"), Hold(fold, "2026-11-30T09:00:00Z", "reviewer-a", "worse answers"))
    repo.write({held.path: holds.dump(held)})
    refused = command.run(*CUT)
    assert (refused.code, f"tierlock release unhold summarizer {fold[:12]}" in refused.out) == (1, True)
    lifted = command.run(
        "release", "unhold", "summarizer", fold[:12], "--reason", "golden was wrong", "--commit"
    )
    assert lifted.code == 0, lifted.err
    kept = holds.load((repo.path / held.path).read_bytes(), held.path)
    assert [(one.stands, one.lifted_because) for one in kept.holds] == [(False, "golden was wrong")]
    assert command.run(*CUT).code == 0
    again = command.run("release", "unhold", "summarizer", "--reason", "once more")
    assert (again.code, "nothing of `summarizer` is held" in again.err) == (2, True)
