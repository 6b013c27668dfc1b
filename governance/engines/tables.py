"""What each engine version offers: options, variables, decoding defaults, and what an upgrade moved.

- The data is extracted from the engines' own packages (`scripts/extract_engine_options.py`) and shipped; this
  module reads it and adds nothing.
- A version that was not read is answered by the nearest lower one; `OptionTable.version` says which that is.
- `upgrade` compares two versions that were read, exactly; of others it says that it does not know.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from governance.engines.model import Option, OptionTable
from governance.engines.versions import version_key
from governance.records import dataclass, replace
from governance.values import ABSENT, Json, Unknown, Value

TableName: TypeAlias = Literal["options", "environment", "sampling", "request", "facts"]
What: TypeAlias = Literal["added", "removed", "default", "choices", "type", "flags"]

TABLES: Final[tuple[TableName, ...]] = ("options", "environment", "sampling", "request", "facts")
_DEFAULTS: Final = os.path.join(os.path.dirname(__file__), "defaults")  # noqa: PTH118, PTH120  pathlib is 4 ms
_PARTS: Final[tuple[What, ...]] = ("default", "choices", "type", "flags")


@dataclass(frozen=True, slots=True)
class OptionChange:
    """One thing that differs between two versions of an engine.

    `table` says where: a start option, an environment variable, a decoding parameter, a field of a request,
    or a fact (which keys of generation_config.json are taken). For `added` and `removed`, `after` or `before`
    is the default, `ABSENT` when there is none.
    """

    table: TableName
    name: str
    what: What
    before: Value = ABSENT
    after: Value = ABSENT


@dataclass(frozen=True, slots=True)
class Source:
    """The package one version was read from."""

    distribution: str
    version: str
    file: str
    sha256: str


@lru_cache(maxsize=8)
def _document(engine: str) -> Mapping[str, Any] | None:
    try:
        with open(f"{_DEFAULTS}/{engine}.json", "rb") as file:
            return json.load(file)  # type: ignore[no-any-return]
    except FileNotFoundError:
        return None


def versions(engine: str) -> tuple[str, ...]:
    """The versions of `engine` that were read, in order; empty when none was."""
    document = _document(engine)
    return tuple(document["versions"]) if document else ()


def source(engine: str, version: str) -> Source | Unknown:
    """The package the table of exactly `version` was read from."""
    document = _document(engine)
    if document is None or version not in document["versions"]:
        return Unknown(f"no package of {engine} {version} was read")
    found = document["sources"][document["versions"].index(version)]
    return Source(found["distribution"], found["version"], found["file"], found["sha256"])


def nearest(engine: str, version: str) -> str | Unknown:
    """The version that was read and is `version`, else the next lower one; unknown when there is none."""
    known = versions(engine)
    if not known:
        return Unknown(f"no option table of {engine} is shipped")
    if version in known:
        return version
    wanted = version_key(version)
    if wanted is None:
        return Unknown(f"`{version}` is no version of {engine}")
    lower = [v for v in known if (key := version_key(v)) is not None and key <= wanted]
    if not lower:
        return Unknown(f"{engine} {version} is older than the oldest table, {known[0]}")
    return lower[-1]


@lru_cache(maxsize=32)
def _entries(engine: str, version: str, table: TableName) -> Mapping[str, Mapping[str, Any]]:
    """The entry of each name of one table that holds at `version`, which is one that was read."""
    document = _document(engine)
    if document is None:
        return {}
    index = {v: i for i, v in enumerate(document["versions"])}
    at, last = index[version], len(index) - 1
    found: dict[str, Mapping[str, Any]] = {}
    for name, ranges in document[table].items():
        for entry in ranges:
            if index[entry["since"]] <= at <= index.get(entry.get("until"), last):
                found[name] = entry
                break
    return found


def _default(entry: Mapping[str, Any]) -> Value:
    if "computed" in entry:
        return Unknown(f"the engine computes it: {entry['computed']}")
    value: Value = entry.get("default", ABSENT)
    return value


def _option(name: str, entry: Mapping[str, Any], text: str) -> Option:
    choices = entry.get("choices")
    return Option(
        name=name,
        flags=tuple(entry.get("flags", ())),
        env=entry.get("env"),
        type=entry["type"],
        choices=None if choices is None else tuple(choices),
        default=_default(entry),
        negation=entry.get("negation"),
        help=text,
        negations=tuple(entry.get("negations", ())),
        repeats=entry.get("repeats", False),
    )


@lru_cache(maxsize=32)
def _table(engine: str, version: str) -> OptionTable:
    document = _document(engine) or {}
    helps: Mapping[str, str] = document.get("help", {})
    options = {
        name: _option(name, entry, helps.get(name, ""))
        for name, entry in _entries(engine, version, "options").items()
    }
    return OptionTable(engine, version, options, _source_text(engine, version))


def _source_text(engine: str, version: str) -> str:
    found = source(engine, version)
    return "" if isinstance(found, Unknown) else f"{found.file} sha256:{found.sha256[:12]}"


def table(engine: str, version: str) -> OptionTable | Unknown:
    """The option table of `version`: exact, else that of the nearest lower version, else unknown."""
    found = nearest(engine, version)
    return found if isinstance(found, Unknown) else _table(engine, found)


@lru_cache(maxsize=8)
def every_option(engine: str) -> OptionTable:
    """Every option of every version that was read, the newest meaning and all choices of each.

    For a launch whose version nobody says. `OptionTable.version` is the newest version.
    """
    found: dict[str, Option] = {}
    choices: dict[str, dict[str, None] | None] = {}
    for version in versions(engine):
        for name, option in _table(engine, version).options.items():
            known = choices.setdefault(name, {})
            choices[name] = (
                None
                if option.choices is None or known is None
                else {**known, **dict.fromkeys(option.choices)}
            )
            found[name] = replace(
                option,
                flags=tuple(dict.fromkeys((*option.flags, *(found[name].flags if name in found else ())))),
            )
    options = {
        name: replace(option, choices=tuple(merged) if (merged := choices[name]) else None)
        for name, option in found.items()
    }
    newest = versions(engine)[-1:] or ("",)
    return OptionTable(engine, newest[0], options, _source_text(engine, newest[0]))


@lru_cache(maxsize=64)
def defaults(engine: str, version: str, name: TableName) -> Mapping[str, Value] | Unknown:
    """The default of each entry of one table: `sampling` (decoding parameters), `request`, `environment`."""
    found = nearest(engine, version)
    if isinstance(found, Unknown):
        return found
    return {key: _default(entry) for key, entry in _entries(engine, found, name).items()}


@lru_cache(maxsize=16)
def unset(engine: str, version: str) -> Mapping[str, Json] | Unknown:
    """What the API uses for a decoding parameter a request leaves out and the model's file does not set."""
    found = nearest(engine, version)
    if isinstance(found, Unknown):
        return found
    entries = _entries(engine, found, "request")
    return {key: entry["unset"] for key, entry in entries.items() if "unset" in entry}


def fact(engine: str, version: str, name: str) -> Json | Unknown:
    """One single fact about `version`, such as `generation_config_keys` or `greedy_below`."""
    found = nearest(engine, version)
    if isinstance(found, Unknown):
        return found
    entry = _entries(engine, found, "facts").get(name)
    if entry is None:
        return Unknown(f"{engine} {found} does not say `{name}`")
    value: Json = entry["value"]
    return value


def upgrade(engine: str, old: str, new: str) -> tuple[OptionChange, ...] | Unknown:
    """Everything that differs between `old` and `new`; unknown when either was not read exactly."""
    for version in (old, new):
        if version not in versions(engine):
            near = nearest(engine, version)
            hint = near.reason if isinstance(near, Unknown) else f"the nearest lower one that was is {near}"
            return Unknown(f"{engine} {version} was not read; {hint}")
    return tuple(change for name in TABLES for change in _changes(engine, old, new, name))


def _changes(engine: str, old: str, new: str, name: TableName) -> Iterator[OptionChange]:
    before, after = _entries(engine, old, name), _entries(engine, new, name)
    for key in sorted({*before, *after}):
        left, right = before.get(key), after.get(key)
        if left is None and right is not None:
            yield OptionChange(name, key, "added", ABSENT, _said(right))
        elif right is None and left is not None:
            yield OptionChange(name, key, "removed", _said(left), ABSENT)
        elif left is not None and right is not None and left is not right:
            yield from _moved(name, key, left, right)


def _said(entry: Mapping[str, Any]) -> Value:
    value: Value = entry.get("value", ABSENT)
    return _default(entry) if value is ABSENT else value


def _moved(
    name: TableName, key: str, left: Mapping[str, Any], right: Mapping[str, Any]
) -> Iterator[OptionChange]:
    """The parts that differ. Two computed defaults with the same source text are no change."""
    if (left.get("computed"), _plain(left)) != (right.get("computed"), _plain(right)):
        yield OptionChange(name, key, "default", _said(left), _said(right))
    for part in _PARTS[1:]:
        before, after = left.get(part), right.get(part)
        if before != after:
            yield OptionChange(name, key, part, _present(before), _present(after))


def _plain(entry: Mapping[str, Any]) -> str:
    """Default, fact and API default as one text, in which 1, 1.0 and true differ."""
    return json.dumps([entry.get(part, "\0") for part in ("default", "value", "unset")], sort_keys=True)


def _present(value: Sequence[str] | str | None) -> Value:
    return ABSENT if value is None else value
