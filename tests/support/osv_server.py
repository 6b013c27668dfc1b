"""A small OSV service on 127.0.0.1: what pip-audit asks with `-s osv --osv-url`, over real HTTP.

It answers as api.osv.dev does for one package and version: `{}` when it knows nothing bad, which is also its
answer for a name that it does not know at all.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class OsvServer:
    """`with OsvServer({("jinja2", "2.4.1"): ("PYSEC-1", "CVE-1", "2.4.2")}) as osv`: id, alias and the
    version that mends it. `asked` has what it was asked for; `status` other than 200 is an outage.
    """

    def __init__(self, known: dict[tuple[str, str], tuple[str, str, str]] | None = None) -> None:
        self.known = known or {}
        self.asked: list[tuple[str, str]] = []
        self.status = 200
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1/query"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> OsvServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(osv: OsvServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked = (query["package"]["name"], query["version"])
            osv.asked.append(asked)
            body = json.dumps(
                {"vulns": [_vulnerability(asked, osv.known[asked])]} if asked in osv.known else {}
            )
            self.send_response(osv.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    return Handler


def _vulnerability(asked: tuple[str, str], known: tuple[str, str, str]) -> dict[str, Any]:
    name, alias, fixed = known
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": fixed}]}]
    package = {"name": asked[0], "ecosystem": "PyPI"}
    return {
        "schema_version": "1.6.0",
        "id": name,
        "aliases": [alias],
        "summary": "an invented vulnerability",
        "published": "2026-01-01T00:00:00Z",
        "affected": [{"package": package, "ranges": ranges}],
    }
