"""A suite from its file: every item read and judged, one digest over what it asks and how it judges.

- A suite is `evals/<name>.jsonl`, one item a line. One bad item refuses the suite: a run without it would be
  another suite under the same name.
- The digest covers each item's question, overrides, repeats, task, scorer, arguments and reference, and the
  files of the user's own scorers. Order, layout, tags and difficulty change no digest.
- A suite without items cannot be run: nothing asked is no evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable
from governance.evals.items import as_mapping, read_item
from governance.evals.model import Item, Suite
from governance.evals.scorers.all_of import parts_of
from governance.evals.scorers.entry_point import PREFIX, Entry, defines, entry_of
from governance.tiers.canonical import digest, text_digest
from governance.tiers.naming import SUITES, suite_path
from governance.tiers.reader import Reading, finding_at, read_jsonl
from governance.values import Json
from governance.verdict import Finding, Severity, sort_findings

if TYPE_CHECKING:
    from governance.adapters.files import FileSource

SCHEME: Final = "tierlock.suite/1"
_LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_SILENT: Final = ("tags", "difficulty")


def name_of(path: str) -> str:
    """The name of the suite at `path`: `smoke` for `evals/smoke.jsonl`."""
    return path.rpartition("/")[2].removesuffix(".jsonl")


def load_suite(source: FileSource, name: str) -> Suite:
    """The suite `evals/<name>.jsonl` of `source`.

    Raises `Unreadable` with its first fault and how many there are; `tierlock check` shows them all.
    """
    path = suite_path(name)
    try:
        data = source.read(path)
    except Unreadable as err:
        hint = err.hint or _known(source)
        raise Unreadable(f"there is no suite `{name}`: {err.message}", where=path, hint=hint) from err
    suite, findings = read_suite(data, path, source)
    if suite is None:
        faults = [each for each in findings if each.blocks]
        first = faults[0]
        more = f" ({len(faults)} faults in all)" if len(faults) > 1 else ""
        where = f"{path}:{first.line}:{first.column}" if first.line else path
        message = f"the suite `{name}` cannot be used: {first.message}{more}"
        raise Unreadable(message, where=where, hint=f"tierlock check {path}")
    return suite


def read_suite(
    data: bytes, path: str, source: FileSource | None = None
) -> tuple[Suite | None, tuple[Finding, ...]]:
    """The suite in `data`, or None; and every finding. `path` names it.

    `source` is where the modules of the user's own scorers are looked for; without one their content is not
    in the digest.
    """
    if not data.strip():
        empty = Finding("TL702", "the suite has no items", path=path, hint="write one item a line")
        return None, (empty,)
    if data.startswith(_LFS_POINTER):
        hint = f"git lfs untrack {path}, then commit the file itself"
        return None, (
            Finding("TL714", "the file is a Git LFS pointer, not its content", path=path, hint=hint),
        )
    items: list[tuple[Item, Reading]] = []
    findings: list[Finding] = []
    for reading in read_jsonl(data, path):
        item, found = read_item(reading)
        findings += found
        if item is not None:
            items.append((item, reading))
    findings += _twice(items)
    modules, missing = _modules(items, source)
    findings += missing
    if any(each.blocks for each in findings):
        return None, sort_findings(findings)
    read = tuple(item for item, _ in items)
    return Suite(name_of(path), path, read, suite_digest(read, modules)), sort_findings(findings)


def suite_digest(items: Iterable[Item], modules: Mapping[str, str] | None = None) -> str:
    """The digest of what these items ask and how they judge; `modules` are digests of the user's scorers."""
    meant = {item.id: _meaning(item) for item in items}
    return digest({"scheme": SCHEME, "items": meant, "modules": dict(modules or {})})


def _meaning(item: Item) -> dict[str, Json]:
    return {key: value for key, value in as_mapping(item).items() if key not in _SILENT}


def _twice(items: list[tuple[Item, Reading]]) -> Iterator[Finding]:
    """Items with the id of another, and items that ask and judge what another does."""
    ids: dict[str, int] = {}
    asked: dict[str, Item] = {}
    for item, reading in items:
        if item.id in ids:
            message = f"the id `{item.id}` is taken by line {ids[item.id]}"
            yield finding_at(reading, "TL706", message, ("id",), hint="give it an id of its own")
            continue
        ids[item.id] = item.line
        meaning = digest({key: value for key, value in _meaning(item).items() if key != "id"})
        other = asked.setdefault(meaning, item)
        if other is not item:
            message = f"`{item.id}` asks what `{other.id}` asks in line {other.line}"
            hint = "remove one, or ask it several times with `repeats`"
            yield finding_at(reading, "TL707", message, (), hint=hint, severity=Severity.WARNING)


def _modules(
    items: list[tuple[Item, Reading]], source: FileSource | None
) -> tuple[dict[str, str], list[Finding]]:
    """The digests of the modules with the user's own scorers, by path; what is missing of them."""
    found: dict[str, str] = {}
    findings: list[Finding] = []
    if source is None:
        return found, findings
    contents: dict[str, tuple[str, bytes] | None] = {}
    for item, reading in items:
        for entry in _entries(item):
            if entry.module not in contents:
                contents[entry.module] = _source_of(entry, source)
            there = contents[entry.module]
            why = defines(there[1], entry.function) if there else "there is no such file"
            if there is not None:
                found[there[0]] = text_digest(there[1])
            if why:
                path = there[0] if there else entry.paths[0]
                message = f"`{path}` has no scorer `{entry.function}`: {why}"
                findings.append(finding_at(reading, "TL713", message, ("scorer",), hint=f"add it to {path}"))
    return found, findings


def _entries(item: Item) -> Iterator[Entry]:
    for part in parts_of(item) if item.scorer == "all-of" else (item,):
        if part.scorer.startswith(PREFIX) and (entry := entry_of(part.scorer)) is not None:
            yield entry


def _source_of(entry: Entry, source: FileSource) -> tuple[str, bytes] | None:
    for path in entry.paths:
        if source.entries(path):
            return path, source.read(path)
    return None


def _known(source: FileSource) -> str:
    names = [name_of(each.path) for each in source.entries(SUITES) if each.path.endswith(".jsonl")]
    return f"the suites here are: {', '.join(names)}" if names else "add it, one item a line"
