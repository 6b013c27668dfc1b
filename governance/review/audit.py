"""The verdict on what has landed: every step of a branch, by its policy and with what lay in its tree.

- The line of a branch is judged step by step (`line.py`): what moved must have had its approvals in the tree
  of the step that brought it. What it had not is a violation.
- An approval that came later makes good and stays marked *late*; one for the whole way over several steps
  makes good for each of them, likewise marked.
- A merge that takes an approved state back without being asked is a violation: the line itself shows nothing.
- States that stood on a merged branch only never landed: they are counted, not judged.
- Before the first policy nothing can be judged; with no policy at all the audit is undecided.
- A step that only brought golden back is approved: golden was judged when it landed (ADR 0018).
- Emergency approvals owe regular ones: open until they come, a violation when the time is up.
- Approvals are judged by the one function that judges them anywhere, at the moment of their step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from governance.adapters.git import Git, RevisionTree
from governance.records import dataclass, field, replace
from governance.review.gate import Bench, judge_change
from governance.review.landed import Given, Moment, Walk
from governance.review.line import Line, read_line
from governance.review.model import (
    Authors,
    ChangeSet,
    Decision,
    Evidence,
    Judged,
    Requirement,
    Subject,
    SubjectKind,
    Transition,
)
from governance.review.policy import FOLLOW_UP_DAYS, Policy
from governance.review.restored import POINTERS, restored
from governance.tiers.naming import config_of
from governance.values import Effect
from governance.verdict import Finding, Outcome, Severity

VERIFIERS: Final = 4
"""Signatures verified at once: each is a process of its own, and half of its time is waiting."""


class Standing(Enum):
    """How one transition landed."""

    APPROVED = "approved"
    LATE = "late"
    UNAPPROVED = "unapproved"
    UNDECIDED = "undecided"
    FIRST_POLICY = "first policy"


@dataclass(frozen=True, slots=True)
class Landed:
    """One transition of one step, judged. `later` is the step that brought the approval of a late one, and
    `part_of` the whole way it is for, when it is for more than this step. `undone` is set for an approved
    state that a merge took back.
    """

    moment: Moment
    decision: Decision
    standing: Standing
    later: int | None = None
    part_of: Subject | None = None
    undone: bool = False

    @property
    def subject(self) -> Subject:
        return self.decision.transition.subject


@dataclass(frozen=True, slots=True)
class Owed:
    """An emergency approval and the regular ones it still owes."""

    landed: Landed
    evidence: Evidence
    missing: int
    due: datetime
    overdue: bool


@dataclass(slots=True)
class Audited:
    """Everything an audit found. `unjudged` counts what moved before the first policy; a fault that still
    stands at the end is marked.
    """

    line: Line
    landed: list[Landed] = field(default_factory=list)
    faults: list[tuple[Moment, Finding, bool]] = field(default_factory=list)
    owed: list[Owed] = field(default_factory=list)
    aside: list[tuple[str, str]] = field(default_factory=list)
    unjudged: int = 0
    moved: int = 0
    policy: Policy | None = None

    def of(self, standing: Standing) -> list[Landed]:
        """What landed in this way."""
        return [one for one in self.landed if one.standing is standing]


def audit_history(git: Git, before: str | None, after: str, bench: Bench, *, folder: str = "") -> Audited:
    """What landed from `before` (None: from the first commit) to `after`, both full ids, in `folder`."""
    line = read_line(git, before, after, folder)
    return _Auditor(git, folder, before, Walk(git, line), bench, Audited(line)).run()


class _Auditor:
    """One audit."""

    def __init__(
        self, git: Git, folder: str, start: str | None, walk: Walk, bench: Bench, found: Audited
    ) -> None:
        self.git = git
        self.folder = folder
        self.start = start
        self.walk = walk
        self.bench = bench
        self.found = found
        self.moments: dict[int, Moment] = {}
        self.waiting: list[tuple[Moment, Transition]] = []
        self.faults: list[tuple[Moment, Finding]] = []
        self.undone: list[tuple[Moment, Transition, tuple[Evidence, ...]]] = []

    def run(self) -> Audited:
        for moment in self.walk.moments():
            self.moments[moment.at] = moment
            self._look(moment)
        found = self.found
        with ThreadPoolExecutor(VERIFIERS) as pool:
            found.landed += pool.map(lambda one: self._decide(*one), self.waiting)
        found.faults += [(moment, one, self._stands(moment, one)) for moment, one in self.faults]
        if self._has_golden():
            found.landed = [self._or_golden(one) for one in found.landed]
        found.landed += self._taken_back()
        self._make_good()
        found.owed += self._owed()
        found.policy = self.walk.ends_with
        return found

    def _look(self, moment: Moment) -> None:
        """Sort what one step moved: to be judged, or moved before there was a policy."""
        found = self.found
        found.moved += len(moment.change_set.transitions)
        found.aside += moment.aside
        if moment.policy is None:
            policies = [
                one for one in moment.change_set.transitions if one.subject.kind is SubjectKind.POLICY
            ]
            found.unjudged += len(moment.change_set.transitions) - len(policies)
            if moment.brings_policy:
                found.landed += [
                    Landed(moment, Decision(one, Requirement(0)), Standing.FIRST_POLICY) for one in policies
                ]
            return
        faults = [one for one in moment.change_set.findings if one.severity is Severity.ERROR]
        broken = {config_of(one.path) or one.path for one in faults}
        self.faults += [(moment, one) for one in faults]
        self.waiting += [
            (moment, one)
            for one in moment.change_set.transitions
            if (config_of(one.path) or one.path) not in broken  # what does not load, nobody can approve
        ]
        self.undone += [(moment, one, evidence) for one, evidence in moment.dropped]

    def _stands(self, moment: Moment, fault: Finding) -> bool:
        """Whether the files that a fault is about are still the same at the end."""
        mine = config_of(fault.path)
        about = [
            one for one in moment.step.moved
            if one.path == fault.path or (mine is not None and config_of(one.path) == mine)
        ]  # fmt: skip
        entries = [(one.path, (one.after_mode, one.after_oid)) for one in about if one.after_oid]
        return bool(entries) and all(self.walk.stands(path, entry) for path, entry in entries)

    def _decide(self, moment: Moment, transition: Transition) -> Landed:
        evidence = moment.approvals.get(transition.subject.key, ())
        decision = self._judged(moment, transition, evidence, moment.authors(transition), moment.policy)
        return Landed(moment, decision, _STANDING[decision.outcome])

    def _judged(
        self,
        moment: Moment,
        transition: Transition,
        evidence: Sequence[Evidence],
        made_by: Authors,
        policy: Policy | None,
    ) -> Decision:
        assert policy is not None
        changes = ChangeSet((transition,))
        return judge_change(changes, policy, evidence, made_by, moment.when, self._judge)[0]

    def _judge(
        self, evidence: Evidence, subject: Subject, policy: Policy, made_by: Authors, now: datetime
    ) -> Judged:
        """An approval that lies in a tree was there when the tree was made, whatever the clocks said."""
        return self.bench.judge(evidence, subject, policy, made_by, max(now, evidence.issued))

    def _has_golden(self) -> bool:
        """Whether any service has a golden at the end: without one there is nothing to look for."""
        steps = self.found.line.steps
        if not steps or not any(one.standing is Standing.UNAPPROVED for one in self.found.landed):
            return False
        end = steps[-1].commit.oid
        return bool(RevisionTree(self.git, end, folder=self.folder, oid=end).entries(POINTERS))

    def _or_golden(self, one: Landed) -> Landed:
        """An unapproved step that only brought golden back is approved: golden was judged when it landed."""
        before = self._before(one.moment)
        if one.standing is not Standing.UNAPPROVED or before is None:
            return one
        after = one.moment.step.commit.oid
        states = [RevisionTree(self.git, oid, folder=self.folder, oid=oid) for oid in (before, after)]
        said = restored(states[0], states[1], [one.decision.transition]).get(one.subject, "")
        if not said:
            return one
        return replace(one, decision=replace(one.decision, restored=said), standing=Standing.APPROVED)

    def _before(self, moment: Moment) -> str | None:
        """The commit that a step is compared with; None for the first of all."""
        steps = self.found.line.steps
        return steps[moment.at - 1].commit.oid if moment.at else self.start

    def _taken_back(self) -> Iterator[Landed]:
        """Approved states that a merge leaves out, unless taking them back is itself approved."""
        for moment, transition, evidence in self.undone:
            subject = transition.subject
            made_by = moment.authors_of_paths(transition.paths)
            policy = moment.policy
            assert policy is not None
            was_approved = any(
                self._judge(each, replace(subject, before=each.before, after=each.after), policy, made_by,
                            moment.when).accepted
                for each in evidence
            )  # fmt: skip
            if was_approved:
                given = [
                    each.evidence
                    for each in self.walk.starting(subject.key, subject.before)
                    if each.evidence.is_for(subject) and each.at <= moment.at
                ]
                decision = self._judged(moment, transition, given, Authors(), policy)
                yield Landed(moment, decision, _STANDING[decision.outcome], undone=True)

    def _make_good(self) -> None:
        """Mark as late what was approved afterwards, alone or as part of a longer way."""
        ways: dict[str, list[int]] = {}
        for index, one in enumerate(self.found.landed):
            if not one.undone and one.standing is not Standing.FIRST_POLICY:
                ways.setdefault(one.subject.key, []).append(index)
        for way in ways.values():
            for start in range(len(way)):
                if self.found.landed[way[start]].standing is Standing.UNAPPROVED:
                    self._try_way(way, start)
        for index, one in enumerate(self.found.landed):
            if one.undone and one.standing is Standing.UNAPPROVED:
                self._try_way([index], 0)

    def _try_way(self, way: Sequence[int], start: int) -> None:
        """Look for an approval from where `start` began to where it, or a later step, led."""
        landed = self.found.landed
        first = landed[way[start]]
        since = landed[way[start - 1]].moment.at if start else -1
        by_end: dict[str | None, list[Given]] = {}
        for given in self.walk.starting(first.subject.key, first.subject.before):
            if given.at > since or given.at < 0:
                by_end.setdefault(given.evidence.after, []).append(given)
        for end in range(start, len(way)):
            given_here = by_end.pop(landed[way[end]].subject.after, [])
            steps = [landed[index] for index in way[start : end + 1]]
            found = self._approves(given_here, steps)
            if found is not None:
                for index in way[start : end + 1]:
                    landed[index] = _made_good(landed[index], *found, steps)
                return
            if not by_end:
                return

    def _approves(self, given: Sequence[Given], steps: Sequence[Landed]) -> tuple[int, Decision] | None:
        """The step with which the approvals in `given` were enough for `steps` as one, and how they were
        judged; None when they never were. An emergency stands in only where regular ones do not.
        """
        whole = _whole(steps)
        about = [one for one in given if one.evidence.is_for(whole.subject)]
        regular = [one for one in about if not one.evidence.emergency]
        for chosen in (regular, about):
            if not chosen:
                continue
            came = max(one.at for one in chosen)
            moment = self.moments.get(came, steps[-1].moment)
            for policy in (steps[0].moment.policy, moment.policy):
                evidence = [one.evidence for one in chosen]
                decision = self._judged(moment, whole, evidence, _made_by(steps), policy)
                if decision.outcome is Outcome.PASS:
                    return came, decision
        return None

    def _owed(self) -> Iterator[Owed]:
        for one in self.found.landed:
            policy = one.moment.policy
            good = one.standing in (Standing.APPROVED, Standing.LATE)
            if not good or not one.decision.emergency or policy is None:
                continue
            evidence = next(each.evidence for each in one.decision.accepted if each.evidence.emergency)
            missing = self._still_owed(one, evidence, policy)
            if missing > 0:
                days = policy.break_glass.follow_up_days if policy.break_glass else FOLLOW_UP_DAYS
                due = evidence.issued + timedelta(days=days)
                yield Owed(one, evidence, missing, due, self.bench.now > due)

    def _still_owed(self, one: Landed, emergency: Evidence, policy: Policy) -> int:
        """How many regular approvals are missing; whoever broke the glass gives none of them."""
        subject = one.part_of or one.subject
        made_by = one.moment.authors(one.decision.transition)
        barred = replace(made_by, people=made_by.people | {emergency.person})
        people = {
            each.evidence.person
            for each in self.walk.starting(subject.key, subject.before)
            if not each.evidence.emergency
            and self._judge(each.evidence, subject, policy, barred, each.evidence.issued).accepted
        }
        return max(1, one.decision.requirement.approvals) - len(people)


_STANDING: Final[Mapping[Outcome, Standing]] = {
    Outcome.PASS: Standing.APPROVED,
    Outcome.BLOCK: Standing.UNAPPROVED,
    Outcome.UNDECIDED: Standing.UNDECIDED,
}


def _whole(steps: Sequence[Landed]) -> Transition:
    """Several steps of one subject as one transition."""
    parts = [one.decision.transition for one in steps]
    if len(parts) == 1:
        return parts[0]
    subject = replace(parts[0].subject, after=parts[-1].subject.after)
    risk = max((one.risk for one in parts), key=lambda effect: effect.rank, default=Effect.OUTPUT)
    paths = tuple(dict.fromkeys(path for one in parts for path in one.paths))
    return replace(parts[-1], subject=subject, risk=risk, paths=paths)


def _made_by(steps: Sequence[Landed]) -> Authors:
    """Everybody who made one of the steps."""
    found = [one.moment.authors(one.decision.transition) for one in steps]
    return Authors(
        frozenset().union(*(one.people for one in found)), frozenset().union(*(one.unknown for one in found))
    )


def _made_good(one: Landed, later: int, decision: Decision, steps: Sequence[Landed]) -> Landed:
    """A step whose approval came at `later`; the last one of a way is approved when it lay there in time."""
    part_of = _whole(steps).subject if len(steps) > 1 else None
    if one.standing is Standing.APPROVED:
        return one
    in_time = later <= one.moment.at and one is steps[-1]
    return replace(
        one,
        decision=replace(decision, transition=one.decision.transition),
        standing=Standing.APPROVED if in_time else Standing.LATE,
        later=max(later, steps[-1].moment.at),
        part_of=part_of,
    )
