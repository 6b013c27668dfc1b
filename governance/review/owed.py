"""The regular approvals that emergency ones still owe: which are open, and what exactly is to be approved.

- What was let through in an emergency is found again in history, with its authors, so that the follow-up
  approves the same change and nobody approves their own.
- The policy in force is the one at HEAD.
"""

from __future__ import annotations

from collections.abc import Sequence

from governance.adapters.files import FileSource
from governance.errors import Unreadable, Usage
from governance.fingerprint.states import State
from governance.records import dataclass
from governance.review import landings
from governance.review.approval import (
    FollowUp,
    Judging,
    emergencies,
    open_follow_ups,
    read_approvals,
    subject_of,
)
from governance.review.approving import Plan, argument_of
from governance.review.authors import authors_of
from governance.review.changeset import between
from governance.review.landings import Where
from governance.review.model import Authors, Subject, Transition
from governance.review.policy import Policy, has_policy
from governance.review.spent import paths_of


@dataclass(frozen=True, slots=True)
class Landed:
    """A change that is in history: the transition, and who made it."""

    transition: Transition
    authors: Authors


def still_open(where: Where, files: FileSource, policy: Policy, judging: Judging) -> tuple[FollowUp, ...]:
    """The open follow-ups among the approvals in `files`. Nothing is read where no glass was broken."""
    given = emergencies(files)
    if not given:
        return ()

    def authors(subject: Subject) -> Authors:
        landed = find(where, policy, subject)
        return Authors() if landed is None else landed.authors

    return open_follow_ups(given, policy, judging, authors)


def plan(where: Where, files: FileSource, judging: Judging, names: Sequence[str]) -> Plan:
    """What the open follow-ups, or those that `names` name, are to approve. Raises `Unreadable`, `Usage`."""
    settings = State(where.tree("HEAD")).settings()
    if not has_policy(settings):
        raise Unreadable("there is no review policy at HEAD", hint="tierlock review simulate")
    policy = Policy.of(settings)
    owed = still_open(where, files, policy, judging)
    subjects = list(dict.fromkeys(subject_of(one.evidence) for one in owed))
    if not subjects:
        raise Usage("no emergency approval is waiting for a regular one")
    there = {argument_of(one): one for one in subjects}
    if unknown := [name for name in names if name not in there]:
        raise Usage(f"`{unknown[0]}` owes no approval", hint=f"choose from: {', '.join(sorted(there))}")
    chosen = [one for name, one in there.items() if not names or name in names]
    landed = [_found(where, policy, one) for one in chosen]
    who = {one.transition.subject.key: one.authors for one in landed}
    label = "what was let through in an emergency"
    broke = {
        key: frozenset(one.evidence.person for one in owed if one.evidence.subject_key == key) for key in who
    }
    moved = tuple(one.transition for one in landed)
    return Plan(label, policy, moved, who, read_approvals(files, chosen), broke)


def _found(where: Where, policy: Policy, subject: Subject) -> Landed:
    landed = find(where, policy, subject)
    if landed is None:
        raise Unreadable(
            f"{subject.shown} never moved {subject.short} in the history of HEAD",
            hint="check out the branch it landed on, and commit it there first",
        )
    return landed


def find(where: Where, policy: Policy, subject: Subject) -> Landed | None:
    """Where `subject` moved as it says, in the history of HEAD; None when it did not."""
    out = where.git.run(
        "log", "--first-parent", "-m", "--format=%H", "--no-show-signature", "--no-color",
        "--end-of-options", "HEAD", "--", *paths_of(subject, where.folder),
    )  # fmt: skip
    for commit in out.decode().split():
        landing = landings.of_commit(where, commit)
        for one in between(landing.before, landing.after).transitions:
            if one.subject == subject:
                return Landed(one, authors_of(policy, one, landing.who))
    return None
