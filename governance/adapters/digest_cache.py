"""Digests of files that have not changed, remembered by device, inode, size, mtime_ns and ctime_ns.

- One SQLite file below `$XDG_CACHE_HOME/tierlock`, readable by its owner only.
- A file written within the last two seconds is not remembered: it could change again within one tick of the
  clock. Setting mtime back does not fool it; ctime moves all the same.
- The cache never decides whether a command works: a locked, damaged or read-only cache is left alone and
  `problem` says so. A gate can do without it (`--no-cache`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    import sqlite3

Stat: TypeAlias = tuple[int, int, int, int, int]
"""Device, inode, size, mtime_ns, ctime_ns."""

SETTLE_NS: Final = 2_000_000_000
_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS digests (device INTEGER, inode INTEGER, size INTEGER, mtime INTEGER,"
    " ctime INTEGER, algorithm TEXT, digest TEXT, PRIMARY KEY (device, inode, algorithm)) WITHOUT ROWID"
)
_FIND: Final = (
    "SELECT size, mtime, ctime, digest FROM digests WHERE device = ? AND inode = ? AND algorithm = ?"
)
_KEEP: Final = "INSERT OR REPLACE INTO digests VALUES (?, ?, ?, ?, ?, ?, ?)"
_SIGN: Final = 1 << 63


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/tierlock`, or `~/.cache/tierlock`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "tierlock"


def stat_of(state: os.stat_result) -> Stat:
    """The five numbers a file is remembered by."""
    return (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


class DigestCache:
    """Digests by file state; `with DigestCache(folder) as cache`. `problem` is empty while it works."""

    def __init__(self, folder: Path) -> None:
        self.problem = ""
        self._database: sqlite3.Connection | None = None
        try:
            self._open(folder)
        except OSError as err:
            self.problem = f"no cache in `{folder}`: {err.strerror or err}"

    def _open(self, folder: Path) -> None:
        import sqlite3

        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / "digests.sqlite"
        try:
            self._database = self._connect(path)
        except sqlite3.OperationalError as err:
            self.problem = f"the cache `{path}` is left alone: {err}"
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
            self._database = self._connect(path)

    @staticmethod
    def _connect(path: Path) -> sqlite3.Connection:
        import sqlite3

        database = sqlite3.connect(path, timeout=2.0, isolation_level=None)
        try:
            database.execute("PRAGMA synchronous = OFF")
            database.execute(_CREATE)
        except sqlite3.Error:
            database.close()
            raise
        return database

    def get(self, state: Stat, algorithm: str) -> str | None:
        """The remembered digest of a file in exactly this state."""
        if self._database is None:
            return None
        row = self._try(_FIND, (_signed(state[0]), _signed(state[1]), algorithm))
        if row is None or tuple(row[:3]) != state[2:]:
            return None
        return str(row[3])

    def put(self, entries: Mapping[Stat, Mapping[str, str]], *, now_ns: int | None = None) -> None:
        """Remember the digests (by algorithm) of files whose state has settled."""
        now = time.time_ns() if now_ns is None else now_ns
        rows = [
            (_signed(state[0]), _signed(state[1]), *state[2:], algorithm, digest)
            for state, digests in entries.items()
            if max(state[3], state[4]) < now - SETTLE_NS
            for algorithm, digest in digests.items()
        ]
        if rows and self._database is not None:
            self._try("BEGIN IMMEDIATE", ())
            for row in rows:
                self._try(_KEEP, row)
            self._try("COMMIT", ())

    def _try(self, statement: str, values: Iterable[object]) -> tuple[object, ...] | None:
        import sqlite3

        if self._database is None:
            return None
        try:
            row: tuple[object, ...] | None = self._database.execute(statement, tuple(values)).fetchone()
        except sqlite3.Error as err:
            self.problem = f"the cache is left alone: {err}"
            self._database.close()
            self._database = None
            return None
        return row

    def close(self) -> None:
        """Close the database; the cache answers nothing afterwards."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def __enter__(self) -> DigestCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _signed(number: int) -> int:
    """Device and inode numbers are unsigned 64-bit, SQLite's integers are signed."""
    return number - (1 << 64) if number >= _SIGN else number
