"""What a rule code means, for formats that carry the help of a rule with its results."""

from __future__ import annotations

from governance.report.sarif import Help


def describe(code: str) -> Help | None:
    """The help of the rule `code`; None for a code that no catalogue describes."""
    return None
