"""The nouns of the command line from Python, on this repository's own service."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import governance
from governance.errors import Unreachable, Unreadable, Usage
from governance.verdict import Outcome
from tests.support.llama_server import LlamaServer

ROOT = Path(__file__).resolve().parents[2]


def test_a_service_is_loaded_and_fingerprinted() -> None:
    service = governance.load_service("summarizer", ROOT)
    found = governance.fingerprint_of(service)
    assert set(found.layers) == {"base", "sampling", "prompts", "effective"}
    assert isinstance(found.fold(), str)
    assert found.fold() == governance.fingerprint_of(governance.load_service("summarizer", ROOT)).fold()


def test_an_unknown_service_is_told_with_those_there_are() -> None:
    with pytest.raises(Usage, match="no service `sumarizer`") as caught:
        governance.load_service("sumarizer", ROOT)
    assert "summarizer" in caught.value.hint


def test_a_service_whose_config_does_not_load_is_told_with_the_place(tmp_path: Path) -> None:
    for tier in ("base", "sampling", "prompts"):
        (tmp_path / "configs" / tier).mkdir(parents=True)
        (tmp_path / "configs" / tier / "a.yaml").write_text(f"kind: {tier}\ntempurature: 1\n")
    (tmp_path / "tierlock.yaml").write_text("version: 1\nservices: {a: {base: a, sampling: a, prompts: a}}\n")
    with pytest.raises(Unreadable, match=r"configs/.*/a\.yaml:\d+"):
        governance.load_service("a", tmp_path)


def test_a_server_that_does_not_answer_cannot_be_verified() -> None:
    with pytest.raises(Unreachable):
        governance.verify("summarizer", "http://127.0.0.1:9/v1", ROOT)


@pytest.mark.server
@pytest.mark.xdist_group("server")
def test_a_server_that_runs_otherwise_than_declared_blocks(llama_server: LlamaServer) -> None:
    """The shared test server has a shorter context than the service declares."""
    report = governance.verify("summarizer", llama_server.url, ROOT)
    assert report.outcome is Outcome.BLOCK
    assert "engine.options.max_model_len" in {change.key for change in report.changes}


def test_the_hook_does_not_pay_for_the_library() -> None:
    code = "import sys, governance; print('governance.api' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"
