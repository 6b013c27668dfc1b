"""What releases can find, by code (TL6xx): TL601-TL619 records, TL620-TL639 golden, TL640-TL659 rollback.

- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {}
