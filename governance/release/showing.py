"""Releases as reports: the list of them, one of them, and whether they are true.

- A record that cannot be read is a check of its own in the list: the others are shown all the same.
- Showing believes the record as far as its own digest goes; `verify` recomputes it.
- Pure but for the source and the place that are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from governance.adapters.files import FileSource
from governance.errors import NewerFormat, Unreadable
from governance.release import record as records
from governance.release.cutting import layer_states
from governance.release.record import EvidenceRef, Record
from governance.release.sides import Place
from governance.release.verifying import verify_at
from governance.values import Json, Unknown
from governance.verdict import Check, Outcome, Report, decide

Advance = Callable[[int, int], None]

_ROW: Final = "  {:<6} {:<14} {:<21} {:<14} {}"


def listed(source: FileSource, services: Sequence[str]) -> Report:
    """Every release of `services`, newest first."""
    checks: list[Check] = []
    notes: list[str] = []
    facts: list[Json] = []
    for service in services:
        found = []
        for name in reversed(records.ids(source, service)):
            try:
                found.append(records.load_at(source, service, name))
            except (NewerFormat, Unreadable) as err:
                checks.append(Check(f"{service}@{name}", Outcome.UNDECIDED, err.message))
        facts += [fact(record) for record in found]
        if found:
            notes += [f"{service}", _ROW.format("", "fingerprint", "cut at", "commit", "").rstrip()]
            marks = _marks(source, service)
            notes += [_row(record, marks(record)) for record in found]
    count = f"{len(facts)} release{'s' * (len(facts) != 1)}"
    told = count if facts or checks else "no release was cut yet"
    checks.insert(0, Check("releases", Outcome.PASS, "" if facts else told))
    broken = f", {len(checks) - 1} cannot be read" if len(checks) > 1 else ""
    first = f" {services[0]}" if len(services) == 1 else ""
    return Report("release list", checks=tuple(checks), notes=tuple(notes), summary=told + broken,
                  next="" if facts else f"tierlock release cut{first or ' SERVICE'}",
                  run={"releases": facts})  # fmt: skip


def shown(record: Record) -> Report:
    """One release in full."""
    after = f" after {record.parent}" if record.parent else ""
    commit = f"commit {record.commit[:12]}{after}"
    return Report(
        "release show",
        title=f"{record.service}   {record.id} {record.fingerprint[:12]}   {record.created_at}, {commit}",
        checks=(Check("record", Outcome.PASS, "whole and unaltered"),),
        layers=layer_states(record.layers),
        notes=tuple(_said(record)),
        summary=f"{record.label} is {record.fingerprint[:12]}",
        next=f"tierlock release verify {record.service} {record.id}",
        generated_at=record.created_at,
        run={"record": records.tree_of(records.dump(record))},
    )


def verified(place: Place, service: str, release: str, source: FileSource | None = None) -> Report:
    """Whether one release is true, check by check. Raises `Usage` when there is no such release."""
    record, checks = verify_at(place, service, release, source=source)
    outcome = decide(checks)
    label = f"{service}@{release}"
    first = next((check for check in checks if check.outcome is outcome), None)
    told = {
        Outcome.PASS: f"{label} is what its commit {record.commit[:12] if record else ''} gives",
        Outcome.BLOCK: f"{label} is not true: {first.detail if first else ''}",
        Outcome.UNDECIDED: f"{label} cannot be judged: {first.detail if first else ''}",
    }[outcome]
    return Report(
        "release verify",
        title=f"{service}   {release}" + (f" {record.fingerprint[:12]}" if record else ""),
        checks=checks,
        layers=() if record is None else layer_states(record.layers),
        summary=told,
        run={"service": service, "release": release,
             "fingerprint": None if record is None else record.fingerprint},
    )  # fmt: skip


def all_verified(place: Place, source: FileSource, services: Sequence[str], advance: Advance) -> Report:
    """Whether every release of `services` is true: one check for each."""
    wanted = [(service, name) for service in services for name in records.ids(source, service)]
    checks = []
    for done, (service, name) in enumerate(wanted):
        advance(done, len(wanted))
        _, found = verify_at(place, service, name, source=source)
        outcome = decide(found)
        bad = next((one for one in found if one.outcome is outcome and outcome is not Outcome.PASS), None)
        told = f"{bad.name}: {bad.detail}" if bad else f"{len(found)} checks"
        checks.append(Check(f"{service}@{name}", outcome, told))
    wrong = [one for one in checks if one.outcome is not Outcome.PASS]
    told = f"{len(checks)} release{'s' * (len(checks) != 1)} verified"
    if wrong:
        told = f"{len(wrong)} of {len(checks)} releases do not verify"
    if not checks:
        checks, told = (
            [Check("releases", Outcome.UNDECIDED, "there is none")],
            "there is no release to verify",
        )
    first = wrong[0].name.replace("@", " ") if wrong else ""
    return Report("release verify", checks=tuple(checks), summary=told,
                  next=f"tierlock release verify {first}" if first else "")  # fmt: skip


def fact(record: Record) -> dict[str, Json]:
    """What a list says of one release, for machines."""
    return {
        "service": record.service,
        "id": record.id,
        "created_at": record.created_at,
        "commit": record.commit,
        "parent": record.parent or None,
        "fingerprint": record.fingerprint,
        "evidence": {one.kind: one.outcome.value for one in record.evidence},
        "approvals": len(record.approvals),
        "unknown": [name for name, value in record.layers.items() if isinstance(value, Unknown)],
        "restores": record.restores or None,
        "rejected": record.rejected or None,
        "path": record.path,
    }


def evidence_text(one: EvidenceRef) -> str:
    """`smoke 39 of 40 right`."""
    short = f" ({one.answered} of {one.items} answered)" if one.answered != one.items else ""
    return f"{one.kind} {one.passed} of {one.scored} right{short}"


def _marks(source: FileSource, service: str) -> Callable[[Record], list[str]]:
    """What golden pointer and holds say of a release. A file that cannot be read says so for each."""
    from governance.release.golden import read_golden
    from governance.release.holds import read_holds

    try:
        current = read_golden(source, service).current
        held = {one.fingerprint for one in read_holds(source, service).standing}
    except (NewerFormat, Unreadable) as err:
        why = err.message
        return lambda _: [why]

    def marks(record: Record) -> list[str]:
        golden = current is not None and current.release == record.id
        revoked = golden and current is not None and current.revoked is not None
        words = ["golden, revoked" if revoked else "golden"] if golden else []
        return words + (["held"] if record.fingerprint in held else [])

    return marks


def _row(record: Record, marks: list[str]) -> str:
    said = [*marks, *(evidence_text(one) for one in record.evidence)]
    if record.restores:
        said.insert(len(marks), f"back to {record.restores}")
    if record.overrides:
        said.append(f"accepted without {', '.join(one.check for one in record.overrides)}")
    created = record.created_at.replace("T", " ").removesuffix("Z")
    return _ROW.format(
        record.id, record.fingerprint[:12], created, record.commit[:12], " · ".join(said)
    ).rstrip()


def _said(record: Record) -> Iterator[str]:
    """Everything about one release that is no layer, a line each."""
    bound = " · ".join(f"{tier}/{name}" for tier, name in record.bindings.items())
    yield _line("binds", bound)
    if record.engine[0]:
        yield _line("engine", f"{record.engine[0]} {record.engine[1]}".rstrip())
    if record.image:
        yield _line("image", record.image)
    if record.driver:
        yield _line("deploy", record.driver)
    for one in record.evidence:
        yield _line(
            "evidence", f"{evidence_text(one)}   suite {one.suite} {one.suite_digest[:12]}   {one.path}"
        )
    for approval in record.approvals:
        marks = ", ".join(
            word for word, on in (("emergency", approval.emergency), ("late", approval.late)) if on
        )
        subject = approval.subject.partition(":")[2]
        yield _line("approval", f"{subject} by {approval.person}" + (f" ({marks})" if marks else ""))
    for override in record.overrides:
        yield _line("accepted", f"without {override.check}, by {override.by}: {override.reason}")
    if record.restores:
        held = f", holds {record.rejected[:12]} back" if record.rejected else ""
        yield _line("rollback", f"back to {record.restores}{held}")
    if record.reason:
        yield _line("reason", record.reason)
    yield _line("cut by", f"{record.actor} with {record.tool}")


def _line(head: str, text: str) -> str:
    return f"  {head:<10} {text}"
