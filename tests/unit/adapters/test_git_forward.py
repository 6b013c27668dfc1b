"""A forward commit by plumbing: nothing of anybody else moves, and each half can be finished or undone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from governance.adapters.git_forward import (
    ABSENT,
    Change,
    Forward,
    Moved,
    blob_of,
    entries_of,
    is_landed,
    prepare,
    push,
    refusal,
    settle,
    undo,
)
from governance.errors import Unreadable
from tests.support.repos import Repo, make_repo

FILES = {"a.txt": "one\n", "deep/b.txt": "two\n", "kept.txt": "kept\n"}


@pytest.fixture(params=[False, True], ids=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", files=FILES, sha256=request.param)


def changes(repo: Repo) -> tuple[Change, ...]:
    """One file edited, one deleted, one added in a new folder."""
    git = repo.neighbour()
    there = entries_of(git, "HEAD", ["a.txt", "deep"])
    return (
        Change("a.txt", there["a.txt"], ("100644", blob_of(git, b"ONE\n"))),
        Change("deep/b.txt", there["deep/b.txt"], ABSENT),
        Change("new/c.sh", ABSENT, ("100755", blob_of(git, b"three\n"))),
    )


def ready(repo: Repo) -> Forward:
    return prepare(repo.neighbour(), changes(repo), "forward\n")


def state(repo: Repo) -> tuple[str, str]:
    return repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain", "-uall")


def test_making_the_commit_ready_moves_nothing(repo: Repo) -> None:
    before = state(repo)
    forward = ready(repo)
    assert state(repo) == before
    assert repo.git("log", "-1", "--format=%s %P", forward.commit) == f"forward {before[0]}"
    assert not is_landed(repo.neighbour(), forward)


def test_files_index_and_branch_come_together_and_the_rest_stays(repo: Repo) -> None:
    repo.write({"kept.txt": "edited\n", "mine.txt": "untracked\n", "staged.txt": "staged\n"})
    repo.git("add", "staged.txt")
    before = repo.git("status", "--porcelain", "-uall")
    forward = ready(repo)
    settle(repo.neighbour(), forward)
    assert repo.git("status", "--porcelain", "-uall") == before
    assert repo.git("rev-parse", "main") == forward.commit
    assert (repo.path / "a.txt").read_text() == "ONE\n"
    assert not (repo.path / "deep").exists(), "a folder that has become empty goes"
    assert (repo.path / "new/c.sh").stat().st_mode & 0o111
    assert repo.git("diff", "--name-status", "HEAD~1", "HEAD").split() == [
        "M", "a.txt", "D", "deep/b.txt", "A", "new/c.sh",
    ]  # fmt: skip
    assert "rollback" in repo.git("reflog", "-1")
    settle(repo.neighbour(), forward)
    assert repo.git("rev-list", "--count", "HEAD") == "2", "settling what is settled changes nothing"


def test_what_is_broken_off_anywhere_is_finished_or_undone(repo: Repo, tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    steps: list[str] = []
    whole = clone(repo, tmp_path / "whole")
    settle(whole.neighbour(), ready(whole), steps.append)
    assert len(steps) == 5
    for number, step in enumerate(steps):
        for finish in (True, False):
            copy = clone(repo, tmp_path / f"{number}-{finish}")
            before, forward = state(copy), ready(copy)
            seen: list[str] = []

            def watch(what: str, seen: list[str] = seen, number: int = number) -> None:
                seen.append(what)
                if len(seen) > number:
                    raise Stop

            with pytest.raises(Stop):
                settle(copy.neighbour(), forward, watch)
            if finish:
                settle(copy.neighbour(), forward)
                assert state(copy) == (forward.commit, ""), step
            else:
                assert undo(copy.neighbour(), forward) == before[0]
                assert state(copy) == before, step
                assert (copy.path / "deep/b.txt").read_text() == "two\n"


def clone(repo: Repo, path: Path) -> Repo:
    subprocess.run(["cp", "-a", repo.path, path], check=True)
    return Repo(path)


def test_one_that_landed_is_taken_off_the_branch_while_nobody_can_have_it(repo: Repo) -> None:
    before, forward = state(repo), ready(repo)
    settle(repo.neighbour(), forward)
    undo(repo.neighbour(), forward)
    assert state(repo) == before


def test_one_that_others_may_have_is_taken_back_by_another_commit(repo: Repo) -> None:
    before, forward = state(repo), ready(repo)
    settle(repo.neighbour(), forward)
    repo.git("update-ref", "refs/remotes/origin/main", forward.commit)
    tip = undo(repo.neighbour(), forward)
    assert repo.git("rev-parse", "HEAD") == tip
    assert repo.git("rev-parse", "HEAD~1") == forward.commit
    assert repo.git("diff", "--stat", before[0], "HEAD") == ""
    assert repo.git("status", "--porcelain") == ""


def test_a_branch_that_moved_is_said_and_nothing_is_written(repo: Repo) -> None:
    forward = ready(repo)
    repo.commit("meanwhile", {"other.txt": "x\n"})
    before = state(repo)
    with pytest.raises(Moved):
        settle(repo.neighbour(), forward)
    assert state(repo) == before
    repo.commit("the same path", {"a.txt": "theirs\n"})
    with pytest.raises(Moved):
        prepare(repo.neighbour(), forward.changes, "again")


def test_an_edit_on_disk_or_staged_is_refused_and_kept(repo: Repo) -> None:
    forward = ready(repo)
    repo.write({"a.txt": "mine\n"})
    for _ in range(2):
        with pytest.raises(Unreadable, match=r"`a\.txt` was edited meanwhile"):
            settle(repo.neighbour(), forward)
        assert (repo.path / "a.txt").read_text() == "mine\n"
        repo.git("add", "a.txt")
    (repo.path / "a.txt").write_text("one\n")
    with pytest.raises(Unreadable, match=r"`a\.txt` was edited meanwhile"):
        settle(repo.neighbour(), forward)


def test_no_file_is_written_through_a_link(repo: Repo, tmp_path: Path) -> None:
    forward = ready(repo)
    (tmp_path / "elsewhere").mkdir()
    (repo.path / "new").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unreadable):
        settle(repo.neighbour(), forward)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_line_ends_of_the_work_tree_are_those_that_git_would_write(repo: Repo) -> None:
    repo.commit("attributes", {".gitattributes": "*.txt text eol=crlf\n"})
    repo.git("rm", "-q", "--cached", "-r", ".")
    repo.git("reset", "-q", "--hard")
    settle(repo.neighbour(), ready(repo))
    assert (repo.path / "a.txt").read_bytes() == b"ONE\r\n"
    assert repo.git("status", "--porcelain") == ""


def test_a_lock_of_another_git_is_named_when_it_stays(repo: Repo) -> None:
    forward = ready(repo)
    (repo.path / ".git/index.lock").touch()
    with pytest.raises(Unreadable, match="git did not write") as caught:
        settle(repo.neighbour(), forward, patience_s=0.0)
    assert "lock" in caught.value.hint
    (repo.path / ".git/index.lock").unlink()
    settle(repo.neighbour(), forward)
    assert state(repo) == (forward.commit, "")


def test_the_commit_is_signed_where_the_repository_asks_for_it(repo: Repo, tmp_path: Path) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for name, value in (("gpg.format", "ssh"), ("user.signingkey", str(key)), ("commit.gpgsign", "true")):
        repo.git("config", name, value)
    assert "gpgsig" in repo.git("cat-file", "commit", ready(repo).commit)


def test_what_stands_in_the_way_of_any_commit_is_named(repo: Repo, tmp_path: Path) -> None:
    assert refusal(repo.neighbour()) is None
    (repo.path / ".git/REVERT_HEAD").write_text(repo.git("rev-parse", "HEAD") + "\n")
    assert "a revert is under way" in str(refusal(repo.neighbour()))
    (repo.path / ".git/REVERT_HEAD").unlink()
    repo.git("switch", "-q", "--detach")
    assert "HEAD is detached" in str(refusal(repo.neighbour()))
    empty = make_repo(tmp_path / "empty")
    assert "no commit yet" in str(refusal(empty.neighbour()))


def test_a_push_goes_where_the_branch_goes_and_says_what_git_says(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no remote"):
        push(repo.neighbour())
    form = repo.git("rev-parse", "--show-object-format")
    for name in ("one", "two"):
        repo.git("init", "-q", "--bare", f"--object-format={form}", str(tmp_path / name))
        repo.git("remote", "add", name, str(tmp_path / name))
    repo.git("push", "-q", "-u", "two", "HEAD:refs/heads/deployed")
    settle(repo.neighbour(), ready(repo))
    assert push(repo.neighbour()) == "two/deployed"
    assert Repo(tmp_path / "two").git("rev-parse", "deployed") == repo.git("rev-parse", "HEAD")
    hook = repo.path / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\necho 'not at night' >&2; exit 1\n")
    hook.chmod(0o755)
    repo.commit("more")
    with pytest.raises(Unreadable, match="not at night") as caught:
        push(repo.neighbour())
    assert caught.value.hint == "git push two HEAD:refs/heads/deployed"
