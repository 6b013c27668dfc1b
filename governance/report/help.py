"""What a rule code means, for formats that carry the help of a rule with its results.

The catalogues are the whole truth: what the reader refuses, what the schema refuses, what rules see, what is
wrong with exemptions, what an import meets, what a capture notices.
"""

from __future__ import annotations

from governance.report.sarif import Help


def describe(code: str) -> Help | None:
    """The help of the rule `code`; None for a code that no catalogue describes."""
    from governance.fingerprint.notices import NOTICES
    from governance.tiers import exemptions, reader_codes, schema_codes
    from governance.tiers.rules.catalogue import IMPORT_CODES, RULES

    tables = (reader_codes.CODES, schema_codes.CODES, exemptions.CODES, IMPORT_CODES)
    known = next((table[code] for table in tables if code in table), None) or NOTICES.get(code)
    if known is not None:
        return Help(known.name, known.what, known.why, known.fix)
    rule = RULES.get(code)
    return None if rule is None else Help(rule.name, rule.what, rule.why, rule.fix)
