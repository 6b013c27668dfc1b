"""Commits of single paths: what else is staged, edited or refused stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters.git_commits import commit_paths, uncommitted
from governance.errors import Unreadable
from tests.support.repos import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path, files={"a.txt": "a\n", "b.txt": "b\n"})


def test_only_the_paths_are_committed_and_the_rest_stays_staged(repo: Repo) -> None:
    repo.write({"b.txt": "staged\n", "records/one.json": "{}\n"})
    repo.git("add", "b.txt")
    oid = commit_paths(repo.neighbour(), ["records/one.json"], "release one")
    assert repo.git("show", "--format=%s", "--name-only", oid).split() == [
        "release",
        "one",
        "records/one.json",
    ]
    assert repo.git("diff", "--cached", "--name-only") == "b.txt"


def test_an_ignored_path_is_committed_all_the_same(repo: Repo) -> None:
    repo.commit("ignore", {".gitignore": "records/\n"})
    repo.write({"records/one.json": "{}\n"})
    commit_paths(repo.neighbour(), ["records/one.json"], "release one")
    assert repo.git("ls-files", "records") == "records/one.json"


def test_a_hook_that_refuses_leaves_the_files_and_stages_nothing(repo: Repo) -> None:
    hook = repo.path / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho 'no record today' >&2\nexit 1\n")
    hook.chmod(0o755)
    repo.write({"records/one.json": "{}\n"})
    before = repo.git("rev-parse", "HEAD")
    with pytest.raises(Unreadable, match="no record today") as err:
        commit_paths(repo.neighbour(), ["records/one.json"], "release one")
    assert "git add -f records/one.json" in err.value.hint
    assert repo.git("rev-parse", "HEAD") == before
    assert repo.git("status", "--porcelain", "-uall") == "?? records/one.json"


def test_nothing_is_committed_in_the_middle_of_a_merge(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {"a.txt": "side\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {"b.txt": "main\n"})
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side")
    repo.write({"records/one.json": "{}\n"})
    with pytest.raises(Unreadable, match="during a merge"):
        commit_paths(repo.neighbour(), ["records/one.json"], "release one")


def test_what_is_edited_staged_deleted_or_new_is_uncommitted(repo: Repo) -> None:
    assert uncommitted(repo.neighbour(), ["a.txt", "b.txt", "c"]) == ()
    repo.write({"a.txt": "edited\n", "c/new file.txt": "x\n", "elsewhere.txt": "y\n"})
    (repo.path / "b.txt").unlink()
    assert uncommitted(repo.neighbour(), ["a.txt", "b.txt", "c/"]) == ("a.txt", "b.txt", "c/new file.txt")
    repo.git("add", "-A")
    assert uncommitted(repo.neighbour(), ["a.txt"]) == ("a.txt",)
