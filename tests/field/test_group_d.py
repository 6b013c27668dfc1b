"""Group D of the field cases: what git, hooks and approvals let through unseen, and what we say about it.

The scripts that build the git states are those of the public cases, rewritten by the one fixed mapping; a
review policy lies beside the tiers from the start.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.field import mapping
from tests.hooks.guarded import Guarded, Said, program
from tests.support.repos import isolated
from tests.support.reviewed import policy

CASES = Path(__file__).parent / "cases"
ROOT = Path(__file__).resolve().parents[2]
SERVICES = "version: 1\nservices:\n  tern: {base: tern, sampling: tern, prompts: tern}\n"


@pytest.fixture
def built(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The folder that the script of the case made."""
    case = request.function.__name__.split("_")[1].upper()
    text = mapping.script((CASES / case / "make.sh").read_text(), SERVICES + policy(at_commit="always"))
    done = subprocess.run(
        ("bash", "-s", str(tmp_path / "work")), input=text.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return tmp_path / "work"


def at(path: Path) -> Guarded:
    """A repository of the case, with our command on PATH."""
    bin_folder = program(path.parent / "bin").parent
    return Guarded(
        path, isolated(PATH=f"{bin_folder}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin")
    )


def gate(repo: Guarded, *args: str) -> Said:
    return repo.tierlock("review", "gate", *args)


def bytes_of(repo: Guarded) -> str:
    """One digest over the index and every file of the work tree."""
    digest = hashlib.sha256((repo.path / ".git/index").read_bytes())
    for file in sorted(repo.path.rglob("*")):
        if file.is_file() and ".git" not in file.parts:
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def refused(said: Said, *words: str, code: int = 1) -> None:
    assert said.code == code, said.text
    assert "Traceback" not in said.text
    for word in words:
        assert word in said.text, said.text


class TestD01:
    """Staged content differs from the file on disk."""

    def test_d01_what_is_staged_is_blocked_and_quoted_from_the_index(self, built: Path) -> None:
        repo = at(built / "bad_staged")
        before = bytes_of(repo)
        refused(gate(repo), "0.2 → 0.9")
        assert bytes_of(repo) == before

    def test_d01_what_is_not_staged_blocks_nothing(self, built: Path) -> None:
        repo = at(built / "bad_unstaged")
        before = bytes_of(repo)
        said = gate(repo)
        assert said.code == 0, said.text
        assert bytes_of(repo) == before


class TestD04:
    """A shallow clone has no merge base, and nothing may follow from that."""

    def test_d04_a_shallow_clone_fails_closed_until_it_is_deepened(self, built: Path) -> None:
        repo = at(built / "ci")
        refused(gate(repo, "--range", "origin/main..HEAD"), "shallow", "git fetch --unshallow", code=3)
        refused(repo.tierlock("review", "audit"), "shallow", code=3)
        repo.git("fetch", "-q", "--unshallow", "origin")
        refused(gate(repo, "--range", "origin/main..HEAD"), "0.2 → 0.9")

    def test_d04_a_stale_base_still_shows_the_edit(self, built: Path) -> None:
        repo = at(built / "ci_stale")
        said = gate(repo, "--range", "origin/main..HEAD")
        refused(said, "0.2 → 0.9", "1 of 1 change")


@pytest.mark.parametrize("renames", ["true", "false", "copies"])
class TestD05:
    """A rename hides the protected file."""

    def test_d05_moved_away_is_gone(self, built: Path, renames: str) -> None:
        repo = at(built / "repo")
        repo.git("config", "diff.renames", renames)
        refused(gate(repo, "--range", "main..out"), "sampling/tern", "removed")

    def test_d05_moved_in_is_another_content(self, built: Path, renames: str) -> None:
        repo = at(built / "repo")
        repo.git("config", "diff.renames", renames)
        refused(gate(repo, "--range", "main..in"), "0.2 → 1.3")

    def test_d05_another_case_is_another_config(self, built: Path, renames: str) -> None:
        repo = at(built / "repo")
        repo.git("config", "diff.renames", renames)
        refused(gate(repo, "--range", "main..casing"), "sampling/tern", "sampling/Tern")


class TestD07:
    """A squash merge loses approval trailers; words in a message never were an approval."""

    @pytest.mark.parametrize("branch", ["main", "buried"])
    def test_d07_words_in_a_message_approve_nothing_and_the_way_out_is_told(
        self, built: Path, branch: str
    ) -> None:
        repo = at(built / "repo")
        repo.git("checkout", "-q", branch)
        oid = repo.git("rev-parse", "HEAD")
        refused(repo.audit(branch), f"tierlock review approve sampling/tern --commit {oid[:12]}")
        repo.approve(commit=oid)
        repo.slip("approve what landed")
        said = repo.audit(branch)
        assert said.code == 0, said.text
        assert "TL541" in said.text

    def test_d07_an_approval_is_found_by_content_also_after_the_squash(self, built: Path) -> None:
        repo = at(built / "repo")
        repo.git("checkout", "-q", "feature")
        repo.git("branch", "before", "main~1")
        refused(gate(repo, "--range", "before..feature"), "40 → 20")
        repo.approve(between="before..feature")
        repo.slip("approve")
        assert gate(repo, "--range", "before..feature").code == 0
        repo.git("checkout", "-q", "-b", "landed", "before")
        repo.git("merge", "-q", "--squash", "feature")
        repo.git("commit", "-q", "-m", "sampling: top_k 20 (#12)")
        said = repo.audit("landed")
        assert said.code == 0, said.text
        assert "TL541" not in said.text


class TestD09:
    """There is no HEAD yet, or no branch."""

    def test_d09_before_the_first_commit_the_bootstrap_rule_holds(self, built: Path) -> None:
        said = gate(at(built / "repo"))
        assert said.code == 0, said.text
        assert "bootstrap" in said.text

    def test_d09_an_empty_repository_has_nothing_to_judge(self, built: Path) -> None:
        repo = at(built / "empty")
        said = gate(repo)
        assert said.code == 0, said.text
        assert "no governed file" in said.text
        assert "fatal" not in said.text
        assert repo.tierlock("check", "--staged").code == 3

    def test_d09_a_detached_head_is_blocked_like_a_branch(self, built: Path) -> None:
        refused(gate(at(built / "detached")), "0.9 → 0.8")


class TestD10:
    """Names that git quotes, and one that is no text."""

    def test_d10_all_five_are_found_and_told_readably(self, built: Path) -> None:
        said = gate(at(built / "repo"))
        refused(said, "客服/系统提示.yaml", "with space.yaml", "-dash.yaml", r"latin1-\xe9.yaml")
        assert "tab" in said.text
        assert "name.yaml" in said.text
        assert r"\345" not in said.text


class TestD12:
    """The hook was skipped."""

    def test_d12_the_commit_in_between_is_found(self, built: Path) -> None:
        """Both moves are on the line of the range; what was put back had stood there."""
        repo = at(built / "repo")
        urgent = repo.git("rev-parse", "feature~1")
        refused(repo.audit("main..feature"), urgent[:12], "0.2 → 0.9")

    def test_d12_the_installer_works_where_git_is_a_file(self, built: Path) -> None:
        repo = at(built / "wt")
        assert (repo.path / ".git").is_file()
        said = repo.tierlock("review", "install")
        assert said.code == 0, said.text
        assert (built / "repo/.git/hooks/pre-push").exists()

    def test_d12_a_fresh_clone_is_told_that_it_has_no_hooks(self, built: Path, tmp_path: Path) -> None:
        subprocess.run(("git", "clone", "-q", str(built / "repo"), str(tmp_path / "fresh")), check=True)
        clone = at(tmp_path / "fresh")
        refused(clone.tierlock("review", "install", "--check"), "pre-push", "is not there")
        assert "tierlock review install" in clone.tierlock("review", "status", "--base", "HEAD").text
