"""What a restore touches: the service's own files and three names in tierlock.yaml, and not one byte more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.files import WorkTree
from governance.errors import Unreadable
from governance.release import journal as journals
from governance.release.deploy.target import state_folder
from governance.release.record import latest
from governance.release.restore import rebound, restore_of
from governance.release.rollback import rollback
from governance.release.sides import Place
from governance.release.verifying import service_at
from governance.tiers.reader import read_yaml
from governance.tiers.writer import dump
from governance.verdict import Outcome
from tests.support.completions_server import serving
from tests.support.governed import BASE, place
from tests.support.released import SERVICE
from tests.support.repos import Repo
from tests.support.rollbacks import SAMPLING, FakeDriver, repository, right, terms, world

GOLDEN = {"base": "qwen", "sampling": "factual", "prompts": "summarize"}
BLOCK = """\
# ours
version: 1
services:
  first: {base: a, sampling: b, prompts: c}   # another
  summarizer:
    base: hot   # what runs
    # a note
    prompts: "wordy"
    sampling: 'creative'
    evals: {smoke: smoke}

review:
  people: {}
"""
FLOW = (
    "version: 1\nservices: {summarizer: {base: hot, sampling: warm, prompts: wordy}, "
    "z: {base: a, sampling: b, prompts: c}}\n"
)


def bound(text: str, name: str = "summarizer", bindings: dict[str, str] | None = None) -> str:
    whole: Any = {**GOLDEN, "evals": {"smoke": "smoke"}, "endpoint": {"url": "http://127.0.0.1:1/v1"}}
    return rebound(read_yaml(text.encode(), "tierlock.yaml"), name, bindings or GOLDEN, whole)


def test_only_the_three_names_are_replaced_whatever_stands_around_them() -> None:
    assert bound(BLOCK) == BLOCK.replace("base: hot", "base: qwen").replace('"wordy"', "summarize").replace(
        "'creative'", "factual"
    )
    assert bound(FLOW) == FLOW.replace("hot", "qwen").replace("warm", "factual").replace("wordy", "summarize")


def test_a_name_that_could_be_misread_is_quoted() -> None:
    assert 'base: "1e5"' in bound(BLOCK, bindings={**GOLDEN, "base": "1e5"})


def test_a_service_that_was_taken_out_gets_its_entry_back_behind_the_others() -> None:
    without = BLOCK[: BLOCK.index("  summarizer:")] + BLOCK[BLOCK.index("\nreview:") :]
    text = bound(without)
    assert text.startswith(without[: without.index("\nreview:")])
    assert text.endswith("\nreview:\n  people: {}\n")
    tree = read_yaml(text.encode(), "tierlock.yaml").tree
    assert isinstance(tree, dict)
    assert list(tree["services"]) == ["first", "summarizer"]
    assert tree["services"]["summarizer"]["evals"] == {"smoke": "smoke"}


@pytest.mark.parametrize(
    "text", ["version: 1\n", "version: 1\nservices:\n  a: {base: b, sampling: c, prompts: d}\n"]
)
def test_the_entry_comes_back_at_the_end_of_the_file_too(text: str) -> None:
    assert bound(text).startswith(text.rstrip("\n"))


def test_a_file_whose_text_cannot_take_the_entry_is_left_alone_with_what_to_write() -> None:
    with pytest.raises(Unreadable, match="without touching the rest") as caught:
        bound("version: 1\nservices: {a: {base: b, sampling: c, prompts: d}}\n")
    assert "base: qwen, sampling: factual, prompts: summarize" in caught.value.hint


NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
ENTRIES = st.fixed_dictionaries({"base": NAMES, "sampling": NAMES, "prompts": NAMES})


@given(st.dictionaries(NAMES, ENTRIES, min_size=1, max_size=4), ENTRIES, st.data())
def test_every_other_service_means_what_it_meant(
    services: dict[str, Any], wanted: dict[str, str], data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(services)))
    text = dump({"version": 1, "services": services})
    tree = read_yaml(bound(text, name, wanted).encode(), "tierlock.yaml").tree
    assert tree == {"version": 1, "services": {**services, name: wanted}}


@pytest.fixture
def made(tmp_path: Path) -> Any:
    with serving(right) as server:
        yield repository(tmp_path / "repo", server.url)


def test_the_plan_has_what_differs_and_names_who_moves_along(made: Any) -> None:
    repo, first, _ = made
    text = (repo.path / "tierlock.yaml").read_text().replace("sampling: other,", "sampling: factual,")
    repo.commit("shared", {"tierlock.yaml": text})
    at = place(repo)
    found = restore_of(first, service_at(first, at), at, repo.git("rev-parse", "HEAD"))
    assert found.paths == (
        "configs/base/qwen.yaml",
        "configs/prompts/summarize/system.md",
        "configs/sampling/factual.yaml",
    )
    assert found.moves_too == ("other",)


def test_nothing_differs_from_itself(made: Any) -> None:
    repo, first, _ = made
    at = place(repo)
    assert restore_of(first, service_at(first, at), at, first.commit).changes == ()


@pytest.mark.parametrize("bind", ["another", "gone"])
def test_a_service_bound_to_other_configs_is_bound_again(made: Any, tmp_path: Path, bind: str) -> None:
    repo, _, second = made
    text = (repo.path / "tierlock.yaml").read_text()
    files = {
        "configs/base/qwen-new.yaml": BASE.replace("generation_config: {file: generation_config.json}", "")
    }
    if bind == "another":
        files["tierlock.yaml"] = text.replace("    base: qwen\n", "    base: qwen-new\n")
    else:
        start, end = text.index("  # the one that is paged for"), text.index("  other:")
        files["tierlock.yaml"] = text[:start] + text[end:]
    repo.commit("bound otherwise", files)
    driver = FakeDriver(tmp_path / "runtime")
    driver.start(second.fingerprint, "v2", 4096)
    report = rollback(place(repo), terms(), world(driver))
    assert report.outcome is Outcome.PASS, report
    now = (repo.path / "tierlock.yaml").read_text()
    if bind == "another":
        assert now == text
    else:
        assert now.startswith(files["tierlock.yaml"].rstrip("\n"))
    assert (repo.path / "configs/base/qwen-new.yaml").exists(), "what is bound no more is left where it is"
    assert repo.git("status", "--porcelain", "-uall") == ""


def test_a_folder_of_a_larger_repository_is_restored_where_it_lies(tmp_path: Path) -> None:
    with serving(right) as server:
        inner, _, second = repository(tmp_path / "inner", server.url)
        (tmp_path / "outer").mkdir()
        outer = Repo(tmp_path / "outer")
        outer.git("init", "-q", "-b", "main")
        outer.git("pull", "-q", str(inner.path), "main")
        outer.git("filter-branch", "-f", "--index-filter", _MOVED, "HEAD", FILTER_BRANCH_SQUELCH_WARNING="1")
        outer.git("reset", "-q", "--hard")
        root = outer.path / "llm"
        _point_at(outer, root)
        driver = FakeDriver(tmp_path / "runtime")
        driver.start(second.fingerprint, "v2", 4096)
        at = Place(root, here=root, environ=outer.environment)
        report = rollback(at, terms(), world(driver))
    assert report.outcome is Outcome.PASS, report
    assert "temperature: 0.2" in (root / SAMPLING).read_text()
    assert outer.git("status", "--porcelain", "-uall") == ""
    made = latest(WorkTree(root), SERVICE)
    assert made is not None
    assert made.restores == "v1"
    assert journals.read(state_folder(at, SERVICE)) is None


_MOVED = (
    'git ls-files -s | sed "s-\\t-&llm/-" | GIT_INDEX_FILE=$GIT_INDEX_FILE.new git update-index --index-info '
    '&& mv "$GIT_INDEX_FILE.new" "$GIT_INDEX_FILE"'
)


def _point_at(outer: Repo, root: Path) -> None:
    """The commits were made anew in the move: records are cut from the new ones."""
    from dataclasses import replace

    from governance.release import golden as pointers
    from governance.release.record import digest_of, list_records
    from governance.release.record import dump as dump_record

    log = outer.git("log", "--reverse", "--format=%H %s").splitlines()
    oids = {"v1": log[0].split()[0], "v2": next(line.split()[0] for line in log if "make summaries" in line)}
    source = WorkTree(root)
    for record in list_records(source, SERVICE):
        again = replace(record, commit=oids[record.id])
        (root / record.path).write_bytes(dump_record(again))
        pointer = pointers.read_golden(source, SERVICE)
        if pointer.current is not None and pointer.current.release == record.id:
            entry = replace(pointer.current, record=digest_of(dump_record(again)))
            (root / pointer.path).write_bytes(pointers.dump(replace(pointer, current=entry)))
    outer.commit("pointed")
