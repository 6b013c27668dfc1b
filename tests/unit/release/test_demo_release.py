"""The release scenes of the demo on the real server: each is what it says, and nothing is left running."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters import ports
from governance.adapters.demo_engine import DemoEngine
from governance.adapters.demo_repository import DemoRepository
from governance.adapters.processes import free_port
from governance.cli.scaffold import files
from governance.release import demo_release, demo_review
from governance.verdict import Outcome
from tests.support.llama_server import one_at_a_time


@pytest.mark.server
def test_a_release_drifts_and_one_command_takes_it_back(llama_engine: DemoEngine, tmp_path: Path) -> None:
    port = free_port()
    repository = DemoRepository(tmp_path, demo_review.AUTHOR)
    prepared = demo_release.prepared(files("llama.cpp"), llama_engine, port)
    reviewed = list(demo_review.scenes(repository, prepared))
    with one_at_a_time():
        told = list(demo_release.scenes(repository))
    assert {one.outcome for one in reviewed} == {Outcome.PASS}
    assert {one.title: one.outcome for one in told} == {one.title: Outcome.PASS for one in told}
    assert len(told) == 5
    assert ports.taken_by("127.0.0.1", port) is None
