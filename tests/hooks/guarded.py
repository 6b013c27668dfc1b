"""A team's repository with every line of defence: pre-commit, our pre-push, a server with our pre-receive.

Each row of the hook table is tested against the last line that can see it: `commit` where pre-commit calls
us, `push` where only git's own hook does, `server` and `audit` for what a person can skip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.support.repos import isolated
from tests.support.reviewed import Reviewed, reviewed

ROOT = Path(__file__).resolve().parents[2]
TYPES = ("pre-commit", "pre-merge-commit")


class Said(NamedTuple):
    """How a command ended and what it said."""

    code: int
    text: str


@dataclass
class Guarded(Reviewed):
    """One clone. `commit` is with hooks; `slip` is what `--no-verify` does."""

    def ran(self, *argv: str, given: bytes = b"", **more: str) -> Said:
        """Any command in the clone."""
        done = subprocess.run(
            argv, cwd=self.path, env=self.environment | more, input=given, capture_output=True, check=False
        )
        return Said(done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace"))

    def try_git(self, *args: str, **more: str) -> Said:
        """`git args`, whether or not it is refused."""
        return self.ran("git", *args, **more)

    def tierlock(self, *args: str, given: bytes = b"") -> Said:
        """The command as a process."""
        return self.ran("tierlock", *args, given=given)

    def try_commit(self, *args: str, message: str = "change") -> Said:
        """A commit of what is staged, hooks and all."""
        return self.try_git("commit", "-m", message, *args)

    def slip(self, message: str = "no hooks") -> str:
        """Everything committed past the hooks."""
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "-m", message)
        return self.git("rev-parse", "HEAD")

    def audit(self, history: str = "HEAD") -> Said:
        """What the audit says."""
        return self.tierlock("review", "audit", history)

    @property
    def server(self) -> Path:
        """The bare repository behind `origin`."""
        return Path(self.git("remote", "get-url", "origin"))


def program(folder: Path) -> Path:
    """`tierlock` of this checkout, as a command on PATH."""
    file = folder / "tierlock"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m governance.cli "$@"\n')
        file.chmod(0o755)
    return file


def environment(home: Path) -> dict[str, str]:
    """Isolated from the user, with our command and pre-commit on PATH; pre-commit's own store is shared."""
    path = os.pathsep.join(
        [str(program(home / "bin").parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    )
    return isolated(PATH=path, PRE_COMMIT_HOME=str(home / "pre-commit"), XDG_CACHE_HOME=str(home / "cache"))


def guarded(path: Path, home: Path, hooks: Path) -> Guarded:
    """A clone whose first commit, with the policy and the hooks, is on the server `<path>.git`."""
    ids = "".join(
        f"      - id: {name}\n" for name in ("tierlock-check", "tierlock-review", "tierlock-records")
    )
    config = f"repos:\n  - repo: {hooks}\n    rev: v0\n    hooks:\n{ids}"
    made = reviewed(path, {".pre-commit-config.yaml": config})
    repo = Guarded(made.path, environment(home))
    types = [word for name in TYPES for word in ("--hook-type", name)]
    bare = path.with_name(f"{path.name}.git")
    for argv in (
        ("pre-commit", "install", *types),
        ("tierlock", "review", "install"),
        ("git", "init", "-q", "--bare", "-b", "main", str(bare)),
        ("tierlock", "review", "install", "-C", str(bare)),
        ("git", "remote", "add", "origin", str(bare)),
        ("git", "push", "-q", "-u", "origin", "main"),
    ):
        said = repo.ran(*argv)
        assert said.code == 0, said.text
    return repo


def copied(team: Guarded, path: Path) -> Guarded:
    """The same clone and its server at another place."""
    shutil.copytree(team.path, path, symlinks=True)
    bare = path.with_name(f"{path.name}.git")
    shutil.copytree(team.server, bare, symlinks=True)
    repo = Guarded(path, team.environment)
    repo.git("remote", "set-url", "origin", str(bare))
    return repo
