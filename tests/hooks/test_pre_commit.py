"""The hook under real git and pre-commit: it judges what is committed and never passes by not looking."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hooks.conftest import Hooked

SAMPLING = "configs/sampling/factual.yaml"
PROMPTS = "configs/prompts/summarize.yaml"


def edit(repo: Hooked, path: str, before: str, after: str) -> None:
    file = repo.path / path
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


def test_the_first_commit_is_judged_without_a_head(hooked: Hooked) -> None:
    edit(hooked, SAMPLING, "temperature:", "tempurature:")
    hooked.git("add", "-A")
    code, said = hooked.commit_with_hooks()
    assert code == 1
    assert "did you mean `temperature`?" in said


def test_a_good_change_is_committed(committed: Hooked) -> None:
    edit(committed, SAMPLING, "temperature: 0.1", "temperature: 0.2")
    committed.git("add", "-A")
    code, said = committed.commit_with_hooks()
    assert code == 0, said


def test_what_is_staged_is_judged_and_not_the_file_on_disk(committed: Hooked) -> None:
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    committed.git("add", "-A")
    edit(committed, SAMPLING, "tempurature:", "temperature:")
    code, said = committed.commit_with_hooks()
    assert code == 1
    assert f"{SAMPLING}:" in said


def test_a_mistake_on_disk_that_is_not_staged_blocks_nothing(committed: Hooked) -> None:
    edit(committed, SAMPLING, "temperature: 0.1", "temperature: 0.2")
    committed.git("add", "-A")
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    code, said = committed.commit_with_hooks()
    assert code == 0, said
    assert "tempurature" in (committed.path / SAMPLING).read_text()


def test_a_partial_commit_by_name_is_judged_from_its_own_index(committed: Hooked) -> None:
    """`git commit FILE` builds a temporary index and names it in GIT_INDEX_FILE."""
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    code, said = committed.try_git("commit", "-m", "by name", SAMPLING)
    assert code == 1
    assert "tempurature" in said


def test_all_that_changed_is_judged_under_commit_all(committed: Hooked) -> None:
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    assert committed.try_git("commit", "-a", "-m", "all")[0] == 1


@pytest.mark.parametrize("path", [SAMPLING, PROMPTS, "configs/prompts/summarize/system.md"])
def test_a_deletion_is_seen(committed: Hooked, path: str) -> None:
    """A hook that waits for file names is not even called for a deletion."""
    committed.git("rm", "-q", path)
    code, said = committed.commit_with_hooks()
    assert code == 1, said


def test_a_rename_out_of_the_folder_is_seen(committed: Hooked) -> None:
    committed.git("mv", SAMPLING, "old.yaml")
    assert committed.commit_with_hooks()[0] == 1


def test_a_link_in_the_place_of_a_config_is_seen(committed: Hooked) -> None:
    (committed.path / SAMPLING).rename(committed.path / "elsewhere.yaml")
    (committed.path / SAMPLING).symlink_to("../../elsewhere.yaml")
    committed.git("add", "-A")
    code, said = committed.commit_with_hooks()
    assert code == 1
    assert "link" in said


def test_an_intent_to_add_is_not_part_of_the_commit(committed: Hooked) -> None:
    committed.write({"configs/sampling/new.yaml": "kind: nonsense\n", "README.md": "hello\n"})
    committed.git("add", "-N", "configs/sampling/new.yaml")
    committed.git("add", "README.md")
    code, said = committed.commit_with_hooks()
    assert code == 0, said


def test_a_commit_that_touches_nothing_governed_passes(committed: Hooked) -> None:
    committed.write({"README.md": "hello\n"})
    committed.git("add", "-A")
    code, said = committed.commit_with_hooks()
    assert code == 0
    assert "Passed" in said


def test_what_slipped_past_the_hook_is_found_when_nothing_is_staged(committed: Hooked) -> None:
    """CI runs `pre-commit run --all-files` on a clean checkout: the index equals HEAD, and is judged."""
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    committed.git("commit", "-a", "-q", "--no-verify", "-m", "no hooks")
    done = committed.try_git("hook", "run", "pre-commit")
    assert done[0] == 1
    assert "tempurature" in done[1]


def test_an_amended_message_has_the_commit_judged_again(committed: Hooked) -> None:
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    committed.git("commit", "-a", "-q", "--no-verify", "-m", "no hooks")
    assert committed.try_git("commit", "--amend", "-m", "another message")[0] == 1


def test_a_merge_is_judged(committed: Hooked) -> None:
    committed.git("checkout", "-q", "-b", "side")
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    committed.git("commit", "-a", "-q", "--no-verify", "-m", "no hooks")
    committed.git("checkout", "-q", "main")
    committed.write({"README.md": "hello\n"})
    committed.git("add", "README.md")
    assert committed.commit_with_hooks()[0] == 0
    code, said = committed.try_git("merge", "--no-ff", "-m", "merge", "side")
    assert code != 0
    assert "tempurature" in said


def test_what_is_pushed_is_judged_and_not_what_is_checked_out(committed: Hooked, tmp_path: Path) -> None:
    committed.git("init", "-q", "--bare", str(tmp_path / "remote"))
    committed.git("remote", "add", "origin", str(tmp_path / "remote"))
    committed.git("checkout", "-q", "-b", "side")
    edit(committed, SAMPLING, "temperature:", "tempurature:")
    committed.git("commit", "-a", "-q", "--no-verify", "-m", "no hooks")
    committed.git("checkout", "-q", "main")
    code, said = committed.try_git("push", "origin", "side")
    assert code != 0, said
    assert "tempurature" in said
    assert committed.try_git("push", "origin", "main")[0] == 0


def test_the_commit_is_judged_in_a_linked_worktree(committed: Hooked, tmp_path: Path) -> None:
    committed.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    linked = Hooked(tmp_path / "linked", committed.environment)
    edit(linked, SAMPLING, "temperature:", "tempurature:")
    linked.git("add", "-A")
    code, said = linked.commit_with_hooks()
    assert code == 1
    assert "tempurature" in said


def test_a_missing_git_is_undecided_and_blocks(committed: Hooked) -> None:
    from tests.support.command import PROGRAM

    done = committed.try_git(
        "-c", "alias.x=!env PATH=/nowhere " + " ".join((*PROGRAM, "check", "--staged")), "x"
    )
    assert done[0] == 3
    assert "git" in done[1]
