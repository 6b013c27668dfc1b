"""Release notes: what moved since the release before, on what evidence, accepted by whom. Markdown.

- Contents of prompts are not told: a changed text is named, its words are for reviewers.
- What is not known is said under its own head; it is never left out.
- Pure: a record and a comparison in, text out. What users wrote is escaped as in every report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from governance.release.record import ApprovalRef, EvidenceRef, Record
from governance.report.content import hidden, without_secrets
from governance.report.escape import short, shorten, show
from governance.report.markdown import code, table, text
from governance.values import Effect, Unknown, Value
from governance.verdict import Change, LayerState, Report

_WIDTH = 120
_SAID_BELOW = ("evidence ", "approvals ", "accepted ")


def render(record: Record, moved: Report | None = None) -> str:
    """The notes of `record` as Markdown that ends in one newline; `moved` compares it with its parent."""
    parts = [
        f"# {text(record.service)} {record.id}",
        _cut(record),
        *([f"> {text(record.reason)}"] if record.reason else []),
        *(_first(record) if moved is None else _moved(record, without_secrets(hidden(moved)))),
        *_part("Evidence", table(("suite", "right", "answered", "outcome", "evidence"),
                                 [_evidence(one) for one in record.evidence])),
        *_part("Approvals", table(("what", "by", "how"), _approvals(record.approvals))),
        *_part("Accepted without", table(("check", "by", "because"), [
            (text(one.check), text(one.by), text(one.reason)) for one in record.overrides])),
        *_part("Not covered", "\n".join(_open(record))),
        *_part("Check it", _commands(record)),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _part(head: str, body: str) -> list[str]:
    return [f"## {head}", body] if body else []


def _cut(record: Record) -> str:
    after = f", after {record.parent}" if record.parent else ""
    back = f" It goes back to {record.restores}" if record.restores else ""
    held = f" and holds {code(record.rejected[:12])} back" if record.rejected else ""
    return (
        f"Cut {record.created_at} by {text(record.actor)} from commit {code(record.commit[:12])}{after}. "
        f"Fingerprint {code(record.fingerprint[:12])}.{back}{held}{'.' if back else ''}"
    )


def _first(record: Record) -> Iterator[str]:
    """What a release without one before it consists of."""
    rows = [(tier, code(name)) for tier, name in record.bindings.items()]
    rows += [("engine", code(" ".join(record.engine).strip()))] if record.engine[0] else []
    rows += [("image", code(record.image))] if record.image else []
    yield "## What it is"
    yield table(("part", "value"), rows)


def _moved(record: Record, report: Report) -> Iterator[str]:
    yield f"## What moved since {record.parent}"
    if not report.changes and not any(layer.state == "changed" for layer in report.layers):
        yield f"Nothing that is known: {text(report.summary)}."
    else:
        risk = max((one.risk for one in report.changes), key=lambda one: one.rank, default=Effect.OUTPUT)
        yield f"Risk: **{risk.value}**"
    rows = [_layer(one) for one in report.layers if one.state != "same"]
    yield from [table(("layer", "state", "before", "after"), rows)] if rows else []
    if same := [text(one.name) for one in report.layers if one.state == "same"]:
        yield f"The same: {', '.join(same)}."
    if report.changes:
        yield table(("change", "before", "after", "effect"), [_change(one) for one in report.changes])
    causes = [note for note in report.notes if not note.startswith(_SAID_BELOW) and "--" not in note]
    if causes:
        yield "\n".join(f"- {text(' '.join(note.split()))}" for note in causes)


def _layer(layer: LayerState) -> tuple[str, str, str, str]:
    state = f"**{layer.state}**" if layer.state == "changed" else layer.state
    sides = [code(side[:12]) if isinstance(side, str) else "" for side in (layer.before, layer.after)]
    return text(layer.name), state + (f" ({text(layer.detail)})" if layer.detail else ""), sides[0], sides[1]


def _change(change: Change) -> tuple[str, str, str, str]:
    before = _side(change.before, change.before_from)
    after = _side(change.after, change.after_from)
    effect = f"{change.risk.value}: {text(change.effect)}" if change.effect else change.risk.value
    return f"{text(change.layer)} {code(change.key)}", before, after, effect


def _side(value: Value, origin: str) -> str:
    shown = short(value) if isinstance(value, str) else show(value)
    return code(shorten(shown, _WIDTH)) + (f"<br>{text(origin)}" if origin else "")


def _evidence(one: EvidenceRef) -> tuple[str, str, str, str, str]:
    return (
        f"{text(one.kind)} {code(one.suite_digest[:12])}",
        f"{one.passed} of {one.scored}",
        f"{one.answered} of {one.items}",
        one.outcome.value,
        code(one.path),
    )


def _approvals(approvals: Sequence[ApprovalRef]) -> list[tuple[str, str, str]]:
    rows = []
    for one in approvals:
        pair = " → ".join("nothing" if side is None else side[:12] for side in (one.before, one.after))
        marks = [one.source, *(["emergency"] if one.emergency else []), *(["late"] if one.late else [])]
        rows.append(
            (f"{text(one.subject.partition(':')[2])} {code(pair)}", text(one.person), ", ".join(marks))
        )
    return rows


def _open(record: Record) -> Iterator[str]:
    for name, value in record.layers.items():
        if isinstance(value, Unknown):
            reason = value.reason if len(value.reason) <= _WIDTH else value.reason.partition(": ")[0]
            yield f"- {name}: {text(reason)}"


def _commands(record: Record) -> str:
    lines = [f"tierlock release verify {record.service} {record.id}"]
    if record.parent:
        lines.append(f"tierlock diff {record.service}@{record.parent} {record.label}")
    return "```sh\n" + "\n".join(lines) + "\n```"
