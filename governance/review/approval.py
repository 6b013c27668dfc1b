"""Which approvals lie in a state, and whether one counts. `judge` is the one place where that is decided.

An approval counts when all of this holds:
- it is whole and unaltered, of a kind the policy takes, and not withdrawn;
- it is for this subject, with this digest before and this one after, under this scheme;
- it was not used up by an earlier landing (a change that was taken back and is made again);
- the person is in the policy in force, in a role that may approve this, and made no part of the change;
- it is not from the future and has not run out; an emergency one is allowed, by whom, and for how long;
- the key is that person's and nobody else's, counts today and counted when it was used, and the signature is
  right.
The policy in force is the one of the base revision. Under which policy an approval was given is told, and
does not decide: what the policy in force accepts counts (docs/adr, approval binding).

- What cannot be judged (no ssh-keygen, a newer format, another scheme) is undecided, never refused as wrong.
- Pure but for the source that is read and the `verify` that is handed in; time is an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from governance.adapters.files import Entry, FileSource, Kind
from governance.errors import MissingTool, NewerFormat, Unreadable
from governance.records import dataclass, replace
from governance.review import statement
from governance.review.model import Authors, Evidence, Judged, Subject, SubjectKind
from governance.review.policy import Person, PersonKey, Policy
from governance.review.statement import EMERGENCY, FOLDER, WITHDRAWN, Record, Statement

Verify: TypeAlias = Callable[[bytes, str, str], bool]
"""Whether a signature is one of these bytes by this public key: `adapters.ssh.verify`."""

Judging: TypeAlias = Callable[[Evidence, Subject, Policy, Authors, datetime], Judged]
"""`judge` with its verifier bound."""

SKEW: Final = timedelta(minutes=5)
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """An emergency approval without the regular ones it owes: how many are missing, until when."""

    evidence: Evidence
    due: datetime
    missing: int

    def overdue(self, now: datetime) -> bool:
        return now > self.due


def read_approvals(source: FileSource, subjects: Collection[Subject] | None = None) -> tuple[Evidence, ...]:
    """The approvals in `source`, by path; with `subjects` only those that lie in their folders.

    One that cannot be read is there too, and says why: somebody believes that it counts.
    """
    keys = None if subjects is None else sorted({one.key for one in subjects})
    folders = [FOLDER] if keys is None else [statement.folder_of(key) for key in keys]
    entries = [entry for folder in folders for entry in source.entries(folder)]
    return tuple(_read(source, entries))


def judge(
    evidence: Evidence, subject: Subject, policy: Policy, authors: Authors, now: datetime, verify: Verify
) -> Judged:
    """Whether `evidence` counts for `subject` under `policy`, and in one sentence why not."""
    if evidence.unjudged:
        return Judged(evidence, accepted=False, why=evidence.unjudged, undecided=True)
    if why := _wrong(evidence, subject, policy, authors, now):
        return Judged(evidence, accepted=False, why=why)
    if evidence.scheme != subject.scheme:
        why = (
            f"it was made under the scheme {evidence.scheme}, which cannot be compared with {subject.scheme}"
        )
        return Judged(evidence, accepted=False, why=why, undecided=True)
    if evidence.source != "signature":
        return Judged(evidence, accepted=True, why=_earlier(evidence, policy))
    try:
        fault = _signature_fault(evidence, policy, now, verify)
    except MissingTool as err:
        why = f"its signature cannot be verified: {err.message}"
        return Judged(evidence, accepted=False, why=why, undecided=True)
    return Judged(evidence, accepted=not fault, why=fault or _earlier(evidence, policy))


def open_follow_ups(
    evidence: Iterable[Evidence], policy: Policy, judging: Judging, authors: Callable[[Subject], Authors]
) -> tuple[FollowUp, ...]:
    """The emergency approvals that the regular approvals they owe have not followed, oldest first.

    A regular approval is judged at the moment it was given, and does not count from who broke the glass.
    """
    given = tuple(evidence)
    found = []
    for one in given:
        if not one.emergency or one.withdrawn or one.refused or one.unjudged:
            continue
        subject = subject_of(one)
        made_by = authors(subject)
        barred = replace(made_by, people=made_by.people | {one.person})
        regular = [each for each in given if not each.emergency and each.is_for(subject)]
        people = {
            each.person
            for each in regular
            if judging(replace(each, spent=False), subject, policy, barred, each.issued).accepted
        }
        asked = policy.asked[subject.tier]
        missing = max(1, asked.approvals, asked.on_output_change or 0) - len(people)
        if missing > 0:
            found.append(FollowUp(one, one.issued + _follow_up_time(policy), missing))
    return tuple(sorted(found, key=lambda each: (each.evidence.issued, each.evidence.where)))


def emergencies(source: FileSource) -> tuple[Evidence, ...]:
    """The emergency approvals in `source` with the regular ones beside them: what `open_follow_ups` needs.

    Found by their names, so nothing is read where the glass was never broken.
    """
    names = [one.path for one in source.entries(FOLDER) if one.path.endswith(EMERGENCY)]
    folders = sorted({path.rpartition("/")[0] + "/" for path in names})
    entries = [entry for folder in folders for entry in source.entries(folder)]
    return tuple(_read(source, entries))


def subject_of(evidence: Evidence) -> Subject:
    """The subject that an approval is for."""
    kind, _, name = evidence.subject_key.partition(":")
    return Subject(SubjectKind(kind), name, evidence.before, evidence.after, evidence.scheme)


def as_evidence(record: Record, where: str) -> Evidence:
    """An approval record as evidence."""
    said = record.said
    assert isinstance(said, Statement)
    subject = said.subject
    return Evidence(
        source="signature", person=said.person, subject_key=subject.key, before=subject.before,
        after=subject.after, scheme=subject.scheme, policy_digest=said.policy, reason=said.reason,
        issued=said.issued, expires=said.expires, emergency=said.emergency, where=where,
        payload=record.payload, signatures=record.signatures,
    )  # fmt: skip


def _read(source: FileSource, entries: Sequence[Entry]) -> Iterator[Evidence]:
    paths = {entry.path: entry.kind for entry in entries}
    ask = getattr(source, "prefetch", None)
    if ask is not None:
        ask([path for path, kind in paths.items() if kind is Kind.FILE])
    for path in sorted(paths):
        key = statement.subject_key_of(path)
        if key is None or path.endswith(WITHDRAWN):
            continue
        # whatever has the name of a withdrawal withdraws, whole or not: in doubt an approval does not count
        stem = path.removesuffix(".json").removesuffix(EMERGENCY.removesuffix(".json"))
        yield replace(_one(source, path, key), withdrawn=f"{stem}{WITHDRAWN}" in paths)


def _one(source: FileSource, path: str, key: str) -> Evidence:
    try:
        record = statement.load(source.read(path), path)
    except NewerFormat as err:
        return replace(_blank(path, key), unjudged=f"{err.message}; {err.hint}")
    except Unreadable as err:
        return replace(_blank(path, key), refused=err.message)
    if not isinstance(record.said, Statement):
        return replace(_blank(path, key), refused="it is a withdrawal under the name of an approval")
    found = as_evidence(record, path)
    if record.path != path:
        why = f"it is an approval of {record.said.subject.shown} that belongs in {record.path}"
        return replace(found, subject_key=key, refused=why)
    return found


def _blank(path: str, key: str) -> Evidence:
    person = path.rpartition("/")[2].partition("-")[2].removesuffix(".json").removesuffix(".emergency")
    return Evidence("signature", person, key, None, None, "", "", "", _NEVER, where=path)


def _wrong(evidence: Evidence, subject: Subject, policy: Policy, authors: Authors, now: datetime) -> str:
    """Why it does not count, leaving the signature aside; empty when nothing speaks against it."""
    return (
        evidence.refused
        or ("it was withdrawn" if evidence.withdrawn else "")
        or _source_fault(evidence, policy)
        or _subject_fault(evidence, subject)
        or _person_fault(evidence, subject, policy, authors)
        or _time_fault(evidence, subject, policy, now)
    )


def _source_fault(evidence: Evidence, policy: Policy) -> str:
    if evidence.source not in policy.evidence:
        return f"the policy does not take evidence from {evidence.source}"
    if evidence.source == "signature":
        return ""
    if evidence.account is None or evidence.head is None:
        return "it is bound to no account or to no commit"
    if policy.person_of_account(evidence.source, evidence.account) != evidence.person:
        return f"account {evidence.account} on {evidence.source} is not {evidence.person}'s"
    return "" if not evidence.emergency else "an emergency approval has to be signed"


def _subject_fault(evidence: Evidence, subject: Subject) -> str:
    if evidence.subject_key != subject.key:
        return f"it is for {evidence.subject_key}, not for {subject.key}"
    if evidence.scheme != subject.scheme:
        return ""  # undecided, told by `judge`
    if (evidence.before, evidence.after) != (subject.before, subject.after):
        return f"it is for {subject_of(evidence).short}, and this is {subject.short}"
    if evidence.spent:
        return "it was used by an earlier landing of the same change, which was taken back since"
    return ""


def _person_fault(evidence: Evidence, subject: Subject, policy: Policy, authors: Authors) -> str:
    person = evidence.person
    if person in authors.people:
        return f"{person} made the change, and nobody approves their own"
    if person not in policy.people:
        return f"{person} is nobody in the policy in force"
    if evidence.emergency:
        glass = policy.break_glass
        if glass is None or not glass.roles:
            return "the policy allows no emergency approvals"
        roles = glass.roles
    else:
        roles = policy.asked[subject.tier].roles
    if person not in policy.members(roles):
        return f"{person} is not in {' or '.join(roles)}"
    return ""


def _time_fault(evidence: Evidence, subject: Subject, policy: Policy, now: datetime) -> str:
    if evidence.issued > now + SKEW:
        return f"it is dated {_shown(evidence.issued)}, which has not come yet"
    if evidence.expires is not None and evidence.expires <= evidence.issued:
        return "it ran out before it was given"
    if evidence.expires is not None and evidence.expires < now:
        return f"it ran out on {_shown(evidence.expires)}"
    if evidence.emergency:
        return _emergency_fault(evidence, policy)
    days = policy.asked[subject.tier].expires_after_days
    if days is not None and evidence.issued + timedelta(days=days) < now:
        return f"it was given on {_shown(evidence.issued)}, and the policy lets one count for {days} days"
    return ""


def _emergency_fault(evidence: Evidence, policy: Policy) -> str:
    glass = policy.break_glass
    hours = 0 if glass is None else glass.max_hours
    if evidence.expires is None:
        return "an emergency approval has to run out, and this one does not"
    if evidence.expires - evidence.issued > timedelta(hours=hours):
        return f"an emergency approval counts for {hours} hours at most, and this one asks for more"
    return ""


def _signature_fault(evidence: Evidence, policy: Policy, now: datetime, verify: Verify) -> str:
    """Why none of the signatures is a good one by the person; one good one is enough."""
    person = policy.people[evidence.person]
    data = statement.signed_bytes(evidence.payload)
    fault = "it carries no signature"
    for signature in evidence.signatures:
        key = next((one for one in person.keys if one.fingerprint == signature.keyid), None)
        fault = _key_fault(key, signature.keyid, person, policy, evidence.issued, now)
        if key is None or fault:
            continue
        if verify(data, signature.value, key.key):
            return ""
        fault = f"the signature by {signature.keyid} is not one of this statement"
    return fault


def _key_fault(
    key: PersonKey | None, keyid: str, person: Person, policy: Policy, issued: datetime, now: datetime
) -> str:
    """Why a key does not count, today or when it was used. A revoked key counts no more at all: whoever has
    it can write any date.
    """
    if key is None:
        return f"the key {keyid} is not {person.name}'s"
    owner = policy.person_of_key(keyid)
    if owner != person.name:
        return f"the key {keyid} is also {owner}'s: it counts for one person only"
    days = (issued.astimezone(UTC).date(), now.astimezone(UTC).date())
    if key.revoked is not None and days[1] >= key.revoked:
        return f"the key {keyid} was revoked on {key.revoked}"
    if key.expires is not None and max(days) > key.expires:
        return f"the key {keyid} ran out on {key.expires}"
    if key.valid_from is not None and min(days) < key.valid_from:
        return f"the key {keyid} counts from {key.valid_from} on"
    return ""


def _earlier(evidence: Evidence, policy: Policy) -> str:
    """A note on an approval that counts although the policy has moved since it was given."""
    if evidence.policy_digest == policy.digest:
        return ""
    return f"given under the policy {evidence.policy_digest[:12]}; the one in force accepts it too"


def _follow_up_time(policy: Policy) -> timedelta:
    from governance.review.policy import FOLLOW_UP_DAYS

    days = FOLLOW_UP_DAYS if policy.break_glass is None else policy.break_glass.follow_up_days
    return timedelta(days=days)


def _shown(moment: datetime) -> str:
    return statement.time_text(moment)
