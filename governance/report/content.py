"""What of a report is kept back: secrets always, text of prompts and answers until somebody asks.

- No format and no option shows a secret: what looks like one is replaced in every value, text and sentence.

- A finding in a file of the prompts tier loses its excerpt, unless the excerpt is only a key and a short
  structured value; position, message and hint stay.
- A change of the prompts tier loses its word diff, and its free text is told by length and digest.
- An answer is told by length and digest, be it a single word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from governance.records import replace
from governance.values import Json, Value
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
ANSWERS = "answers"
"""The layer of what a server answered, in `Change.layer`."""

_TEXT_LAYERS = ("prompts", "file")
_SHORT = 40


def without_secrets(report: Report) -> Report:
    """`report` with whatever looks like a secret replaced. `check` has cleaned its findings itself."""
    if not (report.changes or report.values or report.notes):
        return report
    from governance.tiers.secrets import redact

    return replace(
        report,
        changes=tuple(_redacted_change(change, redact) for change in report.changes),
        values=tuple(
            replace(value, value=_redacted(value.value, redact), source=_redacted(value.source, redact))
            for value in report.values
        ),
        notes=tuple(redact(note) for note in report.notes),
    )


def _redacted_change(change: Change, redact: Callable[[str], str]) -> Change:
    before, after = _redacted(change.before, redact), _redacted(change.after, redact)
    return replace(change, before=before, after=after, text=tuple(redact(line) for line in change.text))


def _redacted(value: Value, redact: Callable[[str], str]) -> Value:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: cast("Json", _redacted(item, redact)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cast("Json", _redacted(item, redact)) for item in value]
    return value


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
    if change.layer == ANSWERS:
        return replace(change, before=_counted(change.before), after=_counted(change.after), text=())
    if change.layer.partition("/")[0] not in _TEXT_LAYERS and not change.path.startswith(_PROMPTS):
        return change
    return replace(change, before=_told(change.before), after=_told(change.after), text=())


def _told(value: Value) -> Value:
    """`value`, or how long it is and what it hashes to when it is free text; a digest is no text."""
    if not isinstance(value, str) or (" " not in value and "\n" not in value):
        return value
    return _counted(value)


def _counted(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    from hashlib import sha256  # OpenSSL is 3 ms that most reports need not pay

    return f"{len(value)} characters, {sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
