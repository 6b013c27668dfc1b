"""Cutting a release: what must hold, each with the command that makes good, and nothing passed over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from governance.errors import Usage
from governance.fingerprint.record import Capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.release import holds
from governance.release import record as records
from governance.release.cutting import cut
from governance.release.holds import Hold, Holds
from governance.values import Unknown
from governance.verdict import Check, Outcome, Report
from tests.support.governed import BASE, governed, place
from tests.support.released import NOON, SERVICES, TOOL, WITH_SUITE, cutting, prove, released, stamp, terms
from tests.support.repos import Repo
from tests.support.reviewed import SAMPLING, Reviewed, at, policy, reviewed

GGUF = 'weights: {format: gguf, files: {model.gguf: "sha256:' + "a" * 64 + '"}}'


def repository(path: Path, **files: str) -> Repo:
    return governed(path, {**WITH_SUITE, **files})


def check(report: Report, name: str) -> Check:
    return next(one for one in report.checks if one.name == name)


def change(repo: Repo, before: str, after: str, path: str = SAMPLING) -> None:
    file = repo.path / path
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_a_release_is_cut_from_what_is_committed_reviewed_and_proven(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    evidence = prove(repo)
    done = cutting(repo)
    assert done.report.outcome is Outcome.PASS, done.report
    record = done.record
    assert record is not None
    assert (record.id, record.parent, record.commit) == ("v1", "", repo.git("rev-parse", "HEAD"))
    assert record.bindings == {"base": "qwen", "sampling": "factual", "prompts": "summarize"}
    assert record.engine == ("vllm", "0.7.3")
    assert [one.path for one in record.evidence] == [evidence]
    assert list(done.files) == [".tierlock/snapshots/summarizer/v1/smoke.jsonl", record.path]
    assert records.load(done.files[record.path], record.path).fingerprint == record.fingerprint
    assert isinstance(record.layers["packages"], Unknown)


def test_a_snapshot_is_the_results_byte_for_byte(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    evidence = prove(repo)
    done = cutting(repo)
    results = (repo.path / evidence).with_suffix(".jsonl").read_bytes()
    assert done.files[".tierlock/snapshots/summarizer/v1/smoke.jsonl"] == results


def test_nothing_is_written_by_a_cut_itself(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    prove(repo)
    before = repo.git("status", "--porcelain", "-uall")
    assert cutting(repo).files
    assert repo.git("status", "--porcelain", "-uall") == before


@pytest.mark.parametrize("path", [SAMPLING, "tierlock.yaml", "evals/smoke.jsonl", "configs/prompts/new.yaml"])
def test_what_is_not_committed_stops_the_cut_by_name(tmp_path: Path, path: str) -> None:
    repo = repository(tmp_path)
    prove(repo)
    file = repo.path / path
    file.write_text((file.read_text() if file.exists() else "kind: prompts\n") + "\n")
    done = cutting(repo)
    assert check(done.report, "tree").outcome is Outcome.BLOCK
    assert [(one.code, one.path) for one in done.report.findings] == [("TL601", path)]
    assert done.report.next == f"git add {path} && git commit"
    assert not done.files


def test_records_and_other_files_of_the_repository_may_be_uncommitted(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    prove(repo)
    repo.write({"notes.txt": "x", "src/app.py": "y"})
    assert cutting(repo).report.outcome is Outcome.PASS


def test_a_config_that_a_rule_refuses_is_not_released(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    change(repo, "temperature: 0.2", "temperature: 0.9")
    repo.commit("hot")
    prove(repo)
    done = cutting(repo)
    assert check(done.report, "configs").outcome is Outcome.BLOCK
    assert [one.code for one in done.report.findings] == ["TL301"]
    assert not done.files


def test_a_config_that_does_not_load_blocks_and_names_the_fault(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    change(repo, "temperature: 0.2", "tempurature: 0.2")
    repo.commit("typo")
    done = cutting(repo)
    assert done.report.outcome is Outcome.BLOCK
    assert [one.code for one in done.report.findings] == ["TL103"]


def test_without_a_review_policy_the_cut_is_undecided_until_somebody_says_why(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    prove(repo)
    done = cutting(repo, terms(unreviewed=""))
    assert done.report.outcome is Outcome.UNDECIDED
    assert "--unreviewed" in done.report.next
    assert not done.files
    record = cutting(repo).record
    assert record is not None
    assert [(one.check, one.reason, one.by) for one in record.overrides] == [
        ("review", "a test of its own", "author-a")
    ]


def with_policy(path: Path) -> Reviewed:
    return reviewed(path, {**WITH_SUITE, "tierlock.yaml": SERVICES + policy()})


def test_an_unapproved_change_blocks_whatever_is_said(tmp_path: Path) -> None:
    repo = with_policy(tmp_path)
    released(repo, said=terms(unreviewed=""))
    repo.hotter(0.25)
    repo.commit("warmer")
    prove(repo)
    done = cutting(repo)
    assert check(done.report, "review").outcome is Outcome.BLOCK
    assert [one.code for one in done.report.findings] == ["TL540"]
    assert done.report.next.startswith("tierlock review approve sampling/factual --commit")


def test_approvals_of_what_moved_are_part_of_the_record(tmp_path: Path) -> None:
    repo = with_policy(tmp_path)
    first = released(repo, said=terms(unreviewed=""))
    repo.hotter(0.25)
    repo.git("add", "-A")
    (approval,) = repo.approve()
    repo.commit("warmer")
    second = released(repo, said=terms(unreviewed=""))
    assert first.approvals == ()
    assert [(one.subject, one.person, one.path) for one in second.approvals] == [
        ("config:sampling/factual", "reviewer-a", approval)
    ]
    assert second.parent == "v1"


def test_an_unapproved_change_of_another_service_is_told_and_stops_nothing(tmp_path: Path) -> None:
    repo = with_policy(tmp_path)
    released(repo, said=terms(unreviewed=""))
    repo.hotter(0.25)
    repo.git("add", "-A")
    repo.approve()
    repo.write({"configs/sampling/other.yaml": "kind: sampling\ntemperature: 1.0\n"})
    repo.commit("two changes, one approved")
    prove(repo)
    done = cutting(repo, terms(unreviewed=""))
    assert done.report.outcome is Outcome.PASS, done.report
    assert any(
        note.startswith("1 change of other services landed without approval") for note in done.report.notes
    )


def test_a_binding_to_another_config_has_all_of_its_history_looked_at(tmp_path: Path) -> None:
    """What stood unapproved and unused before the last release shapes answers from now on."""
    repo = with_policy(tmp_path)
    repo.write({"configs/sampling/other.yaml": "kind: sampling\ntask: factual\ntemperature: 0.1\n"})
    repo.commit("unapproved, and bound by nobody")
    released(repo, said=terms(unreviewed=""))
    change(repo, "sampling: factual", "sampling: other", "tierlock.yaml")
    repo.git("add", "-A")
    repo.approve()
    repo.approve("reviewer-b")
    repo.commit("bind it")
    prove(repo)
    done = cutting(repo, terms(unreviewed=""))
    assert check(done.report, "review").outcome is Outcome.BLOCK
    assert "sampling/other" in done.report.findings[0].message


def test_evidence_that_is_missing_is_undecided_with_the_command_that_makes_it(tmp_path: Path) -> None:
    done = cutting(repository(tmp_path))
    assert check(done.report, "evidence smoke").outcome is Outcome.UNDECIDED
    assert done.report.next == "tierlock eval run summarizer --suite smoke --record"


def test_evidence_of_another_fingerprint_or_suite_is_none(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    prove(repo)
    change(repo, "temperature: 0.2", "temperature: 0.1")
    repo.commit("cooler")
    assert check(cutting(repo).report, "evidence smoke").outcome is Outcome.UNDECIDED
    prove(repo)
    assert cutting(repo).report.outcome is Outcome.PASS
    change(repo, "2 + 3", "2 + 4", "evals/smoke.jsonl")
    repo.commit("another question")
    assert check(cutting(repo).report, "evidence smoke").outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("outcome", [Outcome.BLOCK, Outcome.UNDECIDED])
def test_the_newest_evidence_decides(tmp_path: Path, outcome: Outcome) -> None:
    repo = repository(tmp_path)
    prove(repo)
    prove(repo, outcome=outcome, when=NOON + timedelta(hours=1))
    report = cutting(repo).report
    assert check(report, "evidence smoke").outcome is outcome
    assert "2 items fail" in check(report, "evidence smoke").detail
    prove(repo, when=NOON + timedelta(hours=2))
    assert cutting(repo).report.outcome is Outcome.PASS


def test_altered_evidence_is_undecided_and_altered_results_block(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    path = repo.path / prove(repo)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"items": 2,', b'"items": 2 ,'))
    assert check(cutting(repo).report, "evidence smoke").outcome is Outcome.UNDECIDED
    path.write_bytes(whole)
    results = path.with_suffix(".jsonl")
    results.write_bytes(results.read_bytes().replace(b"an answer", b"another answer", 1))
    done = cutting(repo)
    assert done.report.outcome is Outcome.BLOCK
    assert "is not the file that the evidence was made from" in done.report.summary


def test_a_service_without_a_smoke_suite_is_undecided(tmp_path: Path) -> None:
    repo = governed(tmp_path)
    report = cutting(repo).report
    assert check(report, "evidence").outcome is Outcome.UNDECIDED
    assert "evals" in report.next


def test_the_full_suite_counts_when_the_service_names_one(tmp_path: Path) -> None:
    services = SERVICES.replace("{smoke: smoke}", "{smoke: smoke, full: whole}")
    repo = repository(
        tmp_path,
        **{
            "tierlock.yaml": services,
            "evals/whole.jsonl": WITH_SUITE["evals/smoke.jsonl"].replace("France", "Spain"),
        },
    )
    prove(repo)
    report = cutting(repo).report
    assert check(report, "evidence full").outcome is Outcome.UNDECIDED
    prove(repo, suite="whole")
    record = cutting(repo).record
    assert record is not None
    assert [one.kind for one in record.evidence] == ["smoke", "full"]


def test_a_held_fingerprint_is_not_released_again(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    prove(repo)
    record = cutting(repo).record
    assert record is not None
    held = holds.hold(
        Holds("summarizer"), Hold(record.fingerprint, stamp(NOON), "reviewer-a", "worse answers")
    )
    repo.write({held.path: holds.dump(held)})
    done = cutting(repo)
    assert check(done.report, "hold").outcome is Outcome.BLOCK
    assert done.report.next.startswith(f"tierlock release unhold summarizer {record.fingerprint[:12]}")


def test_the_same_state_is_not_released_twice(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    first = released(repo)
    done = cutting(repo)
    assert done.report.outcome is Outcome.PASS
    assert not done.files
    assert done.report.summary == f"v1 is {first.fingerprint[:12]} already"


def capture(**layers: object) -> Capture:
    return replace(Capture(stamp(NOON), TOOL), **layers)  # type: ignore[arg-type]


def weights(digest: str) -> Weights:
    return Weights((WeightFile("model.gguf", 3, f"blake3:{digest}", f"sha256:{digest}"),))


def test_a_capture_is_embedded_and_its_layers_are_the_releases(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    prove(repo)
    host = capture(weights=weights("a" * 64), platform=Unknown("no rights"))
    record = cutting(repo, terms(capture=host)).record
    assert record is not None
    assert record.layers["weights"] == host.digests()["weights"]
    embedded = record.captured()
    assert embedded is not None
    assert embedded.weights == host.weights
    unknown = record.layers["platform"]
    assert isinstance(unknown, Unknown)
    assert unknown.reason == "no rights"


def test_a_new_capture_of_the_same_configs_is_a_new_release(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    released(repo, capture=capture(weights=weights("a" * 64)))
    second = cutting(repo, terms(capture=capture(weights=weights("b" * 64)))).record
    assert second is not None
    assert second.id == "v2"


def test_a_layer_that_the_policy_asks_for_and_nobody_captured_is_undecided(tmp_path: Path) -> None:
    repo = repository(tmp_path, **{"tierlock.yaml": SERVICES + "release: {require: [weights]}\n"})
    prove(repo)
    report = cutting(repo).report
    assert check(report, "layers").outcome is Outcome.UNDECIDED
    assert report.next == "tierlock capture --service summarizer -o host.json"
    assert cutting(repo, terms(capture=capture(weights=weights("a" * 64)))).report.outcome is Outcome.PASS


def test_a_capture_of_other_weights_than_declared_blocks(tmp_path: Path) -> None:
    base = BASE.replace("engine:\n", f"  {GGUF}\nengine:\n", 1)
    repo = repository(tmp_path, **{"configs/base/qwen.yaml": base})
    prove(repo)
    assert cutting(repo, terms(capture=capture(weights=weights("a" * 64)))).report.outcome is Outcome.PASS
    report = cutting(repo, terms(capture=capture(weights=weights("b" * 64)))).report
    assert check(report, "capture").outcome is Outcome.BLOCK
    assert "was captured as sha256:bbbbbbbbbbbb" in report.findings[0].message


def test_evidence_made_with_other_packages_does_not_speak_for_this_release(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    host = capture(weights=weights("a" * 64))
    digest = host.digests()["weights"]
    assert isinstance(digest, str)
    prove(repo, layers={"weights": "f" * 64, "packages": "e" * 64})
    report = cutting(repo, terms(capture=host)).report
    assert check(report, "evidence smoke").outcome is Outcome.BLOCK
    assert "another weights" in check(report, "evidence smoke").detail
    prove(repo, when=NOON + timedelta(hours=1), layers={"weights": digest, "packages": "e" * 64})
    assert cutting(repo, terms(capture=host)).report.outcome is Outcome.PASS


def test_a_service_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="no service `sumarizer`") as err:
        cut(place(repository(tmp_path)), "sumarizer", at(NOON), terms())
    assert err.value.hint == "did you mean `summarizer`?"


def test_a_folder_of_a_larger_repository_is_cut_by_itself(tmp_path: Path) -> None:
    inner = {f"serving/{path}": text for path, text in WITH_SUITE.items()}
    outer = governed(tmp_path, inner)
    repo = Repo(tmp_path / "serving", outer.environment)
    prove(repo)
    outer.write({"configs/sampling/elsewhere.yaml": "not governed here"})
    record = cutting(repo).record
    assert record is not None
    assert record.commit == outer.git("rev-parse", "HEAD")
