"""The report for programs: `tierlock.report/1`, one JSON object, the same keys in the same order every time.

- An unknown is `{"unknown": reason}`; an absent value leaves its key out; empty lists stay.
- `parse` reads what `render` wrote: the check cache and tests rely on `parse(render(r)) == r`.
- UTF-8 can carry the text: a lone surrogate (from a file name that is not UTF-8) stays an escape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from governance.errors import NewerFormat
from governance.report.escape import jsonable
from governance.values import ABSENT, Effect, Json, Unknown, Value
from governance.verdict import (
    REPORT_SCHEMA,
    Change,
    Check,
    EffectiveValue,
    Finding,
    LayerState,
    Outcome,
    Report,
    Severity,
)


def render(report: Report) -> str:
    """`report` as indented JSON that ends in one newline."""
    text = json.dumps(tree(report), ensure_ascii=False, indent=2, allow_nan=False)
    if not text.isascii():
        text = "".join(f"\\u{ord(c):04x}" if _must_escape(c) else c for c in text)
    return text + "\n"


def tree(report: Report) -> dict[str, Json]:
    """`report` as a JSON tree, keys in their documented order."""
    return {
        "schema": REPORT_SCHEMA,
        "command": report.command,
        "title": report.title,
        "outcome": report.outcome.value,
        "exit_code": int(report.exit_code),
        "checks": [{"name": c.name, "outcome": c.outcome.value, "detail": c.detail} for c in report.checks],
        "findings": [_finding(finding) for finding in report.findings],
        "layers": [_layer(layer) for layer in report.layers],
        "values": [_value(value) for value in report.values],
        "changes": [_change(change) for change in report.changes],
        "scores": [jsonable(score) for score in report.scores],
        "notes": list(report.notes),
        "summary": report.summary,
        "next": report.next,
        "generated_at": report.generated_at,
        "run": {key: jsonable(value) for key, value in report.run.items()},
    }


def _must_escape(char: str) -> bool:
    return "\ud800" <= char <= "\udfff" or char in "\u2028\u2029\x7f" or "\x80" <= char <= "\x9f"


def _finding(finding: Finding) -> Json:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "key": finding.key,
        "hint": finding.hint,
        "excerpt": finding.excerpt,
        "width": finding.width,
        "exempted": finding.exempted,
    }


def _layer(layer: LayerState) -> Json:
    sides = {"before": layer.before, "after": layer.after}
    shown = {name: jsonable(side) for name, side in sides.items() if side is not None}
    return {"name": layer.name, "state": layer.state, **shown, "detail": layer.detail}


def _value(value: EffectiveValue) -> Json:
    return {
        "key": value.key,
        **_present(value=value.value, source=value.source),
        "provenance": value.provenance,
        "risk": value.risk.value,
        "note": value.note,
    }


def _change(change: Change) -> Json:
    return {
        "layer": change.layer,
        "key": change.key,
        **_present(before=change.before, after=change.after),
        "before_from": change.before_from,
        "after_from": change.after_from,
        "risk": change.risk.value,
        "effect": change.effect,
        "path": change.path,
        "line": change.line,
        "column": change.column,
        "text": list(change.text),
    }


def _present(**values: Value) -> dict[str, Json]:
    return {name: jsonable(value) for name, value in values.items() if value is not ABSENT}


def parse(text: str) -> Report:
    """The report that `render` wrote as `text`. Raises `NewerFormat` for another schema."""
    data: dict[str, Any] = json.loads(text)
    if data.get("schema") != REPORT_SCHEMA:
        found = f"report schema `{data.get('schema')}` is not `{REPORT_SCHEMA}`"
        raise NewerFormat(found, hint="upgrade tierlock")
    return Report(
        command=data["command"],
        title=data["title"],
        checks=tuple(Check(c["name"], Outcome(c["outcome"]), c["detail"]) for c in data["checks"]),
        findings=tuple(Finding(**{**f, "severity": Severity(f["severity"])}) for f in data["findings"]),
        layers=tuple(_parse_layer(layer) for layer in data["layers"]),
        values=tuple(EffectiveValue(**_parse_values(v, "value", "source")) for v in data["values"]),
        changes=tuple(_parse_change(change) for change in data["changes"]),
        scores=tuple(data["scores"]),
        notes=tuple(data["notes"]),
        summary=data["summary"],
        next=data["next"],
        generated_at=data["generated_at"],
        run=data["run"],
    )


def _parse_change(data: Mapping[str, Any]) -> Change:
    return Change(**{**_parse_values(data, "before", "after"), "text": tuple(data["text"])})


def _parse_layer(data: Mapping[str, Any]) -> LayerState:
    sides = {name: _known(data[name]) for name in ("before", "after") if name in data}
    return LayerState(data["name"], data["state"], **sides, detail=data["detail"])


def _parse_values(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    values = {name: _known(data[name]) if name in data else ABSENT for name in names}
    return {**data, **values, "risk": Effect(data["risk"])}


def _known(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"unknown"}:
        return Unknown(value["unknown"])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return value
