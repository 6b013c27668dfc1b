"""How long ago a release last passed its smoke suite, and whether that is too long."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from governance.release.restorable.model import Subject
from governance.review import strict
from governance.values import Unknown
from governance.verdict import Check, Outcome

NAME: Final = "age"
MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86400


def check_age(subject: Subject) -> Check:
    """The check `age` of one release: block above `release.golden_max_age_days`, undecided without a run."""
    if isinstance(subject.spoken, Unknown):
        return Check(NAME, Outcome.UNDECIDED, subject.spoken.reason)
    last = subject.spoken.last_smoke()
    if last is None:
        return Check(NAME, Outcome.UNDECIDED, "no smoke run of this release has passed")
    ended = last.evidence.ended_at
    try:
        seconds = (subject.now - strict.time_of(ended, "ended_at")).total_seconds()
    except ValueError as err:
        return Check(NAME, Outcome.UNDECIDED, f"{last.path}: {err}")
    if seconds < -HOUR:
        return Check(NAME, Outcome.UNDECIDED, f"the last smoke run ended at {ended}: a clock is wrong")
    told = f"the last smoke run that passed ended {ago(seconds)} ago"
    limit = subject.policy.max_age_days
    if limit and seconds > limit * DAY:
        return Check(NAME, Outcome.BLOCK, f"{told}, more than the {limit} days of golden_max_age_days")
    return Check(NAME, Outcome.PASS, told if limit else f"{told}; no limit is set")


def ago(seconds: float) -> str:
    """A span as people say it: `6 h`, `12 days`."""
    whole = max(0, int(seconds))
    if whole < 2 * HOUR:
        return f"{whole // MINUTE} min"
    return f"{whole // HOUR} h" if whole < 2 * DAY else f"{whole // DAY} days"


def since(moment: str, now: datetime) -> str:
    """The span from a time as records write it until `now`."""
    return ago((now - strict.time_of(moment, "time")).total_seconds())
