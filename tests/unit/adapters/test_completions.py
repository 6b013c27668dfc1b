"""Requests to a real server on loopback: a reply is what went over the wire, whatever happened to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.completions import Caller, Reply, Trouble, _Events
from governance.adapters.processes import free_port
from governance.errors import Usage
from tests.support.completions_server import Say, serving

BODY = json.dumps({"messages": [{"role": "user", "content": "1"}]}).encode()
STREAMED = json.dumps({"stream": True, "messages": []}).encode()


def ask(
    url: str, body: bytes = BODY, *, timeout: float = 5.0, headers: Mapping[str, str] | None = None
) -> Reply:
    async def go() -> Reply:
        async with Caller(url, timeout=timeout, headers=headers) as caller:
            return await caller.post("/v1/chat/completions", body)

    return asyncio.run(go())


def test_a_whole_answer_has_no_trouble() -> None:
    with serving(lambda number, body: Say("yes")) as server:
        reply = ask(server.url)
    assert (reply.status, reply.trouble, reply.streamed) == (200, None, False)
    assert json.loads(reply.body)["choices"][0]["message"]["content"] == "yes"
    assert reply.seconds > 0


def test_a_stream_is_taken_apart_and_kept_whole() -> None:
    with serving(lambda number, body: Say("one two three")) as server:
        reply = ask(server.url, STREAMED)
    assert reply.streamed
    assert len(reply.events) == 6
    assert reply.events[-1][1] == "[DONE]"
    assert b"".join(b"data: " + data.encode() + b"\n\n" for _, data in reply.events) == reply.body
    times = [at for at, _ in reply.events]
    assert times == sorted(times)


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_in_v1_or_not(path: str) -> None:
    with serving(lambda number, body: Say("yes")) as server:
        assert ask(server.url.removesuffix("/v1") + path).status == 200


def test_keys_are_sent_and_the_reply_does_not_hold_them() -> None:
    with serving(lambda number, body: Say("yes")) as server:
        reply = ask(server.url, headers={"Authorization": "Bearer s3cret"})
        assert server.headers[0]["Authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(reply)


TROUBLES = {
    "a connection that is dropped": (Say(drop=True), BODY, Trouble.LOST),
    "a body that is cut": (Say("a long answer", cut=20), BODY, Trouble.CUT),
    "a stream that is cut": (Say("one two three", cut=1), STREAMED, Trouble.CUT),
    "a server that is too slow": (Say("late", after=0.8), BODY, Trouble.TIMEOUT),
}


@pytest.mark.parametrize("case", TROUBLES)
def test_what_cut_an_exchange_short_is_told(case: str) -> None:
    say, body, trouble = TROUBLES[case]
    with serving(lambda number, asked: say) as server:
        reply = ask(server.url, body, timeout=0.4)
    assert reply.trouble is trouble, reply
    assert reply.detail
    assert "127.0.0.1" not in reply.detail


def test_nobody_at_the_address_is_no_connection() -> None:
    reply = ask(f"http://127.0.0.1:{free_port('127.0.0.1')}/v1")
    assert (reply.status, reply.trouble, reply.detail) == (0, Trouble.NO_CONNECTION, "connection refused")


def test_a_redirect_is_a_reply_and_is_not_followed() -> None:
    say = Say(status=307, body={}, headers={"Location": "http://127.0.0.1:9/elsewhere"})
    with serving(lambda number, body: say) as server:
        assert ask(server.url).status == 307
        assert len(server.asked) == 1


def test_a_reply_without_end_is_cut_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("governance.adapters.completions.MAX_BYTES", 1000)
    with serving(lambda number, body: Say("word " * 1000)) as server:
        reply = ask(server.url)
    assert reply.trouble is Trouble.TOO_LARGE


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://host/v1", "http://", "http://host:port/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(Usage):
        Caller(url)


PIECES = st.lists(st.text("aé{}: \n", min_size=1, max_size=8), min_size=1, max_size=6)


@given(PIECES, st.lists(st.integers(1, 9), min_size=1, max_size=40), st.booleans())
def test_events_are_the_same_wherever_the_bytes_are_cut(
    texts: list[str], cuts: list[int], crlf: bool
) -> None:
    """TCP cuts anywhere, also inside a character and between CR and LF."""
    end = "\r\n" if crlf else "\n"
    wanted = [text.replace("\n", " ") for text in texts]
    data = "".join(f": comment{end}event: x{end}data: {text}{end}{end}" for text in wanted).encode()
    events = _Events()
    found: list[Any] = []
    at = 0
    for cut in [*cuts, len(data)]:
        found += events.feed(data[at : at + cut])
        at += cut
    assert found == wanted


def test_several_data_lines_are_one_event() -> None:
    assert _Events().feed(b"data: {\ndata:  1}\n\n") == ["{\n 1}"]
