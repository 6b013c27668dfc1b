"""The weight files of this host beside those of the release, before an engine opens them.

- The digest that the base config declares decides, by its own algorithm; a file it does not name is compared
  with the capture of the release.
- A file that is missing is a mismatch, and so is one that the capture does not have: engines read whole
  folders. A file that only the manifest lacks is a note.
- Digests come from the cache of file states where they are known (`adapters/digest_cache.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from governance.adapters.weights import File, list_files
from governance.errors import Unreadable
from governance.fingerprint.model_files import excluded, role
from governance.monitor.mismatch import Concerns, Doubt, Seen, differing
from governance.records import dataclass, field
from governance.values import ABSENT, Value
from governance.verdict import Change, LayerState

if TYPE_CHECKING:
    from governance.fingerprint.weights import WeightFile

HashFiles: TypeAlias = Callable[[Sequence[File], str], Mapping[str, str]]
"""`(files, algorithm)` to the digest of each by its name, `algorithm:hex`."""

ALGORITHMS: Final = ("sha256", "blake3")
_UNREAD: Final = ("other", "index")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files the release stands for: `declared` by the base config (name to `algorithm:hex`), `captured`
    when it was made.
    """

    declared: Mapping[str, str] = field(default_factory=dict)
    captured: tuple[WeightFile, ...] = ()

    @property
    def digests(self) -> dict[str, str]:
        """The digest that decides, by the name of the file."""
        return {**{file.name: file.blake3 for file in self.captured}, **self.declared}


def look(
    manifest: Manifest,
    place: Path | None,
    hash_files: HashFiles,
    *,
    concerns: Concerns = Concerns.SERVER,
) -> Seen:
    """The files at `place` (a folder, or one file of it) beside `manifest`; None where no place is known."""
    wanted = manifest.digests
    if not wanted:
        return Seen(uncovered=(("weights", "the release names no files and captured none"),))
    if place is None:
        hint = "set `deploy.weights`, or fetch the model into the hub cache first"
        return _doubt(f"no file of this host is known to be the weights: {hint}", concerns)
    odd = sorted({digest.partition(":")[0] for digest in wanted.values()} - {*ALGORITHMS})
    if odd:
        return _doubt(f"digests by `{odd[0]}` cannot be computed here", concerns)
    try:
        here, broken = _files(place, wanted)
        found = _hashed(here, wanted, hash_files)
    except Unreadable as err:
        return _doubt(err.message, concerns)
    changes = list(_changes(manifest, here, found, broken))
    extra = [file for name, file in here.items() if name not in wanted and role(name) not in _UNREAD]
    if manifest.captured and place.is_dir():
        changes += [_change(file.name, ABSENT, f"{file.size} bytes") for file in extra]
    state = "changed" if changes else "same"
    notes = () if manifest.captured else _unlisted(extra)
    detail = f"{len(wanted)} file{'s' * (len(wanted) != 1)}"
    seen = differing("TL803", changes, concerns=concerns)
    return Seen((LayerState("weights", state, detail=detail),), seen.mismatches, seen.doubts, notes=notes)


def _doubt(reason: str, concerns: Concerns) -> Seen:
    return Seen((LayerState("weights", "unknown"),), doubts=(Doubt("weights", reason, concerns),))


def _files(place: Path, wanted: Mapping[str, str]) -> tuple[dict[str, File], tuple[str, ...]]:
    """The files at `place` by the name the release has for them, and the links that lead nowhere.

    One file given by another name is the only one that is wanted; the others lie beside it.
    """
    if not place.is_file():
        listing = list_files(place, skip=excluded)
        return {file.name: file for file in listing.files}, listing.broken
    (file,) = list_files(place).files
    only = next(iter(wanted)) if len(wanted) == 1 else place.name
    found = {only: file}
    for name in wanted.keys() - {only}:
        beside = place.parent / name
        if beside.is_file():
            (found[name],) = list_files(beside).files
    return found, ()


def _hashed(here: Mapping[str, File], wanted: Mapping[str, str], hash_files: HashFiles) -> dict[str, str]:
    found: dict[str, str] = {}
    for algorithm in ALGORITHMS:
        names = [
            name for name, digest in wanted.items() if digest.startswith(f"{algorithm}:") and name in here
        ]
        digests = hash_files([here[name] for name in names], algorithm) if names else {}
        found |= {name: digests[here[name].name] for name in names}
    return found


def _changes(
    manifest: Manifest, here: Mapping[str, File], found: Mapping[str, str], broken: Iterable[str]
) -> Iterable[Change]:
    sizes = {file.name: file.size for file in manifest.captured}
    gone = set(broken)
    for name, digest in sorted(manifest.digests.items()):
        if name not in here:
            yield _change(name, digest, "a link to nothing" if name in gone else ABSENT)
        elif found[name] != digest:
            size = sizes.get(name)
            same = size is None or size == here[name].size
            yield _change(name, digest, found[name] if same else f"{found[name]}, {here[name].size} bytes")


def _change(name: str, before: Value, after: Value) -> Change:
    return Change("weights", name, before, after, "release", "this host", effect=f"{role(name)} of the model")


def _unlisted(extra: Sequence[File]) -> tuple[str, ...]:
    if not extra:
        return ()
    names = ", ".join(file.name for file in extra[:6]) + (f" and {len(extra) - 6} more" if extra[6:] else "")
    return (f"in no manifest, so not compared: {names}",)
