"""`tierlock eval compare` as people call it: files, releases, margins of the service, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from governance.adapters.files import write_all
from governance.evals.model import Run
from governance.evals.results import dump_run, load_run
from governance.records import replace
from governance.release import golden
from governance.release import record as records
from governance.release.golden import Entry, Golden
from governance.release.record import Record, SnapshotRef
from tests.support.command import Tierlock
from tests.support.eval_runs import pairs, result, rights, run
from tests.support.governed import governed
from tests.support.released import SERVICE, SERVICES, WITH_SUITE, released
from tests.support.repos import Repo

Write = Callable[[str, Run], str]


@pytest.fixture
def write(bare: Tierlock) -> Write:
    """Puts a run into a file of the folder."""

    def put(name: str, given: Run) -> str:
        (bare.folder / name).write_bytes(dump_run(given))
        return name

    return put


class TestFiles:
    def test_the_exit_code_is_the_verdict(self, bare: Tierlock, write: Write) -> None:
        same = write("same.jsonl", rights([True] * 200))
        worse = write("worse.jsonl", rights([False] * 40 + [True] * 160))
        few = write("few.jsonl", rights([True] * 20))
        assert bare.run("eval", "compare", same, same).code == 0
        assert bare.run("eval", "compare", same, worse).code == 1
        assert bare.run("eval", "compare", few, few).code == 3

    @pytest.mark.parametrize("form", ["text", "json", "markdown", "github", "sarif", "junit"])
    def test_a_format_never_changes_the_code(self, bare: Tierlock, write: Write, form: str) -> None:
        old, new = (write(name, run(one)) for name, one in zip(("a", "b"), pairs(9, 20, 0, 0), strict=True))
        assert bare.run("eval", "compare", old, new, "--format", form).code == 1

    def test_two_runs_of_different_suites_are_undecided(self, bare: Tierlock, write: Write) -> None:
        one, two = write("a", rights([True])), write("b", rights([True], suite_digest="f" * 64))
        said = bare.run("eval", "compare", one, two)
        assert (said.code, "different suites" in said.err) == (3, True)

    def test_the_same_run_is_compared_on_every_machine_alike(self, bare: Tierlock, write: Write) -> None:
        old, new = (write(name, run(one)) for name, one in zip(("a", "b"), pairs(90, 9, 7, 4), strict=True))
        first, again = (bare.run("eval", "compare", old, new, "--format", "json").out for _ in range(2))
        assert first == again

    def test_a_missing_file_is_usage_and_names_both_ways(self, bare: Tierlock, write: Write) -> None:
        said = bare.run("eval", "compare", write("a", rights([True])), "nowhere.jsonl")
        assert said.code == 2
        assert "no file `nowhere.jsonl`" in said.err
        assert "SERVICE@RELEASE" in said.err

    def test_a_release_outside_of_a_repository_is_undecided(self, bare: Tierlock, write: Write) -> None:
        said = bare.run("eval", "compare", "summarizer@v1", write("a", rights([True])))
        assert (said.code, "here is no repository" in said.err) == (3, True)

    @pytest.mark.parametrize(("option", "value"), [("--margin", "2"), ("--alpha", "0"), ("--margin", "-0.1")])
    def test_a_share_is_no_percentage(self, bare: Tierlock, write: Write, option: str, value: str) -> None:
        same = write("a", rights([True]))
        assert bare.run("eval", "compare", same, same, option, value).code == 2

    def test_answers_stay_hidden_in_every_format_until_asked_for(self, bare: Tierlock, write: Write) -> None:
        old = write("a", run([result("x", text="Rhinoceros")]))
        new = write("b", run([result("x", False, text="Hippopotamus")]))
        for form in ("text", "json", "markdown", "github", "sarif", "junit"):
            assert "Hippopotamus" not in bare.run("eval", "compare", old, new, "--format", form).out
        assert "Hippopotamus" in bare.run("eval", "compare", old, new, "--show-content").out

    def test_all_shows_every_answer_that_moved(self, bare: Tierlock, write: Write) -> None:
        old, new = (write(name, run(one)) for name, one in zip(("a", "b"), pairs(0, 30, 0, 0), strict=True))
        few = bare.run("eval", "compare", old, new, "--format", "json").json["changes"]
        every = bare.run("eval", "compare", old, new, "--all", "--format", "json").json["changes"]
        assert (len(few), len(every)) == (10, 30)


class TestServicePolicy:
    def test_the_margin_is_what_the_service_accepts(self, tierlock: Tierlock) -> None:
        (tierlock.folder / "tierlock.yaml").write_text(
            SERVICES.replace("evals: {smoke: smoke}", "evals: {smoke: smoke, max_drop: 0.2}")
        )
        old, new = (run(one, service=SERVICE) for one in pairs(360, 40, 0, 0))
        for name, one in (("a", old), ("b", new)):
            (tierlock.folder / name).write_bytes(dump_run(one))
        assert tierlock.run("eval", "compare", "a", "b").code == 0
        assert tierlock.run("eval", "compare", "a", "b", "--margin", "0.02").code == 1

    def test_the_coverage_is_what_the_service_asks_for(self, tierlock: Tierlock) -> None:
        (tierlock.folder / "tierlock.yaml").write_text(
            SERVICES.replace("evals: {smoke: smoke}", "evals: {smoke: smoke, min_coverage: 0.5}")
        )
        part = rights([True] * 200, total=300, service=SERVICE)
        (tierlock.folder / "a").write_bytes(dump_run(part))
        assert tierlock.run("eval", "compare", "a", "a").code == 0


class TestReleases:
    @pytest.fixture
    def repo(self, tmp_path: Path) -> Repo:
        return governed(tmp_path, WITH_SUITE)

    @pytest.fixture
    def record(self, repo: Repo) -> Record:
        return released(repo)

    def test_a_release_is_compared_with_a_file_of_the_same_suite(
        self, bare: Tierlock, repo: Repo, record: Record
    ) -> None:
        kept = record.snapshot("smoke")
        assert kept is not None
        snapshot = load_run((repo.path / kept.path).read_bytes(), kept.path)
        lost = replace(snapshot.results[0], score=replace(snapshot.results[0].score, value=0.0, passed=False))
        after = replace(snapshot, results=(lost, *snapshot.results[1:]))
        (repo.path / "after.jsonl").write_bytes(dump_run(after))
        said = bare.run("eval", "compare", record.label, "after.jsonl", "--format", "json", cwd=repo.path)
        assert (said.code, said.json["run"]["lost"]) == (3, [lost.item])

    def test_golden_is_a_release(self, bare: Tierlock, repo: Repo, record: Record) -> None:
        said = bare.run("eval", "compare", f"{SERVICE}@golden", record.label, cwd=repo.path)
        assert (said.code, "is not set" in said.err) == (3, True)
        entry = Entry(record.id, record.fingerprint, "1" * 64, "2026-11-30T12:00:00Z", "reviewer-a", "")
        pointer = golden.pointed(Golden(SERVICE), entry)
        write_all(repo.path, {pointer.path: golden.dump(pointer)})
        said = bare.run("eval", "compare", f"{SERVICE}@golden", record.label, cwd=repo.path)
        assert (said.code, "0 lost, 0 gained of 2" in said.out) == (3, True)

    def test_a_snapshot_that_was_altered_is_refused(self, bare: Tierlock, repo: Repo, record: Record) -> None:
        path = repo.path / record.snapshots[0].path
        path.write_bytes(path.read_bytes().replace(b"an answer", b"an onswer"))
        said = bare.run("eval", "compare", record.label, record.label, cwd=repo.path)
        assert (said.code, "are not those that release" in said.err) == (3, True)

    def test_an_unknown_release_is_usage_with_those_there_are(
        self, bare: Tierlock, repo: Repo, record: Record
    ) -> None:
        said = bare.run("eval", "compare", f"{SERVICE}@v9", record.label, cwd=repo.path)
        assert (said.code, "no release `v9`" in said.err) == (2, True)

    def test_releases_that_keep_several_suites_need_one_named(
        self, bare: Tierlock, repo: Repo, record: Record
    ) -> None:
        kept = record.snapshots[0]
        data = dump_run(rights([True] * 200))
        full = SnapshotRef("full", kept.path.replace("smoke", "full"), records.digest_of(data))
        second = replace(record, id="v2", snapshots=(full, kept))
        write_all(repo.path, {second.path: records.dump(second), full.path: data})
        said = bare.run("eval", "compare", second.label, second.label, cwd=repo.path)
        assert (said.code, "--suite full" in said.err) == (2, True)
        said = bare.run("eval", "compare", second.label, second.label, "--suite", "full", cwd=repo.path)
        assert said.code == 0
        said = bare.run("eval", "compare", record.label, second.label, cwd=repo.path)
        assert "0 lost, 0 gained of 2" in said.out
        said = bare.run("eval", "compare", record.label, second.label, "--suite", "full", cwd=repo.path)
        assert (said.code, "keeps no results of suite `full`, of these: `smoke`" in said.err) == (3, True)

    def test_a_suite_that_a_file_is_not_of_is_usage(self, bare: Tierlock, repo: Repo, record: Record) -> None:
        (repo.path / "full.jsonl").write_bytes(dump_run(rights([True])))
        said = bare.run("eval", "compare", record.label, "full.jsonl", "--suite", "smoke", cwd=repo.path)
        assert (said.code, "not of `smoke`" in said.err) == (2, True)
