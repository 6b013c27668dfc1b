"""Many requests at once to one HTTP server: each becomes one reply, whatever happened to it.

- A reply is what went over the wire: status, headers, body, the events of a stream with their times, and what
  cut it short. Nothing is judged, nothing is sent twice, no redirect is followed.
- A stream is taken apart as server-sent events are: several `data:` lines are one event, comments are none.
- Every request ends within the timeout, however slowly the bytes come, and reads at most `MAX_BYTES`.
- A stream gets a connection of its own (`keep=False`): llama-server b10434 says that it keeps the connection
  open and closes it, so that every second request would be lost.
- Seconds count from when the request was handed over, on a clock that never goes back.
- Proxies from the environment are not used: what is asked is the server itself. Keys are sent, never shown.
- aiohttp is used: httpx takes six times its time for one request, and time is what is measured here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final

from governance.errors import Usage
from governance.records import dataclass, field

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import aiohttp

MAX_BYTES: Final = 64 << 20
STREAM: Final = "text/event-stream"
TIMEOUT: Final = 120.0
# Servers close idle connections after 5 s (uvicorn, cpp-httplib): one we close before that is never met dead.
_IDLE: Final = 2.0
_HEADERS: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_ONCE: Final = {"Connection": "close"}


class Trouble(Enum):
    """What cut an exchange short."""

    NO_CONNECTION = "no connection"
    LOST = "lost before an answer began"
    CUT = "lost in the middle of the answer"
    TIMEOUT = "out of time"
    TOO_LARGE = "too large"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request. `status` is 0 when no answer began; header names are in lower case.

    `events` are the server-sent events of a stream, each with when it was whole.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    seconds: float = 0.0
    events: tuple[tuple[float, str], ...] = ()
    trouble: Trouble | None = None
    detail: str = ""

    @property
    def streamed(self) -> bool:
        """Whether the server answered with a stream of events."""
        return self.headers.get("content-type", "").lower().startswith(STREAM)


class Caller:
    """One server, asked over up to `connections` connections that are kept open. An async context manager.

    `url` is the service's address with or without its closing `/v1`; paths are given from the server's root.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
        connections: int = 8,
    ) -> None:
        from yarl import URL

        try:
            self._root = URL(url.rstrip("/").removesuffix("/v1"))
        except ValueError as err:
            raise Usage(
                f"`{url}` is not an address: {err}", hint="write it as http://127.0.0.1:8080/v1"
            ) from err
        if self._root.scheme not in ("http", "https") or not self._root.host:
            raise Usage(f"`{url}` is not an http address", hint="write it as http://127.0.0.1:8080/v1")
        self._headers = {**_HEADERS, **(headers or {})}
        self._timeout = timeout
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None
        self._urls: dict[str, URL] = {}

    async def __aenter__(self) -> Self:
        import aiohttp

        self._session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=_IDLE),
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, path: str, body: bytes, *, keep: bool = True) -> Reply:
        """What came of POST `path` with `body`. Raises nothing for what the server or the network does.

        `keep` says whether the connection may serve another request afterwards.
        """
        import aiohttp

        assert self._session is not None, "the caller is used inside its `async with`"
        url = self._urls.get(path)
        if url is None:
            url = self._urls[path] = self._root.with_path(self._root.path.rstrip("/") + path)
        exchange = _Exchange(time.perf_counter())
        try:
            async with self._session.post(
                url, data=body, headers=None if keep else _ONCE, allow_redirects=False
            ) as response:
                await exchange.read(response)
        except TimeoutError:
            exchange.failed(Trouble.TIMEOUT, f"no whole answer within {self._timeout:g} s")
        except aiohttp.ClientConnectorError as err:
            exchange.failed(Trouble.NO_CONNECTION, _reason(err))
        except aiohttp.ClientPayloadError:
            exchange.failed(Trouble.CUT, "the connection ended in the middle of the answer")
        except (aiohttp.ClientError, OSError) as err:
            exchange.failed(Trouble.CUT if exchange.status else Trouble.LOST, _reason(err))
        return exchange.reply()


class _Exchange:
    """One request on its way: gathers what comes until there is a reply."""

    def __init__(self, begin: float) -> None:
        self._begin = begin
        self.status = 0
        self._headers: Mapping[str, str] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._events: list[tuple[float, str]] = []
        self._trouble: Trouble | None = None
        self._detail = ""

    async def read(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self._headers = {name.lower(): value for name, value in response.headers.items()}
        if not self._headers.get("content-type", "").lower().startswith(STREAM):
            await self._read_plain(response)
            return
        events = _Events()
        while self._trouble is None and (chunk := await response.content.readany()):
            self._take(chunk)
            at = self._now()
            self._events += [(at, data) for data in events.feed(chunk)]

    async def _read_plain(self, response: aiohttp.ClientResponse) -> None:
        while self._trouble is None and (chunk := await response.content.readany()):
            self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > MAX_BYTES:
            self.failed(Trouble.TOO_LARGE, f"the answer is larger than {MAX_BYTES >> 20} MiB")

    def failed(self, trouble: Trouble, detail: str) -> None:
        """Note what ended the exchange."""
        self._trouble, self._detail = trouble, detail

    def reply(self) -> Reply:
        return Reply(
            status=self.status,
            headers=self._headers,
            body=b"".join(self._parts),
            seconds=self._now(),
            events=tuple(self._events),
            trouble=self._trouble,
            detail=self._detail,
        )

    def _now(self) -> float:
        return time.perf_counter() - self._begin


class _Events:
    """Server-sent events out of pieces that may end anywhere."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """The data of every event that `chunk` completes."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = []
        for line in lines:
            text = line.removesuffix(b"\r").decode("utf-8", "replace")
            if not text:
                if self._data:
                    found.append("\n".join(self._data))
                    self._data = []
            elif text.startswith("data:"):
                self._data.append(text[5:].removeprefix(" "))
        return found


def _reason(err: BaseException) -> str:
    """Why, in a few words and without the address, which the report names anyway."""
    cause = getattr(err, "os_error", err)
    if isinstance(cause, OSError) and cause.strerror and "call failed" not in cause.strerror.lower():
        return cause.strerror.lower()
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    return (str(err) or type(err).__name__).lower()
