"""What a word of `tierlock eval compare` means: a results file, or the results kept with a release.

- `PATH`: what `tierlock eval run --out` wrote.
- `SERVICE@RELEASE`, `SERVICE@golden`: the snapshot in the repository, held against the digest in the record.
- A release keeps a snapshot for each suite; where the other side does not say which is meant, `--suite` must.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource, read_file
from governance.errors import Unreadable, Usage
from governance.evals.results import load_run
from governance.records import dataclass

if TYPE_CHECKING:
    from governance.evals.model import Run
    from governance.release.record import Record

MAX_RESULTS: Final = 1024 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots of one release."""

    record: Record
    tree: FileSource

    @property
    def suites(self) -> frozenset[str]:
        return frozenset(one.suite for one in self.record.snapshots)

    def run(self, suite: str) -> Run:
        """The run that was kept for `suite`. Raises `Unreadable` when there is none, or it was altered."""
        kept = self.record.snapshot(suite)
        if kept is None:
            there = ", ".join(f"`{name}`" for name in sorted(self.suites)) or "none"
            raise Unreadable(
                f"release `{self.record.label}` keeps no results of suite `{suite}`, of these: {there}"
            )
        data = self.tree.read(kept.path)
        _refuse_altered(data, kept.path, kept.digest, self.record.label)
        return load_run(data, kept.path)


def read_sides(left: str, right: str, tree: FileSource | None, *, suite: str = "") -> tuple[Run, Run]:
    """The two runs. `tree` is the repository, None outside of one; `suite` says which snapshots are meant."""
    sides = _side(left, tree), _side(right, tree)
    chosen = suite or _suite(sides)
    runs = [side.run(chosen) if isinstance(side, Snapshots) else side for side in sides]
    for run, word in zip(runs, (left, right), strict=True):
        if suite and run.suite != suite:
            raise Usage(f"`{word}` has results of suite `{run.suite}`, not of `{suite}`")
    return runs[0], runs[1]


def _side(word: str, tree: FileSource | None) -> Run | Snapshots:
    if Path(word).exists() or "@" not in word:
        return load_run(_read(word), word)
    service, _, release = word.rpartition("@")
    if tree is None:
        raise Unreadable(
            f"`{word}` is a release, and here is no repository", hint="tierlock eval compare -C FOLDER A B"
        )
    from governance.release.golden import WORD, golden_release
    from governance.release.record import load_at

    chosen = golden_release(tree, service) if release == WORD else release
    return Snapshots(load_at(tree, service, chosen), tree)


def _read(word: str) -> bytes:
    if not Path(word).exists():
        raise Usage(
            f"no file `{word}`", hint="give a results file (tierlock eval run --out) or SERVICE@RELEASE"
        )
    return read_file(word, limit=MAX_RESULTS)


def _suite(sides: Collection[Run | Snapshots]) -> str:
    """The suite that is meant: that of the results file, else the only one that all releases keep."""
    for side in sides:
        if not isinstance(side, Snapshots):
            return side.suite
    kept = [side.suites for side in sides if isinstance(side, Snapshots)]
    both = sorted(frozenset.intersection(*kept))
    if len(both) == 1:
        return both[0]
    if not both:
        raise Unreadable("the releases keep results of no suite in common", hint="give results files")
    raise Usage(
        f"the releases keep results of several suites: {', '.join(f'`{name}`' for name in both)}",
        hint=f"--suite {both[0]}",
    )


def _refuse_altered(data: bytes, path: str, digest: str, label: str) -> None:
    from governance.release.record import digest_of

    if digest_of(data) != digest:
        raise Unreadable(
            f"the results `{path}` are not those that release `{label}` was made with",
            where=path,
            hint=f"git log -p -- {path}    (who changed them)",
        )
