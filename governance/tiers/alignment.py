"""Which element of one list is which element of another, so that one insertion is one difference.

- Equal elements are matched in order: a longest common subsequence, after equal ends are cut off.
- Long lists are first split at elements that occur once on each side (patience anchors, n log n); a stretch
  of more than `MAX_CELLS` comparisons without an anchor is not searched.
- Pure; works on hashable keys that stand for the elements.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeAlias

MAX_CELLS = 10_000  # 100 x 100 unlike elements: about 1 ms

Pairs: TypeAlias = list[tuple[int, int]]


def matches(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    """Index pairs of equal elements, rising on both sides."""
    low = 0
    high = min(len(before), len(after))
    while low < high and before[low] == after[low]:
        low += 1
    tail = 0
    while tail < high - low and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    head = [(at, at) for at in range(low)]
    middle = _middle(before[low : len(before) - tail], after[low : len(after) - tail])
    ends = range(tail, 0, -1)
    return [
        *head,
        *((low + i, low + j) for i, j in middle),
        *((len(before) - k, len(after) - k) for k in ends),
    ]


def _middle(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    if not before or not after:
        return []
    if len(before) * len(after) <= MAX_CELLS:
        return _common_subsequence(before, after)
    anchors = _anchors(before, after)
    if not anchors:
        return []
    found: Pairs = []
    start = (0, 0)
    for i, j in [*anchors, (len(before), len(after))]:
        gap = matches(before[start[0] : i], after[start[1] : j])
        found += [(start[0] + x, start[1] + y) for x, y in gap]
        if i < len(before):
            found.append((i, j))
        start = (i + 1, j + 1)
    return found


def _anchors(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    """The longest rising chain of elements that occur exactly once on each side."""
    once = {key for key, count in Counter(before).items() if count == 1}
    once &= {key for key, count in Counter(after).items() if count == 1}
    place = {key: at for at, key in enumerate(after) if key in once}
    candidates = [(at, place[key]) for at, key in enumerate(before) if key in once]
    ends: list[int] = []
    chain: list[int] = []
    previous: list[int] = []
    for number, (_, j) in enumerate(candidates):
        at = bisect_left(ends, j)
        ends[at : at + 1] = [j]
        chain[at : at + 1] = [number]
        previous.append(chain[at - 1] if at else -1)
    found: Pairs = []
    number = chain[-1] if chain else -1
    while number >= 0:
        found.append(candidates[number])
        number = previous[number]
    return found[::-1]


def _common_subsequence(before: Sequence[Hashable], after: Sequence[Hashable]) -> Pairs:
    width = len(after)
    table = [[0] * (width + 1)]
    for key in reversed(before):
        below = table[-1]
        row = [0] * (width + 1)
        for j in range(width - 1, -1, -1):
            row[j] = below[j + 1] + 1 if key == after[j] else max(below[j], row[j + 1])
        table.append(row)
    table.reverse()
    found: Pairs = []
    i = j = 0
    while i < len(before) and j < width:
        if before[i] == after[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif table[i + 1][j] >= table[i][j + 1]:
            i += 1
        else:
            j += 1
    return found
