"""Two states of a repository: layers first, then every field with its place, its provenance and its cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from governance.errors import Usage
from governance.fingerprint.changes import WHOLE, Showing
from governance.fingerprint.states import Differing
from governance.release.diff import compare
from governance.release.found import Found
from governance.release.sides import StateSide, parse_side
from governance.tiers.config import ConfigId
from governance.values import ABSENT, Effect
from governance.verdict import Change, Outcome, Report
from tests.support.governed import (
    BASE,
    FILES,
    GENERATION,
    PROMPTS,
    SAMPLING,
    SERVICES,
    governed,
    place,
    release,
)
from tests.support.repos import Repo

FACTUAL = "configs/sampling/factual.yaml"
QWEN = "configs/base/qwen.yaml"
SYSTEM = "configs/prompts/summarize/system.md"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return governed(tmp_path / "repo")


def diff(repo: Repo, left: str, right: str, *, fail: bool = False) -> Report:
    at = place(repo)
    return compare(parse_side(left, at), parse_side(right, at), fail_on_difference=fail)


def by_key(report: Report) -> dict[str, Change]:
    return {change.key: change for change in report.changes}


def test_a_changed_value_names_file_line_effect_and_risk(repo: Repo) -> None:
    release(repo, "v2", {FACTUAL: SAMPLING.replace("0.2", "0.9")})
    (change,) = diff(repo, "v1", "v2").changes
    assert (change.layer, change.key, change.before, change.after) == (
        "sampling/factual",
        "temperature",
        0.2,
        0.9,
    )
    assert (change.path, change.line, change.column) == (FACTUAL, 3, 14)
    assert change.risk is Effect.OUTPUT
    assert "token distribution" in change.effect


def test_every_pair_of_states_gives_the_same_answer(repo: Repo) -> None:
    """Revisions, the index and the work tree are read in three ways; the answer is one."""
    new = {FACTUAL: SAMPLING.replace("0.2", "0.9"), SYSTEM: "You answer at length.\n"}
    release(repo, "v2", new)
    expected = diff(repo, "v1", "v2").changes
    repo.git("reset", "-q", "--hard", "v1")
    repo.write(new)
    assert diff(repo, "v1", "worktree").changes == expected
    assert diff(repo, "index", "worktree").changes == expected
    repo.git("add", "-A")
    assert diff(repo, "v1", "index").changes == expected
    assert diff(repo, "HEAD", "index").changes == expected
    back = diff(repo, "index", "v1").changes
    assert [(one.after, one.before) for one in back] == [(one.before, one.after) for one in expected]


def test_comments_layout_and_key_order_are_the_same_in_meaning(repo: Repo) -> None:
    lines = SAMPLING.splitlines()
    shuffled = "# a comment\n" + "\n".join([lines[0], *reversed(lines[1:])]).replace("0.2", "0.20") + "\n"
    release(repo, "v2", {FACTUAL: shuffled})
    report = diff(repo, "v1", "v2", fail=True)
    assert report.changes == ()
    assert report.outcome is Outcome.PASS
    assert report.summary.startswith("same meaning: 1 file differ")
    service = diff(repo, "summarizer@v1", "summarizer@v2", fail=True)
    assert {layer.state for layer in service.layers if layer.name in ("base", "sampling", "prompts")} == {
        "same"
    }
    assert service.summary.startswith("same meaning")
    assert service.outcome is Outcome.PASS


def test_equal_states_are_no_difference_whatever_is_unknown(repo: Repo) -> None:
    for pair in (("v1", "HEAD"), ("v1", "worktree"), ("summarizer@v1", "summarizer"), ("index", "index")):
        report = diff(repo, *pair, fail=True)
        assert (report.outcome, report.summary) == (Outcome.PASS, "no difference")


def test_a_difference_blocks_only_when_asked(repo: Repo) -> None:
    release(repo, "v2", {FACTUAL: SAMPLING.replace("0.2", "0.9")})
    assert diff(repo, "v1", "v2").outcome is Outcome.PASS
    assert diff(repo, "v1", "v2", fail=True).outcome is Outcome.BLOCK
    assert diff(repo, "v1", "v2").summary == "1 change in sampling/factual; risk: output"


def test_a_set_loses_one_element(repo: Repo) -> None:
    """A19: stop id 32007 was removed; the order of stop ids is no change."""
    release(repo, "v2", {FACTUAL: SAMPLING.replace("[2, 32007, 32000]", "[32000, 2]")})
    (change,) = diff(repo, "v1", "v2").changes
    assert (change.key, change.before, change.after) == ("stop_token_ids[1]", 32000, ABSENT) or (
        change.before,
        change.after,
    ) == (32007, ABSENT)
    assert change.before == 32007
    release(repo, "v3", {FACTUAL: SAMPLING.replace("[2, 32007, 32000]", "[32000, 2, 32007]")})
    assert diff(repo, "v1", "v3").changes == ()


def test_an_int_in_a_number_field_is_the_same_number(repo: Repo) -> None:
    """C13: a formatter that writes 1 for 1.0 changes nothing."""
    release(repo, "v2", {FACTUAL: SAMPLING + "top_p: 1\n"})
    release(repo, "v3", {FACTUAL: SAMPLING + "top_p: 1.0\n"})
    assert diff(repo, "v2", "v3").changes == ()


def test_an_engine_upgrade_that_reads_the_models_defaults_is_named_as_the_cause(repo: Repo) -> None:
    """A01: sampling.yaml is byte-identical, and three values move all the same."""
    release(repo, "v2", {QWEN: BASE.replace("0.7.3", "0.8.2")})
    report = diff(repo, "summarizer@v1", "summarizer@v2")
    changes = by_key(report)
    for key, before, after in (("top_p", 1.0, 0.8), ("top_k", -1, 20), ("repetition_penalty", 1.0, 1.05)):
        change = changes[f"sampling.{key}"]
        assert (change.layer, change.before, change.after) == ("effective", before, after)
        assert change.before_from == "engine default (vllm 0.7.3)"
        assert "generation_config.json" in change.after_from
    assert "sampling.temperature" not in changes
    states = {layer.name: layer.state for layer in report.layers}
    assert states == {"base": "changed", "sampling": "same", "prompts": "same", "effective": "changed"}
    notes = "\n".join(report.notes)
    assert "the engine upgrade (vllm 0.7.3 → 0.8.2) reads the model's generation config by default" in notes
    assert "pinned, so unmoved: temperature 0.2" in notes
    assert report.next == "tierlock resolve summarizer --at v1 --write"
    assert report.title.startswith("summarizer   v1 ")


def test_a_whole_repository_names_the_service_whose_values_moved(repo: Repo) -> None:
    release(repo, "v2", {QWEN: BASE.replace("0.7.3", "0.8.2")})
    report = diff(repo, "v1", "v2")
    moved = [change for change in report.changes if change.layer == "effective/summarizer"]
    assert "sampling.top_p" in {change.key for change in moved}
    assert any(note.startswith("summarizer: cause") for note in report.notes)
    assert [layer.name for layer in report.layers if layer.state == "changed"] == ["base", "effective"]


def test_a_changed_generation_config_is_the_cause_when_nothing_else_moved(repo: Repo) -> None:
    release(repo, "v2", {QWEN: BASE.replace("0.7.3", "0.8.2")})
    changed = json.dumps({**GENERATION, "top_p": 0.5})
    release(repo, "v3", {"configs/base/qwen/generation_config.json": changed})
    report = diff(repo, "summarizer@v2", "summarizer@v3")
    assert by_key(report)["sampling.top_p"].after == 0.5
    assert any("the model's generation_config.json changed" in note for note in report.notes)
    file = by_key(report)["model.generation_config"]
    assert file.path == "configs/base/qwen/generation_config.json"
    assert file.text == ("~ top_p  0.8 → 0.5",)


def test_the_same_json_in_another_order_is_said_to_be_so(repo: Repo) -> None:
    """The layer digests bytes, so there is a change; its values are the same."""
    reordered = json.dumps(dict(reversed(GENERATION.items())))
    release(repo, "v2", {"configs/base/qwen/generation_config.json": reordered})
    (change,) = diff(repo, "v1", "v2").changes
    assert change.text == ("~ the same values: only order or layout of the file changed",)


def test_a_value_that_moves_by_its_own_key_is_told_once(repo: Repo) -> None:
    release(repo, "v2", {FACTUAL: SAMPLING.replace("0.2", "0.9")})
    report = diff(repo, "summarizer@v1", "summarizer@v2")
    assert [(change.layer, change.key) for change in report.changes] == [("sampling", "temperature")]
    assert "effective values that moved with the config: temperature" in report.notes


def test_a_policy_for_the_models_defaults_is_named_as_the_cause(repo: Repo) -> None:
    release(repo, "v2", {QWEN: BASE.replace("0.7.3", "0.8.2")})
    release(repo, "v3", {QWEN: BASE.replace("0.7.3", "0.8.2") + "    generation_config: engine\n"})
    report = diff(repo, "summarizer@v2", "summarizer@v3")
    assert by_key(report)["sampling.top_k"].after == -1
    assert any("`engine.options.generation_config` changed" in note for note in report.notes)


def test_another_engine_is_named_as_the_cause(repo: Repo) -> None:
    other = BASE.replace("name: vllm", "name: sglang").replace('"0.7.3"', '"0.4.9"')
    release(repo, "v2", {QWEN: other})
    report = diff(repo, "summarizer@v1", "summarizer@v2")
    assert any("another engine: vllm 0.7.3 → sglang 0.4.9" in note for note in report.notes)


def test_a_key_that_is_left_out_of_the_fingerprint_is_no_difference(repo: Repo) -> None:
    release(repo, "v2", {QWEN: BASE + "    served_model_name: another\n"})
    for left, right in (("summarizer@v1", "summarizer@v2"), ("v1", "v2")):
        report = diff(repo, left, right, fail=True)
        assert report.outcome is Outcome.PASS
        assert report.changes == ()


def test_a_value_that_only_changes_speed_is_a_note_in_the_effective_layer(repo: Repo) -> None:
    release(repo, "v2", {QWEN: BASE + "    max_num_seqs: 3\n"})
    report = diff(repo, "summarizer@v1", "summarizer@v2")
    assert "effective" not in {change.layer for change in report.changes}


def test_an_unknown_that_shapes_answers_is_undecided_when_a_difference_shall_fail() -> None:
    """Unknown equals nothing: where inputs moved and no value is seen to, equality is still not claimed."""
    found = Found(open="19 effective values are not known before start")
    assert found.report(fail_on_difference=False).outcome is Outcome.PASS
    assert found.report(fail_on_difference=True).outcome is Outcome.UNDECIDED


def test_prompts_are_shown_by_word_with_the_end_of_file_in_words(repo: Repo) -> None:
    """A04, C10: a newline added at the end is a change that is seen."""
    release(repo, "v2", {SYSTEM: "You answer briefly.\nNever ever guess.\n\n"})
    (change,) = diff(repo, "v1", "v2").changes
    assert (change.layer, change.key, change.path) == ("prompts/summarize", "system", SYSTEM)
    assert change.text == (
        "     1  You answer briefly.",
        "~    2  Never {+ever +}guess.",
        "+ newline added at end of file",
    )


def test_a_text_in_place_has_its_line(repo: Repo) -> None:
    release(repo, "v2", {"configs/prompts/summarize.yaml": PROMPTS.replace("the article.", "the article!")})
    (change,) = diff(repo, "v1", "v2").changes
    assert (change.key, change.path, change.line) == ("template", "configs/prompts/summarize.yaml", 4)
    assert change.text[0] == "~    1  Summarize the [-article.-]{+article!+}"


def test_a_text_moved_from_the_config_into_a_file_is_no_change(repo: Repo) -> None:
    inline = PROMPTS.replace("{file: system.md}", '"You answer briefly.\\nNever guess.\\n"')
    repo.git("rm", "-q", SYSTEM)
    release(repo, "v2", {"configs/prompts/summarize.yaml": inline})
    assert diff(repo, "v1", "v2").changes == ()


def test_configs_that_come_and_go_are_changes(repo: Repo) -> None:
    """D05: a rename is a removal and an addition, whatever git thinks of it."""
    repo.git("mv", FACTUAL, "configs/sampling/strict.yaml")
    release(repo, "v2", {"tierlock.yaml": SERVICES.replace("factual", "strict")})
    report = diff(repo, "v1", "v2")
    assert {(c.layer, c.key, c.effect) for c in report.changes if c.key == WHOLE} == {
        ("sampling/factual", WHOLE, "the config is removed"),
        ("sampling/strict", WHOLE, "the config is added"),
    }
    binding = by_key(report)["services.summarizer.sampling"]
    assert (binding.layer, binding.before, binding.after) == ("services", "factual", "strict")
    assert (binding.path, binding.line) == ("tierlock.yaml", 3)
    details = {layer.name: layer.detail for layer in report.layers}
    assert details["sampling"] == "1 added, 1 removed"


def test_a_service_bound_to_another_config_shows_its_values(repo: Repo) -> None:
    release(
        repo,
        "v2",
        {
            "configs/sampling/creative.yaml": SAMPLING.replace("0.2", "0.9").replace("factual", "creative"),
            "tierlock.yaml": SERVICES.replace("sampling: factual", "sampling: creative"),
        },
    )
    report = diff(repo, "summarizer@v1", "summarizer@v2")
    keys = {(change.layer, change.key) for change in report.changes}
    assert {("services", "services.summarizer.sampling"), ("sampling", "temperature")} <= keys


def test_a_service_that_came_is_told_as_its_binding(repo: Repo) -> None:
    more = SERVICES + "  qa: {base: qwen, sampling: factual, prompts: summarize}\n"
    release(repo, "v2", {"tierlock.yaml": more})
    report = diff(repo, "v1", "qa")
    assert [change.key for change in report.changes] == [
        f"services.qa.{tier}" for tier in ("base", "sampling", "prompts")
    ]
    assert {change.before for change in report.changes} == {ABSENT}
    assert {change.layer for change in diff(repo, "v1", "v2").changes} == {"services"}


def test_a_config_that_does_not_load_is_undecided_and_the_rest_is_compared(repo: Repo) -> None:
    release(repo, "v2", {FACTUAL: SAMPLING.replace("temperature", "tempurature"), SYSTEM: "Hello.\n"})
    for left, right in (("v1", "v2"), ("summarizer@v1", "summarizer@v2"), ("v2", "v1")):
        report = diff(repo, left, right)
        assert report.outcome is Outcome.UNDECIDED
        assert "sampling/factual: it does not load in v2" in report.summary
        assert [finding.code for finding in report.findings] == ["TL103"]
        assert "system" in by_key(report)


def test_a_services_file_that_does_not_load_is_undecided(repo: Repo) -> None:
    release(repo, "v2", {"tierlock.yaml": SERVICES + "  broken: {base: nope\n"})
    report = diff(repo, "v1", "v2")
    assert report.outcome is Outcome.UNDECIDED
    assert report.findings


def test_a_config_replaced_by_a_link_is_undecided_not_unchanged(repo: Repo) -> None:
    """C17: the link stays the same while what it points to changes."""
    (repo.path / FACTUAL).unlink()
    (repo.path / FACTUAL).symlink_to("/etc/hostname")
    repo.commit("link")
    for right in ("HEAD", "worktree"):
        report = diff(repo, "v1", right)
        assert report.outcome is Outcome.UNDECIDED
        assert [finding.code for finding in report.findings] == ["TL051"]


def test_a_file_of_no_config_is_told(repo: Repo) -> None:
    release(repo, "v2", {"configs/base/notes.txt": "x\n"})
    assert any("configs/base/notes.txt" in note for note in diff(repo, "v1", "v2").notes)


def test_only_what_differs_is_read_from_git(repo: Repo) -> None:
    more = {f"configs/sampling/s{n}.yaml": SAMPLING for n in range(30)}
    release(repo, "v2", more)
    release(repo, "v3", {"configs/sampling/s7.yaml": SAMPLING.replace("0.2", "0.3")})
    at = place(repo)
    left, right = parse_side("v2", at), parse_side("v3", at)
    assert isinstance(left, StateSide)
    assert isinstance(right, StateSide)
    found = Differing(left.state, right.state)
    assert found.paths == ["configs/sampling/s7.yaml"]
    assert found.configs == [ConfigId("sampling", "s7")]


def test_a_renamed_service_shared_configs_and_non_ascii_names_hold(repo: Repo) -> None:
    release(repo, "v2", {"configs/sampling/größe_客服.yaml": SAMPLING})
    release(repo, "v3", {"configs/sampling/größe_客服.yaml": SAMPLING.replace("0.2", "0.3")})
    (change,) = diff(repo, "v2", "v3").changes
    assert change.layer == "sampling/größe_客服"


def test_sides_of_unlike_kinds_are_refused_with_what_can_be_compared(repo: Repo) -> None:
    with pytest.raises(Usage, match="cannot be compared") as caught:
        diff(repo, "summarizer", FACTUAL)
    assert caught.value.hint
    assert diff(repo, FACTUAL, "v1").changes == ()


def test_by_token_and_with_everything_shown(repo: Repo) -> None:
    release(repo, "v2", {SYSTEM: "You answer briefly;\n" + "more\n" * 90})
    at = place(repo)
    sides = parse_side("v1", at), parse_side("v2", at)
    short = compare(*sides).changes[0].text
    long = compare(*sides, showing=Showing("token", everything=True)).changes[0].text
    assert short[-1].endswith("(--all)")
    assert len(long) > 90
    assert long[0] == "~    1  You answer briefly[-.-]{+;+}"


def test_a_large_tree_is_compared_through_its_files(tmp_path: Path) -> None:
    """A repository without git on one side: the blob ids are computed as git would."""
    repo = governed(tmp_path / "repo", {"configs/sampling/x.yaml": SAMPLING})
    repo.write({"configs/sampling/x.yaml": SAMPLING.replace("0.2", "0.4")})
    assert [change.layer for change in diff(repo, "HEAD", "worktree").changes] == ["sampling/x"]
    assert FILES
