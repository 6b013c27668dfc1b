"""Releases as sides of a comparison: configs at their commits, hosts as captured, approvals on record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from governance.engines.model import Observed
from governance.engines.observe import Observation
from governance.errors import Unreadable, Usage
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.record import Capture
from governance.fingerprint.record import dump as dump_capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.release import record as records
from governance.release.diff import compare
from governance.release.sides import EndpointSide, ReleaseSide, parse_side
from governance.values import Unknown
from governance.verdict import LayerState, Outcome, Report
from tests.support.governed import FILES, governed, place
from tests.support.released import NOON, TOOL, WITH_SUITE, released, stamp
from tests.support.repos import Repo
from tests.support.reviewed import SAMPLING


def sampled(temperature: float) -> str:
    return FILES[SAMPLING].replace("temperature: 0.2", f"temperature: {temperature}")


def host(torch: str, weights: str = "1") -> Capture:
    packages = Packages(
        "environment",
        tuple(Package(name, version) for name, version in (("torch", torch), ("vllm", "0.7.3"))),
    )
    files = (WeightFile("model.safetensors", 3, "blake3:" + weights * 64),)
    return Capture(stamp(NOON), TOOL, weights=Weights(files), packages=packages)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return governed(tmp_path, WITH_SUITE)


def compared(repo: Repo, left: str, right: str, *, fail: bool = False) -> Report:
    here = place(repo)
    return compare(parse_side(left, here), parse_side(right, here), fail_on_difference=fail)


def layers(report: Report) -> dict[str, str]:
    return {layer.name: layer.state for layer in report.layers}


def layer(report: Report, name: str) -> LayerState:
    return next(one for one in report.layers if one.name == name)


def test_two_releases_are_compared_in_every_layer(repo: Repo) -> None:
    released(repo, capture=host("2.5.1"))
    repo.commit("cooler", {SAMPLING: sampled(0.1)})
    second = released(repo, capture=host("2.6.0"))
    report = compared(repo, "summarizer@v1", "summarizer@v2")
    assert report.outcome is Outcome.PASS
    assert report.title.endswith(f"→ v2 {second.fingerprint[:12]}")
    states = layers(report)
    assert (states["base"], states["sampling"], states["packages"], states["weights"]) == (
        "same",
        "changed",
        "changed",
        "same",
    )
    assert [(one.layer, one.key, one.after) for one in report.changes if one.layer != "services"] == [
        ("sampling", "temperature", 0.1),
        ("packages", "torch", "2.6.0"),
    ]


def test_a_layer_that_one_release_does_not_know_is_never_equal(repo: Repo) -> None:
    """The configs are equal; that the hosts are, nobody knows: equality is not claimed under --exit-code."""
    first = released(repo)
    record = replace(first, id="v2", parent="v1")
    repo.write({record.path: records.dump(record)})
    report = compared(repo, "summarizer@v1", "summarizer@v2")
    assert layers(report)["packages"] == "unknown"
    assert layer(report, "packages").detail == "not known of v1 and v2"
    assert report.summary == "no difference"
    assert compared(repo, "summarizer@v1", "summarizer@v2", fail=True).outcome is Outcome.UNDECIDED


def test_a_difference_is_exit_1_when_that_is_asked_for(repo: Repo) -> None:
    released(repo, capture=host("2.5.1"))
    released(repo, capture=host("2.6.0"))
    assert compared(repo, "summarizer@v1", "summarizer@v2", fail=True).outcome is Outcome.BLOCK


def test_a_release_beside_the_work_tree_says_what_only_the_record_knows(repo: Repo) -> None:
    released(repo, capture=host("2.5.1"))
    repo.write({SAMPLING: sampled(0.1)})
    for left, right in (("summarizer@v1", "summarizer"), ("worktree", "summarizer@v1")):
        report = compared(repo, left, right)
        assert [one.key for one in report.changes] == ["temperature"]
        assert "not compared, known of v1 only: weights, packages" in report.notes


def test_a_release_beside_a_capture_is_its_captured_host(repo: Repo) -> None:
    released(repo, capture=host("2.5.1"))
    repo.write({"host.json": dump_capture(host("2.6.0"))})
    report = compared(repo, "summarizer@v1", "host.json")
    assert [(one.layer, one.key) for one in report.changes] == [("packages", "torch")]


def test_a_release_without_a_capture_has_no_host(repo: Repo) -> None:
    released(repo)
    repo.write({"host.json": dump_capture(host("2.6.0"))})
    with pytest.raises(Unreadable, match="cut without a capture"):
        compared(repo, "summarizer@v1", "host.json")


def server(version: str) -> EndpointSide:
    """A server that shows which engine it is."""
    shown = {"engine.name": "vllm", "engine.version": version}
    values = {key: Observed(value, "GET /version") for key, value in shown.items()}
    seen = Observation("vllm", version, "http://x", values, {}, Unknown("another host"))
    return EndpointSide("http://x", "http://x", lambda *_: seen, lambda *_: Unknown("not here"))


def test_a_release_beside_a_server_is_its_declared_service(repo: Repo) -> None:
    """However far the work tree has gone on: what was released is what should run."""
    released(repo, capture=host("2.5.1"))
    repo.write({SAMPLING: sampled(0.1)})
    side = parse_side("summarizer@v1", place(repo))
    assert compare(side, server("0.7.3"), fail_on_difference=True).outcome is Outcome.PASS
    for left, right, pair in (
        (side, server("0.8.2"), ("0.7.3", "0.8.2")),
        (server("0.8.2"), side, ("0.8.2", "0.7.3")),
    ):
        report = compare(left, right, fail_on_difference=True)
        assert [(one.key, one.before, one.after) for one in report.changes] == [("engine.version", *pair)]
        assert report.outcome is Outcome.BLOCK


def test_a_record_is_a_side_by_its_path(repo: Repo) -> None:
    record = released(repo, capture=host("2.5.1"))
    side = parse_side(record.path, place(repo))
    assert isinstance(side, ReleaseSide)
    assert side.record.id == "v1"
    committed = parse_side(f"HEAD:{record.path}", place(repo))
    assert isinstance(committed, ReleaseSide)


def test_a_tag_of_the_same_name_and_meaning_is_no_ambiguity(repo: Repo) -> None:
    """`governed` tags its first commit v1, and the records come with a later one."""
    released(repo)
    assert isinstance(parse_side("summarizer@v1", place(repo)), ReleaseSide)


def test_a_tag_of_the_same_name_and_another_meaning_is_refused_with_both(repo: Repo) -> None:
    repo.commit("cooler", {SAMPLING: sampled(0.1)})
    record = released(repo)
    with pytest.raises(Usage, match="ambiguous") as err:
        parse_side("summarizer@v1", place(repo))
    for written in (f"./{record.path}", "summarizer@v1^0"):
        assert written in err.value.hint
        parse_side(written, place(repo))


def test_a_record_that_its_commit_does_not_bear_out_is_undecided(repo: Repo) -> None:
    record = released(repo)
    other = replace(record, id="v2", layers={**record.layers, "sampling": "0" * 64})
    repo.write({other.path: records.dump(other)})
    report = compared(repo, "summarizer@v1", "summarizer@v2")
    assert report.outcome is Outcome.UNDECIDED
    assert "tierlock release verify summarizer v2" in report.summary


def test_a_release_is_not_compared_with_a_file(repo: Repo) -> None:
    released(repo)
    with pytest.raises(Usage, match="a release"):
        compared(repo, "summarizer@v1", SAMPLING)
