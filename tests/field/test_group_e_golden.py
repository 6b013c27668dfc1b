"""E05 and E07 of the field cases: a golden that cannot be restored, and one with a known hole.

The inputs are those of the public cases. Invented registries and digests are given a registry on loopback
that holds two images: the one of the day golden was made, and the one its tag was moved to.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from governance.adapters.files import WorkTree, write_all
from governance.release.cutting import Terms
from governance.release.deploy import registry as registries
from governance.release.golden_report import current
from governance.release.observation import Expected, Running, judge
from governance.release.record import Override
from governance.release.rollback_gate import Gate, Judging
from governance.release.rollback_gate import Terms as RollbackTerms
from governance.tiers.writer import dump
from governance.values import Unknown
from governance.verdict import Outcome
from tests.field import mapping
from tests.support.command import Ran, Tierlock
from tests.support.drilled import world
from tests.support.fake_registry import FakeRegistry, digest_of, manifest
from tests.support.governed import FILES, governed, place
from tests.support.released import SERVICES, SMOKE, cutting, prove, stamp, terms
from tests.support.repos import Repo

CASES = Path(__file__).parent / "cases"
FEBRUARY, TODAY = manifest("february", "layer"), manifest("today")
HOST, NAME, TAG = "registry.corp.example", "infer/tern", "v0.8.4"
MADE = datetime(2025, 2, 10, 9, tzinfo=UTC)
EXCUSED = "rules: {exemptions: [{rule: TL250, config: base/tern, reason: a tag, expires: '2099-01-01'}]}\n"


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    """The registry of the case as it is now: the tag was pushed again since golden was made."""
    with FakeRegistry() as server:
        for body in (FEBRUARY, TODAY):
            server.push(NAME, TAG, body)
            server.push_layers(NAME, body)
        yield server


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Author A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "author-a@example.org")
    return Tierlock(tmp_path / "repo", capsys, monkeypatch)


def case(name: str, registry: FakeRegistry | None = None) -> Any:
    """An input of a case; of its invented names those that a registry has to answer for."""
    text = (CASES / name).read_text()
    if registry is not None:
        text = text.replace(HOST, registry.host)
        text = text.replace(f"sha256:{'c1' * 32}", digest_of(FEBRUARY))
        text = text.replace(f"sha256:{'c2' * 32}", digest_of(TODAY))
    return json.loads(text)


def flat(ran: Ran) -> str:
    return " ".join(ran.out.split())


def release(repo: Repo, when: datetime, label: str) -> str:
    """A release of HEAD on a smoke run that ended at `when`, written and committed; its id."""
    prove(repo, when=when)
    said: Terms = terms(created_at=stamp(when), today=when.date())
    done = cutting(repo, said)
    assert done.record is not None, done.report
    write_all(repo.path, done.files)
    repo.commit(f"release {label}")
    return done.record.id


def tern(path: Path, golden: Any) -> dict[str, str]:
    """The files of a golden record of E05: its tiers, with the image that the record names."""
    tiers = {name: mapping.neutral(text.encode()) for name, text in golden["tiers"].items()}
    tiers["base"]["image"] = golden["image"]
    services = SERVICES.replace("base: qwen", "base: tern").replace("factual", "tern")
    services = services.replace("prompts: summarize", "prompts: tern")
    deploy = "{driver: container, weights: /models/tern, port: 8080, host: 127.0.0.1}"
    return {
        "tierlock.yaml": services.replace("{driver: none}", deploy) + EXCUSED,
        "configs/base/tern.yaml": dump(mapping.base(tiers["base"])),
        "configs/sampling/tern.yaml": dump(mapping.sampling(tiers["sampling"])),
        "configs/prompts/tern.yaml": dump(mapping.prompts(tiers["prompts"])),
        "evals/smoke.jsonl": SMOKE,
    }


def test_e05_a_golden_by_tag_is_refused_and_with_force_it_says_that_the_image_cannot_be_restored(
    command: Tierlock, registry: FakeRegistry
) -> None:
    files = tern(command.folder, case("E05/golden_tag.json", registry))
    repo = governed(command.folder, {**files, "tierlock.yaml": files["tierlock.yaml"].removesuffix(EXCUSED)})
    prove(repo, when=MADE)
    cut = command.run("release", "cut", "summarizer", "--unreviewed", "the case")
    assert (cut.code, "TL250 the image is not pinned: tag `v0.8.4` can be pushed again" in flat(cut)) == (
        1,
        True,
    )
    repo.commit("a rule set aside", {"tierlock.yaml": files["tierlock.yaml"]})
    release(repo, MADE, "by tag")
    refused = command.run("golden", "set", "summarizer", "v1")
    assert refused.code == 1
    assert "has no digest, so the image cannot be restored" in flat(refused)
    forced = command.run("golden", "set", "summarizer", "v1", "--accept", "image=nobody pushes tags here")
    assert forced.code == 0
    assert "the image cannot be restored" in flat(forced)
    drilled = command.run("golden", "drill", "summarizer")
    assert drilled.code == 1
    assert "the image cannot be restored: the tag may name another one by now" in flat(drilled)


def test_e05_a_golden_by_digest_is_restored_by_it_whatever_the_tag_says_now(
    command: Tierlock, registry: FakeRegistry
) -> None:
    now = case("E05/registry-now.json", registry)
    assert now == {f"{registry.host}/{NAME}:{TAG}": registry.tags[(NAME, TAG)]}
    repo = governed(command.folder, tern(command.folder, case("E05/golden_digest.json", registry)))
    release(repo, MADE, "by digest")
    assert command.run("golden", "set", "summarizer", "v1", "--commit").code == 0
    drilled = command.run("golden", "drill", "summarizer")
    assert f"image pass {digest_of(FEBRUARY)[:19]} in {registry.host} with 2 blobs" in flat(drilled)
    assert f"the tag {TAG} is {digest_of(TODAY)[:19]} by now, the digest counts" in flat(drilled)
    registry.layers.discard((NAME, digest_of(b"layer")))
    pruned = command.run("golden", "drill", "summarizer")
    assert (pruned.code, "it cannot be restored: 1 of 2 blobs are gone" in flat(pruned)) == (1, True)


def test_e05_success_is_said_of_the_live_image_and_never_of_the_files(registry: FakeRegistry) -> None:
    golden, live = digest_of(FEBRUARY), case("E05/live.json", registry)["image_digest"]
    expected = Expected("v1", "f" * 64, (golden,), restored_at=100.0)
    (wrong,) = judge(expected, (Running("container engine", 200.0, live, compared=31),))
    assert wrong.outcome is Outcome.BLOCK
    assert "files restored, image not" in wrong.detail
    (right,) = judge(expected, (Running("container engine", 200.0, golden, compared=31),))
    assert right.outcome is Outcome.PASS
    (unseen,) = judge(expected, (Running("container engine", 200.0, Unknown("no answer"), compared=31),))
    assert unseen.outcome is Outcome.UNDECIDED


def goldens(command: Tierlock, *, advisories: bool) -> Repo:
    """Both goldens of E07, the older one first, and the day the case is about."""
    listed = case("E07/goldens.json")
    sampling = "configs/sampling/factual.yaml"
    pinned = FILES[sampling] + "top_p: 1.0\ntop_k: -1\nmin_p: 0.0\nrepetition_penalty: 1.0\n"
    files = {"tierlock.yaml": SERVICES, "evals/smoke.jsonl": SMOKE, sampling: pinned}
    if advisories:
        files["tierlock.yaml"] += "release: {advisories: advisories.json, golden_max_age_days: 90}\n"
        files["advisories.json"] = (CASES / "E07/advisories.json").read_text()
    repo = governed(command.folder, files)
    base = "configs/base/qwen.yaml"
    for one in reversed(listed):
        made = datetime.fromisoformat(one["smoke"]["date"]).replace(tzinfo=UTC)
        version = one["engine"]["version"]
        repo.commit(one["name"], {base: FILES[base].replace('"0.7.3"', f'"{version}"')})
        name = release(repo, made, one["name"])
        set_ = command.run("golden", "set", "summarizer", name, "--reason", one["name"], "--commit")
        assert set_.code == 0, set_.out + set_.err
    return repo


@pytest.fixture
def today(monkeypatch: pytest.MonkeyPatch) -> datetime:
    day = datetime.fromisoformat((CASES / "E07/today.txt").read_text().strip()).replace(tzinfo=UTC)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(day.timestamp())))
    return day


def test_e07_a_golden_with_a_known_hole_or_a_stale_eval_is_not_gone_back_to_silently(
    command: Tierlock, today: datetime
) -> None:
    goldens(command, advisories=True)
    assert today - datetime(2025, 2, 10, tzinfo=UTC) == timedelta(days=140)
    drilled = command.run("golden", "drill", "summarizer")
    assert drilled.code == 1
    assert "ADV-FAKE-0001 (critical) engine vllm 0.6.1, affected <0.6.3" in flat(drilled)
    assert "the last smoke run that passed ended 140 days ago, more than the 90 days" in flat(drilled)
    assert '--accept advisories="why"' in flat(drilled)
    older = command.run("golden", "drill", "summarizer", "v1")
    assert (older.code, "engine vllm 0.5.4, affected <0.6.3" in flat(older)) == (1, True)


def test_e07_going_back_all_the_same_needs_a_reason_and_keeps_it_with_who(
    command: Tierlock, today: datetime
) -> None:
    repo = goldens(command, advisories=True)
    entry = current(WorkTree(repo.path), "summarizer")

    def gate(**accepted: str) -> Gate:
        said = RollbackTerms("summarizer", "on-call", today, accepted=accepted)
        return Judging(place(repo), said, registries.load, world()).gate(entry.release, entry)

    assert gate().outcome is Outcome.BLOCK
    assert gate(advisories="behind the proxy").outcome is Outcome.BLOCK
    both = gate(advisories="behind the proxy", age="evaluated by hand today")
    assert both.outcome is not Outcome.BLOCK
    assert both.overrides == (
        Override("advisories", "behind the proxy", "on-call"),
        Override("age", "evaluated by hand today", "on-call"),
    )
    told = next(check for check in both.checks if check.name == "advisories")
    assert told.detail.startswith("accepted by on-call: behind the proxy; it is: ADV-FAKE-0001 (critical)")


def test_e07_without_an_advisory_file_nothing_is_called_free_of_known_issues(
    command: Tierlock, today: datetime
) -> None:
    goldens(command, advisories=False)
    drilled = command.run("golden", "drill", "summarizer")
    assert "advisories pass not checked: no advisory file is named" in flat(drilled)
    assert "ended 140 days ago; no limit is set" in flat(drilled)
    assert "no known" not in flat(drilled)
