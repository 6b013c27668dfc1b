"""A small Kubernetes API server over real HTTP on loopback: enough of it for a real kubectl to apply, read,
patch, follow a rollout and delete.

- Server-side apply is by field: what another manager set and no manifest names stays, as in a cluster.
- A changed pod template becomes new pods. `stuck` leaves them starting for ever, `hold_old` keeps the last
  pod of before beside the new one.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_OBJECT = re.compile(r"/apis/apps/v1/namespaces/([^/]+)/deployments/([^/]+)$")
_PODS = re.compile(r"/api/v1/namespaces/([^/]+)/pods$")
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_BEGAN = "2026-11-30T06:00:{:02d}Z"


def _resource(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "singularName": kind.lower(), "namespaced": True, "kind": kind, "verbs": _VERBS}


_DISCOVERY: Mapping[str, Any] = {
    "/version": {"major": "1", "minor": "32", "gitVersion": "v1.32.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": "apps",
                "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
            }
        ],
    },
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [_resource("pods", "Pod")]},
    "/apis/apps/v1": {
        "kind": "APIResourceList",
        "groupVersion": "apps/v1",
        "resources": [_resource("deployments", "Deployment")],
    },
    "/openapi/v3": {"paths": {"apis/apps/v1": {"serverRelativeURL": "/openapi/v3/apis/apps/v1"}}},
    "/openapi/v3/apis/apps/v1": {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.32.0"},
        "paths": {
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}": {
                "patch": {
                    "parameters": [{"name": "fieldValidation", "in": "query"}],
                    "responses": {},
                    "x-kubernetes-group-version-kind": {
                        "group": "apps",
                        "version": "v1",
                        "kind": "Deployment",
                    },
                }
            }
        },
    },
}


class KubeApi:
    """`with KubeApi() as api:` a cluster with nothing in it; `kubeconfig` names it for kubectl."""

    def __init__(self) -> None:
        self.deployments: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, list[dict[str, Any]]] = {}
        self.stuck = self.hold_old = False
        self.requests: list[tuple[str, str]] = []
        self._count = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def kubeconfig(self) -> str:
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": self.url}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "here",
            }
        )

    def put(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Keep a deployment; another pod template makes other pods."""
        before = self.deployments.get(name)
        template = given["spec"]["template"]
        self._count += 1
        given.setdefault("metadata", {})
        generation = (before or {}).get("metadata", {}).get("generation", 0)
        if before is None or before["spec"] != given["spec"]:
            generation += 1
        given["metadata"] |= {
            "name": name,
            "namespace": "default",
            "generation": generation,
            "resourceVersion": str(self._count),
        }
        if before is None or before["spec"]["template"] != template:
            self._roll(name, template)
        ready = 0 if self.stuck else 1
        given["status"] = {
            "observedGeneration": generation,
            "replicas": 1,
            "updatedReplicas": 1,
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        given["spec"].setdefault("replicas", 1)
        self.deployments[name] = given
        return given

    def _roll(self, name: str, template: dict[str, Any]) -> None:
        old = self.pods.get(name, [])[-1:] if self.hold_old else []
        spec = copy.deepcopy(template["spec"])
        statuses = [
            {
                "name": one["name"],
                "state": {"waiting": {}} if self.stuck else {"running": {"startedAt": self._moment()}},
                "imageID": one["image"],
                "restartCount": 0,
            }
            for one in spec["containers"]
        ]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **copy.deepcopy(template.get("metadata", {})),
                "name": f"{name}-{self._count}",
                "creationTimestamp": self._moment(),
            },
            "spec": spec,
            "status": {"phase": "Running", "podIP": "10.1.2.3", "containerStatuses": statuses},
        }
        self.pods[name] = [*old, pod]

    def _moment(self) -> str:
        return _BEGAN.format(self._count % 60)

    def __enter__(self) -> KubeApi:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def applied(before: Any, given: Any) -> Any:
    """`given` laid over `before`, lists of named things by their names."""
    if isinstance(before, dict) and isinstance(given, dict):
        return {**before, **{key: applied(before.get(key), value) for key, value in given.items()}}
    if isinstance(before, list) and isinstance(given, list) and all("name" in _as(one) for one in given):
        known = {_as(one).get("name"): one for one in before}
        merged = [applied(known.pop(one["name"], None), one) for one in given]
        return [*known.values(), *merged]
    return given


def _as(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def patched(tree: Any, operations: list[dict[str, Any]]) -> Any:
    """`tree` after the `replace` and `add` of RFC 6902."""
    tree = copy.deepcopy(tree)
    for one in operations:
        *way, last = one["path"].strip("/").split("/")
        inner = tree
        for step in way:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        inner[int(last) if isinstance(inner, list) else last] = one["value"]
    return tree


def _handler(api: KubeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            api.requests.append(("GET", parts.path))
            query = parse_qs(parts.query)
            if parts.path in _DISCOVERY:
                self._send(200, _DISCOVERY[parts.path])
            elif found := _OBJECT.match(parts.path):
                self._object(found[2])
            elif parts.path.endswith("/deployments"):
                name = query.get("fieldSelector", [""])[0].rpartition("=")[2]
                self._list("Deployment", [one for key, one in api.deployments.items() if key == name])
            elif _PODS.match(parts.path):
                self._list("Pod", self._selected(query.get("labelSelector", [""])[0]))
            else:
                self._missing()

        def do_PATCH(self) -> None:
            name = urlsplit(self.path).path.rpartition("/")[2]
            kind = self.headers["Content-Type"]
            api.requests.append((f"PATCH {kind}", name))
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            before = api.deployments.get(name)
            if kind == "application/json-patch+json":
                self._send(200, api.put(name, patched(before, given)))
            else:
                self._send(200 if before else 201, api.put(name, applied(copy.deepcopy(before), given)))

        def do_DELETE(self) -> None:
            name = urlsplit(self.path).path.rpartition("/")[2]
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            api.requests.append(("DELETE", name))
            api.pods.pop(name, None)
            if api.deployments.pop(name, None) is None:
                self._missing()
            else:
                self._send(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _object(self, name: str) -> None:
            found = api.deployments.get(name)
            self._send(200, found) if found is not None else self._missing()

        def _list(self, kind: str, items: list[dict[str, Any]]) -> None:
            version = "v1" if kind == "Pod" else "apps/v1"
            body = {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": "1"}}
            self._send(200, {**body, "items": items})

        def _selected(self, selector: str) -> list[dict[str, Any]]:
            wanted = dict(part.split("=", 1) for part in selector.split(",") if part)
            pods = [pod for found in api.pods.values() for pod in found]
            return [pod for pod in pods if wanted.items() <= pod["metadata"].get("labels", {}).items()]

        def _missing(self) -> None:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound"}
            self._send(404, {**status, "message": "not found", "code": 404})

        def _send(self, status: int, body: Any) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
