"""Flaws of a tree as findings with line, column, source line and fix.

- Imported only when a file is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from governance.tiers.explain import Flaw, explain
from governance.tiers.reader import Reading, finding_at
from governance.verdict import Finding, sort_findings


def findings(kind: str, schema: Mapping[str, Any], reading: Reading) -> tuple[Finding, ...]:
    """Why `reading` is refused as a file of `kind`; never empty."""
    flaws = explain(kind, schema, reading.tree)
    if not flaws:
        # explain and the compiled schema are held together by laws in the tests; a gap must not pass a file
        return (Finding("TL100", "the file does not match the schema", path=reading.path),)
    return sort_findings(_finding(flaw, reading) for flaw in flaws)


def _finding(flaw: Flaw, reading: Reading) -> Finding:
    on_key = flaw.on_key or flaw.code == "TL107"  # a value that is not there has no place of its own
    finding = finding_at(reading, flaw.code, flaw.message, flaw.path, hint=flaw.hint, on_key=on_key)
    if flaw.secret:
        return replace(finding, excerpt="", width=0)
    if flaw.quote and finding.excerpt:
        written = finding.excerpt[finding.column - 1 : finding.column - 1 + finding.width]
        return replace(finding, hint=f'quote it: "{written}"')
    return finding
