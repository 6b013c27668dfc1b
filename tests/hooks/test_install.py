"""`tierlock review install`: our hooks beside those that are there, wherever git looks for them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.hooks.guarded import Guarded, environment
from tests.support.reviewed import SAMPLING, reviewed

NOTED = """\
#!/bin/sh
cat > "$(git rev-parse --git-common-dir)/noted"
echo "$@" >> "$(git rev-parse --git-common-dir)/noted"
"""


@pytest.fixture
def clone(tmp_path: Path, hook_home: Path) -> Guarded:
    """A repository with a policy and no hook, with a server that has its first commit."""
    repo = Guarded(reviewed(tmp_path / "clone").path, environment(hook_home))
    repo.git("init", "-q", "--bare", "-b", "main", str(tmp_path / "server"))
    repo.git("remote", "add", "origin", str(tmp_path / "server"))
    repo.git("push", "-q", "-u", "origin", "main")
    return repo


def push_is_judged(repo: Guarded) -> None:
    repo.hotter(0.9)
    repo.slip()
    said = repo.try_git("push", "origin", "HEAD:main")
    assert said.code != 0, said.text
    assert "TL501" in said.text


def hook(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def test_a_fresh_clone_is_told_to_lack_them_and_has_them_after_one_call(clone: Guarded) -> None:
    assert clone.tierlock("review", "install", "--check").code == 1
    said = clone.tierlock("review", "install")
    assert said.code == 0
    assert "put in place" in said.text
    assert clone.tierlock("review", "install", "--check").code == 0
    push_is_judged(clone)


def test_doing_it_twice_is_doing_it_once(clone: Guarded) -> None:
    clone.tierlock("review", "install")
    before = (clone.path / ".git/hooks/pre-push").read_bytes()
    said = clone.tierlock("review", "install")
    assert "was there already" in said.text
    assert (clone.path / ".git/hooks/pre-push").read_bytes() == before
    assert not (clone.path / ".git/hooks/pre-push.before-tierlock").exists()


def test_a_hook_that_is_there_keeps_running_with_its_input_and_arguments(clone: Guarded) -> None:
    hook(clone.path / ".git/hooks/pre-push", NOTED)
    assert "runs first" in " ".join(clone.tierlock("review", "install").text.split())
    push_is_judged(clone)
    noted = (clone.path / ".git/noted").read_text()
    assert "refs/heads/main" in noted
    assert noted.splitlines()[-1].startswith("origin ")


def test_a_hook_that_refuses_still_refuses(clone: Guarded) -> None:
    hook(clone.path / ".git/hooks/pre-push", "#!/bin/sh\necho theirs >&2; exit 7\n")
    clone.tierlock("review", "install")
    clone.write({"README.md": "x\n"})
    clone.slip()
    said = clone.try_git("push", "origin", "main")
    assert said.code != 0
    assert "theirs" in said.text


def test_taking_ours_away_gives_the_other_its_name_back(clone: Guarded) -> None:
    hook(clone.path / ".git/hooks/pre-push", NOTED)
    clone.tierlock("review", "install")
    said = clone.tierlock("review", "install", "--remove")
    assert said.code == 0
    assert (clone.path / ".git/hooks/pre-push").read_text() == NOTED
    assert sorted(file.name for file in (clone.path / ".git/hooks").glob("pre-push*")) in (
        ["pre-push"],
        ["pre-push", "pre-push.sample"],
    )


def test_in_a_linked_worktree_the_common_hooks_are_meant(clone: Guarded, tmp_path: Path) -> None:
    clone.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = Guarded(tmp_path / "linked", clone.environment)
    assert (linked.path / ".git").is_file()
    said = linked.tierlock("review", "install")
    assert said.code == 0, said.text
    assert (clone.path / ".git/hooks/pre-push").exists()
    push_is_judged(linked)


@pytest.mark.parametrize("value", [".githooks", "absolute"])
def test_a_repository_whose_hooks_lie_elsewhere(clone: Guarded, tmp_path: Path, value: str) -> None:
    folder = tmp_path / "elsewhere" if value == "absolute" else clone.path / value
    clone.git("config", "core.hooksPath", str(folder) if value == "absolute" else value)
    said = clone.tierlock("review", "install")
    assert said.code == 0, said.text
    assert (folder / "pre-push").exists()
    assert not (clone.path / ".git/hooks/pre-push").exists()
    push_is_judged(clone)


def test_a_folder_that_every_repository_shares_is_left_alone(clone: Guarded, tmp_path: Path) -> None:
    config = tmp_path / "gitconfig"
    config.write_text(f"[core]\n\thooksPath = {tmp_path / 'shared'}\n")
    said = clone.ran("tierlock", "review", "install", GIT_CONFIG_GLOBAL=str(config))
    assert said.code == 3
    assert "git config --local core.hooksPath" in said.text
    assert not (tmp_path / "shared").exists()


def test_behind_the_pre_push_of_pre_commit_ours_sees_every_ref(clone: Guarded) -> None:
    """pre-commit's own pre-push looks at the first ref only; ours, moved behind it, gets them all."""
    clone.write({".pre-commit-config.yaml": "repos: []\n"})
    clone.slip()
    clone.tierlock("review", "install")
    assert clone.ran("pre-commit", "install", "--hook-type", "pre-push").code == 0
    assert "behind" in clone.tierlock("review", "install").text
    assert clone.tierlock("review", "install", "--check").code == 0
    push_is_judged(clone)


def test_before_the_pre_push_of_pre_commit_too(clone: Guarded) -> None:
    clone.write({".pre-commit-config.yaml": "repos: []\n"})
    clone.slip()
    assert clone.ran("pre-commit", "install", "--hook-type", "pre-push").code == 0
    assert clone.tierlock("review", "install").code == 0
    push_is_judged(clone)


def test_a_hook_that_git_passes_over_is_not_there(clone: Guarded) -> None:
    clone.tierlock("review", "install")
    (clone.path / ".git/hooks/pre-push").chmod(0o644)
    said = clone.tierlock("review", "install", "--check")
    assert said.code == 1
    assert "may not be executed" in said.text
    assert "renewed" in clone.tierlock("review", "install").text
    assert os.access(clone.path / ".git/hooks/pre-push", os.X_OK)


def test_one_of_an_older_version_is_renewed(clone: Guarded) -> None:
    clone.tierlock("review", "install")
    file = clone.path / ".git/hooks/pre-push"
    wanted = file.read_text()
    file.write_text(wanted + "# older\n")
    assert "renewed" in clone.tierlock("review", "install").text
    assert file.read_text() == wanted


def test_a_third_hook_is_not_overwritten(clone: Guarded) -> None:
    hook(clone.path / ".git/hooks/pre-push", NOTED)
    clone.tierlock("review", "install")
    hook(clone.path / ".git/hooks/pre-push", "#!/bin/sh\nexit 0\n")
    said = clone.tierlock("review", "install")
    assert said.code == 3
    assert (clone.path / ".git/hooks/pre-push").read_text() == "#!/bin/sh\nexit 0\n"
    assert (clone.path / ".git/hooks/pre-push.before-tierlock").read_text() == NOTED


def test_a_bare_repository_gets_pre_receive_also_inside_a_work_tree(clone: Guarded) -> None:
    """The folder above it is another repository, which is not the one meant."""
    bare = clone.path / "mirror.git"
    clone.git("init", "-q", "--bare", "-b", "main", str(bare))
    clone.git("push", "-q", str(bare), "main")
    said = clone.tierlock("review", "install", "-C", str(bare))
    assert said.code == 0, said.text
    assert (bare / "hooks/pre-receive").exists()
    assert not (clone.path / ".git/hooks/pre-receive").exists()
    clone.hotter(0.9)
    clone.git("commit", "-q", "--no-verify", "-m", "hot", SAMPLING)
    said = clone.try_git("push", "--no-verify", str(bare), "main")
    assert said.code != 0
    assert "TL501" in said.text


def test_a_governed_folder_inside_a_larger_repository_is_judged_at_the_push(
    tmp_path: Path, hook_home: Path
) -> None:
    from tests.support.repos import make_repo
    from tests.support.reviewed import files

    inner = {f"services/news/{path}": text for path, text in files().items()}
    repo = Guarded(make_repo(tmp_path / "mono", files=inner).path, environment(hook_home))
    repo.git("init", "-q", "--bare", str(tmp_path / "server"))
    repo.git("remote", "add", "origin", str(tmp_path / "server"))
    repo.git("push", "-q", "-u", "origin", "main")
    assert repo.tierlock("review", "install", "-C", "services/news").code == 0
    server = str(tmp_path / "server")
    assert repo.tierlock("review", "install", "-C", server, "--folder", "services/news").code == 0
    repo.hotter(0.9, f"services/news/{SAMPLING}")
    repo.slip()
    for skipping in ((), ("--no-verify",)):
        said = repo.try_git("push", *skipping, "origin", "main")
        assert said.code != 0
        assert "TL501" in said.text
    assert "remote:" in said.text


def test_a_server_that_was_not_told_the_folder_takes_nothing_and_says_where_to_look(
    tmp_path: Path, hook_home: Path
) -> None:
    """Nothing governed at the top is no answer while something is governed below."""
    from tests.support.repos import make_repo
    from tests.support.reviewed import files

    inner = {f"services/news/{path}": text for path, text in files().items()}
    repo = Guarded(make_repo(tmp_path / "mono", files=inner).path, environment(hook_home))
    repo.git("init", "-q", "--bare", str(tmp_path / "server"))
    repo.git("remote", "add", "origin", str(tmp_path / "server"))
    repo.git("push", "-q", "-u", "origin", "main")
    assert repo.tierlock("review", "install", "-C", str(tmp_path / "server")).code == 0
    repo.hotter(0.9, f"services/news/{SAMPLING}")
    repo.slip()
    said = repo.try_git("push", "--no-verify", "origin", "main")
    assert said.code != 0
    assert "nothing is governed at the top, but in `services/news`" in said.text
    assert "--folder services/news" in said.text


@pytest.mark.parametrize("name", ["pre-push", "pre-receive"])
def test_the_scripts_are_plain_sh(name: str) -> None:
    script = Path(__file__).resolve().parents[2] / "governance/review/scripts" / name
    for shell in ("sh", "dash", "bash"):
        found = subprocess.run((shell, "-n", script), capture_output=True, check=False)
        assert found.returncode == 0, found.stderr
