"""Every rule there is, by code, and by what it judges.

- The families are literal tuples in their own modules; the order here is the order of the documentation.
- Codes are for ever: a retired code is never given to another rule.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc
from governance.tiers.rules import (
    base,
    engine,
    environment,
    host,
    output,
    precision,
    prompts,
    sampling,
    service,
)
from governance.tiers.rules.model import Rule, Tier

_FAMILIES: Final = (base, precision, engine, host, sampling, prompts, output, service, environment)

TIERS: Final[tuple[Tier, ...]] = ("base", "sampling", "prompts", "service", "binding", "settings")
RULES: Final[dict[str, Rule]] = {
    rule.code: rule for rule in sorted((r for f in _FAMILIES for r in f.RULES), key=lambda rule: rule.code)
}
BY_TIER: Final[dict[Tier, tuple[Rule, ...]]] = {
    tier: tuple(rule for rule in RULES.values() if tier in rule.applies) for tier in TIERS
}

# What `import` says about a source that is not ours; these judge no governed file.
IMPORT_CODES: Final[dict[str, CodeDoc]] = {
    "TL090": CodeDoc(
        "import-unreadable",
        "A source given to `import` cannot be read as what it looks like.",
        "What it says would be missing from the tier files without a word.",
        "Mend the source at the place named, or give the launch command itself.",
    ),
    "TL290": CodeDoc(
        "import-unknown-option",
        "A launch that is imported has an option that the engine's option table does not have.",
        "Its effect is not known, so it cannot be carried over with a meaning.",
        "Correct the option or the engine version, or write it under `engine.extra` once it is known.",
    ),
}
