"""A small OCI registry in this process: manifests, tags, tokens and basic auth, over real HTTP on 127.0.0.1.

It follows the distribution specification as far as manifests, blobs and referrers go, and passes the contract
tests that a real registry passes. A token to read does not let anybody write. It can also misbehave: answer
busy, send other bytes, ask for a token.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"


def digest_of(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()


def manifest(seed: str, *layers: str) -> bytes:
    """A plausible image manifest whose config digest follows from `seed`, as those of `layers` do."""
    config = {"mediaType": CONFIG, "digest": digest_of(seed.encode()), "size": 2}
    listed = [{"mediaType": LAYER, "digest": digest_of(one.encode()), "size": 2} for one in layers]
    tree = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": listed}
    return json.dumps(tree).encode()


def index(manifests: Mapping[str, bytes]) -> bytes:
    """An image index: platform (`linux/amd64`, `linux/arm64/v8`) to manifest."""
    entries = []
    for platform, body in manifests.items():
        parts = dict(zip(("os", "architecture", "variant"), platform.split("/"), strict=False))
        entry = {"mediaType": MANIFEST, "digest": digest_of(body), "size": len(body), "platform": parts}
        entries.append(entry)
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()


_TOKENS = ("Bearer token-of-the-test", "Bearer token-of-the-writer")


class FakeRegistry:
    """`with FakeRegistry() as registry: registry.push("team/app", "v1", body)`; `registry.host` is its
    address.

    `login` is (user, password) and `scheme` `none`, `basic` or `bearer`. `busy` answers are 503 before the
    next good one. `lists_referrers` is false for a registry of before the specification 1.1.
    `requests` holds what was asked: path and headers.
    """

    def __init__(self, *, login: tuple[str, str] | None = None, scheme: str = "none") -> None:
        self.login, self.scheme = login, scheme
        self.blobs: dict[tuple[str, str], bytes] = {}
        self.layers: set[tuple[str, str]] = set()
        self.tags: dict[tuple[str, str], str] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.uploads: dict[tuple[str, str], bytes] = {}
        self.lists_referrers = True
        self.busy = 0
        self.lie: bytes | None = None
        self.claimed_digest: str | None = None
        self.redirect = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def push(self, name: str, tag: str, body: bytes) -> str:
        """Store a manifest, move the tag to it, and give its digest."""
        digest = digest_of(body)
        self.blobs[(name, digest)] = body
        if tag:
            self.tags[(name, tag)] = digest
        return digest

    def push_layers(self, name: str, body: bytes) -> None:
        """Let the config and the layers of a manifest be there; `layers.discard` prunes one."""
        tree = json.loads(body)
        self.layers |= {(name, one["digest"]) for one in (tree["config"], *tree["layers"])}

    def push_index(self, name: str, tag: str, manifests: Mapping[str, bytes]) -> str:
        """Store an index and the manifests in it."""
        for body in manifests.values():
            self.push(name, "", body)
        return self.push(name, tag, index(manifests))

    def __enter__(self) -> FakeRegistry:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(registry: FakeRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            registry.requests.append((self.path, {**headers, ":method": self.command}))
            if self.path.startswith("/token"):
                self._token(headers)
            elif registry.redirect:
                self._send(307, b"", {"Location": registry.redirect + self.path})
            elif registry.busy > 0:
                registry.busy -= 1
                self._send(503, b"{}", {"Retry-After": "0"})
            elif not self._allowed(headers):
                self._send(
                    401, b'{"errors": [{"code": "UNAUTHORIZED"}]}', {"WWW-Authenticate": self._challenge()}
                )
            elif "/blobs/" in self.path:
                name, _, digest = self.path.removeprefix("/v2/").partition("/blobs/")
                there = (name, digest) in registry.layers
                self._send(200 if there else 404, registry.uploads.get((name, digest), b""), {})
            elif "/referrers/" in self.path:
                self._referrers()
            else:
                self._manifest(headers)

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_PUT(self) -> None:
            """The second half of an upload, or a manifest."""
            headers = {key.lower(): value for key, value in self.headers.items()}
            registry.requests.append((self.path, {**headers, ":method": self.command}))
            body = self.rfile.read(int(headers.get("content-length", "0")))
            if not self._allowed(headers):
                challenge = {"WWW-Authenticate": self._challenge()}
                self._send(401, b'{"errors": [{"code": "UNAUTHORIZED"}]}', challenge)
            elif "/blobs/uploads/" in self.path:
                self._blob(body)
            else:
                self._put_manifest(body)

        def _blob(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            name = parts.path.removeprefix("/v2/").partition("/blobs/")[0]
            wanted = parse_qs(parts.query).get("digest", [""])[0]
            if wanted != digest_of(body):
                self._send(400, b'{"errors": [{"code": "DIGEST_INVALID"}]}', {})
                return
            registry.uploads[(name, wanted)] = body
            registry.layers.add((name, wanted))
            self._send(201, b"", {"Docker-Content-Digest": wanted})

        def _put_manifest(self, body: bytes) -> None:
            name, _, reference = self.path.removeprefix("/v2/").partition("/manifests/")
            tree = json.loads(body)
            blobs = [*tree.get("layers", ()), *([tree["config"]] if "config" in tree else ())]
            missing = [one for one in blobs if (name, one["digest"]) not in registry.layers]
            if missing:
                self._send(400, b'{"errors": [{"code": "MANIFEST_BLOB_UNKNOWN"}]}', {})
                return
            tag = "" if reference.startswith("sha256:") else reference
            headers = {"Docker-Content-Digest": registry.push(name, tag, body)}
            if registry.lists_referrers and "subject" in tree:
                headers["OCI-Subject"] = tree["subject"]["digest"]
            self._send(201, b"", headers)

        def _referrers(self) -> None:
            if not registry.lists_referrers:
                self._send(404, b"404 page not found", {})
                return
            name, _, subject = self.path.removeprefix("/v2/").partition("/referrers/")
            found = []
            for (owner, digest), body in registry.blobs.items():
                tree = json.loads(body)
                if owner == name and tree.get("subject", {}).get("digest") == subject:
                    kept = {key: tree[key] for key in ("artifactType", "annotations") if key in tree}
                    kept |= {"mediaType": tree["mediaType"], "digest": digest, "size": len(body)}
                    found.append(kept)
            answer = {"schemaVersion": 2, "mediaType": INDEX, "manifests": found}
            self._send(200, json.dumps(answer).encode(), {"Content-Type": INDEX})

        def do_POST(self) -> None:
            """The start of an upload, or the exchange of an identity token (docker token specification)."""
            if self.path.endswith("/blobs/uploads/"):
                self._start()
                return
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            registry.requests.append((self.path, {"form": form.get("grant_type", [""])[0]}))
            user, token = registry.login or ("", "")
            if self.path == "/token" and form.get("refresh_token") == [token] and user == "identity":
                self._send(200, b'{"access_token": "token-of-the-test"}', {})
            else:
                self._send(401, b"{}", {})

        def _start(self) -> None:
            headers = {key.lower(): value for key, value in self.headers.items()}
            registry.requests.append((self.path, {**headers, ":method": self.command}))
            if not self._allowed(headers):
                challenge = {"WWW-Authenticate": self._challenge()}
                self._send(401, b'{"errors": [{"code": "UNAUTHORIZED"}]}', challenge)
                return
            self._send(202, b"", {"Location": f"{self.path}one-upload?state=1"})

        def _manifest(self, headers: Mapping[str, str]) -> None:
            name, _, reference = self.path.removeprefix("/v2/").partition("/manifests/")
            digest = registry.tags.get((name, reference), reference)
            body = registry.blobs.get((name, digest))
            if body is None:
                self._send(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}', {})
                return
            kind = json.loads(body).get("mediaType", "application/octet-stream")
            if kind not in headers.get("accept", ""):
                self._send(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}', {})
                return
            claimed = registry.claimed_digest or digest
            body = registry.lie if registry.lie is not None else body
            self._send(200, body, {"Content-Type": kind, "Docker-Content-Digest": claimed})

        def _allowed(self, headers: Mapping[str, str]) -> bool:
            given = headers.get("authorization", "")
            if registry.scheme == "basic":
                return given == self._basic()
            writes = self.command in ("POST", "PUT")
            tokens = ("Bearer token-of-the-writer",) if writes else _TOKENS
            return registry.scheme == "none" or given in tokens

        def _challenge(self) -> str:
            if registry.scheme == "basic":
                return 'Basic realm="registry"'
            name = self.path.removeprefix("/v2/").partition("/manifests/")[0].partition("/blobs/")[0]
            realm = f"http://{registry.host}/token"
            actions = "pull,push" if self.command in ("POST", "PUT") else "pull"
            return f'Bearer realm="{realm}",service="fake",scope="repository:{name}:{actions}"'

        def _token(self, headers: Mapping[str, str]) -> None:
            query = parse_qs(urlsplit(self.path).query)
            scoped = query.get("service") == ["fake"] and query.get("scope", [""])[0].startswith(
                "repository:"
            )
            if scoped and (registry.login is None or headers.get("authorization") == self._basic()):
                who = "writer" if query["scope"][0].endswith("push") else "test"
                self._send(200, f'{{"token": "token-of-the-{who}", "expires_in": 60}}'.encode(), {})
            else:
                self._send(401, b"{}", {})

        def _basic(self) -> str:
            user, password = registry.login or ("", "")
            return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

        def _send(self, code: int, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(code)
            for key, value in headers.items():
                self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    return Handler
