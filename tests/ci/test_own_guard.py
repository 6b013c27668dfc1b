"""This project guards its own configs with what it ships: real hooks, pinned digests, `make check`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from governance.adapters.files import WorkTree
from governance.fingerprint.layers import config_digest
from governance.tiers.config import load_repository
from tests.ci.conftest import ROOT
from tests.support.repos import Repo, isolated, make_repo

PINNED = ROOT / "tests" / "golden" / "own-configs.json"
SAMPLING = "configs/sampling/factual.yaml"


@pytest.fixture
def own(tmp_path: Path) -> Repo:
    """A repository with our own governed files and our own hooks, installed by the real pre-commit."""
    repo = make_repo(tmp_path / "own")
    for name in ("tierlock.yaml", ".pre-commit-config.yaml"):
        shutil.copy(ROOT / name, repo.path)
    for name in ("configs", "evals"):
        shutil.copytree(ROOT / name, repo.path / name)
    repo.write({".gitignore": ".venv\n"})
    (repo.path / ".venv").symlink_to(sys.prefix)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home")}
    repo = Repo(repo.path, isolated(PATH=path, PYTHONPATH=str(ROOT), **home))
    subprocess.run(
        ("pre-commit", "install"), cwd=repo.path, env=repo.environment, check=True, capture_output=True
    )
    repo.commit("first")
    return repo


def commit(repo: Repo) -> tuple[int, str]:
    repo.git("add", "-A")
    argv = ("git", "commit", "-m", "change")
    done = subprocess.run(
        argv, cwd=repo.path, env=repo.environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_our_own_hooks_stop_a_mistake_in_our_own_configs(own: Repo) -> None:
    file = own.path / SAMPLING
    file.write_text(file.read_text().replace("temperature:", "tempurature:"))
    code, said = commit(own)
    assert code == 1
    assert "did you mean `temperature`?" in said


def test_our_own_hooks_stop_a_record_that_is_none(own: Repo) -> None:
    own.write({".tierlock/approvals/sampling/factual/0123456789ab-someone.json": "{}\n"})
    code, said = commit(own)
    assert code == 1
    assert "tierlock records" in said


def test_no_answer_shaping_value_of_ours_moves_silently() -> None:
    """Until a second person can review, the digests stand beside the files (ADR 0016)."""
    found = load_repository(WorkTree(ROOT))
    now = {
        "configs": {
            str(name): config_digest(config) for name, config in sorted(found.configs.items(), key=str)
        },
        "services": {
            name: [str(one.id) for one in (service.base, service.sampling, service.prompts) if one]
            for name, service in sorted(found.services.items())
        },
    }
    if os.environ.get("TIERLOCK_RENEW"):
        PINNED.write_text(json.dumps(now, indent=2) + "\n")
    assert now == json.loads(PINNED.read_text()), "look at the change, then: TIERLOCK_RENEW=1 pytest tests/ci"


def test_a_policy_of_ours_brings_its_hook_and_its_audit_along() -> None:
    """The audit of `make check` starts with the policy; the hook has to be added, and this says so."""
    has_policy = "review" in YAML(typ="safe").load(ROOT / "tierlock.yaml")
    hooks = YAML(typ="safe").load(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert ("tierlock-review" in {hook["id"] for hook in hooks}) == has_policy


def test_our_own_hooks_are_the_ones_we_ship() -> None:
    shipped = {hook["id"]: hook for hook in YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")}
    for hook in YAML(typ="safe").load(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]:
        ours = shipped[hook["id"]]
        assert hook["entry"] == ours["entry"].replace("tierlock", ".venv/bin/python -m governance.cli", 1)
        assert [hook[key] for key in ("always_run", "pass_filenames", "require_serial", "stages")] == [
            ours[key] for key in ("always_run", "pass_filenames", "require_serial", "stages")
        ]


def test_what_make_check_asks_of_our_configs_holds(tierlock: Path) -> None:
    done = subprocess.run(
        (ROOT / "scripts" / "guard.sh", tierlock), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
