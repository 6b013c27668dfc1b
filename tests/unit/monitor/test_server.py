"""Who answers on the port of a server that was started."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from governance.adapters.processes import descends, free_port
from governance.monitor import server
from governance.monitor.mismatch import Seen
from governance.release.sides import Place, StateSide, parse_side
from governance.values import Unknown
from tests.support.deployed import SERVICE, deployed, target
from tests.support.governed import place
from tests.support.repos import Repo


class NoEngine(BaseHTTPRequestHandler):
    """A server that is no engine."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """A port that this process listens on."""
    listening = HTTPServer(("127.0.0.1", 0), NoEngine)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    yield listening.server_address[1]
    listening.shutdown()
    listening.server_close()
    thread.join()


def repo_at(path: Path, port: int) -> Repo:
    return deployed(path, {"driver": "process", "port": port, "weights": "m.gguf", "binary": "/bin/true"})


def look(repo: Repo, pid: int) -> Seen:
    here: Place = place(repo)
    declared = parse_side(f"{SERVICE}@worktree", here)
    assert isinstance(declared, StateSide)
    return server.look(declared, target(repo), here, pid, hash_file=lambda *_: Unknown("not asked"))


def reason(seen: Seen) -> str:
    (doubt,) = seen.doubts
    assert doubt.layer == "effective"
    return doubt.reason


def test_an_answer_of_another_process_says_nothing_of_the_server(tmp_path: Path, port: int) -> None:
    """The old server still holds the port, and the one that was started will fail to bind."""
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as started:
        assert f"process {os.getpid()} (" in reason(look(repo_at(tmp_path / "repo", port), started.pid))
        assert started.stdin is not None
        started.stdin.close()


def test_what_answers_and_is_no_engine_is_a_doubt(tmp_path: Path, port: int) -> None:
    said = reason(look(repo_at(tmp_path / "repo", port), os.getpid()))
    assert said == "a server answers, and it is no engine tierlock knows"


def test_a_server_that_does_not_answer_is_a_doubt(tmp_path: Path) -> None:
    repo = repo_at(tmp_path / "repo", free_port())
    assert "connection refused" in reason(look(repo, os.getpid()))


def test_a_child_descends_and_a_stranger_does_not() -> None:
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE) as child:
        assert descends(child.pid, os.getpid())
        assert descends(child.pid, child.pid)
        assert not descends(os.getpid(), child.pid)
        assert child.stdin is not None
        child.stdin.close()
    assert not descends(child.pid, os.getpid()), "it has ended"
