"""A stretch of history in two calls: every commit, every parent, nothing simplified away."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters import git_landed
from governance.errors import IncompleteHistory
from tests.support.repos import Repo, isolated, make_repo

FILE = "configs/sampling/a.yaml"


def repo_with_merge(path: Path) -> Repo:
    repo = make_repo(path, files={FILE: "a\n", "README.md": "x\n"})
    repo.git("checkout", "-q", "-b", "side")
    repo.commit("side", {FILE: "b\n"})
    repo.git("checkout", "-q", "main")
    repo.commit("main", {"README.md": "y\n"})
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    return repo


def test_every_commit_comes_after_its_parents(tmp_path: Path) -> None:
    repo = repo_with_merge(tmp_path)
    found = git_landed.commits(repo.neighbour(), repo.git("rev-parse", "HEAD"))
    assert [one.oid for one in found] == repo.git("rev-list", "--topo-order", "--reverse", "HEAD").split()
    seen: set[str] = set()
    for one in found:
        assert set(one.parents) <= seen
        seen.add(one.oid)
    assert found[0].parents == ()
    assert len(found[-1].parents) == 2
    assert found[-1].time == 1793610000


def test_a_range_leaves_out_what_came_before(tmp_path: Path) -> None:
    repo = repo_with_merge(tmp_path)
    first = repo.git("rev-list", "--max-parents=0", "HEAD")
    found = git_landed.commits(repo.neighbour(), repo.git("rev-parse", "HEAD"), first)
    assert len(found) == 3
    assert first not in {one.oid for one in found}


def test_pairs_of_trees_are_compared_in_one_call_and_equal_ones_too(tmp_path: Path) -> None:
    repo = repo_with_merge(tmp_path)
    git = repo.neighbour()
    found = git_landed.commits(git, repo.git("rev-parse", "HEAD"))
    by_id = {one.oid: one for one in found}
    pairs = [(by_id[parent].tree, one.tree) for one in found for parent in one.parents]
    moved = git_landed.moves(git, [*pairs, (git.empty_tree(), found[0].tree)], ["configs/"])
    assert {pair: [(one.status, one.path) for one in each] for pair, each in moved.items()} == {
        pair: [
            tuple(line.split("\t"))
            for line in repo.git("diff-tree", "-r", "--name-status", *pair, "--", "configs").splitlines()
        ]
        for pair in moved
    }
    assert any(not each for each in moved.values())


@pytest.mark.parametrize(
    "name", ["with space.yaml", "tab\tname.yaml", ":colon.yaml", "客服.yaml", "-dash.yaml"]
)
def test_any_name_is_read_back(tmp_path: Path, name: str) -> None:
    path = f"configs/prompts/{name}"
    repo = make_repo(tmp_path, files={path: "a\n"})
    git = repo.neighbour()
    head = git_landed.commits(git, repo.git("rev-parse", "HEAD"))[0]
    moved = git_landed.moves(git, [(git.empty_tree(), head.tree)], ["configs/"])
    assert [one.path for one in moved[git.empty_tree(), head.tree]] == [path]
    assert list(git_landed.listed(git, head.tree, ["configs/"])) == [path]


def test_where_a_shallow_clone_ends_is_not_a_first_commit(tmp_path: Path) -> None:
    origin = repo_with_merge(tmp_path / "origin")
    origin.git("clone", "-q", "--depth", "1", f"file://{origin.path}", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", isolated())
    with pytest.raises(IncompleteHistory, match="shallow"):
        git_landed.commits(clone.neighbour(), clone.git("rev-parse", "HEAD"))


def test_histories_of_sha256_are_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, files={FILE: "a\n"}, sha256=True)
    repo.commit("second", {FILE: "b\n"})
    git = repo.neighbour()
    one, other = git_landed.commits(git, repo.git("rev-parse", "HEAD"))
    moved = git_landed.moves(git, [(one.tree, other.tree)], ["configs/"])
    assert [(each.status, each.path) for each in moved[one.tree, other.tree]] == [("M", FILE)]
    assert git_landed.trees(git, [one.oid]) == {one.oid: one.tree}
