"""Verdicts as one report: what moved, why it needs review, who can approve, and the next command.

- Each transition is a check of its own; each one that is not approved is a finding with its place, so that
  every format has a line to point at.
- Where nothing is enforced the same is told as a note, and passes.
- Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from governance.records import replace
from governance.review.gate import Enforced, Ground, Verdict
from governance.review.model import Decision, Judged, Requirement, SubjectKind, Transition
from governance.tiers.config import SERVICES_FILE
from governance.values import Json
from governance.verdict import Check, Finding, Outcome, Report, Severity, sort_findings

if TYPE_CHECKING:
    from governance.review.approval import FollowUp

LOCAL = "a local hook can be skipped; the push, CI and `tierlock review audit` look again"


def report(command: str, verdicts: Sequence[Verdict], *, extra: Iterable[Check] = ()) -> Report:
    """The report on `verdicts`, in their order."""
    checks = [*extra, *(check for one in verdicts for check in _checks(one))]
    findings = [finding for one in verdicts for finding in _findings(one)]
    moved = {each.subject: each for one in verdicts for each in one.change_set.transitions}
    changes = [change for each in moved.values() for change in each.changes]
    notes = dict.fromkeys(note for one in verdicts for note in _notes(one))
    waiting = [each for one in verdicts if one.enforced for each in one.decisions if each.missing]
    return Report(
        command,
        checks=tuple(checks),
        findings=sort_findings(dict.fromkeys(findings)),
        changes=tuple(changes),
        notes=tuple(notes),
        summary=_summary(verdicts, checks),
        next=_next(verdicts, waiting, findings),
        run=_run(verdicts),
    )


def _checks(verdict: Verdict) -> Iterator[Check]:
    label = verdict.landing.label
    moved = verdict.change_set.transitions
    if verdict.ground is None:
        if moved or verdict.change_set.findings:
            yield Check("review policy", Outcome.UNDECIDED, verdict.findings[0].message)
        else:
            yield Check("change set", Outcome.PASS, _looked(verdict))
        return
    if not moved and not verdict.change_set.findings:
        yield Check("change set", Outcome.PASS, f"{label}: {_looked(verdict)}")
    if verdict.change_set.findings:
        outcome = Outcome.BLOCK if verdict.enforced else Outcome.PASS
        yield Check("governed files", outcome)
    if verdict.ground.bootstrap:
        yield Check("bootstrap", Outcome.PASS, "there was no policy before: the first one is accepted")
    for decision in verdict.decisions:
        yield _check(decision, enforced=verdict.enforced)


def _looked(verdict: Verdict) -> str:
    number = verdict.change_set.governed
    return "no governed file differs" if not number else f"{count(number, 'governed file')}, no meaning moves"


def _check(decision: Decision, *, enforced: bool) -> Check:
    name = decision.transition.subject.shown
    needed = decision.requirement.approvals
    if decision.outcome is Outcome.PASS:
        if decision.restored:
            return Check(name, Outcome.PASS, decision.restored)
        if decision.emergency:
            by = ", ".join(decision.approvers)
            return Check(name, Outcome.PASS, f"emergency approval by {by}; a regular one has to follow")
        by = f": {', '.join(decision.approvers)}" if decision.approvers else ""
        detail = f"{len(decision.approvers)} of {count(needed, 'approval')}{by}"
        return Check(name, Outcome.PASS, detail if needed else "the policy asks for no approval")
    if not enforced:
        return Check(name, Outcome.PASS, f"will need {needs(decision.requirement)}")
    detail = ""
    if decision.outcome is Outcome.UNDECIDED:
        detail = decision.undecided or next(each.why for each in decision.refused if each.undecided)
    return Check(name, decision.outcome, detail)


def _findings(verdict: Verdict) -> Iterator[Finding]:
    soften = not verdict.enforced
    if verdict.ground is None and (verdict.change_set.transitions or verdict.change_set.findings):
        yield from verdict.findings
    for finding in verdict.change_set.findings:
        yield replace(finding, severity=Severity.WARNING) if soften else finding
    for decision in verdict.decisions:
        if decision.missing:
            found = _missing(decision)
            yield replace(found, severity=Severity.NOTE) if soften else found
        seen = decision.refused if decision.missing else ()
        yield from (_refused(one, decision.transition) for one in seen)
    yield from (_owed(one) for one in verdict.owed)
    for address in sorted(verdict.unknown):
        yield Finding(
            "TL507",
            f"an author of the change, {address}, is nobody in the policy",
            Severity.NOTE,
            SERVICES_FILE,
            hint="if it is one of the people, add the address to `emails`",
        )


def _missing(decision: Decision) -> Finding:
    transition, needed = decision.transition, decision.requirement
    subject = transition.subject
    got = len(decision.approvers)
    have = "none found" if not got else f"{got} found ({', '.join(decision.approvers)})"
    because = f"; {'; '.join(needed.because)}" if needed.because else ""
    code, hint = "TL501", _ask(transition)
    if len(needed.people) < needed.approvals:
        code = "TL506"
        hint = "add people to the role on the base branch, or let somebody outside of it make the change"
    message = f"{subject.shown} needs {needs(needed)}{because}; {have} for {subject.short}"
    place = next((one for one in transition.changes if one.line and one.path == transition.path), None)
    line, column = (place.line, place.column) if place else (0, 0)
    return Finding(code, message, path=transition.path, line=line, column=column, hint=hint)


def needs(needed: Requirement) -> str:
    """What is required, in words: `1 approval from platform (reviewer-a, reviewer-b)`."""
    roles = f"from {' or '.join(needed.roles)}" if needed.roles else "from anyone in the policy"
    people = ", ".join(needed.people) or "nobody is left"
    return f"{count(needed.approvals, 'approval')} {roles} ({people})"


def _refused(one: Judged, transition: Transition) -> Finding:
    shown = one.evidence.person or "somebody"
    message = f"the approval of {transition.subject.shown} by {shown} does not count: {one.why}"
    return Finding("TL502", message, Severity.WARNING, one.evidence.where or transition.path)


def _owed(one: FollowUp) -> Finding:
    given = one.evidence
    shown = given.subject_key.partition(":")[2]
    owed = f"{count(one.missing, 'regular approval')} owed, due {one.due:%Y-%m-%d}"
    message = f"{shown} was let through by {given.person} in an emergency: {owed}"
    hint = "a reviewer runs: tierlock review approve --follow-up"
    return Finding("TL542", message, Severity.WARNING, given.where, hint=hint)


def _notes(verdict: Verdict) -> Iterator[str]:
    for transition in verdict.change_set.transitions:
        if transition.used_by and transition.subject.kind is SubjectKind.CONFIG:
            yield f"{transition.subject.shown} is used by {', '.join(transition.used_by)}"
    if verdict.ground is not None and verdict.change_set.transitions:
        one_of_many = verdict.landing.enforced is Enforced.BY_BRANCH  # a push moves several branches
        yield f"{verdict.landing.label}: " * one_of_many + _policy_note(verdict.ground)
    if verdict.ground is not None and not verdict.enforced and any(d.missing for d in verdict.decisions):
        yield f"nothing is stopped here: {verdict.why}"


def _policy_note(ground: Ground) -> str:
    if ground.bootstrap:
        return f"bootstrap: there was no policy before; the change brings {(ground.carried or '')[:12]}"
    used = f"judged by policy {ground.policy.digest[:12]} of the {ground.origin}"
    if ground.carried == ground.policy.digest:
        return used
    brings = f"brings {ground.carried[:12]}" if ground.carried else "takes the policy away"
    return f"{used}; the change {brings}"


def _summary(verdicts: Sequence[Verdict], checks: Sequence[Check]) -> str:
    """The closing sentence; the reasons of an undecided report are said by its checks."""
    decided = [each for one in verdicts for each in one.decisions]
    bad = [each for one in verdicts if one.enforced for each in one.decisions if each.missing]
    total = len(decided)
    if bad:
        verb = "is" if len(bad) == 1 else "are"
        return f"{len(bad)} of {count(total, 'change')} {verb} not approved"
    faults = [each for one in verdicts if one.enforced for each in one.change_set.findings]
    if faults and all(one.ground for one in verdicts):
        return f"{count(len(faults), 'governed file')} cannot be accepted, whoever approves"
    failing = next((one for one in checks if one.outcome is not Outcome.PASS), None)
    if failing is not None:
        return failing.detail
    if any(each.missing for each in decided):
        return f"{count(total, 'change')} to be approved before it lands on a protected branch"
    if decided:
        return f"{count(total, 'change')} approved"
    return checks[0].detail if checks else ""


def _next(verdicts: Sequence[Verdict], waiting: Sequence[Decision], findings: Sequence[Finding]) -> str:
    unjudged = [one for one in verdicts if one.ground is None and one.change_set.transitions]
    if unjudged:
        return unjudged[0].findings[0].hint
    open_ones = [one for one in waiting if len(one.requirement.people) >= one.requirement.approvals]
    if open_ones:
        names = " ".join(argument(one.transition) for one in open_ones)
        return f"push a branch and ask, or let a reviewer run:  tierlock review approve {names}"
    blocking = next((one for one in findings if one.blocks and one.hint), None)
    return blocking.hint if blocking else ""


def _ask(transition: Transition) -> str:
    return f"a reviewer runs: tierlock review approve {argument(transition)}"


def argument(transition: Transition) -> str:
    """How a command line names the subject: `sampling/factual`, `service/summarizer`, `policy`."""
    subject = transition.subject
    return f"service/{subject.name}" if subject.kind is SubjectKind.BINDING else subject.name


def _run(verdicts: Sequence[Verdict]) -> dict[str, Json]:
    return {"landings": [_facts(one) for one in verdicts]}


def _facts(verdict: Verdict) -> dict[str, Json]:
    ground, landing = verdict.ground, verdict.landing
    return {
        "label": landing.label,
        "ref": landing.ref,
        "before": landing.before.label if landing.before else None,
        "after": landing.after.label,
        "enforced": verdict.enforced,
        "governed_files": verdict.change_set.governed,
        "policy": ground.policy.digest if ground else None,
        "policy_from": ground.origin if ground else None,
        "policy_of_change": ground.carried if ground else None,
        "bootstrap": bool(ground and ground.bootstrap),
        "changes": [_decided(one) for one in verdict.decisions],
    }


def _decided(decision: Decision) -> dict[str, Json]:
    subject, needed = decision.transition.subject, decision.requirement
    return {
        "subject": subject.key,
        "before": subject.before,
        "after": subject.after,
        "scheme": subject.scheme,
        "risk": decision.transition.risk.value,
        "used_by": list(decision.transition.used_by),
        "needs": needed.approvals,
        "from": list(needed.roles),
        "people": list(needed.people),
        "because": list(needed.because),
        "approved_by": list(decision.approvers),
        "missing": decision.missing,
        "emergency": decision.emergency,
        "outcome": decision.outcome.value,
    }


def count(number: int, what: str) -> str:
    """`1 change`, `2 changes`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
