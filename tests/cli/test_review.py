"""`tierlock review` as a user has it: the exit table under every flag (T7), the hook, and its fast door."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command import Ran, Tierlock
from tests.support.governed import FILES
from tests.support.repos import isolated, make_repo
from tests.support.reviewed import Reviewed, reviewed

FORMATS = ("text", "json", "markdown", "github", "sarif", "junit")


class Gate:
    """The command in a governed repository, git isolated from the user's settings."""

    def __init__(self, tierlock: Tierlock, repo: Reviewed) -> None:
        self.tierlock, self.repo = tierlock, repo
        self.tierlock.folder = repo.path

    def run(self, *args: str) -> Ran:
        return self.tierlock.run("review", *args)

    def spawn(self, *args: str, env: Mapping[str, str] | None = None, given: bytes = b"") -> Ran:
        return self.tierlock.spawn("review", *args, env={**self.identity, **(env or {})}, given=given)

    @property
    def identity(self) -> dict[str, str]:
        return {name: value for name, value in isolated().items() if name.startswith("GIT_")}

    def hotter(self, value: float = 0.9) -> None:
        self.repo.hotter(value)
        self.repo.git("add", "-A")


@pytest.fixture
def gate(bare: Tierlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    for name, value in isolated().items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)
    return Gate(bare, reviewed(tmp_path / "repo"))


class TestExitCodes:
    """0 pass, 1 block, 2 usage, 3 undecided: whatever is asked for beside the verdict."""

    @pytest.mark.parametrize("format_", FORMATS)
    def test_no_format_changes_a_block(self, gate: Gate, format_: str, tmp_path: Path) -> None:
        gate.hotter()
        out = tmp_path / "out"
        done = gate.run("gate", "--format", format_, "--write", f"{format_}={out}", "--show-content")
        assert done.code == 1
        assert out.read_text() == done.out

    @pytest.mark.parametrize("format_", FORMATS)
    @pytest.mark.parametrize(
        ("args", "code"),
        [
            (("gate", "--range", "main..HEAD"), 3),
            (("gate", "--range", f"{'1' * 40}..HEAD"), 3),
            (("gate", "--commit", "nowhere"), 3),
            (("gate", "--range", "main"), 2),
            (("gate", "--staged", "--commit", "HEAD"), 2),
            (("gate", "--remote", "origin"), 2),
            (("gate", "--commit", "HEAD"), 0),
            (("status", "--base", "nowhere"), 3),
            (("simulate",), 0),
            (("simulate", "--author", "nobody"), 3),
            (("test",), 3),
            (("tset",), 2),
        ],
    )
    def test_no_format_changes_any_other_code(
        self, gate: Gate, args: tuple[str, ...], code: int, format_: str
    ) -> None:
        assert gate.run(*args, "--format", format_).code == code

    @pytest.mark.parametrize("format_", FORMATS)
    def test_no_policy_is_undecided_in_every_format(
        self, bare: Tierlock, tmp_path: Path, format_: str
    ) -> None:
        repo = make_repo(tmp_path / "plain", files=FILES)
        bare.folder = repo.path
        assert bare.run("review", "gate", "--commit", "HEAD", "--format", format_).code == 3

    def test_a_missing_git_is_undecided(self, gate: Gate) -> None:
        """T6: a tool that is not there never passes."""
        done = gate.spawn("gate", env={"PATH": ""})
        assert (done.code, "`git` is not installed" in done.err) == (3, True)

    def test_outside_of_a_repository_is_undecided(self, bare: Tierlock) -> None:
        assert bare.run("review", "gate").code == 3


class TestTheScreen:
    def test_a_blocked_person_reads_what_moved_why_who_and_what_to_do(self, gate: Gate) -> None:
        gate.hotter()
        out = gate.run("gate").out
        for told in (
            "temperature  0.2 → 0.9",
            "configs/sampling/factual.yaml:3",
            "sampling/factual is used by summarizer",
            "1 approval from platform",
            "reviewer-a, reviewer-b",
            "author-a made the change",
            "tierlock review approve sampling/factual",
            "a local hook can be skipped",
        ):
            assert told in " ".join(out.split()) or told in out, out
        assert out.rstrip().splitlines()[-1].startswith("BLOCK")

    def test_the_record_has_every_subject_with_both_digests(self, gate: Gate) -> None:
        gate.hotter()
        (landing,) = json.loads(gate.run("gate", "--format", "json").out)["run"]["landings"]
        (change,) = landing["changes"]
        assert (change["subject"], change["needs"], change["missing"]) == ("config:sampling/factual", 1, 1)
        assert len(change["before"]) == len(change["after"]) == len(landing["policy"]) == 64

    def test_prompts_are_not_shown_unless_asked_for(self, gate: Gate) -> None:
        gate.repo.write({"configs/prompts/summarize/system.md": "You know the launch code 1234.\n"})
        gate.repo.git("add", "-A")
        assert "1234" not in gate.run("gate").out
        assert "1234" in gate.run("gate", "--show-content").out


class TestTheHook:
    @pytest.mark.parametrize("args", [("gate",), ("gate", "--staged")])
    def test_a_commit_without_governed_files_goes_through_the_fast_door(
        self, gate: Gate, args: tuple[str, ...]
    ) -> None:
        gate.repo.write({"README.md": "x"})
        gate.repo.git("add", "-A")
        done = gate.spawn(*args)
        assert (done.code, done.out) == (0, "PASS  no governed file is staged (1 other file is)\n")

    def test_the_fast_door_and_the_command_say_the_same_of_a_change(self, gate: Gate) -> None:
        gate.hotter()
        fast, full = gate.spawn("gate"), gate.spawn("gate", "--format", "text")
        assert (fast.code, fast.out) == (full.code, full.out)
        assert fast.code == 1

    def test_nothing_staged_does_not_pass_by_not_looking(self, gate: Gate) -> None:
        gate.hotter()
        gate.repo.git("commit", "-q", "-m", "past the hook")
        assert gate.spawn("gate").code == 1

    def test_the_index_git_builds_for_a_partial_commit_is_judged(self, gate: Gate) -> None:
        gate.hotter()
        env = {"GIT_INDEX_FILE": str(gate.repo.path / "empty-index")}
        gate.repo.git("read-tree", "HEAD", **env)
        gate.repo.write({"README.md": "x"})
        gate.repo.git("add", "README.md", **env)
        assert gate.spawn("gate", env=env).code == 0
        assert gate.spawn("gate").code == 1

    def test_the_range_that_pre_commit_names_is_judged(self, gate: Gate) -> None:
        gate.hotter()
        gate.repo.git("commit", "-q", "-m", "past the hook")
        gate.repo.write({"README.md": "x"})
        gate.repo.git("add", "-A")
        refs = {"PRE_COMMIT_FROM_REF": "HEAD~1", "PRE_COMMIT_TO_REF": "HEAD"}
        assert gate.spawn("gate", env=refs).code == 1
        branch = {**refs, "PRE_COMMIT_REMOTE_NAME": "origin", "PRE_COMMIT_LOCAL_BRANCH": "refs/heads/main"}
        protected, free = ({"PRE_COMMIT_REMOTE_BRANCH": f"refs/heads/{name}"} for name in ("main", "wip"))
        assert gate.spawn("gate", env=branch | protected).code == 1
        assert gate.spawn("gate", env=branch | free).code == 0

    def test_a_range_that_pre_commit_names_and_that_is_empty_is_undecided(self, gate: Gate) -> None:
        refs = {"PRE_COMMIT_FROM_REF": "HEAD", "PRE_COMMIT_TO_REF": "HEAD"}
        assert gate.spawn("gate", env=refs).code == 3

    def test_a_push_is_read_from_standard_input(self, gate: Gate) -> None:
        old = gate.repo.git("rev-parse", "HEAD")
        gate.hotter()
        gate.repo.git("commit", "-q", "-m", "past the hook")
        new = gate.repo.git("rev-parse", "HEAD")
        line = f"refs/heads/main {new} refs/heads/main {old}\n".encode()
        assert gate.spawn("gate", "--push", "--remote", "origin", given=line).code == 1
        assert gate.spawn("gate", "--push", given=b"").code == 0
        assert gate.spawn("gate", "--push", given=b"", env={"PRE_COMMIT": "1"}).code == 3


class TestPolicyTests:
    def test_the_file_beside_tierlock_yaml_is_run(self, gate: Gate) -> None:
        case = "cases:\n  - name: one is enough\n    change: sampling/x\n    approvals: [reviewer-a]\n"
        gate.repo.write({"review-tests.yaml": f"{case}    expect: pass\n"})
        assert gate.run("test").code == 0
        gate.repo.write({"review-tests.yaml": f"{case}    expect: block\n"})
        done = gate.run("test")
        assert (done.code, "review-tests.yaml:5" in done.out) == (1, True)

    def test_a_weaker_policy_fails_its_own_tests(self, gate: Gate) -> None:
        case = "cases:\n  - {name: two for base, change: base/x, approvals: [reviewer-a], expect: block}\n"
        gate.repo.write({"review-tests.yaml": case})
        assert gate.run("test").code == 0
        gate.repo.change("tierlock.yaml", "base: {approvals: 2", "base: {approvals: 1")
        assert gate.run("test").code == 1
        assert gate.run("test", "--rev", "HEAD").code == 0
