"""The report as GitHub workflow commands: one annotation per line, whatever the text.

- `%` is escaped first; message and properties alike; properties also lose `:` and `,`.
- A verdict that is not `pass` is always said, so that a log without findings cannot look clean.
- Errors come first: GitHub shows ten annotations of a kind per step.
"""

from __future__ import annotations

from dataclasses import dataclass

from governance.report.escape import plain, show
from governance.values import Effect
from governance.verdict import Change, Finding, Outcome, Report, Severity

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_RANK = {"error": 0, "warning": 1, "notice": 2}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an annotation points; nowhere by default."""

    path: str = ""
    line: int = 0
    column: int = 0
    width: int = 0


def render(report: Report) -> str:
    """`report` as workflow commands, errors first, the verdict last."""
    lines = [_finding(finding) for finding in report.findings]
    lines += [_change(change) for change in report.changes]
    lines.sort(key=lambda line: _RANK[line[0]])
    return "".join(f"{line}\n" for _, line in [*lines, _verdict(report)])


def _finding(finding: Finding) -> tuple[str, str]:
    level = "notice" if finding.exempted else _LEVELS[finding.severity]
    reason = f"exempted: {finding.exempted}" if finding.exempted else ""
    message = "\n".join(part for part in (finding.message, finding.hint, reason) if part)
    place = Place(finding.path, finding.line, finding.column, finding.width)
    return level, _command(level, message, f"{finding.code} {finding.key}".rstrip(), place)


def _change(change: Change) -> tuple[str, str]:
    level = "notice" if change.risk is Effect.NONE else "warning"
    message = f"{show(change.before)} → {show(change.after)}"
    if change.effect:
        message += f"\n{change.effect}"
    place = Place(change.path, change.line, change.column)
    return level, _command(level, message, f"{change.layer} {change.key}", place)


def _verdict(report: Report) -> tuple[str, str]:
    level = {Outcome.PASS: "notice", Outcome.BLOCK: "error", Outcome.UNDECIDED: "error"}[report.outcome]
    reasons = [f"{c.name}: {c.detail}" for c in report.checks if c.outcome is not Outcome.PASS and c.detail]
    sentence = report.summary or "; ".join(reasons)
    message = f"{report.outcome.value}: {sentence}" if sentence else report.outcome.value
    if report.next:
        message += f"\nnext: {report.next}"
    return level, _command(level, message, f"tierlock {report.command}", Place())


def _command(level: str, message: str, title: str, place: Place) -> str:
    properties = {"file": place.path}
    if place.path and place.line:
        properties["line"] = str(place.line)
        if place.column:
            properties["col"] = str(place.column)
            properties["endColumn"] = str(place.column + max(place.width, 1))
    properties["title"] = title
    words = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
    return f"::{level} {words}::{_data(message)}"


def _data(text: str) -> str:
    lines = "\n".join(plain(line) for line in text.replace("\r\n", "\n").split("\n"))
    return lines.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(plain(text)).replace(":", "%3A").replace(",", "%2C")
