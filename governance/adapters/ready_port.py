"""A port that says whether a server may be given requests: GET /ready, 200 or 503 with a JSON body.

- The port is bound before anything is started: a port that is taken is an error then, and a probe that comes
  early meets a 503, never a refused connection.
- Each request is answered in a thread of its own, so that a slow look at the server delays no probe.
- The socket is not inherited by what this process becomes.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import IO, Final

from governance.errors import Usage
from governance.values import Json

PATH: Final = "/ready"
_WAITING: Final = 64
_LINE: Final = 8192
_LINES: Final = 100
_SECONDS: Final = 5.0  # a probe that sends nothing


class ReadyPort:
    """A bound port; `serve` answers on it."""

    def __init__(self, host: str, port: int) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
            self._socket.listen(_WAITING)
        except OSError as err:
            self._socket.close()
            raise Usage(
                f"the ready port {host}:{port} cannot be listened on: {(err.strerror or str(err)).lower()}",
                hint="end what listens there, or give another --ready-port",
            ) from err
        self.port: int = self._socket.getsockname()[1]
        self._thread: threading.Thread | None = None

    def serve(self, answer: Callable[[], tuple[bool, Json]]) -> None:
        """Answer in the background with what `answer` says now: whether ready, and the body."""
        self._thread = threading.Thread(target=self._accept, args=(answer,), name="ready port", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening. The thread is woken and waited for before the number of the socket is given back:
        it would go on accepting on whatever gets that number next.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        if self._thread is not None:
            self._thread.join(_SECONDS)
        self._socket.close()

    def _accept(self, answer: Callable[[], tuple[bool, Json]]) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=_exchange, args=(connection, answer), daemon=True).start()


def _exchange(connection: socket.socket, answer: Callable[[], tuple[bool, Json]]) -> None:
    """One request and its answer; one that cannot be read is given none."""
    with connection:
        try:
            connection.settimeout(_SECONDS)
            with connection.makefile("rb") as incoming:
                line = incoming.readline(_LINE).decode("latin-1").split()
                if len(line) < 2 or not _headers_end(incoming):
                    return
            method, path = line[0], line[1].partition("?")[0]
            connection.sendall(_response(method, path, answer))
        except OSError:
            return


def _headers_end(incoming: IO[bytes]) -> bool:
    """Read what follows the first line: a connection that is closed on unread bytes loses its answer."""
    return any(incoming.readline(_LINE) in (b"\r\n", b"\n", b"") for _ in range(_LINES))


def _response(method: str, path: str, answer: Callable[[], tuple[bool, Json]]) -> bytes:
    if path != PATH:
        return _message("404 Not Found", {"error": f"only {PATH} is here"}, method)
    if method not in ("GET", "HEAD"):
        return _message("405 Method Not Allowed", {"error": "only GET"}, method)
    ready, body = answer()
    return _message("200 OK" if ready else "503 Service Unavailable", body, method)


def _message(status: str, body: Json, method: str) -> bytes:
    content = (json.dumps(body, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else content)
