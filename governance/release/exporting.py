"""Exports of a release: which bytes, and what is said of them. Nothing untrue is exported.

- A release whose verification blocks is refused. One that is undecided is exported, and the report says so.
- Pure but for the place it is verified at.
"""

from __future__ import annotations

from collections.abc import Callable

from governance.adapters.files import FileSource
from governance.records import replace
from governance.release import attestation, bom
from governance.release.attaching import Attached, Export
from governance.release.record import Record
from governance.release.showing import verified
from governance.release.sides import Place
from governance.release.verifying import service_at
from governance.review.statement import PAYLOAD_TYPE
from governance.verdict import Check, Outcome, Report


def refused(record: Record, place: Place, source: FileSource) -> Report | None:
    """The report when `record` is not true; None when it may be exported."""
    report = verified(place, record.service, record.id, source)
    return replace(report, command="release export") if report.outcome is Outcome.BLOCK else None


def exported(record: Record, place: Place, kind: str, sign: Callable[[bytes], str] | None) -> Export:
    """The export of that kind (`attestation` or `bom`). Raises as `service_at`, and what `sign` raises."""
    if kind == "bom":
        return Export(bom.bom(record, service_at(record, place)), bom.MEDIA_TYPE)
    payload = attestation.payload(record)
    if sign is None:
        return Export(payload, PAYLOAD_TYPE, attestation.PREDICATE)
    return Export(attestation.envelope(payload, sign), attestation.ENVELOPE_TYPE, attestation.PREDICATE)


def export_report(record: Record, made: Export, written: str, attached: Attached | None) -> Report:
    """What was exported, and where it lies."""
    what = "bill of materials" if made.media_type == bom.MEDIA_TYPE else "attestation"
    signed = made.media_type == attestation.ENVELOPE_TYPE
    told = f"{'signed' if signed else 'unsigned'} {what}" if what == "attestation" else what
    checks = [Check("exported", Outcome.PASS, f"{told}, {len(made.data)} bytes")]
    notes = [f"  wrote      {written}"] if written else []
    if attached is not None:
        checks.append(Check("attached", Outcome.PASS, attached.image))
        notes += [f"  artifact   {attached.digest}", f"  listed by  {attached.listed}"]
    where = [written] if written else []
    where += [attached.image] if attached is not None else []
    return Report(
        "release export",
        title=f"{record.service}   {record.id} {record.fingerprint[:12]}",
        checks=tuple(checks),
        notes=tuple(notes),
        summary=f"{record.label}: {told} at {', '.join(where)}",
        run={"release": record.label, "media_type": made.media_type, "written": written or None,
             "artifact": None if attached is None else attached.digest},
    )  # fmt: skip
