"""Fetches one wheel by package name with pip and reads members from it without unpacking it.

The wheel lies in a temporary folder only while it is read. pip's own configuration says where from.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class Sources(Protocol):
    """Where source text is read from: a wheel, or a folder with the same layout."""

    def read(self, member: str) -> str | None:
        """The text of `member`, or None when there is none."""


@dataclass
class Wheel:
    """One open wheel. `read` remembers which members were asked for, to be recorded as the source."""

    distribution: str
    version: str
    file: str
    sha256: str
    archive: zipfile.ZipFile
    path: Path

    def __post_init__(self) -> None:
        self.names = set(self.archive.namelist())
        self.used: set[str] = set()

    def read(self, member: str) -> str | None:
        if member not in self.names:
            return None
        self.used.add(member)
        return self.archive.read(member).decode("utf-8")

    def requirement(self, name: str) -> str:
        """The versions of distribution `name` this wheel asks for (`>=4.48.2`), empty when it names none."""
        member = next(n for n in self.names if n.endswith(".dist-info/METADATA"))
        for line in (self.read(member) or "").splitlines():
            match = re.fullmatch(rf"Requires-Dist: {name}(\[[^\]]*\])? ?\(?([^;)]*)\)? ?(;.*)?", line)
            if match and "extra" not in (match.group(3) or ""):
                return match.group(2).replace(" ", "")
        return ""

    def source(self) -> dict[str, object]:
        """What is recorded beside the facts that were read from this wheel."""
        return {
            "distribution": self.distribution,
            "version": self.version,
            "file": self.file,
            "sha256": self.sha256,
            "members": len(self.used),
        }


@contextmanager
def opened(distribution: str, version: str) -> Iterator[Wheel]:
    """The wheel of `distribution` at `version`, downloaded without its dependencies, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="tierlock-wheel-") as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--only-binary", ":all:", "--dest", folder, f"{distribution}=={version}"),
            ],
            check=True,
        )
        path = next(Path(folder).glob("*.whl"))
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        with zipfile.ZipFile(path) as archive:
            yield Wheel(distribution, version, path.name, digest, archive, path)


@contextmanager
def from_folder(folder: Path, distribution: str, version: str) -> Iterator[Wheel]:
    """The same, from a wheel that is already in `folder`."""
    stem = f"{distribution.replace('-', '_')}-{version}-"
    path = next(p for p in sorted(folder.glob("*.whl")) if p.name.startswith(stem))
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    with zipfile.ZipFile(path) as archive:
        yield Wheel(distribution, version, path.name, digest, archive, path)
