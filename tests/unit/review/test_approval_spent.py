"""An approval counts for one landing: what history says about a change that is made again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from governance.adapters.files import MemoryTree
from governance.adapters.git import RevisionTree
from governance.errors import IncompleteHistory
from governance.review.model import Subject, SubjectKind
from governance.review.spent import is_spent
from tests.support.repos import Repo, make_repo

SUBJECT = Subject(SubjectKind.CONFIG, "sampling/factual", "a" * 64, "b" * 64)
CONFIG = "configs/sampling/factual.yaml"
RECORD = ".tierlock/approvals/sampling/factual/0-a.json"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", files={CONFIG: "a", "tierlock.yaml": "x"})


def spent(repo: Repo, subject: Subject = SUBJECT, folder: str = "") -> bool:
    return is_spent(RevisionTree(repo.neighbour(), "HEAD", folder=folder), RECORD, subject)


def test_an_approval_that_came_before_its_change_is_not_used_up(repo: Repo) -> None:
    repo.commit("approval", {RECORD: "{}"})
    repo.commit("something else", {"README.md": "x"})
    assert not spent(repo)


def test_an_approval_that_came_with_its_change_is_used_up_once_that_is_taken_back(repo: Repo) -> None:
    repo.commit("both", {CONFIG: "b", RECORD: "{}"})
    repo.commit("back", {CONFIG: "a"})
    assert spent(repo)


def test_a_change_made_and_taken_back_after_the_approval_uses_it_up(repo: Repo) -> None:
    repo.commit("approval", {RECORD: "{}"})
    repo.commit("there", {CONFIG: "b"})
    repo.commit("back", {CONFIG: "a"})
    assert spent(repo)


def test_a_file_that_the_config_names_counts_as_the_config(repo: Repo) -> None:
    repo.commit("approval", {RECORD: "{}"})
    repo.commit("there", {"configs/sampling/factual/grammar.gbnf": "b"})
    repo.commit("back", {"configs/sampling/factual/grammar.gbnf": "a"})
    assert spent(repo)


def test_a_change_merged_from_a_branch_with_its_approval_uses_it_up(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("there", {CONFIG: "b"})
    repo.commit("approval", {RECORD: "{}"})
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    repo.commit("back", {CONFIG: "a"})
    assert spent(repo)


def test_an_approval_cherry_picked_on_another_branch_is_seen_where_it_came_first(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("both", {CONFIG: "b", RECORD: "{}"})
    repo.commit("back", {CONFIG: "a"})
    repo.git("checkout", "-q", "main")
    repo.commit("approval alone", {RECORD: "{}"})
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    assert spent(repo)


def test_the_policy_moves_with_its_file(repo: Repo) -> None:
    policy = Subject(SubjectKind.POLICY, "policy", "a" * 64, "b" * 64)
    repo.commit("approval", {RECORD: "{}"})
    assert not spent(repo, policy)
    repo.commit("other policy", {"tierlock.yaml": "y"})
    assert spent(repo, policy)


def test_a_governed_folder_of_a_larger_repository_is_looked_at_inside(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "mono", files={f"team/{CONFIG}": "a", CONFIG: "a"})
    repo.commit("approval", {f"team/{RECORD}": "{}"})
    repo.commit("elsewhere", {CONFIG: "b"})
    assert not spent(repo, folder="team")
    repo.commit("there", {f"team/{CONFIG}": "b"})
    assert spent(repo, folder="team")


def test_a_shallow_clone_cannot_tell(tmp_path: Path, repo: Repo) -> None:
    """The commit at the edge seems to have brought everything."""
    repo.commit("approval", {RECORD: "{}"})
    clone = tmp_path / "clone"
    source = f"file://{repo.path}"
    subprocess.run(("git", "clone", "-q", "--depth", "1", source, clone), env=repo.environment, check=True)
    with pytest.raises(IncompleteHistory, match="shallow"):
        spent(Repo(clone))


def test_without_history_what_the_base_holds_is_used_up() -> None:
    assert is_spent(MemoryTree({RECORD: b"{}"}), RECORD, SUBJECT)
