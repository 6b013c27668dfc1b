"""What of a report is content: text of prompts and answers, shown only when somebody asks.

- A finding in a file of the prompts tier loses its excerpt, unless the excerpt is only a key and a short
  structured value; position, message and hint stay.
- A change of the prompts tier loses its word diff, and its free text is told by length and digest.
"""

from __future__ import annotations

from dataclasses import replace

from governance.values import Value
from governance.verdict import Change, Finding, Report

_PROMPTS = "configs/prompts/"
_TEXT_KEYS = (
    "system",
    "template",
    "few_shot",
    "chat_template",
    "tools",
    "text",
    "content",
    "input",
    "output",
)
_TEXT_LAYERS = ("prompts", "file")
_SHORT = 40


def hidden(report: Report) -> Report:
    """`report` without the text of prompts and answers, and a note that says how to see it."""
    changes = tuple(_change(change) for change in report.changes)
    texts = sum(
        bool(before.text) and not after.text for before, after in zip(report.changes, changes, strict=True)
    )
    note = "1 changed text is not shown" if texts == 1 else f"{texts} changed texts are not shown"
    return replace(
        report,
        findings=tuple(_finding(finding) for finding in report.findings),
        changes=changes,
        notes=(*report.notes, f"{note} (--show-content)") if texts else report.notes,
    )


def _finding(finding: Finding) -> Finding:
    if not finding.excerpt or not finding.path.startswith(_PROMPTS):
        return finding
    inside = finding.path.removeprefix(_PROMPTS)
    structured = "/" not in inside and not finding.key.startswith(_TEXT_KEYS)
    if structured and ":" in finding.excerpt and len(finding.excerpt.strip()) <= _SHORT:
        return finding
    return replace(finding, excerpt="", width=0)


def _change(change: Change) -> Change:
    if change.layer.partition("/")[0] not in _TEXT_LAYERS and not change.path.startswith(_PROMPTS):
        return change
    return replace(change, before=_told(change.before), after=_told(change.after), text=())


def _told(value: Value) -> Value:
    """`value`, or how long it is and what it hashes to when it is free text; a digest is no text."""
    if not isinstance(value, str) or (" " not in value and "\n" not in value):
        return value
    from hashlib import sha256  # OpenSSL is 3 ms that most reports need not pay

    return f"{len(value)} characters, {sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
