"""An OpenAI-compatible server on loopback whose every reply a test decides: real sockets, real HTTP.

- `Replies` decides: it is given the number of the request (from 0) and its body, and says what happens.
- It runs in a thread of its own with its own loop, and ends when the block ends, also when the test fails.
- It shows no engine: reading it back says that it is none tierlock knows, unless `pages` say otherwise.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from governance.values import Json


@dataclass(frozen=True)
class Say:
    """One reply. `after` seconds pass first; `cut` ends the connection after so many pieces of a stream, or
    bytes of a body; `together` holds it until so many requests have come, and then the next so many.
    """

    text: str = ""
    status: int = 200
    after: float = 0.0
    cut: int | None = None
    model: str = "tiny"
    fingerprint: str = "fp_1"
    finish: str = "stop"
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False
    together: int = 0


Replies = Callable[[int, Mapping[str, Any]], Say]


@dataclass
class CompletionsServer:
    """A running server: its address, what it was asked, and how much at most at once."""

    url: str
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    under_way: int = 0
    most: int = 0


@contextmanager
def serving(replies: Replies, *, pages: Mapping[str, Json] | None = None) -> Iterator[CompletionsServer]:
    """A server that replies as `replies` says; `pages` are answered to GET."""
    ready, done = threading.Event(), threading.Event()
    server = CompletionsServer("")
    thread = threading.Thread(target=lambda: asyncio.run(_serve(server, replies, pages or {}, ready, done)))
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        done.set()
        thread.join()


async def _serve(
    server: CompletionsServer,
    replies: Replies,
    pages: Mapping[str, Json],
    ready: threading.Event,
    done: threading.Event,
) -> None:
    async def post(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number = len(server.asked)
        server.asked.append(body)
        server.headers.append(dict(request.headers))
        say = replies(number, body)
        server.under_way += 1
        server.most = max(server.most, server.under_way)
        try:
            return await reply(request, say, body, number)
        finally:
            server.under_way -= 1

    async def reply(
        request: web.Request, say: Say, body: Mapping[str, Any], number: int
    ) -> web.StreamResponse:
        while say.together and len(server.asked) < (number // say.together + 1) * say.together:
            await asyncio.sleep(0.001)
        if say.after:
            await asyncio.sleep(say.after)
        if say.drop:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if say.status != 200 or say.body is not None:
            return web.json_response(say.body, status=say.status, headers=dict(say.headers))
        if body.get("stream"):
            return await _stream(request, say, body)
        return await _whole(request, say, body)

    async def get(request: web.Request) -> web.Response:
        if request.path not in pages:
            return web.Response(status=404)
        return web.json_response(pages[request.path])

    app = web.Application()
    app.router.add_post("/v1/{what:.*}", post)
    app.router.add_get("/{path:.*}", get)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]
    server.url = f"http://127.0.0.1:{port}/v1"
    ready.set()
    while not done.is_set():
        await asyncio.sleep(0.01)
    await runner.cleanup()


async def _stream(request: web.Request, say: Say, body: Mapping[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    pieces = say.text.split(" ")
    for number, piece in enumerate(pieces):
        if say.cut == number:
            assert request.transport is not None
            request.transport.close()
            return response
        text = piece if number == 0 else f" {piece}"
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        await response.write(_event({**_head(say), "choices": [choice]}))
    if say.cut != len(pieces):
        await response.write(
            _event({**_head(say), "choices": [{"index": 0, "delta": {}, "finish_reason": say.finish}]})
        )
        usage = {"prompt_tokens": 7, "completion_tokens": len(pieces)}
        await response.write(_event({**_head(say), "choices": [], "usage": usage}))
        await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def _whole(request: web.Request, say: Say, body: Mapping[str, Any]) -> web.StreamResponse:
    tree = {
        **_head(say),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": say.text}, "finish_reason": say.finish}
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": len(say.text.split())},
    }
    data = json.dumps(tree).encode()
    response = web.StreamResponse(
        headers={"Content-Type": "application/json", "Content-Length": str(len(data))}
    )
    await response.prepare(request)
    await response.write(data[: say.cut] if say.cut is not None else data)
    if say.cut is not None:
        assert request.transport is not None
        request.transport.close()
    else:
        await response.write_eof()
    return response


def _head(say: Say) -> dict[str, Json]:
    return {"id": "x", "object": "chat", "model": say.model, "system_fingerprint": say.fingerprint}


def _event(tree: Json) -> bytes:
    return f"data: {json.dumps(tree)}\n\n".encode()
