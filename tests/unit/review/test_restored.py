"""The way back to golden: it needs no approval, and nothing else passes by looking like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.fingerprint.layers import LAYERS
from governance.fingerprint.services import fingerprint_of
from governance.release import golden as pointers
from governance.release.golden import Entry, Golden, Revocation
from governance.release.record import Record, digest_of, dump, path_of
from governance.release.sides import Place
from governance.review import landings
from governance.review.audit import Standing, audit_history
from governance.review.gate import Verdict, judge_landing
from governance.tiers.config import TIERS
from governance.values import Unknown
from governance.verdict import Outcome
from tests.support.reviewed import PROMPT, SAMPLING, Reviewed, at, reviewed

AT = "2026-11-02T09:00:00Z"
BASE = "configs/base/qwen.yaml"


def make_golden(
    repo: Reviewed, service: str = "summarizer", *, revoked: bool = False, commit: str = ""
) -> None:
    """Pin the service as it is at HEAD, and commit pointer and record."""
    there = Place(repo.path, environ=repo.environment).state("HEAD").service(service)
    assert there is not None
    fold = fingerprint_of(there).only(TIERS).fold()
    assert isinstance(fold, str)
    record = Record(
        service, "v1", AT, commit or repo.git("rev-parse", "HEAD"), fold,
        {name: Unknown("not captured") for name in LAYERS},
        {tier: str(there.tree[tier]) for tier in TIERS},
    )  # fmt: skip
    entry = Entry("v1", fold, digest_of(dump(record)), AT, "reviewer-a", "measured")
    pointer = pointers.pointed(Golden(service), entry)
    if revoked:
        pointer = pointers.revoked(pointer, "v1", Revocation(AT, "reviewer-a", "it lost three items"))
    repo.commit("golden", {path_of(service, "v1"): dump(record), pointer.path: pointers.dump(pointer)})


def worse(repo: Reviewed) -> None:
    """A change of sampling and prompts that nobody approved."""
    repo.hotter(0.9)
    repo.change(PROMPT, "Never guess.", "Guess.")
    repo.commit("richer")


def put_back(repo: Reviewed, *paths: str) -> None:
    """Stage these files as they were at the first commit."""
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    repo.git("checkout", "-q", first, "--", *paths)


def staged(repo: Reviewed) -> Verdict:
    return judge_landing(landings.of_index(repo.where), at())


@pytest.fixture
def repo(tmp_path: Path) -> Reviewed:
    found = reviewed(tmp_path)
    make_golden(found)
    worse(found)
    return found


def test_the_whole_way_back_passes_and_says_why(repo: Reviewed) -> None:
    put_back(repo, SAMPLING, PROMPT)
    verdict = staged(repo)
    assert [one.outcome for one in verdict.decisions] == [Outcome.PASS, Outcome.PASS]
    assert {one.restored for one in verdict.decisions} == {
        "summarizer comes back to its golden v1, which was judged when it landed"
    }


def test_half_of_the_way_is_a_new_combination(repo: Reviewed) -> None:
    put_back(repo, SAMPLING)
    assert [one.outcome for one in staged(repo).decisions] == [Outcome.BLOCK]


def test_something_else_beside_the_way_back_still_needs_approval(repo: Reviewed) -> None:
    put_back(repo, SAMPLING, PROMPT)
    repo.change(BASE, "max_model_len: 8192", "max_model_len: 4096")
    repo.git("add", "-A")
    assert {one.outcome for one in staged(repo).decisions} == {Outcome.BLOCK}


def test_a_change_cannot_bring_its_own_golden(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    worse(repo)
    head = repo.git("rev-parse", "HEAD")
    put_back(repo, SAMPLING, PROMPT)
    repo.commit("put back")
    make_golden(repo, commit=head)
    repo.git("reset", "-q", "--soft", "HEAD~2")
    assert Outcome.BLOCK in {one.outcome for one in staged(repo).decisions}


def test_a_golden_that_never_landed_covers_nothing(tmp_path: Path) -> None:
    """Pinned to a commit of another branch: its configs were never judged on this one."""
    repo = reviewed(tmp_path)
    repo.git("checkout", "-q", "-b", "side")
    worse(repo)
    side = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", "main")
    make_golden_of(repo, side)
    repo.git("checkout", "-q", side, "--", SAMPLING, PROMPT)
    assert {one.outcome for one in staged(repo).decisions} == {Outcome.BLOCK}


def make_golden_of(repo: Reviewed, commit: str) -> None:
    """A golden pointer on this branch for what stands at `commit`."""
    here = repo.git("rev-parse", "--abbrev-ref", "HEAD")
    repo.git("checkout", "-q", "--detach", commit)
    make_golden(repo, commit=commit)
    kept = repo.git("rev-parse", "HEAD")
    repo.git("checkout", "-q", here)
    repo.git("checkout", "-q", kept, "--", ".tierlock")
    repo.commit("golden of a side branch")


def test_a_revoked_golden_covers_nothing(tmp_path: Path) -> None:
    repo = reviewed(tmp_path)
    make_golden(repo, revoked=True)
    worse(repo)
    put_back(repo, SAMPLING, PROMPT)
    assert {one.outcome for one in staged(repo).decisions} == {Outcome.BLOCK}


def test_an_altered_record_covers_nothing(repo: Reviewed) -> None:
    record = repo.path / path_of("summarizer", "v1")
    repo.commit("altered", {path_of("summarizer", "v1"): record.read_bytes() + b"\n"})
    put_back(repo, SAMPLING, PROMPT)
    assert {one.outcome for one in staged(repo).decisions} == {Outcome.BLOCK}


def test_a_config_that_another_service_binds_is_not_covered(tmp_path: Path) -> None:
    """Going back would move the other service too, and nobody said that this is its golden."""
    repo = reviewed(tmp_path)
    text = (repo.path / "tierlock.yaml").read_text()
    line = "  summarizer: {base: qwen, sampling: factual, prompts: summarize}\n"
    assert line in text
    repo.commit("two", {"tierlock.yaml": text.replace(line, line + line.replace("summarizer", "qa-bot"))})
    make_golden(repo)
    worse(repo)
    put_back(repo, SAMPLING, PROMPT)
    assert {one.outcome for one in staged(repo).decisions} == {Outcome.BLOCK}


def test_the_audit_takes_the_way_back_for_approved(repo: Reviewed) -> None:
    put_back(repo, SAMPLING, PROMPT)
    repo.commit("back to golden")
    git = repo.neighbour()
    found = audit_history(git, git.resolve("HEAD~1"), git.resolve("HEAD"), at())
    assert [one.standing for one in found.landed] == [Standing.APPROVED, Standing.APPROVED]
    whole = audit_history(git, None, git.resolve("HEAD"), at())
    assert len(whole.of(Standing.UNAPPROVED)) == 2
