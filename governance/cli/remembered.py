"""What `check` said about the very same bytes before: a verdict kept by content and tool.

- The key is a digest over every governed path with its kind and content, the tool's own files, the date
  and the state's name. No time stamp of a config is trusted.
- Kept outside of the repository, in the user's cache folder, so that a repository cannot bring a verdict
  with it. Anything odd about an entry and the files are judged again.
- A judgement that read anything beyond the governed paths is not kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from hashlib import sha256
from typing import TYPE_CHECKING

from governance.adapters.files import Entry, FileSource, Kind, read_file
from governance.cli.repository import cache_folder
from governance.errors import TierlockError
from governance.verdict import Report

if TYPE_CHECKING:
    from pathlib import Path

_KEEP = 64
_FORM = "check/2"
COVERED = ("configs", "evals", "tierlock.yaml")
"""Everything `check` may ask for: a verdict that saw more is not kept."""


def remembered(source: FileSource, today: date, judge: Callable[[FileSource], Report]) -> Report:
    """The report that `judge` gave for the same content, else the one it gives now, which is kept."""
    try:
        key = _key(source, today)
    except TierlockError:
        return judge(source)
    file = cache_folder("check") / f"{key}.json"
    known = _load(file)
    if known is not None:
        return known
    watched = _Watched(source)
    report = judge(watched)
    if not watched.strayed:
        _keep(file, report)
    return report


class _Watched:
    """A source that notices when something beyond the governed paths is asked for."""

    def __init__(self, source: FileSource) -> None:
        self.label = source.label
        self.strayed = False
        self._source = source

    def entries(self, prefix: str) -> Sequence[Entry]:
        self.strayed |= not _governed(prefix)
        return self._source.entries(prefix)

    def read(self, path: str) -> bytes:
        self.strayed |= not _governed(path)
        return self._source.read(path)

    def prefetch(self, paths: Iterable[str]) -> None:
        ask = getattr(self._source, "prefetch", None)
        if ask is not None:
            ask(paths)


def _governed(path: str) -> bool:
    return any(path == part or path.startswith(f"{part}/") for part in COVERED)


def _key(source: FileSource, today: date) -> str:
    digest = sha256(f"{_FORM}\0{_tool()}\0{today}\0{source.label}\0".encode())
    for part in COVERED:
        for entry in source.entries(part):
            name = entry.path.encode("utf-8", "surrogateescape")
            digest.update(b"%d %s\0%s\0" % (len(name), name, entry.kind.value.encode()))
            if entry.kind is Kind.FILE:
                digest.update(entry.oid.encode() if entry.oid else sha256(source.read(entry.path)).digest())
    return digest.hexdigest()


def _tool() -> str:
    """The tool as it is: its version and every file of the package by name, size and time of change."""
    from governance import __version__

    top = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120  one string, many joins
    parts = [__version__, sys.version]
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            status = os.stat(f"{folder}/{name}")  # noqa: PTH116
            parts.append(f"{name} {status.st_size} {status.st_mtime_ns}")
    return sha256("\n".join(parts).encode()).hexdigest()


def _load(file: Path) -> Report | None:
    from governance.report.json import parse

    try:
        return parse(read_file(file).decode())
    except (TierlockError, ValueError, KeyError, TypeError):
        return None


def _keep(file: Path, report: Report) -> None:
    """Keep `report`, and of the older ones the newest; a cache that cannot be written is no error."""
    from governance.adapters.files import write_atomic
    from governance.report.json import render

    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(file, render(report).encode())
        kept = sorted(file.parent.glob("*.json"), key=lambda old: old.stat().st_mtime_ns, reverse=True)
        for old in kept[_KEEP:]:
            old.unlink(missing_ok=True)
    except (TierlockError, OSError):
        return
