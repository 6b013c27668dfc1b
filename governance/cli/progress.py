"""Progress on long work: one line on standard error, on a terminal only, gone when the work is done.

- Nothing is shown for work that ends within half a second.
- The bar is told how far the work is; it never decides anything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from governance.adapters.files import Entry, FileSource

Advance = Callable[[int, int], None]
"""Called with what is done and the whole, in any unit."""

_WAIT = 0.5
_EVERY = 0.1
_CELLS = 24


@contextmanager
def progress(
    label: str, *, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
) -> Iterator[Advance]:
    """A function to call with `(done, total)`; it draws `label` and a bar while the block runs."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield _silent
        return
    bar = _Bar(label, stream, now)
    try:
        yield bar.advance
    finally:
        bar.clear()


def _silent(done: int, total: int) -> None:
    """Nobody is watching."""


class _Bar:
    def __init__(self, label: str, stream: TextIO, now: Callable[[], float]) -> None:
        self._label, self._stream, self._now = label, stream, now
        self._next = now() + _WAIT
        self._drawn = 0
        self._lock = Lock()

    def advance(self, done: int, total: int) -> None:
        """Draw, at most every tenth of a second; from any thread."""
        with self._lock:
            self._draw(done, total)

    def _draw(self, done: int, total: int) -> None:
        if self._now() < self._next:
            return
        self._next = self._now() + _EVERY
        share = min(1.0, done / total) if total else 0.0
        full = round(share * _CELLS)
        line = f"{self._label}  {'█' * full}{'░' * (_CELLS - full)}  {share:4.0%}"
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(line)

    def clear(self) -> None:
        """Leave an empty line."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()


class Counted:
    """A source that reports how many of the files it listed have been read."""

    def __init__(self, source: FileSource, advance: Advance) -> None:
        self.label = source.label
        self._source, self._advance = source, advance
        self._listed: set[str] = set()
        self._read = 0

    def entries(self, prefix: str) -> Sequence[Entry]:
        """What the source lists; it counts as to be read."""
        found = self._source.entries(prefix)
        self._listed.update(entry.path for entry in found)
        return found

    def read(self, path: str) -> bytes:
        """What the source reads."""
        self._read += 1
        self._advance(self._read, len(self._listed))
        return self._source.read(path)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Handed on to a source that reads in batches."""
        ask = getattr(self._source, "prefetch", None)
        if ask is not None:
            ask(paths)
