"""What review speaks of: subjects that move, who moved them, what is required, what counts, what is missing.

- The unit is a `Subject`: a config, the binding of a service or the policy, with the digest it had before
  and the one it gets. An approval is for one such pair and for no other.
- A digest of None means "was not there" (before) or "is gone" (after).
- Plain frozen values; no I/O, no clock. What decides is in `policy.py`, `approval.py` and `gate.py`.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Final, Literal

from governance.records import dataclass
from governance.tiers.canonical import SCHEME
from governance.values import Effect
from governance.verdict import Change, Finding, Outcome

Source = Literal["signature", "github", "gitlab", "reviewboard"]
SOURCES: Final[tuple[Source, ...]] = ("signature", "github", "gitlab", "reviewboard")
NOT_THERE: Final = "nothing"
POLICY_NAME: Final = "policy"


class SubjectKind(Enum):
    CONFIG = "config"
    BINDING = "binding"
    POLICY = "policy"


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that moves: `name` is `sampling/factual`, the name of a service, or `policy`."""

    kind: SubjectKind
    name: str
    before: str | None
    after: str | None
    scheme: str = SCHEME

    @property
    def key(self) -> str:
        """What it is, without its digests: `config:sampling/factual`."""
        return f"{self.kind.value}:{self.name}"

    @property
    def short(self) -> str:
        """The pair as people read it: `8c1f0a22e9d4 → 41d7be90aa13`; `nothing` where it is not there."""
        return " → ".join(NOT_THERE if side is None else side[:12] for side in (self.before, self.after))

    @property
    def tier(self) -> str:
        """The part of the policy it falls under: `base`, `sampling`, `prompts`, `binding` or `policy`."""
        return self.name.partition("/")[0] if self.kind is SubjectKind.CONFIG else self.kind.value

    @property
    def shown(self) -> str:
        """How reports call it: `sampling/factual`, `service summarizer`, `review policy`."""
        if self.kind is SubjectKind.CONFIG:
            return self.name
        return f"service {self.name}" if self.kind is SubjectKind.BINDING else "review policy"


@dataclass(frozen=True, slots=True)
class Transition:
    """One subject and what differs in it; `path` is where it is written, also when it is gone.

    `risk` is the gravest effect of `changes`; `used_by` names the services that run it, on either side.
    `paths` are the governed files that moved it: whoever touched one of them is an author.
    """

    subject: Subject
    changes: tuple[Change, ...]
    risk: Effect
    used_by: tuple[str, ...] = ()
    path: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What moves between two states. `findings` is what cannot be accepted whoever approves: a link in the
    place of a config, a file that does not load. `governed` is how many governed paths differ.
    """

    transitions: tuple[Transition, ...] = ()
    findings: tuple[Finding, ...] = ()
    governed: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """One person as a commit names them: `role` is `author`, `committer` or `co-author`; `key` is the
    fingerprint (`SHA256:…`) of the SSH key that signed the commit, if one did.
    """

    name: str
    email: str
    role: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Authors:
    """Who made a change: `people` of the policy by name, `unknown` by addresses nobody in it has."""

    people: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature of a statement: fingerprint of the key it says it is of, and the armoured SSHSIG."""

    keyid: str
    value: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One approval as it was found, not yet judged. `where` is its file or address.

    `payload` is the exact statement that was signed, `signatures` who signed it; both empty for a review
    on a forge, which has `head`, the commit it was given for, and `account`, the numeric id of the person.
    `refused` says why it cannot count, `unjudged` why it cannot be judged (a newer format), when reading it
    alone already tells. `spent` is set when the state before the change already held it and the subject has
    moved since: it was given for an earlier landing.
    """

    source: Source
    person: str
    subject_key: str
    before: str | None
    after: str | None
    scheme: str
    policy_digest: str
    reason: str
    issued: datetime
    expires: datetime | None = None
    emergency: bool = False
    where: str = ""
    head: str | None = None
    account: int | None = None
    payload: bytes = b""
    signatures: tuple[Signature, ...] = ()
    withdrawn: bool = False
    refused: str = ""
    unjudged: str = ""
    spent: bool = False

    def is_for(self, subject: Subject) -> bool:
        """Whether it was made for this very subject: kind, name, both digests and scheme."""
        made_for = (self.subject_key, self.before, self.after, self.scheme)
        return made_for == (subject.key, subject.before, subject.after, subject.scheme)


@dataclass(frozen=True, slots=True)
class Judged:
    """One piece of evidence and whether it counts; `why` is one sentence when it does not.

    `undecided` is set when it could not be judged (no ssh-keygen): it does not count, and the gate does not
    call the change unapproved either.
    """

    evidence: Evidence
    accepted: bool
    why: str = ""
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class Requirement:
    """How many distinct people of `roles` must approve. `people` are those who can, authors left out.

    `because` says in sentences where the number comes from and who was left out.
    """

    approvals: int
    roles: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    because: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """One transition judged. `restored` says in a sentence that it only brings golden back, if it does."""

    transition: Transition
    requirement: Requirement
    accepted: tuple[Judged, ...] = ()
    refused: tuple[Judged, ...] = ()
    undecided: str = ""
    restored: str = ""

    @property
    def approvers(self) -> tuple[str, ...]:
        """The distinct people whose approval counts: two keys of one person are one person."""
        return tuple(dict.fromkeys(one.evidence.person for one in self.accepted))

    @property
    def emergency(self) -> bool:
        """Whether a break-glass approval stands in for the regular ones."""
        return any(one.evidence.emergency for one in self.accepted)

    @property
    def missing(self) -> int:
        """How many approvals are still needed; none under break-glass, none on the way back to golden."""
        regular = {one.evidence.person for one in self.accepted if not one.evidence.emergency}
        excused = self.emergency or bool(self.restored)
        return 0 if excused else max(0, self.requirement.approvals - len(regular))

    @property
    def outcome(self) -> Outcome:
        """Pass when nothing is missing; undecided when evidence that could have filled the gap was not
        judged.
        """
        if not self.missing:
            return Outcome.PASS
        doubtful = self.undecided or any(one.undecided for one in self.refused)
        return Outcome.UNDECIDED if doubtful else Outcome.BLOCK
