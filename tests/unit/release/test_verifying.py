"""Whether a record is true: recomputed, never believed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from governance.adapters import ssh
from governance.errors import IncompleteHistory, Usage
from governance.fingerprint.layers import Fingerprint
from governance.fingerprint.record import Capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.release import record as records
from governance.release.record import Record
from governance.release.showing import all_verified, verified
from governance.release.sides import Place
from governance.release.verifying import SIGNATURE_NAMESPACE, service_at, verify, verify_at
from governance.tiers.naming import TIERS
from governance.verdict import Check, Outcome, decide
from tests.support.governed import governed, place
from tests.support.released import NOON, SERVICE, TOOL, WITH_SUITE, released, stamp, terms
from tests.support.repos import Repo, isolated
from tests.support.reviewed import SAMPLING, Reviewed, key_of, policy, reviewed

CAPTURE = Capture(stamp(NOON), TOOL, weights=Weights((WeightFile("m.gguf", 3, "blake3:" + "1" * 64),)))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return governed(tmp_path / "repo", WITH_SUITE)


def outcome(checks: Iterable[Check], name: str) -> Outcome:
    return next(one.outcome for one in checks if one.name == name)


def rewritten(repo: Repo, record: Record) -> tuple[Check, ...]:
    """The checks of a record that somebody wrote anew, with a digest that fits."""
    repo.write({record.path: records.dump(record)})
    found, checks = verify_at(place(repo), SERVICE, record.id)
    assert found is not None
    return checks


def test_a_release_verifies_however_far_the_repository_has_gone_on(repo: Repo) -> None:
    record = released(repo, capture=CAPTURE)
    repo.commit("later", {SAMPLING: "kind: sampling\ntask: factual\ntemperature: 0.1\n"})
    checks = verify(record, place(repo))
    assert decide(checks) is Outcome.PASS, checks
    assert {one.name for one in checks} >= {*TIERS, "record", "commit", "fingerprint", "capture", "evidence"}


@pytest.mark.parametrize("tier", TIERS)
def test_a_layer_that_the_commit_does_not_give_blocks(repo: Repo, tier: str) -> None:
    record = released(repo)
    layers = {**record.layers, tier: "0" * 64}
    fold = Fingerprint(layers).only(TIERS).fold()
    assert isinstance(fold, str)
    checks = rewritten(repo, replace(record, layers=layers, fingerprint=fold))
    assert [one.name for one in checks if one.outcome is Outcome.BLOCK] == [tier]


def test_a_fingerprint_that_the_layers_do_not_fold_to_blocks(repo: Repo) -> None:
    checks = rewritten(repo, replace(released(repo), fingerprint="0" * 64))
    assert [one.name for one in checks if one.outcome is Outcome.BLOCK] == ["fingerprint"]


def test_other_bindings_than_those_of_the_commit_block(repo: Repo) -> None:
    record = released(repo)
    checks = rewritten(repo, replace(record, bindings={**record.bindings, "sampling": "creative"}))
    assert outcome(checks, "bindings") is Outcome.BLOCK


def test_effective_values_that_the_tool_knows_otherwise_by_now_are_undecided(repo: Repo) -> None:
    """Only the tables of engines moved: the configs are as released, and nobody says `changed`."""
    record = released(repo)
    checks = rewritten(
        repo, replace(record, layers={**record.layers, "effective": "0" * 64}, tool="tierlock 0.0.9")
    )
    assert [one.name for one in checks if one.outcome is not Outcome.PASS] == ["effective"]
    assert outcome(checks, "effective") is Outcome.UNDECIDED


def test_a_record_of_another_scheme_is_undecided_never_changed(repo: Repo) -> None:
    checks = rewritten(repo, replace(released(repo), scheme="tl0-md5"))
    assert decide(checks) is Outcome.UNDECIDED
    assert "cannot be compared" in next(one.detail for one in checks if one.name == "fingerprint")


def test_a_capture_that_was_edited_blocks(repo: Repo) -> None:
    record = released(repo, capture=CAPTURE)
    text = records.text_of(record.capture).replace(b'"size": 3', b'"size": 4')
    checks = rewritten(repo, replace(record, capture=records.tree_of(text)))
    assert outcome(checks, "capture") is Outcome.BLOCK


def test_a_layer_that_the_capture_does_not_give_blocks(repo: Repo) -> None:
    record = released(repo, capture=CAPTURE)
    checks = rewritten(repo, replace(record, layers={**record.layers, "packages": "0" * 64}))
    assert outcome(checks, "capture") is Outcome.BLOCK


@pytest.mark.parametrize(("name", "part"), [("evidence", "evidence"), ("snapshots", "snapshots")])
def test_files_that_a_record_names_are_held_against_their_digests(repo: Repo, name: str, part: str) -> None:
    record = released(repo)
    file = repo.path / getattr(record, part)[0].path
    whole = file.read_bytes()
    file.write_bytes(whole + b"\n")
    assert outcome(verify(record, place(repo)), name) is Outcome.BLOCK
    file.unlink()
    gone = next(one for one in verify(record, place(repo)) if one.name == name)
    assert gone.outcome is Outcome.BLOCK
    assert f"git restore -- {getattr(record, part)[0].path}" in gone.detail
    file.write_bytes(whole)
    assert decide(verify(record, place(repo))) is Outcome.PASS


def test_a_release_without_evidence_is_undecided(repo: Repo) -> None:
    checks = rewritten(repo, replace(released(repo), evidence=()))
    assert outcome(checks, "evidence") is Outcome.UNDECIDED


def test_one_altered_byte_of_the_record_blocks(repo: Repo) -> None:
    record = released(repo)
    file = repo.path / record.path
    file.write_bytes(file.read_bytes().replace(b"0.7.3", b"0.7.4"))
    found, checks = verify_at(place(repo), SERVICE, "v1")
    assert found is None
    assert [(one.name, one.outcome) for one in checks] == [("record", Outcome.BLOCK)]
    assert outcome(verify(record, place(repo)), "record") is Outcome.BLOCK


def test_a_record_of_a_newer_format_is_undecided(repo: Repo) -> None:
    record = released(repo)
    file = repo.path / record.path
    file.write_bytes(file.read_bytes().replace(b"tierlock.release/1", b"tierlock.release/9"))
    _, checks = verify_at(place(repo), SERVICE, "v1")
    assert decide(checks) is Outcome.UNDECIDED


def test_a_shallow_clone_is_undecided_and_says_what_to_fetch(repo: Repo, tmp_path: Path) -> None:
    record = released(repo)
    shallow = tmp_path / "shallow"
    subprocess.run(
        ("git", "clone", "-q", "--depth", "1", f"file://{repo.path}", shallow), check=True, env=isolated()
    )
    there = Place(shallow, here=shallow, environ=isolated())
    checks = verify(record, there)
    told = next(one for one in checks if one.name == "commit")
    assert told.outcome is Outcome.UNDECIDED
    assert "git fetch --unshallow" in told.detail
    with pytest.raises(IncompleteHistory):
        service_at(record, there)


def test_a_commit_that_no_branch_holds_is_undecided_until_a_tag_does(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("warm", {SAMPLING: "kind: sampling\ntask: factual\ntemperature: 0.1\n"})
    record = released(repo)
    repo.git("checkout", "-q", "main")
    repo.git("checkout", "side", "--", ".tierlock")
    repo.commit("take the records over")
    elsewhere = next(one for one in verify(record, place(repo)) if one.name == "commit")
    assert (elsewhere.outcome, "`side` holds it" in elsewhere.detail) == (Outcome.PASS, True)
    repo.git("branch", "-q", "-D", "side")
    loose = next(one for one in verify(record, place(repo)) if one.name == "commit")
    assert loose.outcome is Outcome.UNDECIDED
    command = loose.detail.rpartition("; ")[2]
    repo.git(*command.split()[1:])
    assert decide(verify(record, place(repo))) is Outcome.PASS


def test_the_service_at_a_release_is_the_one_of_its_commit(repo: Repo) -> None:
    record = released(repo)
    repo.commit("later", {SAMPLING: "kind: sampling\ntask: factual\ntemperature: 0.1\n"})
    service = service_at(record, place(repo))
    assert service.sampling is not None
    assert service.sampling.tree["temperature"] == 0.2


def signed(repo: Reviewed, record: Record, person: str, namespace: str = SIGNATURE_NAMESPACE) -> None:
    made = ssh.sign(records.dump(record), str(key_of(person)), namespace)
    repo.write({records.signature_path(record.path): made})


def with_policy(path: Path) -> Reviewed:
    return reviewed(path, {**WITH_SUITE, "tierlock.yaml": WITH_SUITE["tierlock.yaml"] + policy()})


def test_a_signature_by_a_key_of_the_policy_passes_and_no_other_does(tmp_path: Path) -> None:
    repo = with_policy(tmp_path)
    record = released(repo, said=terms(unreviewed=""))
    assert not [one for one in verify(record, place(repo)) if one.name == "signature"]
    signed(repo, record, "reviewer-a")
    good = next(one for one in verify(record, place(repo)) if one.name == "signature")
    assert (good.outcome, good.detail) == (Outcome.PASS, "by reviewer-a")
    signed(repo, record, "outsider-a")
    assert outcome(verify(record, place(repo)), "signature") is Outcome.BLOCK
    signed(repo, record, "reviewer-a", ssh.NAMESPACE)
    assert outcome(verify(record, place(repo)), "signature") is Outcome.BLOCK
    signed(repo, replace(record, reason="another"), "reviewer-a")
    assert outcome(verify(record, place(repo)), "signature") is Outcome.BLOCK
    repo.write({records.signature_path(record.path): "no signature"})
    assert outcome(verify(record, place(repo)), "signature") is Outcome.BLOCK


def test_a_recorded_approval_that_is_another_by_now_blocks(tmp_path: Path) -> None:
    repo = with_policy(tmp_path)
    released(repo, said=terms(unreviewed=""))
    repo.hotter(0.25)
    repo.git("add", "-A")
    (path,) = repo.approve()
    repo.commit("warmer")
    record = released(repo, said=terms(unreviewed=""))
    assert outcome(verify(record, place(repo)), "approvals") is Outcome.PASS
    (repo.path / path).unlink()
    assert outcome(verify(record, place(repo)), "approvals") is Outcome.BLOCK


def test_all_releases_are_verified_one_check_each(repo: Repo) -> None:
    released(repo)
    repo.commit("later", {SAMPLING: "kind: sampling\ntask: factual\ntemperature: 0.1\n"})
    second = released(repo)
    here = place(repo)
    source = here.state("worktree").source
    report = all_verified(here, source, [SERVICE], lambda done, total: None)
    assert [(one.name, one.outcome) for one in report.checks] == [
        ("summarizer@v1", Outcome.PASS),
        ("summarizer@v2", Outcome.PASS),
    ]
    (repo.path / second.path).write_bytes(b"{}\n")
    report = all_verified(place(repo), source, [SERVICE], lambda done, total: None)
    assert report.outcome is Outcome.BLOCK
    assert report.next == "tierlock release verify summarizer v2"
    assert all_verified(here, source, ["other"], lambda done, total: None).outcome is Outcome.UNDECIDED


def test_one_release_is_reported_with_what_is_wrong(repo: Repo) -> None:
    record = released(repo)
    assert verified(place(repo), SERVICE, "v1").outcome is Outcome.PASS
    (repo.path / record.path).write_bytes(b"{}\n")
    report = verified(place(repo), SERVICE, "v1")
    assert report.outcome is Outcome.BLOCK
    assert "is not a whole, unaltered release record" in report.summary
    with pytest.raises(Usage):
        verified(place(repo), SERVICE, "v7")
