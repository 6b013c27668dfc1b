"""The review policy as a value: who the people are, what a change requires, which branches are protected.

- Made from the tree of tierlock.yaml as it is at the base revision; never from the change it judges.
- The digest covers everything that decides: `version`, `review`, `rules` (exemptions excuse findings) and
  `profiles` (they say what a finding is). Sets have no order; comments and layout mean nothing.
- What a policy leaves out is decided strictly: no `protected` means every branch, no requirement for a tier
  means one approval, none for `binding` and `policy` means the strictest of the tiers.
- Nobody approves their own change: authors are left out of the people before anyone is counted.
- Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from typing import Any, Final

from governance.errors import Unreadable
from governance.records import dataclass, field
from governance.review.model import SOURCES, Authors, Requirement, Transition
from governance.tiers.canonical import canonical, digest
from governance.tiers.naming import SERVICES_FILE, TIERS
from governance.tiers.validate import spec
from governance.values import Effect, Json, KeyPath, Tree

PARTS: Final = ("version", "review", "rules", "profiles")
GOVERNED_PARTS: Final = (*TIERS, "binding", "policy")
EVERY_BRANCH: Final = ("*",)
MAX_HOURS: Final = 24
FOLLOW_UP_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class PersonKey:
    """A signing key and the days it counts; `fingerprint` as ssh-keygen shows it (`SHA256:…`)."""

    key: str
    fingerprint: str
    valid_from: date | None = None
    expires: date | None = None
    revoked: date | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """One person: keys, numeric ids by forge, addresses in lower case."""

    name: str
    keys: tuple[PersonKey, ...] = ()
    accounts: Mapping[str, int] = field(default_factory=dict)
    emails: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for one part. `roles` empty means anyone of the policy; `said` is false for a default."""

    approvals: int
    roles: tuple[str, ...] = ()
    on_output_change: int | None = None
    expires_after_days: int | None = None
    said: bool = True


@dataclass(frozen=True, slots=True)
class BreakGlass:
    """Who may give an emergency approval, how long it counts, and until when a regular one must follow."""

    roles: tuple[str, ...]
    max_hours: int = MAX_HOURS
    follow_up_days: int = FOLLOW_UP_DAYS


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy. `digest` binds approvals to it."""

    people: Mapping[str, Person]
    roles: Mapping[str, tuple[str, ...]]
    asked: Mapping[str, Asked]
    protected: tuple[str, ...]
    at_commit: str
    evidence: tuple[str, ...]
    break_glass: BreakGlass | None
    digest: str

    @classmethod
    def of(cls, settings: Tree) -> Policy:
        """The policy in the tree of a tierlock.yaml that has one (see `has_policy`)."""
        review = _tree(settings.get("review"))
        roles = {name: tuple(map(str, who)) for name, who in _tree(review.get("roles")).items()}
        glass = _tree(review.get("break_glass"))
        patterns = review.get("protected")
        return cls(
            people={name: _person(name, tree) for name, tree in _tree(review.get("people")).items()},
            roles=roles,
            asked=_all_asked(review),
            protected=EVERY_BRANCH if patterns is None else tuple(patterns),
            at_commit=str(review.get("at_commit", "protected")),
            evidence=tuple(review.get("evidence", SOURCES)),
            break_glass=_break_glass(glass) if glass else None,
            digest=policy_digest(settings) or "",
        )

    def members(self, roles: Iterable[str]) -> tuple[str, ...]:
        """The people of `roles` that the policy knows, in its order; everybody when no role is named."""
        wanted = {name for role in roles for name in self.roles.get(role, ())}
        return tuple(name for name in self.people if name in wanted or not tuple(roles))

    def person_of_key(self, fingerprint: str) -> str | None:
        """Whose key this is, whether or not it counts today."""
        return next(
            (
                person.name
                for person in self.people.values()
                if any(key.fingerprint == fingerprint for key in person.keys)
            ),
            None,
        )

    def person_of_email(self, address: str) -> str | None:
        """Whose address this is, whatever its case."""
        wanted = address.strip().lower()
        return next((person.name for person in self.people.values() if wanted in person.emails), None)

    def person_of_account(self, forge: str, account: int) -> str | None:
        """Whose numeric id on a forge this is."""
        found = (person for person in self.people.values() if person.accounts.get(forge) == account)
        return next((person.name for person in found), None)


def has_policy(settings: Tree) -> bool:
    """Whether tierlock.yaml has a `review` section with anything in it."""
    return bool(settings.get("review"))


def policy_tree(settings: Tree) -> dict[str, Json]:
    """The parts of tierlock.yaml that decide, with every set in one order."""
    return {part: _ordered(settings[part], (part,)) for part in PARTS if part in settings}


def policy_digest(settings: Tree) -> str | None:
    """The digest of the policy; None where there is none."""
    return digest(policy_tree(settings)) if has_policy(settings) else None


def protected(policy: Policy, ref: str) -> bool:
    """Whether the policy is enforced on `ref`: a full name (`refs/heads/main`) or a branch.

    `*` matches a slash too, so `release/*` covers `release/1/hotfix`; a pattern that begins with `refs/` is
    for full names, tags for example.
    """
    full = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
    patterns = (each if each.startswith("refs/") else f"refs/heads/{each}" for each in policy.protected)
    return any(fnmatchcase(full, pattern) for pattern in patterns)


def requirement(policy: Policy, transition: Transition, authors: Authors) -> Requirement:
    """What `transition` needs under `policy` when `authors` made it."""
    part = transition.subject.tier
    asked = policy.asked[part]
    because = [] if asked.said else [f"the policy says nothing of `{part}`, so the default holds"]
    number = asked.approvals
    raised = asked.on_output_change
    if raised is not None and transition.risk is Effect.OUTPUT and raised > number:
        number = raised
        because.append(f"it shapes answers, which raises {asked.approvals} to {raised}")
    members = policy.members(asked.roles)
    people = tuple(name for name in members if name not in authors.people)
    left_out = [name for name in members if name in authors.people]
    if left_out:
        because.append(f"{_listed(left_out)} made the change, so may not approve it")
    return Requirement(number, asked.roles, people, tuple(because))


def fingerprint_of(public_key: str) -> str:
    """`SHA256:…` of an SSH public key line, as ssh-keygen prints it; empty when it is no key."""
    words = public_key.split()
    try:
        blob = base64.b64decode(words[1], validate=True)
    except (IndexError, binascii.Error, ValueError):
        return ""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _all_asked(review: Mapping[str, Any]) -> dict[str, Asked]:
    found = {tier: _asked(review[tier]) if tier in review else Asked(1, said=False) for tier in TIERS}
    strictest = max(found.values(), key=lambda one: max(one.approvals, one.on_output_change or 0))
    number = max(strictest.approvals, strictest.on_output_change or 0)
    for part in ("binding", "policy"):
        default = Asked(number, strictest.roles, expires_after_days=strictest.expires_after_days, said=False)
        found[part] = _asked(review[part]) if part in review else default
    return found


def _asked(tree: Mapping[str, Any]) -> Asked:
    return Asked(
        int(tree["approvals"]),
        tuple(tree.get("from", ())),
        tree.get("on_output_change"),
        tree.get("expires_after_days"),
    )


def _break_glass(tree: Mapping[str, Any]) -> BreakGlass:
    hours, days = tree.get("max_hours", MAX_HOURS), tree.get("follow_up_days", FOLLOW_UP_DAYS)
    return BreakGlass(tuple(tree.get("from", ())), int(hours), int(days))


def _person(name: str, tree: Mapping[str, Any]) -> Person:
    return Person(
        name,
        tuple(_key(one) for one in tree.get("keys", ())),
        {forge: int(tree[forge]) for forge in SOURCES[1:] if forge in tree},
        frozenset(address.strip().lower() for address in tree.get("emails", ())),
    )


def _key(given: str | Mapping[str, str]) -> PersonKey:
    if isinstance(given, str):
        return PersonKey(given, fingerprint_of(given))
    days = (_day(given.get(name)) for name in ("valid_from", "expires", "revoked"))
    return PersonKey(given["key"], fingerprint_of(given["key"]), *days)


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as err:
        raise Unreadable(
            f"`{text}` in the review policy is no day of the calendar",
            where=SERVICES_FILE,
            hint="correct it on the base branch",
        ) from err


def _tree(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _ordered(value: Json, path: KeyPath) -> Json:
    if isinstance(value, Mapping):
        return {key: _ordered(inner, (*path, key)) for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        known = spec("services", path)
        items = [_ordered(inner, (*path, at)) for at, inner in enumerate(value)]
        is_set = known is not None and known.unordered
        return (
            [each for _, each in sorted({canonical(each): each for each in items}.items())]
            if is_set
            else items
        )
    return value


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
