"""The manifest as users have it: pre-commit builds an environment from this checkout, all hooks run in it.

It downloads every dependency and takes half a minute: TIERLOCK_TEST_ENVIRONMENT=0 leaves it out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repos import isolated
from tests.support.reviewed import reviewed

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ("tierlock-check", "tierlock-review", "tierlock-records")


@pytest.mark.skipif(os.environ.get("TIERLOCK_TEST_ENVIRONMENT") == "0", reason="TIERLOCK_TEST_ENVIRONMENT=0")
def test_the_environment_is_built_once_and_every_hook_runs_in_it(tmp_path: Path) -> None:
    head = subprocess.run(("git", "rev-parse", "HEAD"), cwd=ROOT, capture_output=True, text=True, check=True)
    ids = "".join(f"      - id: {name}\n" for name in HOOKS)
    config = f"repos:\n  - repo: {ROOT}\n    rev: {head.stdout.strip()}\n    hooks:\n{ids}"
    repo = reviewed(tmp_path / "repository", {".pre-commit-config.yaml": config})
    repo.hotter(0.9)
    repo.git("add", "-A")
    program = Path(sys.executable).with_name("pre-commit")
    done = subprocess.run(
        (program, "run", "--verbose"),
        cwd=repo.path,
        env=isolated(PRE_COMMIT_HOME=str(tmp_path / "home")),
        capture_output=True,
        check=False,
    )
    said = done.stdout.decode()
    assert done.returncode == 1, said
    assert "tierlock review" in said
    assert "TL501" in said
    assert "PASS" in said.partition("tierlock records")[2]
