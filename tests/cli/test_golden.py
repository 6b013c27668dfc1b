"""`tierlock golden` as a user has it: code, report, and the files that are left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from governance.adapters.files import WorkTree, write_all
from governance.evals import evidence
from governance.release import golden, holds
from governance.release import record as records
from governance.release.holds import Hold, Holds
from governance.verdict import Outcome
from tests.support.command import Ran, Tierlock
from tests.support.governed import BASE, governed
from tests.support.osv_server import OsvServer
from tests.support.released import NOON, SERVICES, WITH_SUITE, prove, released
from tests.support.repos import Repo

WEIGHTS = b"these are no weights, and nobody reads them"
DIGEST = hashlib.sha256(WEIGHTS).hexdigest()
DEPLOYED = SERVICES.replace(
    "{driver: none}", "{driver: process, host: 127.0.0.1, port: 8080, weights: models, binary: /bin/sh}"
)
PINNED = BASE.replace(
    "engine:\n", f'  weights: {{format: safetensors, files: {{m.safetensors: "sha256:{DIGEST}"}}}}\nengine:\n'
) + ("environment: {packages: requirements.lock}\n")
LOCK = "jinja2==2.4.1\npackaging==24.2\ntorch==2.5.1+cu124\n"


@pytest.fixture
def osv() -> Iterator[OsvServer]:
    with OsvServer() as server:
        yield server


@pytest.fixture
def repo(tmp_path: Path, osv: OsvServer) -> Repo:
    """A service on this host: its weights beside the repository, its packages asked of a loopback service."""
    audit = f'release: {{packages: {{service: osv, url: "{osv.url}"}}}}\n'
    files = {**WITH_SUITE, "tierlock.yaml": DEPLOYED + audit, "configs/base/qwen.yaml": PINNED,
             "configs/base/qwen/requirements.lock": LOCK, ".gitignore": "models/\n"}  # fmt: skip
    made = governed(tmp_path / "repo", files)
    write_all(made.path, {"models/m.safetensors": WEIGHTS})
    return made


@pytest.fixture
def command(repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    for name, value in repo.environment.items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(repo.path.parent / "cache"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(NOON.timestamp()) + 6 * 3600))
    return Tierlock(repo.path, capsys, monkeypatch)


def changed(repo: Repo, temperature: str) -> None:
    """Another sampling, committed."""
    path = "configs/sampling/factual.yaml"
    text = (repo.path / path).read_text()
    line = next(one for one in text.splitlines() if one.startswith("temperature"))
    repo.commit(f"temperature {temperature}", {path: text.replace(line, f"temperature: {temperature}")})


def flat(ran: Ran) -> str:
    """What was said, with the wrapping undone."""
    return " ".join(ran.out.split())


def checks(ran: Ran) -> dict[str, str]:
    return {one["name"]: one["outcome"] for one in ran.json["checks"]}


def test_a_release_that_passes_is_set_golden_and_the_former_one_stays_within_reach(
    command: Tierlock, repo: Repo
) -> None:
    released(repo)
    first = command.run("golden", "set", "summarizer", "v1", "--by", "reviewer-a", "--commit")
    assert first.code == 0, first.out + first.err
    assert "summarizer@v1" in first.out
    assert repo.git("status", "--porcelain", "-uall") == ""
    changed(repo, "0.1")
    released(repo)
    second = command.run("golden", "set", "summarizer", "--reason", "better", "--commit")
    assert second.code == 0
    assert "v1 stays within reach" in second.out
    shown = command.run("golden", "show", "summarizer")
    assert shown.code == 0
    assert "summarizer   golden v2" in shown.out
    assert "before     v1" in shown.out
    assert "within reach" in shown.out
    assert "why        better" in shown.out
    assert "ended 6 h ago" in shown.out
    assert "not drilled from this clone" in shown.out
    assert command.run("review", "records", "--all").code == 0


def test_what_is_golden_already_is_not_written_again(command: Tierlock, repo: Repo) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1", "--commit")
    before = (repo.path / golden.path_of("summarizer")).read_bytes()
    again = command.run("golden", "set", "summarizer", "v1", "--commit")
    assert (again.code, "nothing to write" in again.out) == (0, True)
    assert (repo.path / golden.path_of("summarizer")).read_bytes() == before


def test_a_release_whose_newest_smoke_run_fails_cannot_be_golden(command: Tierlock, repo: Repo) -> None:
    released(repo)
    prove(repo, outcome=Outcome.BLOCK, when=NOON + timedelta(hours=1))
    ran = command.run("golden", "set", "summarizer", "v1")
    assert ran.code == 1
    assert (
        "BLOCK  summarizer@v1 cannot be golden: the newest run ended 2026-11-30T13:00:00Z and fails"
        in ran.out
    )
    assert not (repo.path / golden.path_of("summarizer")).exists()


def test_a_later_failing_run_withdraws_the_golden_status(command: Tierlock, repo: Repo) -> None:
    """T12. A run that passes after that does not give it back: `golden set` does, on the newer run."""
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    assert command.run("golden", "show", "summarizer").code == 0
    path = prove(repo, outcome=Outcome.BLOCK, when=NOON + timedelta(hours=1))
    shown = command.run("golden", "show", "summarizer")
    assert shown.code == 1
    assert (
        "a smoke run that ended 2026-11-30T13:00:00Z fails: 2 items fail: capital, sum"
        in shown.out.replace("\n", " ").replace("  ", "")
    )
    assert path in shown.out.replace("\n", "").replace(" ", "")
    assert checks(command.run("golden", "drill", "summarizer", "--format", "json"))["golden"] == "block"
    prove(repo, when=NOON + timedelta(hours=2))
    assert command.run("golden", "show", "summarizer").code == 1
    assert command.run("golden", "set", "summarizer", "v1").code == 0
    assert command.run("golden", "show", "summarizer").code == 0


def test_a_run_against_a_drifted_server_says_nothing_of_golden(command: Tierlock, repo: Repo) -> None:
    """The server was started with other values than the configs: its failure is not that of the release."""
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    path = repo.path / prove(repo, outcome=Outcome.BLOCK, when=NOON + timedelta(hours=1))
    found = evidence.load(path.read_bytes(), "e")
    path.write_bytes(evidence.dump(replace(found, differing=("sampling.temperature",))))
    assert command.run("golden", "show", "summarizer").code == 0
    path.write_bytes(evidence.dump(replace(found, layers={**found.layers, "sampling": "9" * 64})))
    assert command.run("golden", "show", "summarizer").code == 0
    path.write_bytes(evidence.dump(replace(found, compared=None)))
    doubted = command.run("golden", "show", "summarizer")
    assert doubted.code == 3
    assert "was not read back" in doubted.out


def test_an_altered_record_is_not_golden_any_more(command: Tierlock, repo: Repo) -> None:
    """One byte, and a record rewritten with a digest of its own: both are seen."""
    record = released(repo)
    command.run("golden", "set", "summarizer", "v1")
    path = repo.path / record.path
    good = path.read_bytes()
    path.write_bytes(good.replace(b'"driver": "process"', b'"driver": "procesS"'))
    assert command.run("golden", "show", "summarizer").code == 1
    ran = command.run("golden", "drill", "summarizer", "--format", "json")
    assert (ran.code, checks(ran)["record"]) == (1, "block")
    path.write_bytes(records.dump(replace(record, reason="rewritten")))
    shown = command.run("golden", "show", "summarizer")
    assert (shown.code, "was altered since it was made golden" in shown.out) == (1, True)


def test_a_held_release_cannot_be_golden_and_a_held_golden_is_none(command: Tierlock, repo: Repo) -> None:
    record = released(repo)
    command.run("golden", "set", "summarizer", "v1")
    held = holds.hold(
        Holds("summarizer"), Hold(record.fingerprint, "2026-11-30T13:00:00Z", "reviewer-a", "bad")
    )
    write_all(repo.path, {held.path: holds.dump(held)})
    ran = command.run("golden", "set", "summarizer", "v1")
    assert (ran.code, "tierlock release unhold summarizer" in ran.out) == (1, True)
    shown = command.run("golden", "show", "summarizer")
    assert (shown.code, "is held since" in shown.out) == (1, True)
    assert command.run("release", "unhold", "summarizer", "--reason", "mended").code == 0
    assert command.run("golden", "show", "summarizer").code == 0


def test_a_release_that_a_person_revoked_comes_back_with_a_reason_only(command: Tierlock, repo: Repo) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    gone = command.run(
        "golden", "revoke", "summarizer", "--reason", "leaks", "--by", "reviewer-b", "--commit"
    )
    assert (gone.code, "no other is left" in gone.out) == (0, True)
    shown = command.run("golden", "show", "summarizer")
    assert (shown.code, "by reviewer-b: leaks" in shown.out) == (1, True)
    prove(repo, when=NOON + timedelta(days=1))
    refused = command.run("golden", "set", "summarizer", "v1", "--format", "json")
    assert (refused.code, checks(refused)["revoked"]) == (1, "block")
    again = command.run(
        "golden", "set", "summarizer", "v1", "--by", "reviewer-a", "--accept", "revoked=it does not"
    )
    assert again.code == 0
    entry = golden.read_golden(WorkTree(repo.path), "summarizer").current
    assert entry is not None
    assert [(one.check, one.reason, one.by) for one in entry.overrides] == [
        ("revoked", "it does not", "reviewer-a")
    ]
    assert "accepted   revoked by reviewer-a: it does not" in command.run("golden", "show", "summarizer").out


def test_an_image_by_tag_is_refused_when_golden_is_set_and_accepted_only_by_name(
    command: Tierlock, repo: Repo
) -> None:
    """E05: the tag will name another image by the day it is needed."""
    tagged = PINNED + "image: {ref: registry.example/infer/tern:v0.8.4}\n"
    contained = (repo.path / "tierlock.yaml").read_text().replace("driver: process", "driver: container")
    repo.commit("by tag", {"configs/base/qwen.yaml": tagged, "tierlock.yaml": contained})
    prove(repo)
    cut = command.run("release", "cut", "summarizer", "--unreviewed", "a test of its own")
    assert (cut.code, "TL250  the image is not pinned" in cut.out) == (1, True)
    excused = (
        "rules: {exemptions: [{rule: TL250, config: base/qwen, reason: moving, expires: '2027-01-01'}]}\n"
    )
    repo.commit("excused", {"tierlock.yaml": contained + excused})
    released(repo)
    ran = command.run("golden", "set", "summarizer", "v1")
    assert ran.code == 1
    assert "has no digest, so the image cannot be restored" in flat(ran)
    forced = command.run("golden", "set", "summarizer", "v1", "--accept", "image=tags are immutable here")
    assert forced.code == 0
    assert "accepted by" in forced.out
    assert "the image cannot be restored" in flat(forced)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "summarizer", "v9"), "no release `v9`"),
        (("set", "summarizer", "v1", "--accept", "smoke=why"), "`smoke` cannot be accepted"),
        (("set", "summarizer", "v1", "--accept", "image"), "is not CHECK=REASON"),
        (("set", "summarizer", "v1", "--accept", "image= "), "is not CHECK=REASON"),
        (("set", "other"), "service `other` has no releases"),
        (("revoke", "summarizer", "--reason", "x"), "has no golden release"),
        (("drill", "summarizer", "v9"), "no release `v9`"),
    ],
)
def test_a_mistake_on_the_command_line_is_exit_2(
    command: Tierlock, repo: Repo, words: tuple[str, ...], said: str
) -> None:
    released(repo)
    ran = command.run("golden", *words)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_without_a_golden_release_nothing_can_be_said(command: Tierlock, repo: Repo) -> None:
    released(repo)
    shown = command.run("golden", "show", "summarizer")
    assert (shown.code, "tierlock golden set summarizer" in shown.out) == (3, True)
    assert command.run("golden", "drill", "summarizer").code == 3


def test_a_drill_proves_golden_restorable_and_is_remembered(
    command: Tierlock, repo: Repo, osv: OsvServer
) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1", "--commit")
    ran = command.run("golden", "drill", "summarizer")
    assert ran.code == 0, ran.out + ran.err
    assert "1 file with the released digest" in ran.out
    assert "3 audited" in ran.out
    assert "not checked: no advisory file is named" in ran.out
    assert ("torch", "2.5.1") in osv.asked
    assert repo.git("status", "--porcelain", "-uall") == ""
    assert "proven restorable 0 min ago" in command.run("golden", "show", "summarizer").out


def test_a_missing_and_another_weight_file_block_the_drill(command: Tierlock, repo: Repo) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    file = repo.path / "models/m.safetensors"
    file.write_bytes(WEIGHTS[::-1])
    other = command.run("golden", "drill", "summarizer", "--format", "json")
    assert (other.code, checks(other)["weights"]) == (1, "block")
    file.unlink()
    gone = command.run("golden", "drill", "summarizer")
    assert (gone.code, "m.safetensors is not in `models`" in gone.out) == (1, True)


def test_an_engine_that_is_not_installed_any_more_leaves_the_drill_undecided(
    command: Tierlock, repo: Repo
) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    command.change("tierlock.yaml", "binary: /bin/sh", "binary: /opt/gone/vllm")
    ran = command.run("golden", "drill", "summarizer", "--format", "json")
    assert (ran.code, checks(ran)["deploy"]) == (3, "undecided")
    assert "/opt/gone/vllm" in ran.out


def test_vulnerable_packages_block_unless_policy_says_otherwise(
    command: Tierlock, repo: Repo, osv: OsvServer
) -> None:
    osv.known[("jinja2", "2.4.1")] = ("PYSEC-1", "CVE-2019-1", "2.4.2")
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    ran = command.run("golden", "drill", "summarizer")
    assert (ran.code, "jinja2 2.4.1 PYSEC-1, mended in 2.4.2; 3 audited, none left out" in ran.out) == (
        1,
        True,
    )
    assert '--accept packages="why"' in ran.out
    command.change(
        "tierlock.yaml", "service: osv", 'ignore: {CVE-2019-1: "no template is loaded"}, service: osv'
    )
    accepted = command.run("golden", "drill", "summarizer")
    assert (accepted.code, "accepted: jinja2 2.4.1 PYSEC-1 (no template is loaded)" in flat(accepted)) == (
        0,
        True,
    )
    command.change("tierlock.yaml", 'ignore: {CVE-2019-1: "no template is loaded"}', "vulnerable: warn")
    warned = command.run("golden", "drill", "summarizer")
    assert (
        warned.code,
        "the vulnerable ones block nothing by release.packages.vulnerable" in flat(warned),
    ) == (0, True)


def test_an_audit_that_cannot_be_had_is_undecided_and_unaudited_packages_follow_the_policy(
    command: Tierlock, repo: Repo, osv: OsvServer
) -> None:
    repo.commit(
        "a fork",
        {"configs/base/qwen/requirements.lock": LOCK + "vllm @ git+https://example.org/v@" + "a" * 40},
    )
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    counted = command.run("golden", "drill", "summarizer")
    assert (counted.code, "3 audited, 1 not audited: vllm (from version control)" in counted.out) == (0, True)
    command.change("tierlock.yaml", "service: osv", "unaudited: block, service: osv")
    blocked = command.run("golden", "drill", "summarizer", "--format", "json")
    assert (blocked.code, checks(blocked)["packages"]) == (1, "block")
    command.change("tierlock.yaml", "unaudited: block", "unaudited: warn")
    osv.status = 503
    down = command.run("golden", "drill", "summarizer")
    assert (down.code, "not audited (3 packages): pip-audit could not run" in down.out) == (3, True)


def test_an_advisory_on_the_engine_blocks_and_a_file_that_cannot_be_read_is_not_checked(
    command: Tierlock, repo: Repo
) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    command.change("tierlock.yaml", "release: {", "release: {advisories: advisories.json, ")
    missing = command.run("golden", "drill", "summarizer")
    assert (missing.code, "not checked: `advisories.json` is not there" in missing.out) == (3, True)
    listed = [{"id": "ADV-1", "package": "vLLM", "affected": "<0.8", "severity": "critical"}]
    command.write("advisories.json", json.dumps(listed))
    ran = command.run("golden", "drill", "summarizer")
    assert (ran.code, "ADV-1 (critical) engine vllm 0.7.3, affected <0.8" in ran.out) == (1, True)


def test_a_smoke_run_that_is_too_old_blocks(
    command: Tierlock, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    released(repo)
    command.run("golden", "set", "summarizer", "v1")
    command.change("tierlock.yaml", "release: {", "release: {golden_max_age_days: 90, ")
    assert command.run("golden", "drill", "summarizer").code == 0
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int((NOON + timedelta(days=140)).timestamp())))
    ran = command.run("golden", "drill", "summarizer")
    assert (ran.code, "ended 140 days ago, more than the 90 days" in ran.out) == (1, True)
