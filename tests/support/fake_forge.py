"""A forge's REST API on a port of this host: recorded answers, served page by page."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit


class FakeForge:
    """Serves `answers` by path. `requests` has every path with the headers it came with; `status` by path
    answers with something else than 200.
    """

    def __init__(self, answers: Mapping[str, Any], status: Mapping[str, int] | None = None) -> None:
        self.answers = dict(answers)
        self.status = dict(status or {})
        self.requests: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/api"

    def __enter__(self) -> FakeForge:
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                forge._answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.requests.append((handler.path, {name.lower(): value for name, value in handler.headers.items()}))
        parts = urlsplit(handler.path)
        path = parts.path.removeprefix("/api")
        status = self.status.get(path, 200 if path in self.answers else 404)
        found = self.answers.get(path, {"message": "Not Found"})
        query = parse_qs(parts.query)
        if isinstance(found, list) and "per_page" in query:
            size, page = int(query["per_page"][0]), int(query["page"][0])
            found = found[(page - 1) * size : page * size]
        body = found if isinstance(found, bytes) else json.dumps(found).encode()
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", "http://127.0.0.1:1/elsewhere")
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
