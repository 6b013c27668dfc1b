"""One OCI registry over HTTP: manifests by tag or digest, and whether a blob is there, with the credentials
of the docker or podman client.

- Every request says which manifest types it reads: without that header a registry may answer with another
  one.
- Credentials come from the client's own file or helper, go to the registry and its token service only, and
  are never part of a message. A redirect to another host carries none.
- Plain HTTP only to this machine, or when asked for. Answers are bounded in size; failures are tried again a
  few times, as the registry asks (`Retry-After`), and then become `Unreachable`.
- The bytes are returned with their headers; `fingerprint/image.py` judges them.
"""

from __future__ import annotations

import base64
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Final

from governance.adapters.registry_login import IDENTITY_TOKEN, Credentials
from governance.errors import Unreachable

if TYPE_CHECKING:
    from http.client import HTTPMessage
    from urllib.request import Request

MAX_BODY: Final = 8 * 1024 * 1024
"""Twice what the OCI distribution specification lets a registry refuse."""
TRIES: Final = 3
TIMEOUT: Final = 20.0
LONGEST_WAIT: Final = 10.0
RETRIED: Final = frozenset({429, 500, 502, 503, 504})
HUB_API: Final = "registry-1.docker.io"

_CHALLENGE: Final = re.compile(r'([a-zA-Z]+)="((?:[^"\\]|\\.)*)"|([a-zA-Z]+)=([^\s",]+)')


@dataclass(frozen=True, slots=True)
class Answer:
    """A manifest as the registry sent it; `digest` is its `Docker-Content-Digest` header, if any."""

    body: bytes
    media_type: str
    digest: str


class NotThere(Unreachable):
    """The registry answers, and says that it does not have what was asked for."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, and not from https to http."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if req.full_url.startswith("https:") and not newurl.startswith("https:"):
            return None
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None and req.get_method() == "HEAD":
            following.method = "HEAD"  # before Python 3.13 it becomes GET, and fetches a whole layer
        return following


class Registry:
    """One registry host. `pause` waits between tries; `insecure` allows plain HTTP to another machine."""

    def __init__(
        self,
        host: str,
        *,
        credentials: Credentials | None = None,
        insecure: bool = False,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        api = HUB_API if host == "docker.io" else host
        self.base = f"{'http' if insecure or is_local(host) else 'https'}://{api}"
        self.host = host
        self._credentials = credentials
        self._pause = pause
        self._authorisation: dict[str, str] = {}
        proxies = [urllib.request.ProxyHandler({})] if is_local(host) else []
        self._opener = urllib.request.build_opener(_Redirects(), *proxies)

    def manifest(self, name: str, reference: str, accept: str) -> Answer:
        """The manifest `reference` (tag or digest) of repository `name`. Raises `Unreachable`."""
        url = f"{self.base}/v2/{name}/manifests/{reference}"
        body, headers = self.ask(url, {"Accept": accept}, name)
        return Answer(body, headers.get("content-type", ""), headers.get("docker-content-digest", ""))

    def has_blob(self, name: str, digest: str) -> bool:
        """Whether repository `name` has the blob `digest`; nothing of it is fetched. Raises `Unreachable`."""
        try:
            self.ask(f"{self.base}/v2/{name}/blobs/{digest}", {}, name, method="HEAD")
        except NotThere:
            return False
        return True

    def ask(
        self,
        url: str,
        headers: Mapping[str, str],
        name: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
    ) -> tuple[bytes, dict[str, str]]:
        """Body and headers (names in lower case) of one request about repository `name`, with what
        authorises it: to this registry only. Raises `NotThere` on 404, else `Unreachable`.
        """
        here = urllib.parse.urlsplit(url).netloc == urllib.parse.urlsplit(self.base).netloc
        for asked in range(2):
            known = self._authorisation.get(name) if here else None
            sent = {**headers, "Authorization": known} if known else headers
            answer = self._send(url, sent, body, method=method)
            if not isinstance(answer, str):
                return answer
            if asked or not here or not self._authorise(answer, name):
                break
        have = (
            "with the credentials this host has"
            if self._credentials
            else "and this host has no credentials for it"
        )
        raise Unreachable(
            f"the registry refuses `{name}` {have}",
            where=url,
            hint=f"docker login {self.host}   (or podman login)",
        )

    def _send(
        self, url: str, headers: Mapping[str, str], form: bytes | None = None, *, method: str = ""
    ) -> tuple[bytes, dict[str, str]] | str:
        """Body and headers, or the challenge of a 401. Raises `Unreachable` after the last try."""
        problem, wait = "", 0.0
        for number in range(TRIES):
            if number:
                self._pause(wait or 0.25 * 2**number)
            try:
                return self._once(url, headers, form, method=method)
            except urllib.error.HTTPError as err:
                with err:
                    if err.code == 401:
                        return err.headers.get("WWW-Authenticate", "") or "none"
                    problem, wait = _problem(err)
                    if err.code == 404:
                        raise NotThere(f"the registry {problem}", where=url) from err
                    if err.code not in RETRIED:
                        break
            except (urllib.error.URLError, HTTPException, OSError) as err:
                problem, wait = f"does not answer: {getattr(err, 'reason', err)}", 0.0
        raise Unreachable(f"the registry {problem}", where=url, hint="check the reference and the network")

    def _once(
        self, url: str, headers: Mapping[str, str], form: bytes | None, *, method: str
    ) -> tuple[bytes, dict[str, str]]:
        request = urllib.request.Request(url, data=form, method=method or None)  # noqa: S310  our own scheme
        for key, value in headers.items():
            add = request.add_unredirected_header if key == "Authorization" else request.add_header
            add(key, value)
        with self._opener.open(request, timeout=TIMEOUT) as response:
            body: bytes = response.read(MAX_BODY + 1)
            if len(body) > MAX_BODY:
                raise Unreachable(
                    f"the registry sent more than {MAX_BODY >> 20} MiB for one manifest", where=url
                )
            return body, {key.lower(): value for key, value in response.headers.items()}

    def _authorise(self, challenge: str, name: str) -> bool:
        """Keep an authorisation that answers the challenge; false when there is none to give."""
        scheme, _, rest = challenge.partition(" ")
        if scheme.lower() == "basic":
            if self._credentials is None:
                return False
            self._authorisation[name] = _basic(self._credentials)
            return True
        fields = {a or c: b or d for a, b, c, d in _CHALLENGE.findall(rest)}
        realm = fields.get("realm", "")
        if scheme.lower() != "bearer" or not self._may_ask(realm):
            return False
        self._authorisation[name] = f"Bearer {self._token(realm, fields, name)}"
        return True

    def _may_ask(self, realm: str) -> bool:
        """Whether credentials may go to this token service: encrypted, or on this machine."""
        parts = urllib.parse.urlsplit(realm)
        return parts.scheme == "https" or (
            parts.scheme == "http" and (is_local(parts.netloc) or self.base[:5] == "http:")
        )

    def _token(self, realm: str, fields: Mapping[str, str], name: str) -> str:
        query = {"scope": fields.get("scope") or f"repository:{name}:pull"}
        if fields.get("service"):
            query["service"] = fields["service"]
        if self._credentials is not None and self._credentials.user == IDENTITY_TOKEN:
            refresh = {
                "grant_type": "refresh_token",
                "refresh_token": self._credentials.password,
                "client_id": "tierlock",
            }
            answer = self._send(realm, {}, urllib.parse.urlencode({**query, **refresh}).encode())
        else:
            url = f"{realm}{'&' if '?' in realm else '?'}{urllib.parse.urlencode(query)}"
            headers = {"Authorization": _basic(self._credentials)} if self._credentials else {}
            answer = self._send(url, headers)
        try:
            value = {} if isinstance(answer, str) else json.loads(answer[0])
            token = str(value.get("token") or value.get("access_token") or "")
        except (ValueError, AttributeError):
            token = ""
        if not token or any(c in token for c in "\r\n"):
            raise Unreachable(
                f"the token service gives no token for `{name}`",
                where=realm,
                hint=f"docker login {self.host}",
            )
        return token


def is_local(host: str) -> bool:
    """Whether `host` (with or without port) is this machine, to which plain HTTP is spoken as docker does."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    return name in ("localhost", "127.0.0.1", "[::1]", "::1") or name.startswith("127.")


def _basic(credentials: Credentials) -> str:
    pair = f"{credentials.user}:{credentials.password}".encode()
    return "Basic " + base64.b64encode(pair).decode()


def _problem(err: urllib.error.HTTPError) -> tuple[str, float]:
    """What the registry said, and how long it asks to wait."""
    code = ""
    try:
        first = json.loads(err.read(65536))["errors"][0]
        code = f" {first.get('code', '')}"
    except (ValueError, LookupError, TypeError, AttributeError, OSError, HTTPException):
        code = ""
    after = err.headers.get("Retry-After", "") or ""
    wait = min(float(after), LONGEST_WAIT) if after.isdigit() else 0.0
    return f"answered {err.code}{code}", wait
