"""What releases can find, by code (TL6xx): TL601-TL619 records, TL620-TL639 golden, TL640-TL659 rollback.

- Codes are for ever: a code is never given another meaning, a retired one is never reused.
"""

from __future__ import annotations

from typing import Final

from governance.tiers.reader_codes import CodeDoc

CODES: Final[dict[str, CodeDoc]] = {
    "TL601": CodeDoc(
        "release-uncommitted",
        "A governed file or a suite is edited, staged or untracked when a release is cut.",
        "A release is verified by recomputing it from its commit; what is in no commit cannot be restored.",
        "Commit the file, or take the edit back; then cut the release.",
    ),
    "TL602": CodeDoc(
        "capture-contradicts-config",
        "The captured host has another weight file, engine version or image than the base config declares.",
        "The release would say one thing and stand for another, and a rollback would restore neither.",
        "Correct the base config through review, or capture the host that really serves.",
    ),
}
