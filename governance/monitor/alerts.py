"""What the gate and its watcher tell: one line for the log, one JSON object for the alert command.

- `tierlock.alert/1`: the event, the service, what was expected, and every mismatch it is about, with the time
  it began and how long it has lasted.
- Pure: values in, text and trees out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from governance.monitor.ledger import Lasting
from governance.monitor.mismatch import duration
from governance.records import dataclass
from governance.values import Json

SCHEMA: Final = "tierlock.alert/1"
MOST: Final = 50
"""Mismatches in one alert: two hundred packages are one cause."""


class Event(Enum):
    """What happened."""

    REFUSED = "refused"  # nothing was started
    DEGRADED = "degraded"  # started all the same; readiness stays down
    MISMATCH = "mismatch"  # appeared while the server runs
    MENDED = "mended"  # gone again


@dataclass(frozen=True, slots=True)
class Subject:
    """Who speaks: the service, the release it is held against, the host."""

    service: str
    release: str
    fingerprint: str
    host: str


def alert(event: Event, subject: Subject, about: Iterable[Lasting], now: float) -> dict[str, Json]:
    """The alert as a JSON tree."""
    listed = tuple(about)
    return {
        "schema": SCHEMA,
        "event": event.value,
        "service": subject.service,
        "expected": {"release": subject.release, "fingerprint": subject.fingerprint},
        "host": subject.host,
        "at": stamp(now),
        "text": text(event, subject, listed, now),
        "count": len(listed),
        "mismatches": [row(one, now) for one in listed[:MOST]],
    }


def row(one: Lasting, now: float) -> dict[str, Json]:
    """One mismatch as it is told."""
    return {
        "code": one.code,
        "layer": one.layer,
        "key": one.key,
        "expected": one.expected,
        "found": one.found,
        "concerns": one.concerns,
        "text": one.text,
        "since": stamp(one.since),
        "seconds": round(max(0.0, now - one.since), 3),
        "for": duration(now - one.since),
    }


def text(event: Event, subject: Subject, about: tuple[Lasting, ...], now: float) -> str:
    """The alert in one sentence: who, what, for how long."""
    head, wanted = f"{subject.service} on {subject.host}", subject.release
    first = about[0].line(now, over=event is Event.MENDED) if about else ""
    more = f" and {len(about) - 1} more" if len(about) > 1 else ""
    words = {
        Event.REFUSED: f"was not started, it is not what {wanted} says: {first}{more}",
        Event.DEGRADED: f"was started and is not what {wanted} says, readiness is down: {first}{more}",
        Event.MISMATCH: f"is not what {wanted} says: {first}{more}",
        Event.MENDED: f"is mended: {first}{more}",
    }
    return f"{head} {words[event]}"


def lines(event: Event, subject: Subject, about: Iterable[Lasting], now: float) -> list[str]:
    """One line of the log for each."""
    over = event is Event.MENDED
    what = "is mended" if over else f"is not what {subject.release} says"
    return [f"{subject.service} {what}: {one.line(now, over=over)}" for one in about]


def stamp(seconds: float) -> str:
    """`2026-11-30T09:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
