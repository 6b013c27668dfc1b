"""Every row of the table of what an ordinary hook misses, each at the last line of defence that can see it.

The rows are those of the facts on hooks (section 6.1). In each one somebody moves a governed file without
approval, or a tool is set up so that an ordinary hook would not look. None may pass by not looking.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hooks.guarded import Guarded, Said
from tests.support.reviewed import PROMPT, SAMPLING

ROOT = Path(__file__).resolve().parents[2]
SAYS = "sampling/factual"


def refused(said: Said, *words: str) -> None:
    """The command was stopped, by us, for this reason."""
    assert said.code != 0, said.text
    for word in words:
        assert word in said.text, said.text


def hot(team: Guarded, value: float = 0.9) -> None:
    team.hotter(value)


# at commit time


def test_a_deleted_governed_file_is_seen(team: Guarded) -> None:
    team.git("rm", "-q", SAMPLING)
    refused(team.try_commit(), SAYS)


def test_a_file_renamed_out_of_the_folder_is_seen(team: Guarded) -> None:
    team.git("mv", SAMPLING, "old.yaml")
    refused(team.try_commit(), SAYS)


@pytest.mark.parametrize("name", ["other.yaml", "Factual.yaml"])
def test_a_rename_inside_needs_approval_of_both_names(team: Guarded, name: str) -> None:
    team.git("mv", SAMPLING, f"configs/sampling/{name}")
    refused(team.try_commit(), SAYS, f"sampling/{name.removesuffix('.yaml')}")


def test_a_link_in_the_place_of_a_file_is_seen(team: Guarded) -> None:
    (team.path / SAMPLING).rename(team.path / "elsewhere.yaml")
    (team.path / SAMPLING).symlink_to("../../elsewhere.yaml")
    team.git("add", "-A")
    refused(team.try_commit(), "TL051")


def test_a_submodule_under_a_governed_path_is_seen(team: Guarded, tmp_path: Path) -> None:
    oid = team.git("rev-parse", "HEAD")
    team.git("update-index", "--add", "--cacheinfo", f"160000,{oid},configs/prompts/vendored")
    refused(team.try_commit(), "TL052")


def test_a_sparse_checkout_hides_nothing(team: Guarded) -> None:
    hot(team)
    team.git("add", "-A")
    team.git("sparse-checkout", "set", "--no-cone", "/README.md", "/.pre-commit-config.yaml")
    refused(team.try_commit(), SAYS)


def test_under_all_files_and_a_sparse_checkout_the_last_commit_is_judged(team: Guarded) -> None:
    hot(team)
    team.slip()
    team.git("sparse-checkout", "set", "--no-cone", "/README.md", "/.pre-commit-config.yaml")
    refused(team.ran("pre-commit", "run", "--all-files"), SAYS)


def test_of_a_partly_staged_file_what_is_staged_is_judged(team: Guarded) -> None:
    hot(team)
    team.git("add", "-A")
    team.hotter(0.2)
    refused(team.try_commit(), "0.2 → 0.9")


@pytest.mark.parametrize("mode", [("--all-files",), ("--files", SAMPLING)])
def test_with_files_named_the_index_is_judged_and_not_the_work_tree(
    team: Guarded, mode: tuple[str, ...]
) -> None:
    hot(team)
    team.git("add", "-A")
    team.hotter(0.2)
    refused(team.ran("pre-commit", "run", *mode), "0.2 → 0.9")


@pytest.mark.parametrize("how", [("-a",), (SAMPLING,)])
def test_a_commit_with_its_own_index_is_judged_by_that(team: Guarded, how: tuple[str, ...]) -> None:
    hot(team)
    refused(team.try_commit(*how), "0.2 → 0.9")


def test_what_is_only_announced_is_no_part_of_the_commit(team: Guarded) -> None:
    team.write({"configs/sampling/new.yaml": "kind: sampling\ntemperature: 0.1\n", "README.md": "x\n"})
    team.git("add", "-N", "configs/sampling/new.yaml")
    team.git("add", "README.md")
    said = team.try_commit()
    assert said.code == 0, said.text


def test_a_clean_merge_that_brings_what_nobody_approved_is_stopped(team: Guarded) -> None:
    team.git("checkout", "-q", "-b", "side")
    hot(team)
    team.slip()
    team.git("checkout", "-q", "main")
    team.commit("other", {"README.md": "x\n"})
    refused(team.try_git("merge", "--no-ff", "-m", "merge", "side"), SAYS)


def test_a_clean_merge_that_brings_what_was_approved_passes(team: Guarded) -> None:
    team.git("checkout", "-q", "-b", "side")
    hot(team, 0.3)
    team.slip()
    team.approve(between="main..side")
    team.slip("approve")
    team.git("checkout", "-q", "main")
    team.commit("other", {"README.md": "x\n"})
    said = team.try_git("merge", "--no-ff", "-m", "merge", "side")
    assert said.code == 0, said.text
    assert team.audit().code == 0


def test_in_a_merge_with_conflicts_what_is_taken_from_the_other_side_is_judged(team: Guarded) -> None:
    """pre-commit hands on the conflicted files alone; the governed one merged cleanly."""
    team.write({"README.md": "a\n"})
    team.slip()
    team.git("checkout", "-q", "-b", "side")
    team.write({"README.md": "b\n"})
    hot(team)
    team.slip()
    team.git("checkout", "-q", "main")
    team.write({"README.md": "c\n"})
    team.slip()
    assert team.try_git("merge", "side").code != 0
    team.write({"README.md": "d\n"})
    team.git("add", "README.md")
    refused(team.try_commit(), SAYS)


def test_a_value_that_neither_side_of_a_merge_had_needs_approval(team: Guarded) -> None:
    team.git("checkout", "-q", "-b", "side")
    hot(team, 0.3)
    team.slip()
    team.approve(between="main..side")
    team.slip("approve")
    team.git("checkout", "-q", "main")
    team.commit("other", {"README.md": "x\n"})
    team.git("merge", "-q", "--no-ff", "--no-commit", "side")
    hot(team)
    team.git("add", "-A")
    refused(team.try_commit(), "0.2 → 0.9")


def test_a_squash_merge_is_judged_when_it_is_committed(team: Guarded) -> None:
    team.git("checkout", "-q", "-b", "side")
    hot(team)
    team.slip()
    team.git("checkout", "-q", "main")
    team.git("merge", "-q", "--squash", "side")
    refused(team.try_commit(), SAYS)


def test_an_amended_message_has_the_commit_looked_at_again(team: Guarded) -> None:
    hot(team)
    team.slip()
    refused(team.try_commit("--amend"), SAYS)


def test_with_line_ends_converted_the_blob_is_judged(team: Guarded) -> None:
    """The file on disk has CR LF and git calls the tree clean: nothing moved, so nothing is asked for."""
    team.write({".gitattributes": "*.yaml text eol=crlf\n"})
    team.slip()
    (team.path / SAMPLING).unlink()
    team.git("checkout", "--", SAMPLING)
    assert b"\r\n" in (team.path / SAMPLING).read_bytes()
    team.write({"README.md": "x\n"})
    team.git("add", "README.md")
    said = team.try_commit()
    assert said.code == 0, said.text
    text = (team.path / SAMPLING).read_bytes().replace(b"0.2", b"0.9")
    team.write({SAMPLING: text})
    team.git("add", "-A")
    refused(team.try_commit(), "0.2 → 0.9")


def test_with_a_clean_filter_the_blob_is_judged(team: Guarded) -> None:
    """On disk the value looks as before; what is committed is something else."""
    team.git("config", "filter.hot.clean", "sed s/0.2/0.9/")
    team.git("config", "filter.hot.smudge", "sed s/0.9/0.2/")
    team.write({".gitattributes": "configs/sampling/*.yaml filter=hot\n"})
    (team.path / SAMPLING).touch()
    team.git("add", "--renormalize", "-A")
    team.git("add", "-A")
    assert "temperature: 0.2" in (team.path / SAMPLING).read_text()
    refused(team.try_commit(), "0.2 → 0.9")


def test_an_lfs_pointer_is_no_config(team: Guarded) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n"
    team.write({SAMPLING: pointer})
    team.git("add", "-A")
    refused(team.try_commit(), "TL053")


def test_a_commit_in_a_linked_worktree_is_judged(team: Guarded, tmp_path: Path) -> None:
    team.git("worktree", "add", "-q", "-b", "release/2", str(tmp_path / "linked"))
    linked = Guarded(tmp_path / "linked", team.environment)
    hot(linked)
    linked.git("add", "-A")
    refused(linked.try_commit(), SAYS)


def test_many_files_are_judged_by_one_process(team: Guarded) -> None:
    """pre-commit splits names over processes; ours gets none and runs once."""
    for number in range(64):
        team.write({f"configs/sampling/s{number}.yaml": "kind: sampling\ntemperature: 0.1\n"})
    team.git("add", "-A")
    said = team.try_commit()
    refused(said, "64 of 64 changes are not approved")
    assert said.text.count("changes are not approved") == 1


# what pre-commit judges from a range


def test_a_range_whose_base_is_not_here_is_not_passed(team: Guarded) -> None:
    absent = "1" * 40
    assert team.ran("pre-commit", "run", "--from-ref", absent, "--to-ref", "HEAD").code != 0


def test_an_empty_range_is_not_passed(team: Guarded) -> None:
    hot(team)
    team.slip()
    refused(team.ran("pre-commit", "run", "--from-ref", "HEAD", "--to-ref", "HEAD"), "empty")


def test_of_a_range_the_commit_is_judged_and_not_the_work_tree(team: Guarded) -> None:
    team.git("checkout", "-q", "-b", "side")
    hot(team)
    team.slip()
    team.git("checkout", "-q", "main")
    refused(team.ran("pre-commit", "run", "--from-ref", "main", "--to-ref", "side"), "0.2 → 0.9")


def test_a_deletion_in_a_range_is_seen(team: Guarded) -> None:
    team.git("rm", "-q", SAMPLING)
    team.slip()
    refused(team.ran("pre-commit", "run", "--from-ref", "HEAD~1", "--to-ref", "HEAD"), SAYS)


def test_without_a_merge_base_a_shallow_clone_is_undecided(team: Guarded, tmp_path: Path) -> None:
    team.git("checkout", "-q", "-b", "side")
    hot(team)
    team.slip()
    team.commit("later", {"README.md": "x\n"})
    team.git("clone", "-q", "--depth", "1", "--no-single-branch", f"file://{team.path}", str(tmp_path / "ci"))
    clone = Guarded(tmp_path / "ci", team.environment)
    said = clone.tierlock("review", "gate", "--range", "origin/main..origin/side")
    assert said.code == 3, said.text
    assert "git fetch --unshallow" in said.text
    assert clone.audit("origin/side").code == 3


# what only git's own hooks see: the push


def test_a_push_of_a_branch_that_is_not_checked_out_is_judged_by_what_is_pushed(team: Guarded) -> None:
    team.git("checkout", "-q", "-b", "release/1")
    hot(team)
    team.slip()
    team.git("checkout", "-q", "main")
    refused(team.try_git("push", "origin", "release/1"), "0.2 → 0.9")


def test_of_two_new_branches_both_are_judged(team: Guarded) -> None:
    team.git("branch", "release/1")
    team.git("checkout", "-q", "-b", "release/2")
    hot(team)
    team.slip()
    refused(team.try_git("push", "origin", "release/1", "release/2"), "release/2")
    assert "release" not in team.git("ls-remote", "origin")


def test_an_existing_commit_pushed_to_a_protected_branch_is_judged(team: Guarded) -> None:
    """A promotion: nothing is committed, and what stood on a free branch stands on a protected one."""
    team.git("checkout", "-q", "-b", "free")
    hot(team)
    team.slip()
    assert team.try_git("push", "-q", "origin", "free").code == 0
    refused(team.try_git("push", "origin", "free:release/1"), SAYS)
    refused(team.try_git("push", "origin", "free:main"), SAYS)


@pytest.mark.parametrize("how", ["fast-forward", "cherry-pick", "revert", "rebase", "am"])
def test_what_git_commits_without_hooks_is_stopped_at_the_push(team: Guarded, how: str) -> None:
    start = team.git("rev-parse", "HEAD")
    team.git("checkout", "-q", "-b", "side")
    hot(team)
    oid = team.slip()
    patch = team.git("format-patch", "-1", "--stdout", oid)
    if how == "revert":
        team.git("checkout", "-q", "main")
        team.hotter(0.3)
        team.git("add", "-A")
        team.approve()
        team.slip("approved")
        assert team.try_git("push", "-q", "origin", "main").code == 0
        assert team.try_git("revert", "--no-edit", "HEAD").code == 0
    else:
        team.git("checkout", "-q", "main")
        if how in ("cherry-pick", "rebase"):
            team.commit("other", {"README.md": "x\n"})
        if how == "fast-forward":
            team.git("merge", "-q", "--ff-only", "side")
        elif how == "cherry-pick":
            team.git("cherry-pick", oid)
        elif how == "rebase":
            team.git("rebase", "-q", "main", "side")
            team.git("checkout", "-q", "main")
            team.git("merge", "-q", "--ff-only", "side")
        else:
            (team.path / "x.patch").write_text(patch + "\n")
            team.git("am", "-q", "x.patch")
            (team.path / "x.patch").unlink()
    assert team.git("rev-parse", "HEAD") != start
    refused(team.try_git("push", "origin", "main"), SAYS)
    assert team.audit("origin/main..main").code == 1


def test_a_protected_branch_is_not_deleted(team: Guarded) -> None:
    refused(team.try_git("push", "origin", ":main"), "protected")


# what a person can skip: the server and the audit


@pytest.mark.parametrize("how", ["no-verify", "SKIP", "fresh clone", "hooksPath", "config edited"])
def test_hooks_that_did_not_run_change_nothing_on_the_server(team: Guarded, tmp_path: Path, how: str) -> None:
    clone = team
    if how == "fresh clone":
        team.git("clone", "-q", str(team.server), str(tmp_path / "fresh"))
        clone = Guarded(tmp_path / "fresh", team.environment)
        assert clone.tierlock("review", "install", "--check").code == 1
    hot(clone)
    clone.git("add", "-A")
    if how == "SKIP":
        skipped = {"SKIP": "tierlock-check,tierlock-review,tierlock-records"}
        assert clone.try_git("commit", "-q", "-m", "skip", **skipped).code == 0
    elif how == "hooksPath":
        clone.git("config", "core.hooksPath", str(tmp_path / "none"))
        assert clone.try_commit("-q").code == 0
        assert clone.ran("pre-commit", "install").code != 0  # it refuses: core.hooksPath is set
    elif how == "config edited":
        clone.write({".pre-commit-config.yaml": "repos: []\n"})
        clone.git("add", "-A")
        assert clone.try_commit("-q").code == 0
    else:
        assert clone.try_commit("-q", "--no-verify").code == 0 if how == "no-verify" else clone.slip()
    refused(clone.try_git("push", "--no-verify", "origin", "main"), "remote:", SAYS)
    assert clone.git("rev-parse", "origin/main") != clone.git("rev-parse", "HEAD")


def test_what_got_past_everything_is_found_by_the_audit(team: Guarded) -> None:
    """Somebody with access to the server's disk: nothing judged it, and the audit still names it."""
    hot(team)
    oid = team.slip()
    (team.server / "hooks/pre-receive").unlink()
    team.git("push", "-q", "--no-verify", "origin", "main")
    said = team.audit("origin/main")
    refused(said, oid[:12], "0.2 → 0.9")
    assert said.code == 1


def test_an_approval_makes_the_push_pass(team: Guarded) -> None:
    hot(team, 0.3)
    team.slip()
    refused(team.try_git("push", "origin", "main"), SAYS)
    team.approve(between="origin/main..main")
    team.slip("approve")
    said = team.try_git("push", "origin", "main")
    assert said.code == 0, said.text


# T6: a broken tool does not open anything


@pytest.mark.parametrize("broken", ["missing git", "import error", "missing tierlock"])
def test_a_broken_tool_stops_a_commit(team: Guarded, tmp_path: Path, broken: str) -> None:
    hot(team)
    team.git("add", "-A")
    words = {"missing git": "git", "import error": "ImportError", "missing tierlock": "tierlock"}
    if broken == "missing git":
        said = team.ran(
            sys.executable, "-m", "governance.cli", "review", "gate", PYTHONPATH=str(ROOT), PATH="/nowhere"
        )
        assert said.code == 3
    elif broken == "import error":
        (tmp_path / "governance").mkdir()
        (tmp_path / "governance/__init__.py").write_text("raise ImportError('broken')\n")
        said = team.ran(sys.executable, "-m", "governance.cli", "review", "gate", PYTHONPATH=str(tmp_path))
    else:
        hook = team.path / ".git/hooks/pre-push"
        text = hook.read_text()
        hook.write_text(text.replace("tierlock=", "tierlock=/nowhere#", 1))
        team.git("commit", "-q", "--no-verify", "-m", "x")
        path = _bare_path(tmp_path)
        said = team.ran("/bin/sh", str(hook), "origin", "x", given=b"", PATH=path)
        assert said.code == 3
    refused(said, words[broken])


def _bare_path(folder: Path) -> str:
    """A PATH with the shell's own tools and no tierlock."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("cat", "sh"):
        found = subprocess.run(("sh", "-c", f"command -v {name}"), capture_output=True, text=True, check=True)
        (tools / name).symlink_to(found.stdout.strip())
    return str(tools)


def test_a_prompt_byte_is_seen_in_every_way(team: Guarded) -> None:
    team.change(PROMPT, "Never guess.\n", "Never guess. \n")
    team.git("add", "-A")
    refused(team.try_commit(), "prompts/summarize")
