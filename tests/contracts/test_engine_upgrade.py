"""Two real builds of llama.cpp on the same weights: the diff names the engine, the comparison the answers.

Nothing in the sampling, the prompts or the weights moved. A fingerprint that leaves the engine out would call
the two equal, and a mean score may well be the same. The upgrade is made twice: with the options as they
were, where two builds may compute the very same, and with flash attention off, which moves answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from governance.adapters.demo_engine import DemoEngine
from governance.evals.asked import scorer_of
from governance.evals.comparing import compare_runs
from governance.evals.comparison_report import comparison_report
from governance.evals.endpoint import endpoint_of
from governance.evals.model import Run
from governance.evals.results import dump_run
from governance.evals.running import run_suite
from governance.values import Json
from tests.support import evals, llama_server, second_build
from tests.support.command import Tierlock

QUESTIONS = {
    "capital": ("What is the capital of France?", "Paris"),
    "wall": ("In which year did the Berlin Wall fall?", "1989"),
    "water": ("Of which two elements does water consist?", "oxygen"),
    "planet": ("Which planet is the largest?", "Jupiter"),
    "story": ("Tell a story of a fox and a crow.", "cheese"),
    "rain": ("Why does it rain?", "clouds"),
    "list": ("Name five colours of the rainbow.", "violet"),
    "reason": ("Explain why ice floats on water.", "dense"),
}
GREEDY: dict[str, Json] = {**evals.SAMPLING, "temperature": 0.0, "max_tokens": 64}
PLAIN: dict[str, Json] = {"kind": "prompts", "system": "You answer briefly."}


def base(version: str, attention: str = "flash") -> dict[str, Json]:
    """The base config on that build. Every prompt is computed anew: a warm cache would be another change."""
    engine = llama_server.BASE["engine"]
    assert isinstance(engine, Mapping)
    options = engine["options"]
    assert isinstance(options, Mapping)
    told = {name: value for name, value in engine.items() if name != "commit"}
    return {
        **llama_server.BASE,
        "engine": {
            **told,
            "version": version,
            "options": {**options, "prefix_caching": False, "attention": attention},
        },
    }


def files(version: str, attention: str = "flash") -> dict[str, str]:
    """The governed repository with the service on that build."""
    given = evals.files(
        base=base(version, attention),
        sampling=GREEDY,
        prompts=PLAIN,
        service={"endpoint": {"url": "http://127.0.0.1:9/v1", "timeout_s": 120, "concurrency": 1}},
    )
    given["evals/smoke.jsonl"] = "".join(
        json.dumps(
            {
                "id": name,
                "task": "question-answering",
                "prompt": question,
                "scorer": "contains",
                "args": {"all": [word]},
            }
        )
        + "\n"
        for name, (question, word) in QUESTIONS.items()
    )
    return given


def asked(version: str, url: str, attention: str = "flash") -> Run:
    """What the service answers at `url`."""
    given = files(version, attention)
    service = evals.service_of(given)
    return run_suite(
        evals.suite_of(given), service, endpoint_of(service, {}, url=url), score=scorer_of(service, ".")
    )


@dataclass(frozen=True)
class Upgrade:
    """The runs on both builds, the first one once more; `plain` has the options as they were."""

    before: Run
    again: Run
    after: Run
    plain: Run


@pytest.fixture(scope="module")
def upgrade(llama_engine: DemoEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgrade]:
    if not second_build.installed():
        pytest.skip("there is no xllamacpp wheel for this interpreter")
    folder = tmp_path_factory.mktemp("upgrade")
    with llama_server.started(llama_engine, folder, base=base("b10068")) as server:
        before, again = asked("b10068", server.url), asked("b10068", server.url)
    with second_build.started(llama_engine, folder) as url:
        plain = asked(second_build.VERSION, url)
    with second_build.started(llama_engine, folder, attention="eager") as url:
        yield Upgrade(before, again, asked(second_build.VERSION, url, "eager"), plain)


@pytest.fixture
def tierlock(
    upgrade: Upgrade,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Tierlock:
    """A repository whose last commit upgrades the engine, with the runs beside it."""
    repo = evals.repository(tmp_path / "repo", files("b10068"))
    repo.commit("upgrade the engine", files(second_build.VERSION, "eager"))
    for name in ("before", "again", "after", "plain"):
        (repo.path / f"{name}.jsonl").write_bytes(dump_run(getattr(upgrade, name)))
    return Tierlock(repo.path, capsys, monkeypatch)


@pytest.mark.server
def test_the_same_build_asked_twice_moves_no_answer(upgrade: Upgrade) -> None:
    """Without this the comparison below would show noise."""
    found = compare_runs(upgrade.before, upgrade.again)
    assert found.movement.answers == len(QUESTIONS)
    assert found.movement.moved == ()


@pytest.mark.server
def test_the_diff_names_the_engine_and_its_option_and_nothing_else(tierlock: Tierlock) -> None:
    said = tierlock.run("diff", "helper@HEAD~1", "helper@HEAD", "--format", "json").json
    states = {layer["name"]: layer["state"] for layer in said["layers"]}
    assert (states["base"], states["sampling"], states["prompts"]) == ("changed", "same", "same")
    moved = {change["key"]: (change["before"], change["after"]) for change in said["changes"]}
    assert moved["engine.version"] == ("b10068", second_build.VERSION)
    assert moved["engine.options.attention"] == ("flash", "eager")


@pytest.mark.server
def test_the_comparison_names_each_answer_that_moved_and_where(upgrade: Upgrade, tierlock: Tierlock) -> None:
    said = tierlock.run("eval", "compare", "before.jsonl", "after.jsonl", "--format", "json").json
    texts = [{one.item: one.text for one in run.results} for run in (upgrade.before, upgrade.after)]
    differing = {name for name in QUESTIONS if texts[0][name] != texts[1][name]}
    assert differing
    moved = {one["item"]: one["at"] for one in said["run"]["moved"]}
    assert set(moved) == differing
    assert all(at >= 1 for at in moved.values())
    states = {layer["name"]: layer["state"] for layer in said["layers"]}
    assert (states["base"], states["sampling"], states["prompts"]) == ("changed", "same", "same")
    assert states["server"] == "changed"
    assert said["outcome"] == "undecided"


@pytest.mark.server
def test_an_upgrade_with_the_same_options_is_told_for_what_it_did(
    upgrade: Upgrade, tierlock: Tierlock
) -> None:
    """Two builds for the same instruction set may compute the same: found by asking, not assumed."""
    said = tierlock.run("eval", "compare", "before.jsonl", "plain.jsonl", "--format", "json").json
    texts = [{one.item: one.text for one in run.results} for run in (upgrade.before, upgrade.plain)]
    differing = {name for name in QUESTIONS if texts[0][name] != texts[1][name]}
    assert {one["item"] for one in said["run"]["moved"]} == differing
    states = {layer["name"]: layer["state"] for layer in said["layers"]}
    assert (states["base"], states["server"]) == ("changed", "changed")


@pytest.mark.server
def test_equal_fingerprints_go_with_equal_answers_and_other_builds_do_not(upgrade: Upgrade) -> None:
    assert upgrade.before.fingerprint == upgrade.again.fingerprint != upgrade.after.fingerprint
    report = comparison_report(compare_runs(upgrade.before, upgrade.after))
    server = next(layer for layer in report.layers if layer.name == "server")
    assert (server.state, server.before) == ("changed", "SmolLM2-135M-Instruct.Q4_1.gguf b1-571d0d5")
