"""Asking a server is bounded in time and size, and says what went wrong without showing a key."""

from __future__ import annotations

import socket
import time

import pytest

from governance.adapters import http
from governance.adapters.http import Client
from governance.adapters.processes import free_port
from governance.errors import Unreachable, Usage
from governance.values import Unknown
from tests.support.answers import saying, serving


def test_json_is_parsed_and_other_text_is_kept() -> None:
    with serving({"/a": {"x": [1, 1.5, None]}, "/metrics": b"# HELP x\nx 1\n"}) as url, Client(url) as client:
        assert client.get("/a") == {"x": [1, 1.5, None]}
        assert client.get("/metrics") == "# HELP x\nx 1\n"


def test_a_path_the_server_does_not_have_is_unknown_and_no_error() -> None:
    with serving({}) as url, Client(url) as client:
        answer = client.get("/nothing")
    assert isinstance(answer, Unknown)
    assert answer.reason == "GET /nothing: HTTP 404"


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_in_v1(suffix: str) -> None:
    with serving({"/props": {"a": 1}}) as url, Client(url + suffix) as client:
        assert client.get("/props") == {"a": 1}
        assert client.root == url


def test_a_prefix_before_v1_is_kept() -> None:
    with serving({"/llm/props": {"a": 1}}) as url, Client(f"{url}/llm/v1") as client:
        assert client.get("/props") == {"a": 1}


def test_one_connection_serves_many_requests_and_a_dropped_one_is_opened_again() -> None:
    with serving({"/a": 1}) as url, Client(url) as client:
        assert client.get("/a") == 1
        first = client._connection
        assert client.get("/a") == 1
        assert client._connection is first
        assert first is not None
        assert first.sock is not None
        first.sock.shutdown(socket.SHUT_RDWR)
        assert client.get("/a") == 1


def test_a_body_is_posted_as_json() -> None:
    with serving({}) as url, Client(url) as client:
        assert client.post("/echo", {"a": "ü"}) == {"a": "ü"}


def test_nobody_there_is_unreachable_and_says_what_to_do() -> None:
    with pytest.raises(Unreachable) as caught, Client(f"http://127.0.0.1:{free_port()}/v1") as client:
        client.get("/props")
    assert caught.value.exit_code == 3
    assert "refused" in caught.value.message
    assert "tierlock.yaml" in caught.value.hint
    assert caught.value.where.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([b""] * 30, id="silence"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", *[b"x"] * 100], id="dripping body"),
        pytest.param(
            [bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 40], id="dripping head"
        ),
    ],
)
def test_a_slow_server_ends_at_the_time_limit(parts: list[bytes]) -> None:
    """A limit per read would never end against a server that sends a byte now and then."""
    start = time.monotonic()
    with saying(parts, pause=0.1) as url, Client(url, timeout=0.4) as client:
        with pytest.raises(Unreachable, match=r"no answer within 0\.4 s"):
            client.get("/props")
        assert time.monotonic() - start < 1.5


def test_an_answer_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BYTES", 1000)
    with (
        serving({"/big": b"x" * 5000}) as url,
        Client(url) as client,
        pytest.raises(Unreachable, match="larger"),
    ):
        client.get("/big")


@pytest.mark.parametrize(
    "said",
    [b"", b"hello\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", b"SSH-2.0-OpenSSH_9.2\r\n"],
)
def test_what_is_no_http_is_unreachable(said: bytes) -> None:
    with saying([said]) as url, Client(url, timeout=2) as client, pytest.raises(Unreachable):
        client.get("/props")


def test_a_redirect_is_not_followed() -> None:
    """The one who is asked must be the one who answers."""
    answer = b"HTTP/1.1 302 Found\r\nLocation: http://198.51.100.1/\r\nContent-Length: 0\r\n\r\n"
    with saying([answer]) as url, Client(url) as client:
        found = client.get("/props")
    assert isinstance(found, Unknown)
    assert "302" in found.reason


def test_a_key_is_sent_and_never_shown() -> None:
    headers = {"Authorization": "Bearer sk-secret"}
    with serving({"/a": 1}) as url, Client(url, headers=headers) as client:
        answer = client.request("GET", "/a")
        assert answer.headers["x-authorization-seen"] == "Bearer sk-secret"
        assert "sk-secret" not in repr(client)


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://x/", "http://", "http://x:0/", "http://x:99999/", "http://[::1/"]
)
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(Usage) as caught:
        Client(url)
    assert "http://127.0.0.1:8080/v1" in caught.value.hint


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(Usage) as caught:
        Client("http://user:hunter2@127.0.0.1:8080/v1")
    assert "hunter2" not in str(caught.value) + caught.value.hint
