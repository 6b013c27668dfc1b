"""The configs of a checkout beside those of a release."""

from __future__ import annotations

from pathlib import Path

from governance.adapters.files import WorkTree
from governance.fingerprint.states import State
from governance.monitor import config
from governance.monitor.mismatch import Concerns, Seen
from governance.tiers.config import Service
from tests.support.governed import governed
from tests.support.repos import Repo

NAME = "summarizer"


def state(repo: Repo) -> State:
    return State(WorkTree(repo.path))


def released(repo: Repo) -> Service:
    found = state(repo).service(NAME)
    assert found is not None
    return found


def look(repo: Repo, expected: Service, concerns: Concerns = Concerns.SERVER) -> Seen:
    now = state(repo)
    here = now.service(NAME)
    return config.look(expected, here, tuple(now.findings), concerns=concerns, changed_at=lambda _: 400.0)


def change(repo: Repo, path: str, before: str, after: str) -> None:
    file = repo.path / path
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_the_same_checkout_is_the_same_in_all_its_layers(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    seen = look(repo, released(repo))
    assert seen.equal
    assert [layer.name for layer in seen.layers if layer.state == "same"][:3] == [
        "base",
        "sampling",
        "prompts",
    ]


def test_layout_and_comments_are_no_mismatch(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    expected = released(repo)
    change(repo, "configs/sampling/factual.yaml", "temperature: 0.2", "# warm\ntemperature:   0.2")
    assert look(repo, expected).equal


def test_an_edited_value_is_named_with_its_place_and_the_time_of_the_file(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    expected = released(repo)
    change(repo, "configs/sampling/factual.yaml", "temperature: 0.2", "temperature: 0.9")
    (one,) = look(repo, expected).mismatches
    assert (one.code, one.change.key, one.change.before, one.change.after) == (
        "TL801",
        "temperature",
        0.2,
        0.9,
    )
    assert (one.change.path, one.change.line) == ("configs/sampling/factual.yaml", 3)
    assert one.since == 400.0


def test_while_the_server_runs_an_edit_has_a_code_of_its_own(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    expected = released(repo)
    change(repo, "configs/prompts/summarize/system.md", "Never guess.\n", "Never guess.\n\n")
    (one,) = look(repo, expected, Concerns.NEXT_START).mismatches
    assert (one.code, one.change.layer, one.concerns) == ("TL808", "prompts", Concerns.NEXT_START)


def test_a_value_that_moved_without_a_config_of_its_own_is_named(tmp_path: Path) -> None:
    """Another engine version reads the model's generation config."""
    repo = governed(tmp_path / "repo")
    expected = released(repo)
    change(repo, "configs/base/qwen.yaml", '"0.7.3"', '"0.8.2"')
    keys = {(one.change.layer, one.change.key) for one in look(repo, expected).mismatches}
    assert ("base", "engine.version") in keys
    assert ("effective", "sampling.top_k") in keys


def test_a_config_that_does_not_load_is_a_doubt_with_the_place_of_its_fault(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    expected = released(repo)
    change(repo, "configs/sampling/factual.yaml", "temperature: 0.2", "tempurature: 0.2")
    (doubt,) = look(repo, expected).doubts
    assert doubt.reason.startswith("configs/sampling/factual.yaml:3: ")
    assert "tempurature" in doubt.reason


def test_a_service_that_is_gone_is_a_doubt(tmp_path: Path) -> None:
    repo = governed(tmp_path / "repo")
    expected = released(repo)
    change(repo, "tierlock.yaml", "summarizer:", "other:")
    assert look(repo, expected).doubts[0].reason == "there is no service `summarizer` here"
