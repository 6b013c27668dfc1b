"""Files of one tagged version in a git checkout of an engine's source."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Checkout:
    """The tree of `tag` in the repository at `folder`; remembers what was read."""

    folder: Path
    tag: str
    used: dict[str, bytes] = field(default_factory=dict)

    def read(self, *paths: str) -> str:
        """The first of `paths` that this version has; empty when it has none."""
        for path in paths:
            result = subprocess.run(
                ["git", "-C", str(self.folder), "show", f"{self.tag}:{path}"], capture_output=True
            )
            if result.returncode == 0:
                self.used[path] = result.stdout
                return result.stdout.decode("utf-8")
        return ""

    def source(self, distribution: str) -> dict[str, object]:
        """Where the tables come from: the files read, and one digest over them."""
        whole = hashlib.sha256()
        for path in sorted(self.used):
            whole.update(path.encode() + b"\0" + hashlib.sha256(self.used[path]).digest())
        return {
            "distribution": distribution,
            "version": self.tag.removeprefix("v"),
            "file": " ".join(sorted(self.used)),
            "sha256": whole.hexdigest(),
            "members": len(self.used),
        }
