"""Scores as text: rows with the same keys are one table, a rate with its interval and its count.

- A score is a flat JSON object. Keys named in `SHARES` are shares and shown in percent; `low` and `high` are
  one column, the interval.
- Anything else is shown as the JSON it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias, cast

from governance.report.escape import cells, compact, pad, plain
from governance.values import Json

SHARES: Final = frozenset({"rate", "before", "after", "low", "high", "loss", "score", "coverage"})
_INTERVAL: Final = "interval"

Row: TypeAlias = tuple[str, ...]


def scores_text(scores: Sequence[Json]) -> Iterator[str]:
    """The lines; an empty one between two tables."""
    for number, (head, rows) in enumerate(tables(scores)):
        if number:
            yield ""
        yield from _aligned([head, *rows]) if head else (row[0] for row in rows)


def tables(scores: Sequence[Json]) -> Iterator[tuple[Row, list[Row]]]:
    """The scores as heads and rows of words; what is no flat object stands in one cell without a head."""
    for keys, rows in groupby(scores, _keys):
        if keys:
            yield _head(keys), [_words(keys, cast("Mapping[str, Json]", row)) for row in rows]
        else:
            yield (), [(_line(row),) for row in rows]


def _aligned(lines: Sequence[Row]) -> Iterator[str]:
    """Columns: the first, which names the row, to the left, the others to the right."""
    widths = [max(cells(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        rest = (" " * (width - cells(word)) + word for word, width in zip(line[1:], widths[1:], strict=True))
        yield "  ".join((pad(line[0], widths[0]), *rest)).rstrip()


def _keys(score: Json) -> tuple[str, ...]:
    """The keys of a flat object; none for anything else."""
    if not isinstance(score, Mapping) or any(isinstance(value, Mapping | list) for value in score.values()):
        return ()
    return tuple(score)


def _columns(keys: Sequence[str]) -> list[str]:
    return [key for key in keys if key != "high" or "low" not in keys]


def _head(keys: Sequence[str]) -> Row:
    both = {"low", "high"} <= set(keys)
    return tuple(_INTERVAL if key == "low" and both else plain(key) for key in _columns(keys))


def _words(keys: Sequence[str], row: Mapping[str, Json]) -> Row:
    both = {"low", "high"} <= set(keys)
    return tuple(
        f"{_word(key, row[key])} to {_word('high', row['high'])}"
        if key == "low" and both
        else _word(key, row[key])
        for key in _columns(keys)
    )


def _word(key: str, value: Json) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if key in SHARES else f"{value:.2g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(value) if isinstance(value, str) else plain(compact(value))


def _line(score: Json) -> str:
    return plain(score if isinstance(score, str) else compact(score))
