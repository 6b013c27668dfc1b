"""A vLLM that becomes healthy and dies at its first completion: caught by the smoke eval, and taken back.

Batch invariance (`VLLM_BATCH_INVARIANT=1`) does that on CPU: the server starts, answers /health, and its
first completion needs Triton, which has no CPU backend.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from governance.adapters.processes import free_port
from governance.release.deploy import process
from governance.release.deploy.target import target_of
from governance.release.sides import Place
from tests.engines.service import NAME, REPOSITORY
from tests.support.command import PROGRAM, Ran, environment
from tests.support.repos import Repo, isolated, make_repo
from tests.support.vllm_server import DEVELOPMENT, HOST, MODEL, QUIET, START_SECONDS, one_at_a_time, program

pytestmark = pytest.mark.engines

BASE = "configs/base/smollm2-vllm.yaml"
WEIGHTS = "model.safetensors"
GOOD = "    enforce_eager: true\n"
BROKEN = f"{GOOD}    batch_invariant: true\n"
ITEMS = (
    {"id": "capital", "task": "question-answering", "prompt": "What is the capital of France?",
     "scorer": "contains", "args": {"any": ["Paris"]}},
    {"id": "said", "task": "instruction-following", "prompt": "Say hello.",
     "scorer": "limits", "args": {"min_chars": 1}},
)  # fmt: skip


class Serving(Repo):
    """The repository with its service on this host, and the command as a process."""

    def tierlock(self, *args: str) -> Ran:
        done = subprocess.run(
            [*PROGRAM, *args],
            cwd=self.path,
            env=environment(self.environment),
            capture_output=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Serving]:
    """The repository of these tests, deployed by the process driver; nothing runs any more afterwards."""
    root = tmp_path / "repository"
    shutil.copytree(REPOSITORY, root)
    port = free_port(HOST)
    model = root / BASE
    weights = f"sha256:{hashlib.sha256((MODEL / WEIGHTS).read_bytes()).hexdigest()}"
    id_and_files = f'{MODEL}\n  weights: {{format: safetensors, files: {{{WEIGHTS}: "{weights}"}}}}'
    model.write_text(model.read_text().replace("./.cache/smollm2-safetensors", id_and_files))
    deploy = {
        "driver": "process", "host": HOST, "port": port, "binary": str(program("vllm")),
        "weights": str(MODEL),
        "ready_path": "/health", "ready_timeout_s": START_SECONDS, "environment": {**QUIET, **DEVELOPMENT},
    }  # fmt: skip
    services = {
        "version": 1,
        "services": {
            NAME: {
                "base": "smollm2-vllm", "sampling": "mostly-inherited", "prompts": "plain",
                "endpoint": {"url": f"http://{HOST}:{port}/v1", "model": NAME, "timeout_s": 120},
                "evals": {"smoke": "smoke"},
                "deploy": deploy,
            }
        },
        "rules": {"exemptions": [
            {"rule": rule, "config": "base/smollm2-vllm", "reason": "the model is a folder of this machine",
             "expires": "2027-06-30"} for rule in ("TL202",)
        ]},
    }  # fmt: skip
    (root / "tierlock.yaml").write_text(json.dumps(services))
    (root / "evals").mkdir()
    (root / "evals" / "smoke.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in ITEMS))
    made = make_repo(root)
    made.commit("first")
    with one_at_a_time():
        yield Serving(root, isolated())
        place = Place(root)
        service = place.state("worktree").service(NAME)
        assert service is not None
        process.stop(target_of(service, place, release=""))


def test_a_healthy_server_that_dies_when_asked_is_caught_and_taken_back(
    repo: Serving, say: Callable[[str], None]
) -> None:
    done = [repo.tierlock("release", "deploy", NAME, "HEAD"), repo.tierlock("eval", "run", NAME, "--record")]
    assert [one.code for one in done] == [0, 0], done
    repo.commit("what the smoke suite says")
    cut = repo.tierlock("release", "cut", NAME, "--unreviewed", "a test", "--commit")
    assert cut.code == 0, cut
    golden = repo.tierlock("golden", "set", NAME, "v1", "--commit")
    assert golden.code == 0, golden

    file = repo.path / BASE
    assert GOOD in file.read_text()
    file.write_text(file.read_text().replace(GOOD, BROKEN))
    repo.commit("batch invariance, so that answers repeat")
    started = repo.tierlock("release", "deploy", NAME, "HEAD")
    assert started.code == 0, started  # healthy, and every value as declared
    asked = repo.tierlock("eval", "run", NAME)
    say(asked.out)
    assert asked.code == 3, asked
    assert "none of 2 items was answered" in asked.out

    back = repo.tierlock("rollback", NAME, "--reason", "it dies at its first completion")
    say(back.out)
    assert back.code == 0, back
    assert "rolled back" in back.out
    same = repo.tierlock("diff", f"{NAME}@golden", f"{NAME}@live", "--exit-code")
    assert same.code == 0, same
    held = repo.tierlock("release", "deploy", NAME, "HEAD~2")
    assert held.code == 1, held
    assert "held" in held.out
