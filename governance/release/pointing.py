"""Moving the golden pointer: what a release must show to become golden, and taking the status away.

- Its record verifies, no hold stands on its fingerprint, its image has a digest, and the newest smoke run
  that speaks for it passes. The newest full run, where there is one, must not fail.
- A release that a person revoked does not come back by a run that passes: `revoked` has to be set aside, with
  a reason that is kept in the entry, as for every other check of `ACCEPTABLE`.
- A release that is golden on the same evidence already is not set twice: nothing is written.
- Nothing is written here: the report and the file are handed back, the file only when the report passes.
- Time and person are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from governance.adapters.files import FileSource, WorkTree
from governance.errors import TierlockError, Usage
from governance.evals.evidence import Filed
from governance.release import golden as pointers
from governance.release import record as records
from governance.release.deploy.target import CONTAINED
from governance.release.drill import overridden, overrides
from governance.release.golden import Entry, Golden, Revocation
from governance.release.holds import check_hold
from governance.release.record import Record
from governance.release.restorable.image import pin_fault
from governance.release.sides import Place
from governance.release.standing import SMOKE, Spoken, proof_of, spoken_for
from governance.release.verifying import verify_at
from governance.review import strict
from governance.verdict import Check, Outcome, Report, decide

ACCEPTABLE: Final = ("image", "effective", "full", "revoked")
"""Checks that a person may set aside; the others say whether there is anything to go back to."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Who, when and why; `accepted` are checks set aside, name to reason."""

    by: str
    at: str
    reason: str = ""
    accepted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """The report, and the file to write by its path; none: nothing to write."""

    report: Report
    files: Mapping[str, bytes] = field(default_factory=dict)


def set_golden(place: Place, service: str, release: str, terms: Terms) -> Done:
    """What making `release` the golden one of `service` gives.

    Raises `Usage` for a release that is not there and for a check that cannot be accepted, `Unreadable` when
    the pointer itself cannot be read.
    """
    _refuse(terms.accepted)
    held = WorkTree(place.root)
    before = pointers.read_golden(held, service)
    record, verified = verify_at(place, service, release, source=held)
    if record is None:
        return Done(_report(service, release, verified, f"{service}@{release} cannot be golden"))
    spoken, told = _spoken(held, record)
    judged = (
        *_folded(verified, record),
        check_hold(held, service, record.fingerprint),
        _image(record),
        *told,
        *_before(before, record, spoken),
    )
    checks = overridden(judged, {k: v for k, v in terms.accepted.items() if k in _names(judged)}, by=terms.by)
    if decide(checks) is not Outcome.PASS:
        return Done(_refused(record, checks))
    entry = _entry(record, held, spoken, judged, terms)
    if before.current is not None and _is_same(before.current, entry):
        told_same = f"{entry.label} is golden since {before.current.set_at}: nothing to write"
        return Done(_report(service, release, (*checks, Check("golden", Outcome.PASS, told_same)), told_same))
    after = pointers.pointed(before, entry)
    return Done(_set(record, checks, before), {after.path: pointers.dump(after)})


def revoke_golden(place: Place, service: str, release: str, terms: Terms) -> Done:
    """What taking the status from `release` (empty: the current one) gives. Raises `Usage` when there is
    nothing to take, or no reason.
    """
    if fault := strict.reason_fault(terms.reason):
        raise Usage(f"the reason cannot be one: {fault}", hint='--reason "what it does wrong"')
    before = pointers.read_golden(WorkTree(place.root), service)
    if before.current is None:
        raise Usage(f"`{service}` has no golden release", hint=f"tierlock golden set {service} RELEASE")
    named = release or before.current.release
    after = pointers.revoked(before, named, Revocation(terms.at, terms.by, terms.reason))
    was = before.entry(named)
    assert was is not None
    left = next(iter(after.earlier), None)
    told = f"{was.label} is golden no more"
    return Done(
        Report(
            "golden revoke",
            title=f"{service}   {was.label}",
            checks=(Check("revoked", Outcome.PASS, f"by {terms.by}: {terms.reason}"),),
            summary=told if left or named != before.current.release else f"{told}; no other is left",
            next=f"tierlock golden set {service} {left.release if left else 'RELEASE'}",
            run={"service": service, "release": named, "fingerprint": was.fingerprint},
        ),
        {after.path: pointers.dump(after)},
    )


def _refuse(accepted: Mapping[str, str]) -> None:
    for name, reason in accepted.items():
        if name not in ACCEPTABLE:
            raise Usage(
                f"`{name}` cannot be accepted",
                hint=f"these can be: {', '.join(ACCEPTABLE)}, each with a reason",
            )
        if fault := strict.reason_fault(reason):
            raise Usage(f"the reason to accept `{name}` is none: {fault}", hint=f'--accept {name}="why"')


def _names(checks: Sequence[Check]) -> set[str]:
    return {check.name for check in checks}


def _folded(verified: Sequence[Check], record: Record) -> Iterator[Check]:
    """The verification in one line, and what of it does not pass."""
    open_ = [check for check in verified if check.outcome is not Outcome.PASS]
    yield from open_
    if not open_:
        told = f"unaltered, and its fingerprint recomputed from {record.commit[:12]} is the one recorded"
        yield Check("record", Outcome.PASS, told)


def _image(record: Record) -> Check:
    """Whether the release could be started again with the image it had: by digest, never by tag."""
    if record.image:
        fault = pin_fault(record.image) if record.driver in CONTAINED else None
        return fault or Check("image", Outcome.PASS, record.image)
    if record.driver in CONTAINED:
        told = f"the base config names none, and the {record.driver} driver starts one"
        return Check("image", Outcome.BLOCK, told)
    return Check("image", Outcome.PASS, "none: nothing of this release comes out of an image")


def _spoken(held: FileSource, record: Record) -> tuple[Spoken, tuple[Check, ...]]:
    try:
        spoken = spoken_for(held, record)
    except TierlockError as err:
        return Spoken(), (Check(SMOKE, Outcome.UNDECIDED, err.message),)
    full = spoken.newest("full")
    checks = [_ran(record, spoken, SMOKE, spoken.newest(SMOKE))]
    return spoken, (*checks, *((_ran(record, spoken, "full", full),) if full is not None else ()))


def _ran(record: Record, spoken: Spoken, kind: str, newest: Filed | None) -> Check:
    if newest is None:
        aside = next((f": {filed.path}: {why}" for filed, why in reversed(spoken.aside)
                      if filed.evidence.kind == kind), "")  # fmt: skip
        told = f"no {kind} run that decided anything speaks for {record.fingerprint[:12]}{aside}"
        return Check(kind, Outcome.UNDECIDED, told)
    one = newest.evidence
    if one.outcome is Outcome.BLOCK:
        fault = next((check.detail for check in one.checks if check.outcome is Outcome.BLOCK), "it fails")
        return Check(kind, Outcome.BLOCK, f"the newest run ended {one.ended_at} and fails: {fault}")
    read = "" if one.compared is not None else "; the server was not read back"
    return Check(kind, Outcome.PASS, f"{one.passed} of {one.items} right, ended {one.ended_at}{read}")


def _before(golden: Golden, record: Record, spoken: Spoken) -> Iterator[Check]:
    """A release that was revoked: by a person it stays so, after a failing run a newer one has to pass."""
    entry = golden.entry(record.id)
    if entry is None or entry.revoked is None:
        return
    why = entry.revoked
    newest = spoken.newest(SMOKE)
    if why.evidence and newest is not None and newest.evidence.ended_at > why.at:
        return
    yield Check("revoked", Outcome.BLOCK, f"at {why.at} by {why.by}: {why.reason}")


def _entry(record: Record, held: FileSource, spoken: Spoken, judged: Sequence[Check], terms: Terms) -> Entry:
    newest = [one for one in (spoken.newest(SMOKE), spoken.newest("full")) if one is not None]
    return Entry(
        record.id,
        record.fingerprint,
        records.digest_of(held.read(record.path)),
        terms.at,
        terms.by,
        terms.reason,
        tuple(proof_of(one) for one in newest),
        overrides(judged, terms.accepted, by=terms.by),
    )


def _is_same(now: Entry, then: Entry) -> bool:
    return now.revoked is None and (now.release, now.record, now.evidence) == (
        then.release,
        then.record,
        then.evidence,
    )


def _set(record: Record, checks: tuple[Check, ...], before: Golden) -> Report:
    was = before.current
    follows = (
        f"; {was.release} stays within reach" if was and was.release != record.id and not was.revoked else ""
    )
    return _report(
        record.service, record.id, checks, f"{record.label} {record.fingerprint[:12]} is golden{follows}",
        then=f"tierlock golden drill {record.service}",
    )  # fmt: skip


def _refused(record: Record, checks: tuple[Check, ...]) -> Report:
    outcome = decide(checks)
    first = next(check for check in checks if check.outcome is outcome)
    nexts = {
        SMOKE: f"tierlock eval run {record.service} --suite smoke --record",
        "hold": f'tierlock release unhold {record.service} {record.fingerprint[:12]} --reason "…"',
        "image": "pin the image: name@sha256:… in the base config, then cut a new release",
        "revoked": f'tierlock golden set {record.service} {record.id} --accept revoked="why"',
    }
    then = nexts.get(first.name, f"tierlock release verify {record.service} {record.id}")
    told = f"{record.label} cannot be golden: {first.detail}"
    return _report(record.service, record.id, checks, told, then=then)


def _report(service: str, release: str, checks: tuple[Check, ...], summary: str, *, then: str = "") -> Report:
    return Report(
        "golden set",
        title=f"{service}   {release}",
        checks=checks,
        summary=summary,
        next=then,
        run={"service": service, "release": release},
    )
