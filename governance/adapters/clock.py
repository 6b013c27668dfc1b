"""The clock: the one place that asks what time it is. Everything else is handed a time.

- Times are UTC. `SOURCE_DATE_EPOCH` is honoured, so that a recorded run can be made again byte for byte.
"""

from __future__ import annotations

import os
from datetime import UTC, date, datetime


def now() -> datetime:
    """The present moment in UTC, whole seconds."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdigit() else datetime.now(UTC)
    return moment.replace(microsecond=0)


def today() -> date:
    """The present day in UTC."""
    return now().date()


def stamp() -> str:
    """The present moment as `2026-11-30T09:00:00Z`."""
    return now().isoformat().replace("+00:00", "Z")
