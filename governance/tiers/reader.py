"""Bytes of a governed file in, a tree with marks or findings that block out: structured files are read here.

- Tier files: YAML 1.2, one document, UTF-8, LF (uniform CRLF reads as LF), no duplicate keys, anchors,
  tags, directives or interpolation; a scalar that YAML 1.1 and 1.2 readers read differently is refused
  with the fix.
- JSON and JSONL follow the same rules about keys, numbers and depth.
- A reading has a tree or a blocking finding, never both, never neither; it never raises on bad input.
- Two paths, one meaning: `plain` reads what people usually write, `exact` reads and words everything else.
- Pure: no file, no clock. What each code means is in `reader_codes.CODES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from governance.records import dataclass
from governance.tiers import decode as decoding
from governance.tiers import plain
from governance.tiers.decode import MAX_JSON_BYTES, MAX_JSONL_BYTES, MAX_TIER_BYTES
from governance.tiers.faults import MAX_FAULTS, Fault, excerpt_at, finding_of
from governance.tiers.marks import Marks, Places
from governance.values import Json, KeyPath, key_text
from governance.verdict import Finding, Severity

__all__ = [
    "MAX_JSONL_BYTES",
    "MAX_JSON_BYTES",
    "MAX_LINES",
    "MAX_TIER_BYTES",
    "Marks",
    "Reading",
    "finding_at",
    "read_foreign_yaml",
    "read_json",
    "read_jsonl",
    "read_yaml",
    "size_finding",
]


MAX_LINES: Final = 100_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One document: its tree (None when refused), the findings, and where everything stands.

    `text` is what was parsed (one line of it for JSONL, whose line number in the file is `first_line`).
    """

    tree: Json
    findings: tuple[Finding, ...]
    marks: Marks
    text: str
    path: str
    first_line: int = 1

    @property
    def refused(self) -> bool:
        return self.tree is None


def read_yaml(data: bytes, path: str) -> Reading:
    """The tier file `data`, read by the strict rules; `path` only names it in findings."""
    try:
        text = data.decode() if len(data) <= plain.MAX_TEXT else ""
    except UnicodeDecodeError:
        text = ""
    tree = plain.parse(text)
    if tree is not None:
        return Reading(tree, (), Marks(text, _yaml_places), text, path)
    return _read_exactly(data, path)


def _read_exactly(data: bytes, path: str) -> Reading:
    from governance.tiers import exact

    decoded = decoding.decode(data, limit=MAX_TIER_BYTES)
    faults = list(decoded.faults)
    if decoded.ok:
        faults += decoding.raw_faults(decoded.text)
    if _blocking(faults):
        return _reading(None, faults, decoded.text, path, _yaml_places)
    composed = exact.compose(decoded.text)
    faults += composed.faults
    if not _blocking(faults) and not isinstance(composed.tree, dict):
        faults.append(_no_mapping(composed.tree))
    return _reading(composed.tree, faults, decoded.text, path, lambda _: composed.places)


def read_json(data: bytes, path: str) -> Reading:
    """The JSON file `data`: any value but null at the top."""
    decoded = decoding.decode(data, limit=MAX_JSON_BYTES, crlf=False)
    if not decoded.ok:
        return _reading(None, decoded.faults, decoded.text, path, _json_places)
    return _json(decoded.text, decoded.faults, path, 1)


def read_jsonl(data: bytes, path: str) -> tuple[Reading, ...]:
    """One reading per line of `data`; an empty line is refused, the end of the last line is no line.

    After twenty refused lines the rest is not read: this is some other kind of file. Neither is what follows
    `MAX_LINES` lines, which is refused.
    """
    decoded = decoding.decode(data, limit=MAX_JSONL_BYTES)
    if not decoded.ok or not decoded.text:
        faults = decoded.faults or (_empty(),)
        return (_reading(None, faults, decoded.text, path, _json_places),)
    lines = decoded.text.split("\n")
    if not lines[-1]:
        lines.pop()
    notes: Iterable[Fault] = decoded.faults
    readings = []
    refused = 0
    for number, line in enumerate(lines, 1):
        if number > MAX_LINES:
            fault = Fault("TL016", f"more than {MAX_LINES:,} lines in one file", 0, 0, hint="split the file")
            readings.append(_reading(None, [fault], line, path, _json_places, number))
            break
        if line.strip():
            readings.append(_json(line, notes, path, number))
        else:
            fault = Fault("TL022", "the line is empty", 0, 0, hint="remove it")
            readings.append(_reading(None, [fault], line, path, _json_places, number))
        notes = ()
        refused += readings[-1].tree is None
        if refused >= MAX_FAULTS:
            break
    return tuple(readings)


def read_foreign_yaml(data: bytes, path: str) -> tuple[Reading, ...]:
    """Every document of a file that others wrote, for importing.

    Anchors, aliases and merge keys are resolved within limits, tags ignored, differences between YAML
    versions warned of. A file that cannot be read is one refused reading.
    """
    from governance.tiers import foreign

    decoded = decoding.decode(data, limit=MAX_JSON_BYTES)
    faults = [f for f in decoded.faults if f.code != "TL003"]
    if not decoded.ok and _blocking(faults):
        return (_reading(None, faults, decoded.text, path, _yaml_places),)
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    return tuple(
        _reading(document.tree, [*faults, *document.faults], text, path, _given(document.places))
        for document in foreign.documents(text)
    )


def finding_at(
    reading: Reading,
    code: str,
    message: str,
    path: KeyPath,
    *,
    hint: str = "",
    on_key: bool = False,
    severity: Severity = Severity.ERROR,
) -> Finding:
    """The finding `code` about the value (with `on_key`, the key) at `path`, with its place and source line.

    Where the file has no such thing, the nearest enclosing key that stands in it is marked.
    """
    place = reading.marks.nearest(path, on_key=on_key)
    if place is None:
        return Finding(code, message, severity, reading.path, key=key_text(path), hint=hint)
    width = place.end - place.start
    if place.style in {"|", ">"}:
        width = len(reading.text[place.start : place.end].split("\n", 1)[0])
    excerpt, width = excerpt_at(reading.text, place.start, max(1, width))
    return Finding(
        code=code,
        message=message,
        severity=severity,
        path=reading.path,
        line=place.line + reading.first_line - 1,
        column=place.column,
        key=key_text(path),
        hint=hint,
        excerpt=excerpt,
        width=width,
    )


def size_finding(size: int, path: str, limit: int = MAX_TIER_BYTES) -> Finding | None:
    """The finding for a file too large to read, so that it need not be read; None when it is not."""
    return finding_of(decoding.too_large(size, limit), "", path) if size > limit else None


def _json(text: str, notes: Iterable[Fault], path: str, line: int) -> Reading:
    from governance.tiers import json_reader

    tree = json_reader.quick(text)
    if tree is not None:
        return _reading(tree, notes, text, path, _json_places, line)
    composed = json_reader.compose(text)
    faults = [*notes, *composed.faults]
    if composed.tree is None and not _blocking(faults):
        faults.append(_empty())
    return _reading(composed.tree, faults, text, path, _given(composed.places), line)


def _reading(
    tree: Json, faults: Iterable[Fault], text: str, path: str, places: Callable[[str], Places], line: int = 1
) -> Reading:
    findings = tuple(finding_of(fault, text, path, first_line=line) for fault in faults)
    kept = None if any(finding.blocks for finding in findings) else tree
    return Reading(kept, findings, Marks(text, places), text, path, line)


def _blocking(faults: Iterable[Fault]) -> bool:
    return any(fault.severity is Severity.ERROR for fault in faults)


def _given(places: Places) -> Callable[[str], Places]:
    return lambda _: places


def _yaml_places(text: str) -> Places:
    from governance.tiers import exact

    return exact.places(text)


def _json_places(text: str) -> Places:
    from governance.tiers import json_reader

    return json_reader.places(text)


def _no_mapping(tree: Json) -> Fault:
    if tree is None:
        return _empty()
    kind = "a list" if isinstance(tree, list) else "a single value"
    return Fault("TL020", f"the file is {kind}, not a mapping", 0, 0, hint="write `key: value` lines")


def _empty() -> Fault:
    return Fault("TL019", "the file holds no value", 0, 0, hint="write the config, or delete the file")
