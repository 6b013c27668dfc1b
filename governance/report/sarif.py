"""The report as SARIF 2.1.0, for code scanning.

- Every result has a location: GitHub rejects a whole upload in which one has none. What belongs to no
  file points at the first line of `tierlock.yaml`; a deletion points at line 1 of what was deleted.
- Every rule that has a result is described with its help; fingerprints do not depend on line numbers,
  so a result keeps its identity when the file grows above it.
- Exempted findings are results with an accepted suppression; `undecided` is an unsuccessful invocation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from governance.report.escape import plain, show
from governance.values import Effect
from governance.verdict import Change, Finding, Outcome, Report, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_NO_FILE = "tierlock.yaml"


@dataclass(frozen=True, slots=True)
class Help:
    """What a rule says about itself."""

    name: str
    what: str
    why: str = ""
    fix: str = ""


def no_help(code: str) -> Help | None:  # noqa: ARG001  the signature of a catalogue
    """The catalogue that knows nothing; every rule then describes itself by its code."""
    return None


def render(report: Report, describe: Callable[[str], Help | None] = no_help) -> str:
    """`report` as one SARIF run; `describe` gives the help of a rule code."""
    results = [_finding(finding) for finding in report.findings]
    results += [_change(change) for change in report.changes]
    codes = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = codes.index(result["ruleId"])
    _number(results)
    run = {
        "tool": {
            "driver": {
                "name": "tierlock",
                "version": str(report.run.get("version", "0")),
                "rules": [_rule(code, describe(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report)],
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _rule(code: str, known: Help | None) -> Mapping[str, Any]:
    help_ = known or Help(code, f"tierlock {code}")
    parts = [("What", help_.what), ("Why", help_.why), ("Fix", help_.fix)]
    told = [(head, body) for head, body in parts if body]
    return {
        "id": code,
        "name": help_.name,
        "shortDescription": {"text": help_.what},
        "fullDescription": {"text": " ".join(body for _, body in told)},
        "help": {
            "text": "\n\n".join(f"{head}: {body}" for head, body in told),
            "markdown": "\n\n".join(f"**{head}** {body}" for head, body in told),
        },
    }


def _finding(finding: Finding) -> dict[str, Any]:
    hint = f"\n{plain(finding.hint)}" if finding.hint else ""
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": plain(finding.message) + hint},
        "locations": [_location(finding.path, finding.line, finding.column, finding.width)],
        "partialFingerprints": _identity(finding.code, finding.path, finding.key, finding.message),
    }
    if finding.exempted:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": plain(finding.exempted)}
        ]
    return result


def _change(change: Change) -> dict[str, Any]:
    message = f"{change.layer} {change.key}: {show(change.before)} → {show(change.after)}"
    return {
        "ruleId": f"change/{change.layer}",
        "level": "note" if change.risk is Effect.NONE else "warning",
        "message": {"text": plain(message) + (f"\n{plain(change.effect)}" if change.effect else "")},
        "locations": [_location(change.path, change.line, change.column, 0)],
        "partialFingerprints": _identity(change.layer, change.path, change.key, message),
    }


def _location(path: str, line: int, column: int, width: int) -> Mapping[str, Any]:
    region = {"startLine": max(line, 1)}
    if line and column:
        region["startColumn"] = column
        region["endColumn"] = column + max(width, 1)
    uri = quote(_bytes(path or _NO_FILE))
    return {
        "physicalLocation": {"artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"}, "region": region}
    }


def _bytes(path: str) -> bytes:
    """The bytes of a file name; a name that no system gave is written with escapes."""
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "backslashreplace")


def _identity(*parts: str) -> dict[str, str]:
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return {"tierlock/v1": sha256(joined).hexdigest()[:32]}


def _number(results: Sequence[dict[str, Any]]) -> None:
    """Two equal results in one file are told apart by their number, as GitHub asks."""
    seen: dict[str, int] = {}
    for result in results:
        identity = result["partialFingerprints"]["tierlock/v1"]
        seen[identity] = seen.get(identity, 0) + 1
        result["partialFingerprints"]["tierlock/v1"] = f"{identity}:{seen[identity]}"


def _invocation(report: Report) -> Mapping[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": report.outcome is not Outcome.UNDECIDED,
        "exitCode": int(report.exit_code),
    }
    undecided = [check for check in report.checks if check.outcome is Outcome.UNDECIDED]
    notes = [
        {"level": "error", "message": {"text": plain(f"{check.name}: {check.detail}")}} for check in undecided
    ]
    if not report.checks:
        notes = [{"level": "error", "message": {"text": "nothing was checked"}}]
    if notes:
        invocation["toolExecutionNotifications"] = notes
    return invocation
