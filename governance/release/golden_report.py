"""The golden pointer as it stands by now: what is golden, whether it still is, whether it can be restored.

- `judge_entry` is the one place that says whether an entry may be gone back to: the record is the very file
  it was set for, nothing revoked it, no later run fails, and nothing holds its fingerprint.
- A pointer that cannot be read, or that points nowhere, is undecided: nobody knows what to go back to.
- Showing writes nothing: a status that a run took away is told as such, also where the file does not say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from governance.adapters.files import FileSource, WorkTree
from governance.errors import TierlockError, Unreadable
from governance.release import record as records
from governance.release.deploy.registry import load
from governance.release.drill import Drilled, check_deploy, drill, last, subject_of
from governance.release.golden import Entry, Golden, path_of, read_golden
from governance.release.holds import check_hold, read_holds, told
from governance.release.record import Record
from governance.release.restorable.age import since
from governance.release.restorable.model import Neighbours
from governance.release.sides import Place
from governance.release.standing import Standing, Status, spoken_for, standing_of
from governance.release.verifying import verify_at
from governance.verdict import Check, Outcome, Report, decide

NAME: Final = "golden"
_OUTCOMES: Final = {
    Status.GOLDEN: Outcome.PASS,
    Status.REVOKED: Outcome.BLOCK,
    Status.DOUBTED: Outcome.UNDECIDED,
}


def judge_entry(source: FileSource, service: str, entry: Entry, record: Record) -> Check:
    """The check `golden`: whether `entry` may be gone back to, `record` being the release it names."""
    try:
        if records.digest_of(source.read(record.path)) != entry.record:
            altered = f"`{record.path}` was altered since it was made golden at {entry.set_at}"
            return Check(NAME, Outcome.BLOCK, altered)
        held = check_hold(source, service, entry.fingerprint)
        found = standing_of(entry, spoken_for(source, record))
    except TierlockError as err:
        return Check(NAME, Outcome.UNDECIDED, err.message)
    if held.outcome is not Outcome.PASS:
        return Check(NAME, held.outcome, held.detail)
    if record.fingerprint != entry.fingerprint:
        return Check(
            NAME, Outcome.BLOCK, f"the pointer says {entry.label}, the record {record.fingerprint[:12]}"
        )
    return Check(NAME, _OUTCOMES[found.status], _status(entry, found))


def current(source: FileSource, service: str) -> Entry:
    """The entry that the pointer of `service` is at. Raises `Unreadable` when there is none."""
    golden = read_golden(source, service)
    if golden.current is None:
        raise Unreadable(
            f"`{service}` has no golden release: nothing says what to go back to",
            where=path_of(service),
            hint=f"tierlock golden set {service} RELEASE",
        )
    return golden.current


def show_golden(place: Place, service: str, *, now: datetime, notes_folder: Path | None = None) -> Report:
    """The golden release of `service`, what was golden before it, and what is held.

    `notes_folder` is where this clone keeps the note of its last drill. Raises as `read_golden`.
    """
    source = WorkTree(place.root)
    golden = read_golden(source, service)
    if golden.current is None:
        return Report(
            "golden show",
            checks=(Check(NAME, Outcome.UNDECIDED, f"{service} has no golden release"),),
            notes=tuple(_held(source, service)),
            summary=f"{service} has no golden release",
            next=f"tierlock golden set {service} RELEASE",
        )
    entry = golden.current
    check, record = _judged(source, service, entry)
    drilled = last(notes_folder) if notes_folder is not None else None
    return Report(
        "golden show",
        title=f"{service}   golden {entry.label}",
        checks=(check,),
        notes=(*_told(entry, record, drilled, now), *_earlier(source, golden), *_held(source, service)),
        summary=f"{service}: {entry.label} {'is golden' if check.outcome is Outcome.PASS else check.detail}",
        next=_next(golden, check),
        run={"service": service, "release": entry.release, "fingerprint": entry.fingerprint,
             "status": check.outcome.value, "earlier": [one.release for one in golden.earlier]},
    )  # fmt: skip


def drill_golden(
    place: Place, service: str, release: str, world: Neighbours, *, now: datetime
) -> tuple[Report, Drilled]:
    """Whether `release` (empty: the golden one) can be restored, and the note of it. Nothing is started.

    Raises `Usage` when there is no such release, `Unreadable` when nothing is golden.
    """
    source = WorkTree(place.root)
    golden = read_golden(source, service)
    entry = golden.entry(release) if release else current(source, service)
    named = entry.release if entry is not None else release
    record, verified = verify_at(place, service, named, source=source)
    checks = list(_brief(verified))
    if record is not None:
        checks += [judge_entry(source, service, entry, record)] if entry is not None else []
        checks += _drilled(record, place, world, now)
    outcome = decide(checks)
    fingerprint = record.fingerprint if record is not None else ""
    label = f"{named} {fingerprint[:12]}".strip()
    return Report(
        "golden drill",
        title=f"{service}   {'golden ' if entry is not None and entry == golden.current else ''}{label}",
        checks=tuple(checks),
        summary=_summary(service, label, checks),
        next="" if outcome is Outcome.PASS else _mend(service, named, checks),
        run={"service": service, "release": named, "fingerprint": fingerprint},
    ), Drilled(named, fingerprint, _stamp(now), outcome)  # fmt: skip


def _drilled(record: Record, place: Place, world: Neighbours, now: datetime) -> tuple[Check, ...]:
    try:
        subject = subject_of(record, place, now=now)
    except TierlockError as err:
        why = f"{err.message}; {err.hint}" if err.hint else err.message
        return (Check("configs", Outcome.UNDECIDED, why),)
    return (*drill(subject, world), check_deploy(subject, place, load))


def _brief(verified: tuple[Check, ...]) -> Iterator[Check]:
    """What of a verification does not pass; when all of it does, one line."""
    open_ = [check for check in verified if check.outcome is not Outcome.PASS]
    yield from open_ or [Check("record", Outcome.PASS, "unaltered; fingerprint recomputed = record")]


def _judged(source: FileSource, service: str, entry: Entry) -> tuple[Check, Record | None]:
    try:
        record = records.load_at(source, service, entry.release)
    except TierlockError as err:
        return Check(NAME, Outcome.BLOCK, err.message), None
    return judge_entry(source, service, entry, record), record


def _status(entry: Entry, found: Standing) -> str:
    if found.status is Status.GOLDEN:
        return f"since {entry.set_at} by {entry.by}"
    return found.reason + (
        f" ({found.evidence})" if found.evidence and found.evidence not in found.reason else ""
    )


def _told(entry: Entry, record: Record | None, drilled: Drilled | None, now: datetime) -> Iterator[str]:
    if entry.reason:
        yield f"  why        {entry.reason}"
    for proof in entry.evidence:
        yield f"  {proof.kind:<10} {proof.path}, ended {since(proof.ended_at, now)} ago"
    for one in entry.overrides:
        yield f"  accepted   {one.check} by {one.by}: {one.reason}"
    if record is not None:
        yield f"  commit     {record.commit[:12]}" + (f"   image {record.image}" if record.image else "")
    if drilled is None or drilled.fingerprint != entry.fingerprint:
        yield "  drill      not drilled from this clone: tierlock golden drill"
    else:
        proven = (
            "proven restorable" if drilled.outcome is Outcome.PASS else f"drilled: {drilled.outcome.value}"
        )
        yield f"  drill      {proven} {since(drilled.at, now)} ago"


def _earlier(source: FileSource, golden: Golden) -> Iterator[str]:
    for entry in golden.earlier:
        check, _ = _judged(source, golden.service, entry)
        state = "within reach" if check.outcome is Outcome.PASS else check.detail
        yield f"  before     {entry.label}  {entry.set_at}  {state}"


def _held(source: FileSource, service: str) -> Iterator[str]:
    return (f"  held       {told(one, service)}" for one in read_holds(source, service).standing)


def _next(golden: Golden, check: Check) -> str:
    if check.outcome is Outcome.PASS:
        return f"tierlock golden drill {golden.service}"
    former = next(iter(golden.earlier), None)
    return f"tierlock golden set {golden.service} {former.release if former else 'RELEASE'}"


def _summary(service: str, label: str, checks: list[Check]) -> str:
    outcome = decide(checks)
    if outcome is Outcome.PASS:
        return f"{service} can be restored to {label}"
    open_ = [check for check in checks if check.outcome is outcome]
    more = f" (and {len(open_) - 1} more)" if len(open_) > 1 else ""
    verb = "cannot be" if outcome is Outcome.BLOCK else "may not be"
    return f"{service} {verb} restored to {label}: {open_[0].name}: {open_[0].detail}{more}"


def _mend(service: str, release: str, checks: list[Check]) -> str:
    """The command for the first thing that is bad."""
    outcome = decide(checks)
    first = next(check.name for check in checks if check.outcome is outcome)
    commands = {
        "deploy": f"tierlock release show {service} {release}   (the deployment cannot start it)",
        "age": f"tierlock eval run {service} --suite smoke --record",
        NAME: f"tierlock golden show {service}",
        "advisories": f'tierlock rollback {service} --accept advisories="why"   (recorded with who and why)',
        "packages": f'tierlock rollback {service} --accept packages="why"   (recorded with who and why)',
        "image": f"tierlock release show {service} {release}   (push the image again by this digest)",
        "weights": f"tierlock release show {service} {release}   (bring the files back to this host)",
        "hardware": f"tierlock release show {service} {release}   (this host is of another class)",
    }
    return commands.get(first, f"tierlock release verify {service} {release}")


def _stamp(now: datetime) -> str:
    return now.isoformat().replace("+00:00", "Z")
