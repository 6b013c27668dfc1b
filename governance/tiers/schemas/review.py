"""tierlock.yaml, review policy: who must accept a change of what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from governance.tiers.schemas import forms
from governance.tiers.schemas.field import NONE, Closed, Date, Line, Name, Positive, Spec, absent

PublicKey = Annotated[str, Field(pattern=forms.PUBLIC_KEY.pattern)]
ForgeId = Annotated[int, Field(ge=1, le=2**53 - 1)]
Approvals = Annotated[int, Field(ge=0, le=20)]


class Key(Closed):
    """A signing key with the time it counts for."""

    key: Annotated[PublicKey, Spec("SSH public key", NONE)]
    valid_from: Annotated[Date, Spec("first day the key counts", NONE)] = absent()
    expires: Annotated[Date, Spec("last day the key counts", NONE)] = absent()
    revoked: Annotated[Date, Spec("day the key was withdrawn", NONE)] = absent()


class Person(Closed):
    """One person, by signing keys and numeric forge ids."""

    keys: Annotated[list[PublicKey | Key], Spec("signing keys of the person", NONE)] = absent()
    github: Annotated[ForgeId, Spec("numeric GitHub user id; a login can change hands", NONE)] = absent()
    gitlab: Annotated[ForgeId, Spec("numeric GitLab user id", NONE)] = absent()
    reviewboard: Annotated[ForgeId, Spec("numeric Review Board user id", NONE)] = absent()
    emails: Annotated[
        list[Line], Spec("addresses the person commits with, so that authors are known", NONE, unordered=True)
    ] = absent()


class Requirement(Closed):
    """How many people of which roles must accept."""

    approvals: Annotated[Approvals, Spec("distinct people, the author never among them", NONE, unit="people")]
    from_: Annotated[
        list[Name], Field(alias="from"), Spec("roles they come from, a set", NONE, unordered=True)
    ] = absent()
    on_output_change: Annotated[
        Approvals, Spec("distinct people when the change shapes answers", NONE, unit="people")
    ] = absent()
    expires_after_days: Annotated[Positive, Spec("how long an approval counts", NONE, unit="days")] = absent()


class BreakGlass(Closed):
    """What an emergency approval may do."""

    from_: Annotated[
        list[Name], Field(alias="from"), Spec("roles that may give one, a set", NONE, unordered=True)
    ]
    max_hours: Annotated[Positive, Spec("how long it counts", NONE, unit="hours")] = absent()
    follow_up_days: Annotated[
        Positive, Spec("until when a regular approval must follow", NONE, unit="days")
    ] = absent()


class Review(Closed):
    """Who must accept what, always read from the base revision."""

    people: Annotated[dict[Name, Person], Spec("who can approve", NONE)] = absent()
    roles: Annotated[dict[Name, list[Name]], Spec("groups of people", NONE)] = absent()
    base: Annotated[Requirement, Spec("for a change of a base config", NONE)] = absent()
    sampling: Annotated[Requirement, Spec("for a change of a sampling config", NONE)] = absent()
    prompts: Annotated[Requirement, Spec("for a change of a prompts config", NONE)] = absent()
    binding: Annotated[Requirement, Spec("for a change of what a service binds", NONE)] = absent()
    policy: Annotated[Requirement, Spec("for a change of this policy", NONE)] = absent()
    protected: Annotated[
        list[Line],
        Spec(
            "branches the policy is enforced on, patterns, a set",
            NONE,
            unordered=True,
            example=["main", "release/*"],
        ),
    ] = absent()
    at_commit: Annotated[
        Literal["protected", "always", "never"], Spec("where commits are stopped on the spot", NONE)
    ] = absent()
    evidence: Annotated[
        list[Literal["signature", "github", "gitlab", "reviewboard"]],
        Spec("kinds of approval that count, a set", NONE, unordered=True),
    ] = absent()
    break_glass: Annotated[BreakGlass, Spec("emergency approvals", NONE)] = absent()
