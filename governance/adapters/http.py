"""Requests to a server over HTTP: bounded in time and size, no redirect followed, no secret in a message.

- `Client.get` tells three things apart: an answer (its JSON, else its text), `Unknown` when the server
  answers but not with 200, and `Unreachable` when nobody answers.
- Every request ends within `timeout` seconds, however slowly the bytes come, and reads at most `MAX_BYTES`.
- The standard library's client is used: it starts fast, and one request at a time is all that is needed.
- Proxies from the environment are not used: what is asked is the server itself.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from types import TracebackType
from urllib.parse import SplitResult, urlsplit

from governance.errors import Unreachable, Usage
from governance.values import Json, Unknown

MAX_BYTES = 16 * 1024 * 1024
TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: header names in lower case, the body whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Client:
    """One server, asked over one connection that is kept open between requests.

    `url` is the service's address with or without its closing `/v1`; paths are given from the server's root
    (`/v1/models`). `headers` may carry a key: they are sent and never shown.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = TIMEOUT
    _connection: HTTPConnection | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._parts = _split(self.url)
        self.root = f"{self._parts.scheme}://{self._parts.netloc}{_prefix(self._parts.path)}"

    def get(self, path: str) -> Json | str | Unknown:
        """The JSON (else the text) the server answers to GET `path`; unknown when that is no 200."""
        answer = self.request("GET", path)
        if answer.status != 200:
            return Unknown(f"GET {path}: HTTP {answer.status}")
        return _content(answer)

    def post(self, path: str, body: Json) -> Json | str | Unknown:
        """The JSON (else the text) the server answers to `body`; unknown when that is no 200."""
        answer = self.request("POST", path, body=json.dumps(body).encode())
        if answer.status != 200:
            return Unknown(f"POST {path}: HTTP {answer.status}")
        return _content(answer)

    def request(self, method: str, path: str, *, body: bytes | None = None) -> Answer:
        """The answer to one request, whatever its status. Raises `Unreachable` when there is none."""
        deadline = time.monotonic() + self.timeout
        kept = self._connection is not None
        try:
            return self._bounded(method, path, body, deadline)
        except TimeoutError as err:
            raise self._unreachable(f"no answer within {self.timeout:g} s", path) from err
        except (OSError, HTTPException) as err:
            if not kept:
                raise self._unreachable(_reason(err), path) from err
        try:  # the server closed a connection it had kept open
            return self._bounded(method, path, body, deadline)
        except (OSError, HTTPException) as err:
            raise self._unreachable(_reason(err), path) from err

    def close(self) -> None:
        """Drop the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _bounded(self, method: str, path: str, body: bytes | None, deadline: float) -> Answer:
        """One exchange that ends at `deadline`: a limit per read would let a dripping server go on."""
        connection = self._connection or self._connect(_left(deadline))
        self._connection = connection
        expired = threading.Event()
        watch = threading.Timer(_left(deadline), _cut, (connection, expired))
        watch.daemon = True
        watch.start()
        try:
            return self._exchange(connection, method, path, body)
        except (OSError, HTTPException) as err:
            self.close()
            if expired.is_set():
                raise TimeoutError from err
            raise
        finally:
            watch.cancel()

    def _exchange(self, connection: HTTPConnection, method: str, path: str, body: bytes | None) -> Answer:
        headers = {"Accept": "application/json, text/plain;q=0.9, */*;q=0.1", **self.headers}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, _prefix(self._parts.path) + path, body=body, headers=headers)
        response = connection.getresponse()
        content = self._read(response, path)
        if response.will_close:
            self.close()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, content)

    def _read(self, response: HTTPResponse, path: str) -> bytes:
        content = response.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            self.close()
            raise self._unreachable(f"the answer is larger than {MAX_BYTES >> 20} MiB", path)
        if response.length:
            raise IncompleteRead(content, response.length)
        return content

    def _connect(self, timeout: float) -> HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return HTTPSConnection(host, port, timeout=timeout)
        return HTTPConnection(host, port, timeout=timeout)

    def _unreachable(self, why: str, path: str) -> Unreachable:
        return Unreachable(
            f"no usable answer to GET {path}: {why}",
            where=self.root,
            hint="start the server, or correct `endpoint.url` in tierlock.yaml",
        )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as err:
        raise Usage(f"`{url}` is not an address: {err}", hint="write it as http://127.0.0.1:8080/v1") from err
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise Usage(f"`{url}` is not an http address", hint="write it as http://127.0.0.1:8080/v1")
    if parts.username or parts.password:
        raise Usage(
            "the address carries a user name or a password", hint="use `endpoint.headers` with env:NAME"
        )
    return parts


def _prefix(path: str) -> str:
    return path.rstrip("/").removesuffix("/v1")


def _cut(connection: HTTPConnection, expired: threading.Event) -> None:
    """End whatever the connection waits for."""
    expired.set()
    if connection.sock is not None:
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _content(answer: Answer) -> Json | str:
    text = answer.body.decode("utf-8", errors="replace")
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


def _reason(err: BaseException) -> str:
    if isinstance(err, OSError) and err.strerror:
        return err.strerror.lower()
    return str(err).lower() or type(err).__name__
