"""Real git repositories for tests: isolated from the user's settings, with fixed names and dates."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from governance.adapters.git import Git


def isolated(**more: str) -> dict[str, str]:
    """An environment in which git sees no settings but its own and every commit has one author and date."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **plain,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Author A",
        "GIT_AUTHOR_EMAIL": "author-a@example.org",
        "GIT_COMMITTER_NAME": "Author A",
        "GIT_COMMITTER_EMAIL": "author-a@example.org",
        "GIT_AUTHOR_DATE": "2026-11-02T09:00:00+00:00",
        "GIT_COMMITTER_DATE": "2026-11-02T09:00:00+00:00",
        "LC_ALL": "C.UTF-8",
        **more,
    }


@dataclass
class Repo:
    """One repository in a folder. `write` and `commit` build its history; `git` runs anything else."""

    path: Path
    environment: dict[str, str] = field(default_factory=isolated)

    def git(self, *args: str, **more: str) -> str:
        """What `git args` prints; `more` are extra environment variables. Fails the test when git fails."""
        done = subprocess.run(
            ("git", *args), cwd=self.path, env=self.environment | more, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Put files below the repository, making folders."""
        for name, content in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(self, message: str = "change", files: Mapping[str, str | bytes] | None = None) -> str:
        """Write `files`, stage everything, commit; the new commit's id."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def neighbour(self, **more: str) -> Git:
        """The adapter under test, standing in this repository's environment."""
        return Git(self.path, self.environment | more)


def make_repo(path: Path, *, files: Mapping[str, str | bytes] | None = None, sha256: bool = False) -> Repo:
    """A new repository at `path` on branch main; with `files`, they are its first commit."""
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    repo.git("init", "-q", "-b", "main", *(("--object-format=sha256",) if sha256 else ()))
    if files is not None:
        repo.commit("first", files)
    return repo
