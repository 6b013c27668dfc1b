"""The readiness port over real sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from governance.adapters.processes import free_port
from governance.adapters.ready_port import ReadyPort
from governance.errors import Usage
from governance.values import Json


class Answers:
    """What the port is to say; a test changes it."""

    def __init__(self) -> None:
        self.ready = False
        self.body: Json = {"state": "starting"}
        self.slow = threading.Event()
        self.slow.set()

    def __call__(self) -> tuple[bool, Json]:
        self.slow.wait(30)
        return self.ready, self.body


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def port(answers: Answers) -> Iterator[int]:
    listening = ReadyPort("127.0.0.1", 0)
    listening.serve(answers)
    yield listening.port
    listening.close()


def ask(port: int, path: str = "/ready", method: str = "GET") -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, headers={"X-Probe": "a" * 2000})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_it_says_503_with_the_reason_until_it_is_ready(port: int, answers: Answers) -> None:
    assert ask(port) == (503, b'{\n  "state": "starting"\n}\n')
    answers.ready = True
    assert ask(port)[0] == 200
    answers.ready = False
    assert ask(port, "/ready?verbose=1")[0] == 503


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/", 404), ("GET", "/ready/x", 404), ("POST", "/ready", 405)]
)
def test_anything_else_is_refused(port: int, method: str, path: str, status: int) -> None:
    assert ask(port, path, method)[0] == status


def test_a_head_request_gets_no_body(port: int) -> None:
    assert ask(port, method="HEAD") == (503, b"")


def test_a_slow_answer_delays_no_other_probe(port: int, answers: Answers) -> None:
    answers.slow.clear()
    waiting = threading.Thread(target=ask, args=(port,))
    waiting.start()
    assert ask(port, "/other")[0] == 404
    answers.slow.set()
    waiting.join()


def test_a_probe_that_says_nothing_is_let_go_and_others_are_answered(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)):
        assert ask(port)[0] == 503


def test_a_port_that_is_taken_is_told_before_anything_is_started() -> None:
    number = free_port()
    with socket.socket() as other:
        other.bind(("127.0.0.1", number))
        other.listen()
        with pytest.raises(Usage, match=f"127.0.0.1:{number} cannot be listened on: address already in use"):
            ReadyPort("127.0.0.1", number)


def test_a_closed_port_leaves_nobody_who_listens(answers: Answers) -> None:
    """A thread left in `accept` would take connections of whoever gets the number of the socket next."""
    listening = ReadyPort("127.0.0.1", 0)
    listening.serve(answers)
    assert ask(listening.port)[0] == 503
    listening.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "ready port"]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", listening.port), timeout=30)


def test_an_early_probe_waits_and_is_not_refused(answers: Answers) -> None:
    listening = ReadyPort("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", listening.port)) as early:
        early.sendall(b"GET /ready HTTP/1.1\r\n\r\n")
        listening.serve(answers)
        assert early.makefile("rb").readline() == b"HTTP/1.1 503 Service Unavailable\r\n"
    listening.close()
