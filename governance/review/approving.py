"""Giving approvals and taking them back: what is accepted, by whom, and the records that say so.

- A plan is made first, from the same comparison and policy the gate uses: what moves, the diff that is shown,
  who is asking. Nothing is signed that has not been compared.
- An approval is judged before it is signed: one that would not count is told and not written.
- Records are made in memory, judged again with their real signatures, and only then handed back to write.
- An approval that this person has given already, for the same pair, is not given twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from governance.adapters.files import FileSource
from governance.errors import Unreadable, Usage
from governance.records import dataclass, field
from governance.review import statement
from governance.review.approval import Verify, as_evidence, judge, read_approvals
from governance.review.authors import authors_of
from governance.review.gate import Landing, change_set_of, policy_for, without_history
from governance.review.model import Authors, Evidence, Judged, Signature, Subject, SubjectKind, Transition
from governance.review.policy import Policy
from governance.review.statement import Record, Statement, Withdrawal
from governance.tiers.canonical import SCHEME
from governance.verdict import Check, Finding, Outcome, Report

Sign = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Signer:
    """Whose key signs: the person of the policy, the fingerprint of the key, and what signs with it."""

    person: str
    keyid: str
    sign: Sign
    verify: Verify


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be accepted, under which policy. `given` are the approvals that lie there already, `broke`
    the people who broke the glass for a subject, by its key: their own follow-up is none.
    """

    label: str
    policy: Policy
    transitions: tuple[Transition, ...]
    authors: Mapping[str, Authors] = field(default_factory=dict)
    given: tuple[Evidence, ...] = ()
    broke: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Terms:
    """What is said beside the change itself."""

    reason: str
    now: datetime
    expires: datetime | None = None
    emergency: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """The report, and the files to write, by path."""

    report: Report
    files: Mapping[str, bytes] = field(default_factory=dict)


def plan(landing: Landing, approvals: FileSource, names: Sequence[str] = ()) -> Plan:
    """What `landing` changes, or of it what `names` name. `approvals` is where approvals lie now.

    Raises `Unreadable` when there is no policy to approve under or nothing moves, `Usage` for a name that
    does not move.
    """
    change_set = change_set_of(landing)
    ground = policy_for(landing)
    if isinstance(ground, Finding):
        raise Unreadable(ground.message, where=ground.path, hint=ground.hint)
    if change_set.findings:
        first = change_set.findings[0]
        where = f"{first.path}:{first.line}" if first.line else first.path
        raise Unreadable(f"{landing.label} cannot be accepted by anybody: {first.message}", where=where,
                         hint="tierlock check")  # fmt: skip
    chosen = _chosen(change_set.transitions, names, landing.label)
    who = {one.subject.key: authors_of(ground.policy, one, landing.who) for one in chosen}
    subjects = {one.subject.key: one.subject for one in chosen}
    given = without_history(read_approvals(approvals, tuple(subjects.values())), subjects, landing)
    return Plan(landing.label, ground.policy, chosen, who, tuple(given))


def signer_of(policy: Policy, keyid: str, public_key: str) -> str:
    """The person whose key this is. Raises `Unreadable` when it is nobody's."""
    person = policy.person_of_key(keyid)
    if person is None:
        raise Unreadable(
            f"the key {keyid} is nobody's in the policy of the base revision",
            hint=f"name another with --key, or add this one there: {' '.join(public_key.split()[:2])}",
        )
    return person


def approve(plan: Plan, signer: Signer, terms: Terms) -> Done:
    """Sign every transition of the plan. When one approval would not count, none is signed."""
    wanted = [one for one in plan.transitions if not _has_given(plan, one.subject, signer, terms.now)]
    drafts = [_draft(one.subject, plan.policy, signer, terms) for one in wanted]
    expected = [_judged(draft, plan, signer, terms.now, lambda *_: True) for draft in drafts]
    if any(not one.accepted for one in expected):
        return Done(_refusal(plan, wanted, expected))
    records = [_signed(draft, signer) for draft in drafts]
    for record in records:
        judged = _judged(record, plan, signer, terms.now, signer.verify)
        if not judged.accepted:
            raise Unreadable(
                f"the approval that was just signed does not verify: {judged.why}",
                hint="does --key name the key that the agent holds? ssh-add -L",
            )
    return Done(_approved(plan, records, signer, terms), {one.path: statement.dump(one) for one in records})


def withdraw(plan: Plan, signer: Signer, terms: Terms) -> Done:
    """Take back this person's approvals of what the plan holds. Raises `Usage` when there are none."""
    wanted = {one.subject for one in plan.transitions}
    own = [
        one
        for one in plan.given
        if one.person == signer.person and not (one.withdrawn or one.spent) and any(map(one.is_for, wanted))
    ]
    return withdraw_these(own, signer, terms)


def withdraw_these(own: Sequence[Evidence], signer: Signer, terms: Terms) -> Done:
    """Take back these approvals. Raises `Usage` when there are none or one is somebody else's."""
    if not own:
        raise Usage(
            f"{signer.person} has given no approval of this change",
            hint="name the approval by its path below .tierlock/approvals/",
        )
    others = [one for one in own if one.person != signer.person]
    if others:
        raise Usage(f"`{others[0].where}` was given by {others[0].person}: only that person takes it back")
    records = []
    for one in own:
        digest = hashlib.sha256(one.payload).hexdigest()
        said = Withdrawal(one.subject_key, digest, signer.person, terms.reason, terms.now)
        records.append(_signed(said, signer))
    files = {one.path: statement.dump(one) for one in records}
    checks = tuple(Check(one.where, Outcome.PASS, "withdrawn") for one in own)
    count = "1 approval" if len(own) == 1 else f"{len(own)} approvals"
    report = Report(
        "review approve", checks=checks, summary=f"{count} withdrawn by {signer.person}",
        next=_next(files, f"withdraw the approval of {_names(own)}"),
    )  # fmt: skip
    return Done(report, files)


def shown(plan: Plan) -> Report:
    """The changes of the plan, to be looked at before they are accepted."""
    pairs = tuple(Check(one.subject.shown, Outcome.PASS, one.subject.short) for one in plan.transitions)
    changes = tuple(change for one in plan.transitions for change in one.changes)
    used = tuple(
        f"{one.subject.shown} is used by {', '.join(one.used_by)}" for one in plan.transitions if one.used_by
    )
    return Report("review approve", title=f"to be accepted: {plan.label}", checks=pairs, changes=changes,
                  notes=used, summary=f"under policy {plan.policy.digest[:12]}")  # fmt: skip


def expiry(text: str, now: datetime) -> datetime:
    """When `2026-12-31` (the end of that day), `30d` or `12h` is. Raises `Usage`."""
    number, unit = text[:-1], text[-1:]
    if number.isdigit() and unit in ("d", "h") and 0 < int(number) <= 3660:
        return now + timedelta(days=int(number)) if unit == "d" else now + timedelta(hours=int(number))
    try:
        moment = datetime.fromisoformat(f"{text}T23:59:59+00:00") if len(text) == 10 else None
    except ValueError:
        moment = None
    if moment is None:
        raise Usage(f"`{text}` is not a time to expire", hint="write 2026-12-31, 30d or 12h")
    if moment <= now:
        raise Usage(f"`{text}` is over already", hint="name a later day")
    return moment


def argument_of(subject: Subject) -> str:
    """How a command line names a subject: `sampling/factual`, `service/summarizer`, `policy`."""
    return f"service/{subject.name}" if subject.kind is SubjectKind.BINDING else subject.name


def _chosen(moving: Sequence[Transition], names: Sequence[str], label: str) -> tuple[Transition, ...]:
    if not moving:
        raise Unreadable(
            f"there is nothing to approve: {label} moves no config, no binding and no policy",
            hint="name what is to be approved: --range BASE..HEAD or --commit REV",
        )
    if not names:
        return tuple(moving)
    wanted = [name.removeprefix("configs/").removesuffix(".yaml") for name in names]
    there = {argument_of(one.subject) for one in moving}
    for name, given in zip(wanted, names, strict=True):
        if name not in there:
            raise Usage(
                f"`{given}` does not move in {label}", hint=f"choose from: {', '.join(sorted(there))}"
            )
    return tuple(one for one in moving if argument_of(one.subject) in wanted)


def _has_given(plan: Plan, subject: Subject, signer: Signer, now: datetime) -> bool:
    """Whether a regular approval by this person counts already."""
    own = [one for one in plan.given if one.person == signer.person and not one.emergency]
    authors = plan.authors.get(subject.key, Authors())
    return any(judge(one, subject, plan.policy, authors, now, signer.verify).accepted for one in own)


def _draft(subject: Subject, policy: Policy, signer: Signer, terms: Terms) -> Statement:
    expires = terms.expires
    if terms.emergency and expires is None and policy.break_glass is not None:
        expires = terms.now + timedelta(hours=policy.break_glass.max_hours)
    return Statement(subject, policy.digest, signer.person, terms.reason, terms.now, expires, terms.emergency)


def _signed(said: Statement | Withdrawal, signer: Signer) -> Record:
    payload = statement.payload_of(said)
    made = signer.sign(statement.signed_bytes(payload))
    record = Record(said, payload, (Signature(signer.keyid, made),))
    return statement.load(statement.dump(record), record.path)


def _judged(given: Statement | Record, plan: Plan, signer: Signer, now: datetime, verify: Verify) -> Judged:
    if isinstance(given, Statement):
        payload = statement.payload_of(given)
        given = Record(given, payload, (Signature(signer.keyid, ""),))
    evidence = as_evidence(given, given.path)
    assert isinstance(given.said, Statement)
    subject = given.said.subject
    if signer.person in plan.broke.get(subject.key, ()):
        return Judged(
            evidence, accepted=False, why=f"{signer.person} broke the glass: somebody else has to look"
        )
    return judge(evidence, subject, plan.policy, plan.authors.get(subject.key, Authors()), now, verify)


def _refusal(plan: Plan, wanted: Sequence[Transition], judged: Sequence[Judged]) -> Report:
    checks = tuple(
        Check(one.subject.shown, Outcome.PASS if each.accepted else Outcome.BLOCK, each.why)
        for one, each in zip(wanted, judged, strict=True)
    )
    changes = tuple(change for one in plan.transitions for change in one.changes)
    bad = sum(not each.accepted for each in judged)
    summary = f"{bad} of {len(judged)} approvals would not count, so nothing was signed"
    return Report("review approve", checks=checks, changes=changes, summary=summary)


def _approved(plan: Plan, records: Sequence[Record], signer: Signer, terms: Terms) -> Report:
    paths = {one.said.subject_key: one for one in records}
    checks = []
    for one in plan.transitions:
        record = paths.get(one.subject.key)
        said = f"{one.subject.short}, " + (
            "had been approved by {0} already" if record is None else _until(record, "{0}")
        ).format(signer.person)
        checks.append(Check(one.subject.shown, Outcome.PASS, said))
    changes = tuple(change for one in plan.transitions for change in one.changes)
    notes = [f"written  {one.path}" for one in records]
    if terms.emergency and records:
        notes.append(
            "this breaks the glass: a regular approval has to follow, and every report says so until then"
        )
    count = "1 approval" if len(records) == 1 else f"{len(records)} approvals"
    said = f"{count} signed by {signer.person} with {signer.keyid}" if records else "nothing new to sign"
    return Report(
        "review approve", checks=tuple(checks), changes=changes, notes=tuple(notes),
        summary=said,
        next=_next([one.path for one in records], f"approve {_names(plan.transitions)}"),
        run={"policy": plan.policy.digest, "scheme": SCHEME, "records": [one.path for one in records]},
    )  # fmt: skip


def _until(record: Record, who: str) -> str:
    said = record.said
    assert isinstance(said, Statement)
    kind = "approved in an emergency" if said.emergency else "approved"
    until = "" if said.expires is None else f", until {statement.time_text(said.expires)}"
    return f"{kind} by {who}{until}"


def _names(these: Iterable[Transition | Evidence]) -> str:
    keys = (
        one.subject.shown if isinstance(one, Transition) else one.subject_key.partition(":")[2]
        for one in these
    )
    return ", ".join(dict.fromkeys(keys))


def _next(paths: Iterable[str], message: str) -> str:
    folders = sorted({path.rpartition("/")[0] for path in paths})
    return f'git add {" ".join(folders)} && git commit -m "{message}"' if folders else ""
