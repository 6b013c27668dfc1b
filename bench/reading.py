"""Reading tier files: our strict reader beside PyYAML's C loader and ruamel's, over files never seen before.

Every round has new files, and our memory of lines is emptied before it: what is measured is the first reading
of a repository. The trees must be equal first, where the loaders' YAML versions agree.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from random import Random
from statistics import mean, median

import yaml  # type: ignore[import-untyped]
from ruamel.yaml import YAML

from bench import corpus
from bench.measure import Row, table
from governance.tiers import plain
from governance.tiers.reader import read_yaml

GOALS = {"PyYAML, C loader": 0.27, "ruamel.yaml, C loader": 0.09}


def main() -> int:
    """Print the table; 1 when a tree differs or a goal is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=600, help="files in each round (default 600)")
    options.add_argument("--rounds", type=int, default=7, help="rounds; the median counts (default 7)")
    given = options.parse_args()
    peers: dict[str, Callable[[bytes], object]] = {
        "PyYAML, C loader": lambda data: yaml.load(data, yaml.CSafeLoader),
        "ruamel.yaml, C loader": YAML(typ="safe").load,
    }
    sizes: list[int] = []
    times: dict[str, list[float]] = {name: [] for name in ("ours", *peers)}
    for turn in range(given.rounds):
        files = fresh(given.files, turn)
        sizes += map(len, files)
        for data in files[:60]:
            if repr(read_yaml(data, "f").tree) != repr(yaml.load(data, yaml.CSafeLoader)):
                print(f"another tree than PyYAML gives:\n{data.decode()}", file=sys.stderr)
                return 1
        plain.forget()
        times["ours"].append(clock(lambda data: read_yaml(data, "f"), files))
        for name, load in peers.items():
            times[name].append(clock(load, files))
    ours = median(times["ours"])
    rows = [
        Row("read, per file", ours, name, median(times[name]), goal, "us") for name, goal in GOALS.items()
    ]
    print(table(f"{given.files} files a round, {mean(sizes):,.0f} bytes each, none seen before", rows))
    return 0 if all(row.met for row in rows) else 1


def fresh(count: int, seed: int) -> list[bytes]:
    """`count` tier files of all three tiers."""
    random = Random(f"reading/{seed}")
    makers = (corpus.base, corpus.sampling, corpus.prompts)
    return [makers[index % 3](random).encode() for index in range(count)]


def clock(function: Callable[[bytes], object], files: list[bytes]) -> float:
    """The time of one call in microseconds."""
    start = time.perf_counter()
    for data in files:
        function(data)
    return (time.perf_counter() - start) / len(files) * 1e6


if __name__ == "__main__":
    sys.exit(main())
