"""What evals can find, by code (TL7xx): TL701-TL719 suites and items, TL720-TL739 runs and comparisons.

- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {}
