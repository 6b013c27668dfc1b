"""Folds what many versions say into ranges: one entry for as long as nothing changes.

`since` is the first version read that says so, `until` the last; an entry that still holds has no `until`.
Between two versions that were read, the older one's entry is what is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

SCHEMA = "tierlock.engine-defaults/1"
TABLES = ("options", "environment", "sampling", "request")


def folded(extracted: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """`{table: {name: [entries with since and until]}}` from `(version, tables)` in version order."""
    result: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table in (*TABLES, "facts"):
        names = sorted({name for _, tables in extracted for name in tables[table]})
        result[table] = {name: list(_entries(extracted, table, name)) for name in names}
    return result


def _entries(
    extracted: Sequence[tuple[str, Mapping[str, Any]]], table: str, name: str
) -> Iterator[dict[str, Any]]:
    current: dict[str, Any] | None = None
    for index, (version, tables) in enumerate(extracted):
        said = tables[table].get(name)
        said = {"value": said} if table == "facts" and said is not None else said
        body = None if said is None else {k: v for k, v in said.items() if k != "help"}
        if current is not None and body == {k: v for k, v in current.items() if k != "since"}:
            continue
        if current is not None:
            yield {**current, "until": extracted[index - 1][0]}
        current = None if body is None else {"since": version, **body}
    if current is not None:
        yield current


def helps(extracted: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """The newest one-line help of each option."""
    found: dict[str, str] = {}
    for _, tables in extracted:
        for name, said in tables["options"].items():
            text = said.get("help")
            if isinstance(text, str) and text.strip():
                found[name] = _one_line(text)
    return dict(sorted(found.items()))


def _one_line(text: str) -> str:
    sentence = " ".join(text.split()).split(". ")[0].rstrip(".")
    return sentence if len(sentence) <= 110 else sentence[:109].rsplit(" ", 1)[0] + "…"


def dumped(document: Mapping[str, Any]) -> str:
    """The document as JSON with one line per entry, so that a version's changes read well in a diff."""
    lines = ["{"]
    keys = list(document)
    for key in keys:
        comma = "" if key == keys[-1] else ","
        lines.extend(_block(key, document[key], comma))
    lines.append("}")
    return "\n".join(lines) + "\n"


def _block(key: str, value: Any, comma: str) -> Iterator[str]:
    if isinstance(value, dict) and value and key != "help":
        yield f" {json.dumps(key)}: {{"
        names = list(value)
        for name in names:
            end = "" if name == names[-1] else ","
            entries = ",\n   ".join(_line(entry) for entry in value[name])
            yield f"  {json.dumps(name)}: [\n   {entries}]{end}"
        yield f" }}{comma}"
    elif isinstance(value, list | dict) and value:
        opening, closing = "[]" if isinstance(value, list) else "{}"
        items = (
            [_line(v) for v in value]
            if isinstance(value, list)
            else [f"{json.dumps(k)}: {_line(v)}" for k, v in value.items()]
        )
        yield f" {json.dumps(key)}: {opening}"
        yield "  " + ",\n  ".join(items)
        yield f" {closing}{comma}"
    else:
        yield f" {json.dumps(key)}: {_line(value)}{comma}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
