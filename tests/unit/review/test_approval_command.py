"""`tierlock review approve` as people use it: real git, real keys, a real agent."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import PROGRAM, Ran, Tierlock, environment
from tests.support.governed import BASE
from tests.support.reviewed import SAMPLING, Reviewed, key_of, public_key, reviewed

FOLDER = ".tierlock/approvals/sampling/factual"


@pytest.fixture
def repo(tmp_path: Path) -> Reviewed:
    """On the protected branch, with a hotter temperature staged by author-a."""
    made = reviewed(tmp_path / "repo")
    made.hotter(0.3)
    made.git("add", "-A")
    return made


@pytest.fixture
def command(repo: Reviewed, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tierlock:
    for name, value in repo.environment.items():
        if name.startswith("GIT_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1793610000")  # 2026-11-02 09:00
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    return Tierlock(repo.path, capsys, monkeypatch)


def approve(command: Tierlock, *args: str, by: str = "reviewer-a", reason: str = "measured") -> Ran:
    return command.run("review", "approve", *args, "--key", str(key_of(by)), "--reason", reason)


def gate(command: Tierlock, repo: Reviewed) -> int:
    repo.git("add", "-A")
    return command.run("review", "gate").code


def written(repo: Reviewed) -> list[str]:
    return sorted(path.name for path in (repo.path / FOLDER).glob("*"))


def predicate(repo: Reviewed) -> dict[str, Any]:
    import base64

    (path,) = (repo.path / FOLDER).glob("*.json")
    tree: dict[str, Any] = json.loads(base64.b64decode(json.loads(path.read_bytes())["payload"]))["predicate"]
    return tree


def test_the_change_is_shown_signed_and_then_lands(command: Tierlock, repo: Reviewed) -> None:
    assert gate(command, repo) == 1
    ran = approve(command, "sampling/factual")
    assert ran.code == 0, ran.err
    assert "temperature  0.2 → 0.3" in ran.out
    assert f"git add {FOLDER} && git commit" in ran.out
    assert gate(command, repo) == 0


def test_an_edit_that_is_not_staged_is_not_mistaken_for_the_last_commit(
    command: Tierlock, repo: Reviewed
) -> None:
    """After a stopped `git commit -a` nothing is staged; the last commit is not what anybody means."""
    repo.git("reset", "-q")
    ran = approve(command, "sampling/factual")
    assert ran.code == 2
    assert "nothing is staged" in ran.err
    assert "git add configs/sampling/factual.yaml" in ran.err
    assert not written(repo)


def test_a_record_says_who_what_why_and_until_when(command: Tierlock, repo: Reviewed) -> None:
    assert approve(command, "--expires", "2026-12-31").code == 0
    said = predicate(repo)
    assert (said["person"], said["reason"], said["name"]) == ("reviewer-a", "measured", "sampling/factual")
    assert (said["issued"], said["expires"]) == ("2026-11-02T09:00:00Z", "2026-12-31T23:59:59Z")
    assert said["emergency"] is False


def test_an_author_signs_nothing_of_their_own(command: Tierlock, repo: Reviewed) -> None:
    ran = approve(command, by="author-a")
    assert ran.code == 1
    assert "author-a made the change, and nobody approves their own" in ran.out
    assert written(repo) == []


def test_a_key_that_is_nobodys_signs_nothing(command: Tierlock, repo: Reviewed) -> None:
    ran = approve(command, by="outsider-a")
    assert ran.code == 3
    assert "is nobody's in the policy of the base revision" in ran.err
    assert written(repo) == []


def test_what_is_approved_once_is_not_signed_twice(command: Tierlock, repo: Reviewed) -> None:
    assert approve(command).code == 0
    ran = approve(command)
    assert (ran.code, len(written(repo))) == (0, 1)
    assert "nothing new to sign" in ran.out


def test_an_approval_dies_with_the_next_edit(command: Tierlock, repo: Reviewed) -> None:
    assert approve(command).code == 0
    repo.hotter(0.31)
    assert gate(command, repo) == 1


def test_a_change_that_was_taken_back_needs_a_new_approval(command: Tierlock, repo: Reviewed) -> None:
    """T3: the same pair of digests, and the old approval lies in the tree."""
    assert approve(command).code == 0
    repo.commit("hotter")
    repo.hotter(0.2)
    repo.commit("back")
    repo.hotter(0.3)
    assert gate(command, repo) == 1
    assert "used by an earlier landing" in command.run("review", "gate").out
    assert approve(command, reason="again").code == 0
    assert len(written(repo)) == 2
    assert gate(command, repo) == 0


def test_an_approval_committed_before_its_change_counts(command: Tierlock, repo: Reviewed) -> None:
    assert approve(command).code == 0
    repo.git("add", FOLDER)
    repo.git("commit", "-q", "-m", "approval", "--", FOLDER)
    assert gate(command, repo) == 0


def test_an_approval_is_taken_back(command: Tierlock, repo: Reviewed) -> None:
    assert approve(command).code == 0
    assert gate(command, repo) == 0
    ran = approve(command, "--withdraw", "sampling/factual", reason="numbers were wrong")
    assert ran.code == 0, ran.err
    assert [name.partition(".")[2] for name in written(repo)] == ["json", "withdrawn.json"]
    assert gate(command, repo) == 1
    assert command.run("review", "records").code == 0
    assert approve(command, "--withdraw", reason="once more").code == 2
    assert approve(command, reason="they are right after all").code == 0
    assert gate(command, repo) == 0


def test_an_approval_is_taken_back_by_its_path_by_whoever_gave_it(command: Tierlock, repo: Reviewed) -> None:
    assert approve(command).code == 0
    path = f"{FOLDER}/{written(repo)[0]}"
    assert approve(command, "--withdraw", path, by="reviewer-b", reason="not mine").code == 2
    assert approve(command, "--withdraw", path, reason="mine").code == 0


def test_breaking_the_glass_lands_at_once_and_leaves_a_debt(command: Tierlock, repo: Reviewed) -> None:
    ran = approve(command, "--emergency", by="reviewer-b", reason="outage 42")
    assert ran.code == 0, ran.err
    assert "breaks the glass" in ran.out
    assert predicate(repo)["expires"] == "2026-11-02T13:00:00Z"
    assert gate(command, repo) == 0
    repo.commit("urgent")
    assert "1 regular approval owed, due 2026-11-05" in " ".join(command.run("review", "gate").out.split())
    again = approve(command, "--follow-up", by="reviewer-b")
    assert (again.code, "broke the glass: somebody else has to look" in again.out) == (1, True)
    assert "nobody approves their own" in approve(command, "--follow-up", by="author-a").out
    ran = approve(command, "--follow-up", reason="looked at it")
    assert ran.code == 0, ran.err
    assert "temperature  0.2 → 0.3" in ran.out
    assert "no emergency approval is waiting" in approve(command, "--follow-up").err
    repo.commit("looked at")
    assert "owed" not in command.run("review", "gate").out


def test_an_emergency_approval_is_short(command: Tierlock, repo: Reviewed) -> None:
    ran = approve(command, "--emergency", "--expires", "2d")
    assert ran.code == 1
    assert "counts for 4 hours at most" in ran.out
    assert written(repo) == []


def test_without_a_reason_nothing_is_signed(command: Tierlock, repo: Reviewed) -> None:
    ran = command.spawn("review", "approve", "--key", str(key_of("reviewer-a")), env=repo.environment)
    assert ran.code == 2
    assert "--reason" in ran.err
    assert written(repo) == []


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["sampling/other"], "`sampling/other` does not move in"),
        (["--expires", "yesterday"], "`yesterday` is not a time to expire"),
        (["--expires", "2026-10-01"], "is over already"),
        (["--withdraw", "--emergency"], "--withdraw goes with none of"),
        (["--commit", "HEAD", "--base", "main"], "exclude each other"),
        (["--withdraw", ".tierlock/approvals/x.json"], "is not an approval in the work tree"),
    ],
)
def test_a_wrong_command_line_is_told(
    command: Tierlock, repo: Reviewed, args: list[str], message: str
) -> None:
    ran = approve(command, *args)
    assert ran.code == 2
    assert message in ran.err
    assert written(repo) == []


def test_what_does_not_load_is_approved_by_nobody(command: Tierlock, repo: Reviewed) -> None:
    repo.write({SAMPLING: "kind: sampling\ntempurature: 1\n"})
    repo.git("add", "-A")
    ran = approve(command)
    assert ran.code == 3
    assert "cannot be accepted by anybody" in ran.err


def test_a_branch_is_approved_against_where_it_lands(command: Tierlock, repo: Reviewed) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("one")
    repo.hotter(0.28)
    repo.commit("two")
    assert approve(command).code == 0
    repo.commit("approval")
    assert command.run("review", "gate", "--range", "main..topic").code == 0


def test_a_binding_and_the_policy_are_approved_by_name(command: Tierlock, repo: Reviewed) -> None:
    repo.write({"configs/base/other.yaml": BASE, "configs/base/other/generation_config.json": "{}"})
    repo.change("tierlock.yaml", "base: qwen", "base: other")
    repo.change("tierlock.yaml", "max_hours: 4", "max_hours: 5")
    repo.git("add", "-A")
    assert approve(command, "service/summarizer", "policy").code == 0
    found = {path.parent.name for path in (repo.path / ".tierlock/approvals").rglob("*.json")}
    assert found == {"summarizer", "policy"}


def test_git_names_the_key(command: Tierlock, repo: Reviewed) -> None:
    repo.git("config", "user.signingkey", f"{key_of('reviewer-a')}.pub")
    repo.git("config", "gpg.format", "ssh")
    ran = command.run("review", "approve", "--reason", "measured")
    assert ran.code == 0, ran.err
    assert "reviewer-a" in ran.out


@pytest.fixture
def agent(command: Tierlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An agent that holds the keys of reviewer-a and of somebody the policy does not know."""
    path = tmp_path / "agent.sock"
    with subprocess.Popen(("ssh-agent", "-D", "-a", path), stdout=subprocess.DEVNULL) as running:
        while not path.exists():
            assert running.poll() is None
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        for person in ("outsider-a", "reviewer-a"):
            subprocess.run(("ssh-add", "-q", key_of(person)), check=True)
        yield
        running.terminate()


@pytest.mark.usefixtures("agent")
def test_the_agent_is_asked_for_the_one_key_that_the_policy_knows(command: Tierlock, repo: Reviewed) -> None:
    ran = command.run("review", "approve", "--reason", "measured")
    assert ran.code == 0, ran.err
    assert written(repo)[0].endswith("-reviewer-a.json")


@pytest.mark.usefixtures("agent")
def test_two_people_in_one_agent_have_to_be_told_apart(command: Tierlock, repo: Reviewed) -> None:
    subprocess.run(("ssh-add", "-q", key_of("reviewer-b")), check=True)
    ran = command.run("review", "approve", "--reason", "measured")
    assert (ran.code, "keys of 2 people" in ran.err) == (2, True)
    assert command.run("review", "approve", "--reason", "x", "--key", public_key("reviewer-b")).code == 0
    assert written(repo)[0].endswith("-reviewer-b.json")


def test_without_any_key_the_remedy_is_named(command: Tierlock, repo: Reviewed) -> None:
    ran = command.run("review", "approve", "--reason", "measured")
    assert ran.code == 3
    assert "user.signingkey" in ran.err


def test_without_ssh_keygen_nothing_is_decided(
    command: Tierlock, repo: Reviewed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither approving nor the gate: an approval that cannot be verified is no bad one either."""
    assert approve(command).code == 0
    tools = tmp_path / "tools"
    tools.mkdir()
    git = subprocess.run(("which", "git"), capture_output=True, text=True, check=True).stdout.strip()
    (tools / "git").symlink_to(git)
    repo.git("add", "-A")
    monkeypatch.setenv("PATH", os.fspath(tools))
    ran = command.run("review", "gate")
    assert ran.code == 3
    assert "`ssh-keygen` is not installed" in ran.out
    assert approve(command, by="reviewer-b").code == 3


def test_a_reviewer_of_another_config_approves_nothing_here(command: Tierlock, repo: Reviewed) -> None:
    """T3: an approval copied into the folder of another config counts for nothing."""
    assert approve(command).code == 0
    name = written(repo)[0]
    other = repo.path / ".tierlock/approvals/sampling/other"
    other.mkdir()
    (repo.path / FOLDER / name).rename(other / name)
    repo.write({"configs/sampling/other.yaml": (repo.path / SAMPLING).read_text()})
    assert gate(command, repo) == 1
    assert "belongs in" in " ".join(command.run("review", "gate").out.split())


def test_on_a_terminal_the_change_is_shown_before_the_reason_is_asked(
    command: Tierlock, repo: Reviewed
) -> None:
    """Nobody is asked to accept what they have not seen."""
    screen, terminal = pty.openpty()
    argv = (*PROGRAM, "review", "approve", "--key", str(key_of("reviewer-a")))
    environ = environment({name: value for name, value in repo.environment.items() if name[:4] == "GIT_"})
    with subprocess.Popen(
        argv, cwd=repo.path, env=environ, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        os.write(screen, b"numbers are right\n")
        out, err = running.communicate(timeout=60)
    os.close(screen)
    os.close(terminal)
    said = err.decode()
    assert running.returncode == 0, said
    assert said.index("temperature  0.2 → 0.3") < said.index("Why do you accept this")
    assert "1 approval signed by reviewer-a" in out.decode()
    assert predicate(repo)["reason"] == "numbers are right"
