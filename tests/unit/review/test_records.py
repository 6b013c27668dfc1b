"""Records are added, never changed, never taken away: real git, one case for each way to try."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from governance.review import records, statement
from governance.review.records import KINDS
from governance.verdict import Outcome, Report
from tests.support.approvals import NOW, pretended_key, pretended_signature, record
from tests.support.command import Tierlock
from tests.support.repos import Repo, make_repo

APPROVAL = record()
RELEASE = ".tierlock/releases/summarizer/v1.json"
GOLDEN = ".tierlock/golden/summarizer.json"
SNAPSHOT = ".tierlock/snapshots/summarizer/v1/smoke.jsonl"
FILES: dict[str, str | bytes] = {
    "tierlock.yaml": "version: 1\n",
    APPROVAL.path: statement.dump(APPROVAL),
    RELEASE: '{"schema": "tierlock.release/1"}\n',
    SNAPSHOT: '{"id": 1}\n{"id": 2}\n',
    GOLDEN: '{"release": "v1"}\n',
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", files=FILES)


@pytest.fixture
def command(repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    for name, value in repo.environment.items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)
    return Tierlock(repo.path, capsys, monkeypatch)


def codes(command: Tierlock, *args: str) -> list[str]:
    """The codes that the report has, and that its exit code agrees."""
    ran = command.run("review", "records", *args, "--format", "json")
    found = [one["code"] for one in ran.json["findings"]]
    assert ran.code == (1 if found else 0), ran.out + ran.err
    return found


def test_adding_records_is_fine(command: Tierlock, repo: Repo) -> None:
    other = record(APPROVAL.said.__class__(**{**_fields(APPROVAL.said), "reason": "measured again"}))
    repo.write({other.path: statement.dump(other), RELEASE.replace("v1", "v2"): "{}\n"})
    repo.git("add", "-A")
    assert codes(command) == []


def test_a_release_may_have_its_signature_beside_it(command: Tierlock, repo: Repo) -> None:
    """It is a signature as ssh-keygen writes one, it is kept for ever, and no other record has any."""
    good = pretended_signature(b"the record", pretended_key("reviewer-a"))
    repo.write({f"{RELEASE}.sig": good})
    repo.git("add", "-A")
    assert codes(command) == []
    repo.git("commit", "-q", "-m", "signed")
    repo.write({f"{RELEASE}.sig": good.replace("BEGIN", "BEGIM")})
    repo.git("add", "-A")
    assert codes(command) == ["TL521"]
    repo.git("checkout", "-q", "HEAD", "--", ".")
    repo.write({RELEASE.replace("v1", "v2") + ".sig": "no signature\n", f"{SNAPSHOT}.sig": good})
    repo.git("add", "-A")
    assert codes(command) == ["TL520", "TL523"]


def _fields(said: object) -> dict[str, object]:
    return {name: getattr(said, name) for name in said.__slots__}  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", [APPROVAL.path, RELEASE, SNAPSHOT])
def test_changing_a_record_is_refused(command: Tierlock, repo: Repo, path: str) -> None:
    repo.write({path: "{}\n"})
    repo.git("add", "-A")
    assert codes(command) == ["TL521"]


@pytest.mark.parametrize("path", [APPROVAL.path, RELEASE, SNAPSHOT])
def test_taking_a_record_away_is_refused(command: Tierlock, repo: Repo, path: str) -> None:
    repo.git("rm", "-q", path)
    assert codes(command) == ["TL522"]


def test_renaming_an_approval_is_taking_it_away_and_misplacing_it(command: Tierlock, repo: Repo) -> None:
    """A normal hook sees a rename as one file whose content is fine."""
    repo.git("mv", APPROVAL.path, APPROVAL.path.replace("reviewer-a", "reviewer-b"))
    assert sorted(codes(command)) == ["TL522", "TL523"]


def test_a_record_that_becomes_a_link_is_refused(command: Tierlock, repo: Repo) -> None:
    (repo.path / RELEASE).unlink()
    (repo.path / RELEASE).symlink_to("elsewhere.json")
    repo.git("add", "-A")
    assert codes(command) == ["TL521"]


def test_a_new_link_in_the_place_of_a_record_is_refused(command: Tierlock, repo: Repo) -> None:
    (repo.path / RELEASE).with_name("v2.json").symlink_to("v1.json")
    repo.git("add", "-A")
    assert codes(command) == ["TL523"]


def test_an_approval_with_one_changed_byte_is_malformed(command: Tierlock, repo: Repo) -> None:
    said = statement.dump(APPROVAL).replace(b'"payload": "eyJf', b'"payload": "eyJg')
    repo.write({APPROVAL.path.replace("factual/", "factual/0"): said})
    repo.git("add", "-A")
    assert codes(command) == ["TL520"]


def test_json_that_is_none_has_its_line(command: Tierlock, repo: Repo) -> None:
    repo.write({RELEASE.replace("v1", "v2"): '{"a": 1,\n "a": 2}\n'})
    repo.git("add", "-A")
    ran = command.run("review", "records", "--format", "json")
    (finding,) = ran.json["findings"]
    assert (finding["code"], finding["line"]) == ("TL520", 2)


def test_a_pointer_moves_and_a_hold_goes(command: Tierlock, repo: Repo) -> None:
    repo.write({GOLDEN: '{"release": "v2"}\n', ".tierlock/holds/summarizer.json": "{}\n"})
    repo.git("add", "-A")
    assert codes(command) == []
    repo.commit("hold")
    repo.git("rm", "-q", ".tierlock/holds/summarizer.json")
    assert codes(command) == []


def test_something_else_below_tierlock_is_out_of_place(command: Tierlock, repo: Repo) -> None:
    repo.write({".tierlock/notes.txt": "hello\n", ".tierlock/cache/x.json": "{}\n"})
    repo.git("add", "-A")
    assert codes(command) == ["TL523", "TL523"]


def test_a_withdrawal_of_nothing_is_refused(command: Tierlock, repo: Repo) -> None:
    said = statement.Withdrawal("config:sampling/factual", "0" * 64, "reviewer-a", "wrong", NOW)
    made = statement.Record(said, statement.payload_of(said), APPROVAL.signatures)
    repo.write({made.path: statement.dump(made)})
    repo.git("add", "-A")
    assert codes(command) == ["TL524"]


def test_a_record_of_a_newer_format_is_undecided(command: Tierlock, repo: Repo) -> None:
    raw = statement.dump(APPROVAL).replace(b"approval/1", b"approval/2")
    repo.write({APPROVAL.path.replace("factual/", "factual/0"): raw})
    repo.git("add", "-A")
    ran = command.run("review", "records")
    assert ran.code == 3
    assert "upgrade tierlock" in ran.out


def test_the_index_is_judged_and_not_the_files_on_disk(command: Tierlock, repo: Repo) -> None:
    repo.write({RELEASE: "{}\n"})
    repo.git("add", "-A")
    repo.write({RELEASE: FILES[RELEASE]})
    assert codes(command) == ["TL521"]


def test_the_index_that_git_names_is_judged(
    command: Tierlock, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git commit FILE` builds another index than the one in .git."""
    other = repo.path / ".git" / "other-index"
    repo.git("read-tree", "HEAD", GIT_INDEX_FILE=str(other))
    repo.git("rm", "-q", "--cached", RELEASE, GIT_INDEX_FILE=str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    assert codes(command) == ["TL522"]


def test_when_nothing_is_staged_the_last_commit_is_looked_at(command: Tierlock, repo: Repo) -> None:
    """An amended message, or a run in CI, does not pass by not looking."""
    repo.git("rm", "-q", RELEASE)
    repo.commit("gone")
    assert codes(command) == ["TL522"]


def test_a_range_is_judged_from_where_it_left_its_base(command: Tierlock, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("mine", {"notes.md": "x\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("theirs", {RELEASE.replace("v1", "v2"): "{}\n"})
    assert codes(command, "--range", "main..topic") == []
    repo.git("checkout", "-q", "topic")
    repo.git("rm", "-q", APPROVAL.path)
    repo.commit("gone")
    assert codes(command, "--range", "main..topic") == ["TL522"]


def test_a_merge_that_drops_what_the_other_side_recorded_is_refused(command: Tierlock, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("record", {RELEASE.replace("v1", "v2"): "{}\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("other", {"notes.md": "x\n"})
    repo.git("merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "topic")
    repo.write({".tierlock/releases/summarizer/v3.json": "{}\n"})
    repo.git("add", "-A")
    assert codes(command) == ["TL522"]


def test_all_records_can_be_looked_at(command: Tierlock, repo: Repo) -> None:
    assert codes(command, "--all") == []
    repo.commit("bad", {".tierlock/evidence/x/y.json": "no json\n"})
    assert codes(command, "--all") == ["TL520"]


def test_the_first_commit_is_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(tmp_path / "new")
    repo.write({"tierlock.yaml": "version: 1\n", RELEASE: "no json\n"})
    repo.git("add", "-A")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    assert codes(Tierlock(repo.path, capsys, monkeypatch)) == ["TL520"]


def test_a_governed_folder_of_a_larger_repository_has_records_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(tmp_path / "mono", files={f"team/{path}": content for path, content in FILES.items()})
    repo.git("rm", "-q", f"team/{RELEASE}")
    inside = Tierlock(repo.path / "team", capsys, monkeypatch)
    assert codes(inside) == ["TL522"]


def test_each_folder_of_records_says_how_it_is_kept() -> None:
    assert set(KINDS) == {"approvals", "releases", "snapshots", "evidence", "golden", "holds", "schemas"}


def test_nothing_touched_says_so() -> None:
    def never(_: str) -> bytes:
        raise AssertionError

    report: Report = records.check((), never, lambda _: False, "the commit being made")
    assert report.outcome is Outcome.PASS
    assert report.summary == "the commit being made touches no record"
