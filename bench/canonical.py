"""Canonical bytes: ours beside the rfc8785 package, over the trees of a thousand realistic tier files.

Both must give equal bytes first, for every tree and for 200,000 random doubles. One run prints our median,
the peer's, the ratio and the goal.
"""

from __future__ import annotations

import argparse
import math
import struct
import sys
import time
from collections.abc import Callable
from random import Random
from statistics import median

import rfc8785

from bench import corpus
from bench.measure import Row, table
from governance.tiers.canonical import canonical, digest
from governance.tiers.reader import read_yaml
from governance.values import Json

GOAL = 0.3


def main() -> int:
    """Print the table; 1 when the bytes differ or the goal is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=999, help="how many trees (default 999)")
    options.add_argument("--doubles", type=int, default=200_000, help="how many doubles (default 200000)")
    options.add_argument("--rounds", type=int, default=9, help="rounds; the median counts (default 9)")
    given = options.parse_args()
    trees = forest(given.files)
    different = sum(canonical(tree) != rfc8785.dumps(tree) for tree in trees)
    if different:
        print(f"{different} of {len(trees)} trees have other bytes than rfc8785 gives", file=sys.stderr)
        return 1
    doubles = random_doubles(given.doubles)
    different = sum(canonical(number) != rfc8785.dumps(number) for number in doubles)
    if different:
        print(f"{different} of {len(doubles)} doubles have other bytes than rfc8785 gives", file=sys.stderr)
        return 1
    ours, peer, with_digest = clock([canonical, rfc8785.dumps, digest], trees, given.rounds)
    rows = [
        Row("canonical bytes, per config", ours, "rfc8785", peer, GOAL, "us"),
        Row("with SHA-256, per config", with_digest, "rfc8785, bytes only", peer, GOAL, "us"),
    ]
    print(f"equal bytes for {len(trees):,} configs and {len(doubles):,} random doubles")
    print(table(f"canonical form of {len(trees)} configs, {size(trees):,.0f} bytes each", rows))
    return 0 if all(row.met for row in rows) else 1


def forest(count: int) -> list[Json]:
    """The trees of `count` tier files."""
    random = Random(7)
    makers = (corpus.base, corpus.sampling, corpus.prompts)
    texts = [makers[index % 3](random) for index in range(count)]
    return [read_yaml(text.encode(), "config.yaml").tree for text in texts]


def random_doubles(count: int) -> list[float]:
    """`count` finite doubles: of random bits, and of up to nine decimals as people write them."""
    random = Random(9)
    found: list[float] = []
    while len(found) < count:
        bits: float = struct.unpack(">d", random.randbytes(8))[0]
        found += [bits] if math.isfinite(bits) else []
        found.append(round(random.uniform(-2, 2) * 10.0 ** random.randint(-6, 6), random.randint(0, 9)))
    return found[:count]


def clock(functions: list[Callable[[Json], object]], trees: list[Json], rounds: int) -> tuple[float, ...]:
    """The median time in microseconds of one call of each function, the functions taking turns."""
    times: dict[int, list[float]] = {index: [] for index in range(len(functions))}
    for turn in range(rounds + 1):
        for index, function in enumerate(functions):
            start = time.perf_counter()
            for tree in trees:
                function(tree)
            spent = (time.perf_counter() - start) / len(trees) * 1e6
            if turn:
                times[index].append(spent)
    return tuple(median(times[index]) for index in range(len(functions)))


def size(trees: list[Json]) -> float:
    """The mean size in canonical bytes."""
    return sum(len(canonical(tree)) for tree in trees) / len(trees)


if __name__ == "__main__":
    sys.exit(main())
