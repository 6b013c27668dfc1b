"""Where findings stand: positions and excerpts for what rules saw, and what nobody can see in a text (TL40x).

- No excerpt holds a secret: a line in which one is found is not shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from governance.records import replace
from governance.tiers.config import Config
from governance.tiers.reader import Reading
from governance.tiers.rules.model import Hit, Rule
from governance.values import Json, KeyPath, key_text
from governance.verdict import Finding, Severity

# The escapes that every text has. Replacing them is ten times faster than an expression that looks behind.
_COMMON_ESCAPES: Final = ("\\\\", "\\n", '\\"')


def located(
    reading: Reading,
    code: str,
    message: str,
    path: KeyPath,
    *,
    hint: str = "",
    on_key: bool = False,
    severity: Severity = Severity.ERROR,
) -> Finding:
    """`finding_at`, without composing the file where the place can be told from its layout."""
    from governance.tiers.faults import excerpt_at
    from governance.tiers.locate import quick_place
    from governance.tiers.reader import finding_at

    on_key = on_key or isinstance(_value_at(reading.tree, path), dict)
    place = quick_place(reading.text, path, on_key=on_key) if reading.first_line == 1 else None
    if place is None:
        return finding_at(reading, code, message, path, hint=hint, on_key=on_key, severity=severity)
    excerpt, width = excerpt_at(reading.text, place.start, max(1, place.end - place.start))
    return Finding(
        code, message, severity, reading.path, place.line, place.column, key_text(path), hint, excerpt, width
    )


def _value_at(tree: Json, path: KeyPath) -> Json:
    for step in path:
        if isinstance(tree, dict) and isinstance(step, str):
            tree = tree.get(step)
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return None
    return tree


def placed(rule: Rule, hit: Hit, reading: Reading, config: Config | None, severity: Severity) -> Finding:
    """A finding in a referenced file, with its excerpt, or at a line and column of the config itself."""
    place = hit.place
    assert place is not None
    path = reading.path if config is None or not place.file else f"{config.id.folder}{place.file}"
    excerpt, width = "", place.width
    if place.file and config is not None and place.line:
        lines = config.file(place.file).decode("utf-8", "replace").split("\n")
        excerpt = lines[place.line - 1][:200] if place.line <= len(lines) else ""
    if rule.code == "TL906":
        excerpt, width = "", 0
    return Finding(
        rule.code,
        hit.message,
        severity,
        path,
        place.line,
        place.column,
        key_text(hit.key),
        hit.hint,
        excerpt,
        width,
    )


def odd_text(config: Config) -> Iterator[Finding]:
    """What nobody can see in the texts of a config and in the files it names (TL40x)."""
    text = config.reading.text
    if not text.isascii() or "\t" in text or ("\\" in text and _has_odd_escape(text)):
        from governance.tiers.text import scan_reading

        yield from scan_reading(config.reading)
    for name, data in config.files.items():
        path = f"configs/{config.id.tier}/{name}"
        if not name.endswith((".json", ".jsonl")):
            content = data.decode("utf-8", "replace")
            if not (content.isascii() and content.replace("\n", "").isprintable()):
                from governance.tiers.text import scan_text

                yield from scan_text(content, path)
        elif not data.isascii() or b"\\u" in data or b"\\t" in data:
            yield from _odd_json(data, path)


def _has_odd_escape(text: str) -> bool:
    for escape in _COMMON_ESCAPES:
        text = text.replace(escape, "")
    return "\\" in text


def _odd_json(data: bytes, path: str) -> Iterator[Finding]:
    from governance.tiers.reader import read_json, read_jsonl
    from governance.tiers.text import scan_reading

    readings = read_jsonl(data, path) if path.endswith(".jsonl") else (read_json(data, path),)
    for reading in readings:
        if reading.tree is not None:
            yield from scan_reading(reading)


def clean(finding: Finding) -> Finding:
    """`finding` without a secret in its excerpt."""
    if not finding.excerpt:
        return finding
    if finding.code in {"TL905", "TL907"}:
        return replace(finding, excerpt="", width=0)
    from governance.tiers.secrets import find_secrets

    return replace(finding, excerpt="", width=0) if find_secrets(finding.excerpt) else finding
