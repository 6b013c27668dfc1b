"""What a rule code means, for formats that carry the help of a rule with its results.

The catalogues are the whole truth: what the reader and the schemas refuse, what rules, exemptions and imports
see, what a capture notices, what review, evals, releases and the monitor find.
"""

from __future__ import annotations

from governance.report.sarif import Help


def describe(code: str) -> Help | None:
    """The help of the rule `code`; None for a code that no catalogue describes."""
    from governance.evals.codes import CODES as EVALS
    from governance.fingerprint.notices import NOTICES
    from governance.monitor.codes import CODES as MONITOR
    from governance.release.codes import CODES as RELEASE
    from governance.review.codes import CODES as REVIEW
    from governance.tiers import exemptions, reader_codes, schema_codes
    from governance.tiers.rules.catalogue import IMPORT_CODES, RULES

    catalogues = (
        reader_codes.CODES,
        schema_codes.CODES,
        RULES,
        exemptions.CODES,
        IMPORT_CODES,
        NOTICES,
        REVIEW,
        RELEASE,
        EVALS,
        MONITOR,
    )
    for catalogue in catalogues:
        known = catalogue.get(code)
        if known is not None:
            return Help(known.name, known.what, known.why, known.fix)
    return None
