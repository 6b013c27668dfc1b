"""The verdict on one landing: which policy holds, what it requires, which approvals count, what is missing.

- The policy is the one at the base revision. A change of the policy is a transition like any other, judged
  by the policy before it; both digests are told.
- Bootstrap (ADR 0012): where there was no policy, the one the change brings is shown and accepted only when
  there is nothing before it, or when that was asked for; then it judges everything else in the change.
- No policy on either side is undecided: nothing says who has to approve, so nothing can be judged.
- An approval of the same subject for another pair of digests is shown as refused, never counted.
- The way back to golden needs no approval (`restored.py`, ADR 0018).
- Pure but for the sources it reads; time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from governance.adapters.files import FileSource
from governance.adapters.git import RevisionTree
from governance.adapters.git_history import committed_at
from governance.errors import Unreadable
from governance.fingerprint.states import State
from governance.records import dataclass, field, replace
from governance.review.authors import authors_of
from governance.review.changeset import between
from governance.review.model import (
    Authors,
    ChangeSet,
    Decision,
    Evidence,
    Identity,
    Judged,
    Subject,
    SubjectKind,
    Transition,
)
from governance.review.policy import Policy, has_policy, protected, requirement
from governance.review.spent import is_spent
from governance.tiers.config import SERVICES_FILE
from governance.verdict import Finding, Severity

if TYPE_CHECKING:
    from governance.review.approval import FollowUp
    from governance.review.forge import Request

Judge: TypeAlias = Callable[[Evidence, Subject, Policy, Authors, datetime], Judged]
"""`approval.judge` with its verifier bound: the one function that says whether an approval counts."""


Read: TypeAlias = Callable[[FileSource, Sequence[Subject]], Iterable[Evidence]]
"""`approval.read_approvals`, for these subjects alone: the others of a long history are not looked at."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What judging needs beside the repository: the moment, the judge, and who finds approvals in a state.

    `forge` are requests on a forge, with the reviews they got.
    """

    now: datetime
    judge: Judge
    read: Read
    forge: tuple[Request, ...] = ()


class Enforced(Enum):
    """Where a landing is stopped: at a commit the policy says, a push by its branch, anything else always."""

    AT_COMMIT = "commit"
    BY_BRANCH = "branch"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Landing:
    """One thing to judge: `after` would stand where `before` stands (None: nothing stands there).

    `ref` is the branch it lands on, when there is one. `base` holds the policy (default: `before`); `more`
    are further pairs to compare, such as what the author changed.
    `approvals` are the states in which approvals may lie, `who` has the people by governed path.
    `bootstrap` accepts a first policy; `unborn` says that there is no commit before.
    """

    label: str
    after: FileSource
    before: FileSource | None = None
    base: FileSource | None = None
    more: tuple[tuple[FileSource | None, FileSource], ...] = ()
    ref: str = ""
    enforced: Enforced = Enforced.ALWAYS
    who: Mapping[str, Sequence[Identity]] = field(default_factory=dict)
    approvals: tuple[FileSource, ...] = ()
    bootstrap: bool = False
    unborn: bool = False


@dataclass(frozen=True, slots=True)
class Ground:
    """The policy that judges, where it is from, and the digest of the one the change carries."""

    policy: Policy
    origin: str
    carried: str | None = None
    bootstrap: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One landing judged. Without `ground` nothing could be judged and `findings` says why.

    `enforced` is false where the gate only says what will be required; `why` is that in words. `owed` are the
    emergency approvals in the state that regular ones have not followed.
    """

    landing: Landing
    change_set: ChangeSet
    ground: Ground | None = None
    decisions: tuple[Decision, ...] = ()
    findings: tuple[Finding, ...] = ()
    enforced: bool = True
    why: str = ""
    unknown: frozenset[str] = frozenset()
    owed: tuple[FollowUp, ...] = ()


def judge_landing(landing: Landing, bench: Bench) -> Verdict:
    """The verdict on one landing. Raises what reading a state raises."""
    change_set = change_set_of(landing)
    ground = policy_for(landing)
    if isinstance(ground, Finding):
        return Verdict(landing, change_set, findings=(ground,))
    policy = ground.policy
    enforced, why = is_enforced(policy, landing)
    who = {one.subject.key: authors_of(policy, one, landing.who) for one in change_set.transitions}
    judged = _judged_part(change_set, ground, landing)
    evidence = (*find_evidence(landing, judged, bench), *forge_evidence(landing, policy, bench))
    decisions = _golden(landing, judge_change(judged, policy, evidence, who, bench.now, bench.judge))
    unknown = frozenset[str]().union(*(authors.unknown for authors in who.values()))
    return Verdict(landing, change_set, ground, decisions, (), enforced, why, unknown)


def _golden(landing: Landing, decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """The decisions, with those marked that only bring golden back; looked at when something is missing."""
    if not any(one.missing for one in decisions):
        return decisions
    from governance.review.restored import restored

    found = restored(landing.base or landing.before, landing.after, [one.transition for one in decisions])
    return tuple(
        replace(one, restored=found.get(one.transition.subject, "")) if one.missing else one
        for one in decisions
    )


def judge_change(
    change_set: ChangeSet,
    policy: Policy,
    evidence: Iterable[Evidence],
    authors: Authors | Mapping[str, Authors],
    now: datetime,
    judge: Judge,
) -> tuple[Decision, ...]:
    """One decision per transition; `authors` are those of all of them, or by the key of the subject."""
    given = tuple(evidence)
    decisions = []
    for one in change_set.transitions:
        made_by = authors if isinstance(authors, Authors) else authors.get(one.subject.key, Authors())
        about = [each for each in given if each.subject_key == one.subject.key]
        judged = [judge(each, one.subject, policy, made_by, now) for each in about]
        accepted = tuple(each for each in judged if each.accepted)
        refused = tuple(each for each in judged if not each.accepted)
        decisions.append(Decision(one, requirement(policy, one, made_by), accepted, refused))
    return tuple(decisions)


def policy_for(landing: Landing) -> Ground | Finding:
    """The policy that judges this landing, or why there is none."""
    carried = State(landing.after)
    base = landing.base or landing.before
    if base is not None:
        state = State(base)
        settings = state.settings()
        faults = [one for one in state.findings if one.severity is Severity.ERROR]
        if faults and not landing.bootstrap:
            return _unreadable(base, faults[0])
        if has_policy(settings):
            brought = carried.settings()
            digest = Policy.of(brought).digest if has_policy(brought) else None
            return Ground(Policy.of(settings), base.label, digest)
    settings = carried.settings()
    if not has_policy(settings):
        return _no_policy(landing)
    if not (landing.unborn or landing.bootstrap):
        message = "the change brings the first review policy, and there was none to judge it"
        hint = "look at the policy, then: tierlock review gate --bootstrap"
        return Finding("TL508", message, path=SERVICES_FILE, hint=hint)
    policy = Policy.of(settings)
    return Ground(policy, landing.after.label, policy.digest, bootstrap=True)


def is_enforced(policy: Policy, landing: Landing) -> tuple[bool, str]:
    """Whether what is missing stops this landing, and why."""
    branch = landing.ref.removeprefix("refs/heads/")
    if landing.enforced is Enforced.ALWAYS:
        return True, ""
    if landing.enforced is Enforced.AT_COMMIT and policy.at_commit != "protected":
        where = "every branch" if policy.at_commit == "always" else "no branch"
        return policy.at_commit == "always", f"the policy stops commits on {where}"
    if not branch:
        return True, "HEAD is detached: the commit can end up on any branch"
    if protected(policy, landing.ref):
        return True, f"{branch} is protected"
    return False, f"{branch} is not protected"


def change_set_of(landing: Landing) -> ChangeSet:
    """What moves in the landing and in its further pairs; the same transition once."""
    pairs = ((landing.before, landing.after), *landing.more)
    found = [between(before, after) for before, after in pairs]
    transitions: dict[Subject, Transition] = {}
    for one in found:
        for transition in one.transitions:
            transitions.setdefault(transition.subject, transition)
    findings = dict.fromkeys(finding for one in found for finding in one.findings)
    return ChangeSet(tuple(transitions.values()), tuple(findings), max(one.governed for one in found))


def _judged_part(change_set: ChangeSet, ground: Ground, landing: Landing) -> ChangeSet:
    """Under bootstrap the policy itself needs nothing; with no commit before, nothing does."""
    if not ground.bootstrap:
        return change_set
    left = () if landing.unborn else change_set.transitions
    kept = tuple(one for one in left if one.subject.kind is not SubjectKind.POLICY)
    return ChangeSet(kept, change_set.findings, change_set.governed)


def _no_policy(landing: Landing) -> Finding:
    base = landing.base or landing.before
    where = f"in the {base.label} or in the {landing.after.label}" if base else "anywhere"
    return Finding(
        "TL503",
        f"there is no review policy {where}",
        path=SERVICES_FILE,
        hint="add `review:` (people, roles, what each tier needs) to tierlock.yaml, "
        "then: tierlock review simulate",
    )


def _unreadable(base: FileSource, fault: Finding) -> Finding:
    place = f"{fault.path}:{fault.line}" if fault.line else fault.path
    return Finding(
        "TL504",
        f"the review policy in the {base.label} cannot be read: {fault.message} ({fault.code}, {place})",
        path=SERVICES_FILE,
        hint="mend it on the base branch; where that is not possible: tierlock review gate --bootstrap",
    )


def find_evidence(landing: Landing, change_set: ChangeSet, bench: Bench) -> tuple[Evidence, ...]:
    """The approvals of what moves in the states of the landing, the same file once.

    What the state before holds already is looked at twice: for another pair of digests it is history and left
    out, for this one it may be used up.
    """
    subjects = {one.subject.key: one.subject for one in change_set.transitions}
    found: dict[tuple[str, bytes], Evidence] = {}
    for source in landing.approvals if subjects else ():
        try:
            given = list(bench.read(source, tuple(subjects.values())))
        except Unreadable as err:
            message = f"the approvals in the {source.label} cannot be read: {err.message}"
            raise Unreadable(message, where=err.where, hint=err.hint) from err
        for one in given:
            found.setdefault((one.where, one.payload), one)
    return tuple(without_history(found.values(), subjects, landing))


def forge_evidence(landing: Landing, policy: Policy, bench: Bench) -> Iterator[Evidence]:
    """What the reviews on a forge are worth: for what the author changed, as it is at the head they saw."""
    if not bench.forge:
        return
    from governance.review import forge

    before, after = landing.more[0] if landing.more else (landing.before, landing.after)
    transitions = between(before, after).transitions
    head = after.oid if isinstance(after, RevisionTree) else None
    committed = committed_at(after.git, head) if isinstance(after, RevisionTree) and head else None
    for request in bench.forge:
        yield from forge.evidence(request, transitions, policy, head=head, committed=committed)


def without_history(
    evidence: Iterable[Evidence], subjects: Mapping[str, Subject], landing: Landing
) -> Iterator[Evidence]:
    """`evidence` less what the state before holds for other digests; what is used up is marked."""
    base = landing.base or landing.before
    for one in evidence:
        if base is None or not base.entries(one.where):
            yield one
            continue
        subject = subjects.get(one.subject_key)
        if subject is not None and one.is_for(subject):
            yield replace(one, spent=is_spent(base, one.where, subject))
