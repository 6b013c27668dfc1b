"""A Kubernetes cluster through `kubectl`: objects as JSON, in and out.

- The user's kubeconfig, context and login count; nothing of them is read here.
- A cluster that does not answer, or says no, is `Unreachable` with the last line of what kubectl said.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from governance.adapters import programs
from governance.errors import Unreachable, Unreadable

_TAIL: Final = 15


class Cluster:
    """One cluster and namespace; `words` are kubectl with its global options."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def apply(self, objects: Sequence[Any], *options: str) -> None:
        """Make the cluster hold these objects; fields that others have taken are taken back."""
        text = "".join(f"---\n{json.dumps(one)}\n" for one in objects)
        self.call(
            "apply", "--server-side", "--force-conflicts", "--field-manager=tierlock", *options,
            "--filename", "-", given=text.encode(),
        )  # fmt: skip

    def get(self, kind: str, name: str) -> dict[str, Any] | None:
        """One object; None when there is none."""
        out = self.call("get", kind, name, "--ignore-not-found", "--output", "json")
        return self._object(out) if out.strip() else None

    def listed(self, kind: str, selector: str) -> list[dict[str, Any]]:
        """The objects a selector (`a=b,c=d`) finds."""
        out = self.call("get", kind, "--selector", selector, "--output", "json")
        items = self._object(out).get("items")
        return [one for one in items if isinstance(one, dict)] if isinstance(items, list) else []

    def patch(self, kind: str, name: str, operations: Sequence[Any]) -> None:
        """Change single fields (RFC 6902)."""
        self.call("patch", kind, name, "--type=json", "--patch", json.dumps(list(operations)))

    def wait(self, kind: str, name: str, *, timeout: float) -> None:
        """Return once every replica is the new one and ready. Raises `Unreachable` when it does not come."""
        self.call("rollout", "status", f"{kind}/{name}", f"--timeout={round(timeout)}s")

    def delete(self, kind: str, name: str) -> None:
        """Remove an object, and wait until it is gone."""
        self.call("delete", kind, name, "--ignore-not-found", "--wait")

    def logs(self, pod: str, container: str) -> str:
        """The last lines of a container; empty when there is none to be had."""
        said = programs.run([*self.words, "logs", pod, f"--container={container}", f"--tail={_TAIL}"])
        return said.out.decode("utf-8", "replace").strip() if said.status == 0 else ""

    def call(self, *args: str, given: bytes = b"") -> bytes:
        """What kubectl prints. Raises `Unreachable` with its last line when it fails."""
        said = programs.run([*self.words, *args], given=given)
        if said.status != 0:
            raise Unreachable(f"`kubectl {args[0]}` failed: {said.last_line.removeprefix('error: ')}")
        return said.out

    def _object(self, out: bytes) -> dict[str, Any]:
        try:
            found = json.loads(out)
        except ValueError as err:
            raise Unreadable("kubectl printed something that is no JSON") from err
        return found if isinstance(found, dict) else {}
