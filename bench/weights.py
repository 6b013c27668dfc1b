"""`python -m bench.weights [--size GIB]`: digests of model files, beside model-signing, in one run.

- Files of noise in page cache, in a temporary folder that is removed. model-signing is installed into its own
  environment below `.cache/bench-venv`; its default is SHA-256 per file.
- Also: plain SHA-256 per file, one large file, resident memory, and the second fingerprint of an unchanged
  model of 200 files.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.measure import PYTHON, ROOT, Row, table
from bench.peers import interpreter

GIB = 1 << 30
FILES = 4
ROUNDS = 3
MEMORY_GOAL = 64
CACHED_GOAL = 100.0
CACHED_FILES = 200
OURS = """
import sys
sys.path[:0] = [{root!r}]
from pathlib import Path
from governance.adapters.digest_cache import DigestCache
from governance.adapters.weights import digests, list_files
cache = DigestCache(Path({cache!r})) if {cache!r} else None
found = digests(list_files(Path({folder!r})).files, {algorithms!r}, cache=cache)
assert len(found) == {count}
"""
THEIRS = """
from pathlib import Path
from model_signing import hashing
found = hashing.Config().hash(Path({folder!r}))
assert len(list(found.resource_descriptors())) == {count}
"""
READ = """
import os, sys, threading
def read(path):
    buffer, handle = bytearray(1 << 20), os.open(path, os.O_RDONLY)
    while os.readv(handle, [buffer]):
        pass
halves = (sys.argv[1::2], sys.argv[2::2])
threads = [threading.Thread(target=lambda part=part: list(map(read, part))) for part in halves]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
MEMORY = """
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
"""The highest resident memory in KiB since the program was started; `getrusage` counts the parent's before
that.
"""


@contextmanager
def noise(total: int, count: int, where: str | None) -> Iterator[Path]:
    """A folder with `count` files of noise, `total` bytes in all, in page cache; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tierlock-bench-", dir=where))
    try:
        block = os.urandom(min(total // count, 64 << 20))
        for number in range(count):
            with (folder / f"model-{number:05}.safetensors").open("wb") as file:
                left = total // count
                while left:
                    left -= file.write(block[number % 97 :][:left])
        yield folder
    finally:
        shutil.rmtree(folder)


class Measured(NamedTuple):
    """Medians of one whole process: wall and CPU time in ms; and its highest resident memory in MiB."""

    wall: float
    cpu: float
    memory: float


def rounds(commands: Mapping[str, Sequence[str]], count: int = ROUNDS) -> dict[str, Measured]:
    """Each command `count` times in turn, after one round to warm up."""
    seen: dict[str, list[Measured]] = {name: [] for name in commands}
    for turn in range(count + 1):
        for name, argv in commands.items():
            start, busy = time.perf_counter(), _cpu()
            done = subprocess.run(argv, capture_output=True, check=False, text=True)
            spent, busy = (time.perf_counter() - start) * 1000, _cpu() - busy
            if done.returncode:
                raise SystemExit(f"{name} ended with {done.returncode}:\n{done.stderr[-2000:]}")
            if turn:
                seen[name].append(Measured(spent, busy, int(done.stdout) / 1024))
    return {
        name: Measured(median(r.wall for r in rows), median(r.cpu for r in rows), max(r.memory for r in rows))
        for name, rows in seen.items()
    }


def _cpu() -> float:
    """CPU ms of all processes started so far: on a busy machine it says more than the wall clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000


def ours(folder: Path, algorithm: str, count: int, cache: str = "") -> list[str]:
    """The command that digests `folder` with tierlock."""
    code = OURS.format(root=str(ROOT), folder=str(folder), algorithms=(algorithm,), cache=cache, count=count)
    return [PYTHON, "-c", code + MEMORY]


def theirs(folder: Path, count: int) -> list[str]:
    """The command that hashes `folder` with model-signing."""
    return [interpreter(), "-c", THEIRS.format(folder=str(folder), count=count) + MEMORY]


def large(total: int, where: str | None) -> bool:
    """Whole models against model-signing; prints the table and says whether the goals are met."""
    interpreter()
    with noise(total, FILES, where) as folder:
        paths = [str(path) for path in sorted(folder.iterdir())]
        times = rounds(
            {
                "blake3": ours(folder, "blake3", FILES),
                "sha256": ours(folder, "sha256", FILES),
                "peer": theirs(folder, FILES),
                "read": [PYTHON, "-c", READ + MEMORY, *paths],
            }
        )
    with noise(total, 1, where) as folder:
        single = rounds({"blake3": ours(folder, "blake3", 1), "peer": theirs(folder, 1)})
    size, name = f"{total / GIB:g} GiB", "model-signing, default"
    memory = max(times["blake3"].memory, single["blake3"].memory)
    rows = [
        Row(f"{size} in {FILES} files, blake3", times["blake3"].wall, name, times["peer"].wall, 0.25),
        Row(f"{size} in {FILES} files, sha256", times["sha256"].wall, name, times["peer"].wall, 0.8),
        Row(f"{size} in 1 file, blake3", single["blake3"].wall, name, single["peer"].wall, 0.5),
        Row("resident memory", memory, "limit", MEMORY_GOAL, 1.0, unit="MiB"),
    ]
    print(table("weights in page cache, whole process", rows))
    print(f"  {total / GIB / times['blake3'].wall * 1000:.1f} GiB/s, start-up included")
    mine, other = times["blake3"].cpu, times["peer"].cpu
    print(f"  CPU time {mine:,.0f} ms, of model-signing {other:,.0f} ms: {other / mine:.1f} x")
    print(f"  reading alone with two threads {times['read'].wall:,.0f} ms")
    print(f"  resident memory of model-signing {times['peer'].memory:.0f} MiB")
    return all(row.met for row in rows)


def unchanged(where: str | None) -> bool:
    """The second fingerprint of a model whose files have not changed."""
    with noise(CACHED_FILES * 100_000, CACHED_FILES, where) as folder, tempfile.TemporaryDirectory() as cache:
        time.sleep(2.1)
        commands = {
            "second": ours(folder, "blake3", CACHED_FILES, cache),
            "start-up": [PYTHON, "-c", MEMORY],
        }
        times = rounds(commands, 7)
        over = times["second"].wall - times["start-up"].wall
        row = Row(f"{CACHED_FILES} unchanged files, over start-up", over, "limit", CACHED_GOAL, 1.0)
        print(table("second fingerprint, whole process", [row]))
        return row.met


def main() -> int:
    """Print the tables; 1 when a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=8.0, help="GiB of weights (default 8)")
    parser.add_argument(
        "--folder", default=None, help="where the files are made for the while (default: temporary)"
    )
    given = parser.parse_args()
    total = int(given.size * GIB) // (FILES * 4096) * FILES * 4096
    met = [large(total, given.folder), unchanged(given.folder)]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
