"""A loopback HTTP server with fixed answers, for tests of what asks a server."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from governance.values import Json, Unknown

Routes = Mapping[str, "Json | bytes"]


class Answers:
    """An `Http` with fixed answers and no network: unknown for every other path."""

    def __init__(self, routes: Mapping[str, Json]) -> None:
        self.routes = routes
        self.asked: list[str] = []

    def get(self, path: str) -> Json | str | Unknown:
        self.asked.append(path)
        return self.routes[path] if path in self.routes else Unknown(f"GET {path}: HTTP 404")


@contextmanager
def serving(routes: Routes) -> Iterator[str]:
    """The address of a server that answers `routes`, bytes as they are, else JSON; 404 for other paths."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            known = self.path in routes
            value = routes.get(self.path)
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Authorization-Seen", self.headers.get("Authorization", ""))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length", "0"))
            body = self.rfile.read(size)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def saying(parts: list[bytes], *, pause: float = 0.0, times: int = 1) -> Iterator[str]:
    """The address of a server that writes `parts` to each connection, `pause` seconds apart, and hangs up."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(5)
    ended = threading.Event()

    def serve() -> None:
        for _ in range(times):
            try:
                connection, _address = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                for part in parts:
                    if ended.wait(pause):
                        return
                    try:
                        connection.sendall(part)
                    except OSError:
                        break

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        listener.close()
        thread.join()
