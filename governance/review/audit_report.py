"""An audit as a report: what landed without approval, what was approved late, what is still owed.

- Every violation is a finding of its own that names commit, person, subject and the command that makes good.
- What is late or owed is a warning in every report; nothing of it is ever dropped for being old.
- Contents are not told: of a change only key and numbers.
- Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from governance.review.approving import argument_of
from governance.review.audit import Audited, Landed, Owed, Standing
from governance.review.landed import Moment
from governance.review.model import Identity, Transition
from governance.review.telling import count, needs
from governance.values import Json
from governance.verdict import Check, Finding, Outcome, Report, Severity, sort_findings

_FEW = 3
_FOLLOW_UP = "tierlock review approve --follow-up"


def audit_report(found: Audited, label: str) -> Report:
    """The report on everything an audit found in `label`."""
    findings = list(_findings(found))
    checks = tuple(_checks(found, label))
    waiting = [one for one in found.landed if one.standing is Standing.UNAPPROVED]
    return Report(
        "review audit",
        checks=checks,
        findings=sort_findings(findings),
        notes=tuple(_notes(found)),
        summary=_summary(found, checks),
        next=_next(waiting, found),
        run={"audit": _facts(found, label)},
    )


def _checks(found: Audited, label: str) -> Iterator[Check]:
    looked = f"{count(found.line.commits, 'commit')}, {count(len(found.line.steps), 'landing')} on the line"
    if not found.line.steps:
        yield Check("history", Outcome.UNDECIDED, f"`{label}` holds no commit")
        return
    if found.policy is None and found.moved:
        yield Check("review policy", Outcome.UNDECIDED, "there is no review policy anywhere in this history")
        return
    yield Check("history", Outcome.PASS, f"{looked}; {count(found.moved, 'change')} of governed files")
    judged, bad, doubtful = _judged(found), found.of(Standing.UNAPPROVED), found.of(Standing.UNDECIDED)
    if judged:
        good, late = len(found.of(Standing.APPROVED)), len(found.of(Standing.LATE))
        detail = f"{good} of {count(judged, 'change')} approved" + (f", {late} late" if late else "")
        yield Check("approvals", Outcome.BLOCK if bad else Outcome.PASS, detail)
    if doubtful:
        why = next((each.why for one in doubtful for each in one.decision.refused if each.undecided), "")
        yield Check("signatures", Outcome.UNDECIDED, why)
    if any(stands for _, _, stands in found.faults):
        yield Check("governed files", Outcome.BLOCK, "what no approval can excuse stands at the end")
    if found.owed:
        overdue = any(one.overdue for one in found.owed)
        detail = f"{count(len(found.owed), 'emergency approval')} not followed by a regular one"
        yield Check("follow-ups", Outcome.BLOCK if overdue else Outcome.PASS, detail)


def _judged(found: Audited) -> int:
    """How many changes a policy could judge."""
    return len(found.landed) - len(found.of(Standing.FIRST_POLICY))


def _findings(found: Audited) -> Iterator[Finding]:
    for one in found.landed:
        if one.standing is Standing.UNAPPROVED:
            yield _undone(one) if one.undone else _unapproved(one)
            yield from _refused(one)
        elif one.standing is Standing.LATE:
            yield _late(one, found)
        elif one.standing is Standing.UNDECIDED:
            yield from _refused(one)
    for moment, fault, stands in found.faults:
        severity = Severity.ERROR if stands else Severity.WARNING
        message = f"{_commit(moment)} landed what no approval can excuse: {fault.message} ({fault.code})"
        yield Finding("TL545", message, severity, fault.path, fault.line, fault.column, hint=fault.hint)
    for owed in found.owed:
        yield _owed(owed)
    if not found.line.straight:
        message = "a merge was made the wrong way round: the branch's own history is its second parent"
        yield Finding(
            "TL546", message, Severity.WARNING, hint="merge into the branch, not the branch into yours"
        )


def _unapproved(one: Landed) -> Finding:
    transition = one.decision.transition
    got = ", ".join(one.decision.approvers) or "none"
    message = (
        f"{_commit(one.moment)} moved {_what(transition)} without {needs(one.decision.requirement)}; "
        f"found: {got}"
    )
    return Finding("TL540", message, path=transition.path, hint=_make_good(one))


def _undone(one: Landed) -> Finding:
    transition = one.decision.transition
    message = (
        f"{_commit(one.moment)} is a merge that takes back an approved state of {_what(transition)}, "
        f"and nobody approved that"
    )
    return Finding("TL543", message, path=transition.path, hint=_make_good(one))


def _late(one: Landed, found: Audited) -> Finding:
    transition = one.decision.transition
    later = found.line.steps[one.later].name if one.later is not None and one.later >= 0 else "a later commit"
    way = f" as part of {one.part_of.short}" if one.part_of else ""
    message = (
        f"{_commit(one.moment)} moved {transition.subject.shown} ({transition.subject.short}) before it was "
        f"approved: the approval came with {later}{way}"
    )
    return Finding("TL541", message, Severity.WARNING, transition.path)


def _refused(one: Landed) -> Iterator[Finding]:
    for each in one.decision.refused:
        message = f"the approval of {one.subject.shown} by {each.evidence.person} does not count: {each.why}"
        path = each.evidence.where or one.decision.transition.path
        yield Finding("TL544", message, Severity.WARNING, path)


def _owed(one: Owed) -> Finding:
    severity = Severity.ERROR if one.overdue else Severity.WARNING
    subject = one.landed.subject
    message = (
        f"{_commit(one.landed.moment)} landed {subject.shown} ({subject.short}) on an emergency approval by "
        f"{one.evidence.person}; {count(one.missing, 'regular approval')} "
        f"{'was' if one.overdue else 'is'} due by {one.due:%Y-%m-%d}"
    )
    return Finding("TL542", message, severity, one.evidence.where, hint=f"a reviewer runs: {_FOLLOW_UP}")


def _commit(moment: Moment) -> str:
    """`commit 1a2b3c4d5e6f (2026-11-02, author-a@example.org)`."""
    people: dict[Identity, None] = {}
    for each in moment.step.who.values():
        people |= dict.fromkeys(each)
    names = list(dict.fromkeys(one.email for one in people if one.role != "committer"))
    shown = ", ".join(names[:_FEW]) + (" and others" if len(names) > _FEW else "")
    return f"{moment.step.name} ({moment.when:%Y-%m-%d}{', ' + shown if shown else ''})"


def _what(transition: Transition) -> str:
    """`sampling/factual (8c1f… → 41d7…: temperature 0.1 → 0.9)`."""
    subject = transition.subject
    parts = []
    for one in transition.changes[:_FEW]:
        plain = all(isinstance(side, int | float) for side in (one.before, one.after))
        parts.append(f"{one.key} {one.before} → {one.after}" if plain else one.key)
    more = len(transition.changes) - _FEW
    said = (": " + ", ".join(parts) + (f" and {more} more" if more > 0 else "")) if parts else ""
    return f"{subject.shown} ({subject.short}{said})"


def _make_good(one: Landed) -> str:
    commit = one.moment.step.commit.oid[:12]
    return f"a reviewer runs: tierlock review approve {argument_of(one.subject)} --commit {commit}"


def _notes(found: Audited) -> Iterator[str]:
    if found.unjudged:
        yield f"{count(found.unjudged, 'change')} landed before the first review policy and cannot be judged"
    for one in found.of(Standing.FIRST_POLICY):
        yield f"the first review policy came with {_commit(one.moment)}"
    if found.aside:
        commits = len({commit for commit, _ in found.aside})
        states = count(len(found.aside), "state")
        yield f"{states} stood only on merged branches ({count(commits, 'commit')}) and never landed"


def _summary(found: Audited, checks: Sequence[Check]) -> str:
    bad = found.of(Standing.UNAPPROVED)
    if bad:
        return f"{count(len(bad), 'change')} landed without approval"
    failing = next((one for one in checks if one.outcome is not Outcome.PASS), None)
    if failing is not None:
        return failing.detail
    late = len(found.of(Standing.LATE))
    return f"{count(_judged(found), 'change')} judged, none without approval" + (
        f", {late} late" if late else ""
    )


def _next(waiting: Sequence[Landed], found: Audited) -> str:
    if waiting:
        return _make_good(waiting[0]).partition("runs: ")[2]
    if found.policy is None and found.moved:
        return "add `review:` to tierlock.yaml, then: tierlock review simulate"
    return _FOLLOW_UP if found.owed else ""


def _facts(found: Audited, label: str) -> dict[str, Json]:
    return {
        "label": label,
        "commits": found.line.commits,
        "landings": len(found.line.steps),
        "changes": found.moved,
        "before_the_first_policy": found.unjudged,
        "straight": found.line.straight,
        "policy": found.policy.digest if found.policy else None,
        "landed": [_landed(one, found) for one in found.landed if one.standing is not Standing.APPROVED],
        "approved": len(found.of(Standing.APPROVED)),
        "owed": [_owed_facts(one) for one in found.owed],
        "only_on_merged_branches": [list(one) for one in found.aside],
    }


def _landed(one: Landed, found: Audited) -> dict[str, Json]:
    later = found.line.steps[one.later].commit.oid if one.later is not None and one.later >= 0 else None
    return {
        "commit": one.moment.step.commit.oid,
        "when": one.moment.when.isoformat(),
        "subject": one.subject.key,
        "before": one.subject.before,
        "after": one.subject.after,
        "standing": one.standing.value,
        "undone_by_merge": one.undone,
        "approved_by": list(one.decision.approvers),
        "needs": one.decision.requirement.approvals,
        "approved_with": later,
    }


def _owed_facts(one: Owed) -> dict[str, Json]:
    return {
        "commit": one.landed.moment.step.commit.oid,
        "subject": one.landed.subject.key,
        "by": one.evidence.person,
        "missing": one.missing,
        "due": one.due.isoformat(),
        "overdue": one.overdue,
    }
