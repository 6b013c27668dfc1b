"""Files of a model on disk: their names and sizes, their digests at memory speed, and pieces of their bytes.

- Digests name their recipe: `blake3:<hex>` and `sha256:<hex>` are the standard digests of the whole file, so
  `b3sum` and `sha256sum` give the same.
- Files are hashed side by side, one thread each with a small buffer; a file too large for that is read by one
  thread and hashed by all cores. Nothing is mapped, so resident memory stays small (bench/weights.py).
- A file that changes while it is read, or that is a link to nothing, is an error, never a digest.
- Links are followed: the Hugging Face cache is made of them. A link to nothing is named, not passed over.
"""

from __future__ import annotations

import os
import os.path
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from governance.adapters.digest_cache import DigestCache, Stat, stat_of
from governance.adapters.names import printable
from governance.errors import Unreadable, Usage

if TYPE_CHECKING:
    from hashlib import _Hash

Algorithm: TypeAlias = Literal["blake3", "sha256", "git"]
Progress: TypeAlias = Callable[[int], None]

BUFFER: Final = 256 * 1024
WIDE_BUFFER: Final = 8 * 1024 * 1024
WIDE_GAIN: Final = 3
"""How many cores' worth one file gains when all cores hash it: reading is one thread's work."""
LARGE: Final = 128 * 1024 * 1024
MAX_THREADS: Final = 16
MAX_FILES: Final = 100_000
POINTER_SIZE: Final = 1024


@dataclass(frozen=True, slots=True)
class File:
    """One file below a model's folder: `name` with forward slashes, `state` for the cache.

    `target` is the last part of the path a link leads to (the blob name of a hub cache), else empty.
    """

    name: str
    path: str
    size: int
    state: Stat
    target: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a model and the links that lead nowhere; both sorted by name."""

    files: tuple[File, ...]
    broken: tuple[str, ...] = ()


def list_files(root: Path, *, skip: Callable[[str], bool] = lambda _: False) -> Listing:
    """Every regular file at or below `root`; `skip(name)` leaves files and whole folders out.

    Raises `Unreadable` when `root` is not there or a folder cannot be listed.
    """
    if root.is_file():
        return Listing((_file(str(root), root.name, root.is_symlink()),))
    if not root.is_dir():
        raise Unreadable(f"there is no file or folder `{root}`", where=str(root))
    files: list[File] = []
    broken: list[str] = []
    for name, path, is_link in _walk(str(root), "", skip):
        if len(files) > MAX_FILES:
            raise Unreadable(
                f"`{root}` has more than {MAX_FILES} files",
                where=str(root),
                hint="name the model's own folder",
            )
        try:
            files.append(_file(path, name, is_link))
        except Unreadable:
            if not is_link:
                raise
            broken.append(printable(name))
    return Listing(tuple(sorted(files, key=lambda f: f.name)), tuple(sorted(broken)))


def _walk(
    folder: str, prefix: str, skip: Callable[[str], bool], above: frozenset[str] = frozenset()
) -> Iterator[tuple[str, str, bool]]:
    """(name, path, is a link) of every file; a folder that lies in itself by a link is entered once."""
    real = os.path.realpath(folder)
    if real in above:
        return
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda e: e.name)
    except OSError as err:
        raise Unreadable(f"`{folder}` cannot be listed: {err.strerror}", where=folder) from err
    for entry in listed:
        name = prefix + entry.name
        if os.path.isdir(entry.path):  # noqa: PTH112  DirEntry.is_dir raises on a loop of links
            if not skip(name + "/"):
                yield from _walk(entry.path, name + "/", skip, above | {real})
        elif not skip(name):
            yield name, entry.path, entry.is_symlink()


def _file(path: str, name: str, is_link: bool) -> File:
    try:
        state = os.stat(path)  # noqa: PTH116  a Path costs as much as the call
    except OSError as err:
        raise Unreadable(f"`{name}` cannot be read: {err.strerror}", where=path) from err
    target = os.path.realpath(path).rpartition("/")[2] if is_link else ""
    return File(printable(name), path, state.st_size, stat_of(state), printable(target))


def read_range(path: str, start: int, length: int) -> bytes:
    """Up to `length` bytes from `start`. Raises `Unreadable`."""
    try:
        handle = os.open(path, os.O_RDONLY)
        try:
            return os.pread(handle, length, start)
        finally:
            os.close(handle)
    except OSError as err:
        raise Unreadable(f"`{path}` cannot be read: {err.strerror}", where=path) from err


def default_threads() -> int:
    """The cores this process may use, at most sixteen: more only wait for memory."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:
        cores = os.cpu_count() or 1
    return max(1, min(cores, MAX_THREADS))


def digests(
    files: Sequence[File],
    algorithms: Sequence[Algorithm],
    *,
    cache: DigestCache | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, dict[str, str]]:
    """The digests of `files` by name and algorithm, from the cache where it knows them.

    `progress` is called with the number of bytes done, from several threads. Raises `Unreadable` when a file
    cannot be read or changes while it is read, `Usage` for an unknown algorithm.
    """
    wrong = set(algorithms) - {"blake3", "sha256", "git"}
    if wrong or not algorithms:
        raise Usage(f"unknown digest `{', '.join(sorted(wrong))}`", hint="use blake3 or sha256")
    known: dict[str, dict[str, str]] = {}
    todo: list[tuple[File, tuple[Algorithm, ...]]] = []
    for file in files:
        found = _cached(file, algorithms, cache)
        known[file.name] = found
        missing = tuple(a for a in algorithms if a not in found)
        if missing:
            todo.append((file, missing))
        elif progress is not None:
            progress(file.size)
    fresh = _hash_all(todo, threads or default_threads(), progress)
    for file, _ in todo:
        known[file.name].update(fresh[file.name])
    if cache is not None:
        cache.put({file.state: fresh[file.name] for file, _ in todo})
    return known


def _cached(file: File, algorithms: Iterable[Algorithm], cache: DigestCache | None) -> dict[str, str]:
    if cache is None:
        return {}
    pairs = ((algorithm, cache.get(file.state, algorithm)) for algorithm in algorithms)
    return {algorithm: digest for algorithm, digest in pairs if digest is not None}


Todo: TypeAlias = tuple[File, tuple[Algorithm, ...]]


def _hash_all(todo: Sequence[Todo], threads: int, progress: Progress | None) -> dict[str, dict[str, str]]:
    if not todo:
        return {}
    ordered = sorted(todo, key=lambda item: -item[0].size)
    wide = wide_count([file.size for file, _ in ordered], threads) if _only_blake3(ordered) else 0
    done = {item[0].name: _hash_wide(item[0], threads, progress) for item in ordered[:wide]}
    done.update(_hash_beside(ordered[wide:], threads, progress))
    return done


def _only_blake3(todo: Sequence[Todo]) -> bool:
    return all(algorithms == ("blake3",) for _, algorithms in todo)


def wide_count(sizes: Sequence[int], threads: int) -> int:
    """How many of the largest files are worth all cores, one after another; `sizes` from large to small."""
    if threads < 2:
        return 0
    gain = min(threads, WIDE_GAIN) if threads > 2 else 2
    large = sum(size >= LARGE for size in sizes)
    costs = [
        sum(sizes[:count]) / gain + _makespan(sizes[count:], threads)
        for count in range(min(large, 2 * threads) + 1)
    ]
    return costs.index(min(costs))


def _makespan(sizes: Sequence[int], threads: int) -> int:
    loads = [0] * threads
    for size in sizes:
        loads[loads.index(min(loads))] += size
    return max(loads)


def _hash_beside(todo: Sequence[Todo], threads: int, progress: Progress | None) -> dict[str, dict[str, str]]:
    done: dict[str, dict[str, str]] = {}
    failures: list[Unreadable] = []
    stop = threading.Event()
    lock = threading.Lock()
    waiting = list(reversed(todo))

    def work() -> None:
        buffer = bytearray(BUFFER)
        while not stop.is_set():
            with lock:
                if not waiting:
                    return
                file, algorithms = waiting.pop()
            try:
                done[file.name] = _hash_one(file, algorithms, buffer, stop, progress)
            except OSError as err:
                failures.append(Unreadable(f"`{file.name}` cannot be read: {err.strerror}", where=file.path))
                stop.set()
            except Unreadable as err:
                failures.append(err)
                stop.set()

    workers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, len(todo)))]
    _run(workers, stop)
    if failures:
        raise failures[0]
    return done


def _run(workers: Sequence[threading.Thread], stop: threading.Event) -> None:
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    except BaseException:
        stop.set()
        for worker in workers:
            if worker.ident is not None:
                worker.join()
        raise


def _hash_one(
    file: File,
    algorithms: Iterable[Algorithm],
    buffer: bytearray,
    stop: threading.Event,
    progress: Progress | None,
) -> dict[str, str]:
    hashers = {algorithm: _hasher(algorithm, file.size) for algorithm in algorithms}
    updates = [hasher.update for hasher in hashers.values()]
    view = memoryview(buffer)
    handle = _open(file)
    try:
        total = 0
        while not stop.is_set():
            count = os.readv(handle, [buffer])
            if not count:
                break
            for update in updates:
                update(view[:count])
            total += count
            if progress is not None:
                progress(count)
        if not stop.is_set():
            _unchanged(handle, file, total)
    finally:
        os.close(handle)
    return {algorithm: f"{algorithm}:{hasher.hexdigest()}" for algorithm, hasher in hashers.items()}


def _hash_wide(file: File, threads: int, progress: Progress | None) -> dict[str, str]:
    """The BLAKE3 of one large file: one thread reads into two buffers in turn, all cores hash."""
    from queue import SimpleQueue

    from blake3 import blake3

    free: SimpleQueue[bytearray | None] = SimpleQueue()
    full: SimpleQueue[tuple[bytearray, int] | BaseException] = SimpleQueue()
    for _ in range(2):
        free.put(bytearray(WIDE_BUFFER))
    handle = _open(file)

    def read() -> None:
        try:
            while (buffer := free.get()) is not None:
                count = os.readv(handle, [buffer])
                full.put((buffer, count))
                if not count:
                    return
        except OSError as err:
            full.put(err)

    reader = threading.Thread(target=read, daemon=True)
    hasher = blake3(max_threads=threads)
    total = 0
    reader.start()
    try:
        while True:
            item = full.get()
            if isinstance(item, BaseException):
                raise Unreadable(f"`{file.name}` cannot be read: {item}", where=file.path) from item
            buffer, count = item
            if not count:
                break
            hasher.update(memoryview(buffer)[:count])
            free.put(buffer)
            total += count
            if progress is not None:
                progress(count)
        _unchanged(handle, file, total)
    finally:
        free.put(None)
        reader.join()
        os.close(handle)
    return {"blake3": f"blake3:{hasher.hexdigest()}"}


def _hasher(algorithm: Algorithm, size: int) -> _Hash | Any:
    if algorithm == "blake3":
        from blake3 import blake3

        return blake3()
    import hashlib

    if algorithm == "sha256":
        return hashlib.sha256()
    blob = hashlib.sha1(usedforsecurity=False)
    blob.update(b"blob %d\0" % size)
    return blob


def _open(file: File) -> int:
    try:
        return os.open(file.path, os.O_RDONLY)
    except OSError as err:
        raise Unreadable(f"`{file.name}` cannot be read: {err.strerror}", where=file.path) from err


def _unchanged(handle: int, file: File, total: int) -> None:
    if total != file.size or stat_of(os.fstat(handle)) != file.state:
        raise Unreadable(
            f"`{file.name}` changed while it was read",
            where=file.path,
            hint="capture again when nothing writes to the model",
        )
