"""The manifest as users have it: pre-commit builds an environment from this checkout and runs the hook in it.

It downloads every dependency and takes a minute, so it runs when TIERLOCK_TEST_ENVIRONMENT is set.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from governance.cli.scaffold import files
from tests.support.repos import isolated, make_repo

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not os.environ.get("TIERLOCK_TEST_ENVIRONMENT"), reason="set TIERLOCK_TEST_ENVIRONMENT=1")
def test_the_environment_is_built_and_the_hook_runs_in_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repository")
    repo.write(files("llama.cpp"))
    repo.git("add", "-A")
    done = subprocess.run(
        ("pre-commit", "try-repo", str(ROOT), "tierlock-check", "--verbose"),
        cwd=repo.path,
        env=isolated(PRE_COMMIT_HOME=str(tmp_path / "home")),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    assert "PASS  no findings in 3 configs" in done.stdout.decode()
