"""A git repository in which real pre-commit runs the hook of this checkout on real commits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from governance.cli.scaffold import files
from tests.hooks.guarded import Guarded, copied, guarded
from tests.support.repos import Repo, isolated, make_repo

ROOT = Path(__file__).resolve().parents[2]
TYPES = ("pre-commit", "pre-merge-commit", "pre-push")


class Hooked(Repo):
    """A repository with our hook installed. `try_git` does not mind a refusal."""

    def try_git(self, *args: str, **more: str) -> tuple[int, str]:
        """Exit status of `git args` and all it said."""
        done = subprocess.run(
            ("git", *args), cwd=self.path, env=self.environment | more, capture_output=True, check=False
        )
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")

    def commit_with_hooks(self, message: str = "change") -> tuple[int, str]:
        """Commit what is staged, hooks and all."""
        return self.try_git("commit", "-m", message)


@pytest.fixture(scope="session")
def hook_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our manifest as a hook repository; the language is `system`, so that no environment is built."""
    manifest = (ROOT / ".pre-commit-hooks.yaml").read_text()
    manifest = manifest.replace("language: python", "language: system")
    manifest = manifest.replace("entry: tierlock", f"entry: {sys.executable} -m governance.cli")
    made = make_repo(tmp_path_factory.mktemp("hook") / "tierlock", files={".pre-commit-hooks.yaml": manifest})
    made.git("tag", "v0")
    return made.path


@pytest.fixture
def hooked(tmp_path: Path, hook_repository: Path) -> Hooked:
    """A scaffolded repository, everything staged, the hooks installed, no commit yet."""
    home = {"PRE_COMMIT_HOME": str(tmp_path / "pre-commit"), "PYTHONPATH": str(ROOT)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    repo = Hooked(
        make_repo(tmp_path / "repository").path, isolated(PATH=path, XDG_CACHE_HOME=str(tmp_path), **home)
    )
    config = f"repos:\n  - repo: {hook_repository}\n    rev: v0\n    hooks:\n      - id: tierlock-check\n"
    repo.write({**files("llama.cpp"), ".pre-commit-config.yaml": config})
    repo.git("add", "-A")
    types = [option for name in TYPES for option in ("--hook-type", name)]
    subprocess.run(
        ("pre-commit", "install", *types),
        cwd=repo.path,
        env=repo.environment,
        check=True,
        capture_output=True,
    )
    return repo


@pytest.fixture
def committed(hooked: Hooked) -> Hooked:
    """The same after its first commit, which went through the hook."""
    code, said = hooked.commit_with_hooks("first")
    assert code == 0, said
    return hooked


@pytest.fixture(scope="session")
def hook_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Command and stores that all guarded repositories share."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def review_hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our manifest as a hook repository that calls the command on PATH."""
    manifest = (ROOT / ".pre-commit-hooks.yaml").read_text().replace("language: python", "language: system")
    made = make_repo(
        tmp_path_factory.mktemp("hooks") / "tierlock", files={".pre-commit-hooks.yaml": manifest}
    )
    made.git("tag", "v0")
    return made.path


@pytest.fixture(scope="session")
def first_team(tmp_path_factory: pytest.TempPathFactory, hook_home: Path, review_hooks: Path) -> Guarded:
    """What every test gets a copy of."""
    return guarded(tmp_path_factory.mktemp("team") / "clone", hook_home, review_hooks)


@pytest.fixture
def team(tmp_path: Path, first_team: Guarded) -> Guarded:
    """A clone with every hook, and the server it pushes to."""
    return copied(first_team, tmp_path / "clone")
