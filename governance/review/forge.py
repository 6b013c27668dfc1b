"""Reviews on GitHub, GitLab and Review Board as evidence: what their JSON says, read without trust.

A review counts as evidence when all of this holds; otherwise it is kept and says why not:
- it is an approval now: the last word of its account, not dismissed, not followed by a request for changes;
- it was given for the commit that is the head now, and that is the commit that is judged. Where the forge
  carries an approval over to another head (after a rebase, a push, a new base), it was not given for it;
- it was given after that commit existed, by its own date and by the forge's record of pushes;
- its account is a numeric id that the policy knows, and not the one that opened the request.

A login is never looked at: it can change hands. Pure: JSON in, values out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote

from governance.errors import Unreadable
from governance.review.model import Evidence, Source, Transition
from governance.review.policy import Policy
from governance.values import Json

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_DECISIVE: Final = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
_MOVES: Final = {
    "head_ref_force_pushed": "the branch was force-pushed after it was given",
    "base_ref_changed": "the request was pointed at another branch after it was given",
    "base_ref_force_pushed": "the target branch was force-pushed after it was given",
}


@dataclass(frozen=True, slots=True)
class ForgeReview:
    """One approval on a forge: `head` is the commit it was given for, `refused` why it cannot count."""

    account: int | None
    head: str | None
    given: datetime | None
    where: str
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One pull request, merge request or review request: its head, who opened it, its approvals."""

    source: Source
    where: str
    head: str
    opened_by: int | None
    reviews: tuple[ForgeReview, ...]


def github(pull: Json, reviews: Sequence[Json], timeline: Sequence[Json] = ()) -> Request:
    """A pull request from `GET /pulls/N` (or an event), `/pulls/N/reviews` and `/issues/N/timeline`."""
    tree = _object(pull, "the pull request")
    head = _text(_object(tree.get("head"), "`head` of the pull request").get("sha"))
    where = f"pull request {tree.get('number')}"
    moves = [one for one in map(_mapping, timeline) if one.get("event") in _MOVES]
    last: dict[int, Mapping[str, Json]] = {}
    nameless: list[ForgeReview] = []
    for one in sorted(map(_mapping, reviews), key=_order):
        if str(one.get("state", "")).upper() not in _DECISIVE:
            continue
        account = _id(_mapping(one.get("user")).get("id"))
        if account is None:
            nameless.append(ForgeReview(None, None, None, where, "its account has no numeric id"))
        else:
            last[account] = one
    found = [_github_review(account, one, where, moves) for account, one in last.items()]
    opened_by = _id(_mapping(tree.get("user")).get("id"))
    return Request("github", where, _head(head, where), opened_by, (*found, *nameless))


def github_event(event: Json, reviews: Sequence[Json] = ()) -> Request:
    """The pull request of an event that GitHub Actions has on disk, with the review of the event itself.

    Raises `Unreadable` when the event is not about a pull request.
    """
    tree = _object(event, "the event")
    if "pull_request" not in tree:
        raise Unreadable(
            "the event is not about a pull request", hint="run it on pull_request or pull_request_review"
        )
    own = [tree["review"]] if isinstance(tree.get("review"), Mapping) else []
    if tree.get("action") == "dismissed" and own:
        own = [{**_mapping(own[0]), "state": "dismissed"}]
    ids = {_mapping(one).get("id") for one in own}
    others = [one for one in reviews if _mapping(one).get("id") not in ids]
    return github(tree["pull_request"], [*others, *own])


def gitlab(merge_request: Json, approvals: Json, versions: Sequence[Json]) -> Request:
    """A merge request from `GET /merge_requests/N`, its `/approvals` and its `/versions`.

    GitLab's approvals name no commit: one counts only when it was given after the last version was made,
    whether that brought other commits or another base.
    """
    tree = _object(merge_request, "the merge request")
    where = f"merge request {tree.get('iid')}"
    head = _head(_text(tree.get("sha")), where)
    made = sorted(
        (
            (_time(one.get("created_at")) or _NEVER, _text(one.get("head_commit_sha")))
            for one in map(_mapping, versions)
        ),
        reverse=True,
    )
    given = _mapping(approvals).get("approved_by")
    found = tuple(
        _gitlab_approval(_mapping(one), where, made, head)
        for one in (given if isinstance(given, list) else ())
    )
    return Request("gitlab", where, head, _id(_mapping(tree.get("author")).get("id")), found)


def reviewboard(
    request: Json,
    reviews: Sequence[Json],
    diffs: Sequence[Json],
    changes: Sequence[Json],
    commits: Sequence[Json],
    accounts: Json,
) -> Request:
    """A review request, its reviews, diffs and changes, the commits of the last diff, the ids of its people.

    A `ship it` names no commit: it counts only when it was given after the last diff was published, and while
    Review Board itself calls the request approved. A diff says when it was uploaded; that it was published
    later is told by the changes.
    """
    tree = _object(request, "the review request")
    where = f"review request {tree.get('id')}"
    ids = _mapping(accounts)
    bound = [_text(_mapping(one).get("commit_id")) for one in commits] or [_text(tree.get("commit_id"))]
    refused = ""
    if tree.get("approved") is not True:
        why = _text(tree.get("approval_failure")) or "no reason given"
        refused = f"Review Board does not call it approved: {why}"
    latest: dict[str, Mapping[str, Json]] = {}
    for one in sorted(map(_mapping, reviews), key=lambda one: _time(one.get("timestamp")) or _NEVER):
        if one.get("public") is True and one.get("ship_it") is True:
            latest[_user_of(one)] = one
    made = _published(diffs, changes)
    found = tuple(
        _ship_it(_id(ids.get(name)), one, where, made, bound[-1], refused) for name, one in latest.items()
    )
    opened_by = _id(ids.get(_user_of(tree, "submitter")))
    return Request("reviewboard", where, _head(bound[-1], where), opened_by, found)


def _published(diffs: Sequence[Json], changes: Sequence[Json]) -> datetime | None:
    """When the last diff was published; None when that is not told."""
    updates = [one for one in map(_mapping, changes) if "diff" in _mapping(one.get("fields_changed"))]
    times = [_time(one.get("timestamp")) for one in (*map(_mapping, diffs), *updates)]
    known = [one for one in times if one is not None]
    return max(known) if known and len(known) == len(times) else None


def evidence(
    request: Request,
    transitions: Iterable[Transition],
    policy: Policy,
    *,
    head: str | None,
    committed: datetime | None,
) -> tuple[Evidence, ...]:
    """What the reviews of `request` are worth for these transitions: one piece for each of them.

    `head` is the commit that is judged and `committed` its date; None when no single commit is.
    """
    found = []
    for review in request.reviews:
        person, why = _person(request, review, policy)
        why = review.refused or why or _binding_fault(request, review, head, committed)
        for one in transitions:
            subject = one.subject
            found.append(
                Evidence(
                    source=request.source, person=person, subject_key=subject.key, before=subject.before,
                    after=subject.after, scheme=subject.scheme, policy_digest=policy.digest,
                    reason="reviewed on the forge", issued=review.given or _NEVER, where=review.where,
                    head=review.head, account=review.account, refused=why,
                )
            )  # fmt: skip
    return tuple(found)


def _github_review(
    account: int, one: Mapping[str, Json], where: str, moves: Sequence[Mapping[str, Json]]
) -> ForgeReview:
    state = str(one["state"]).upper()
    given, head = _time(one.get("submitted_at")), _text(one.get("commit_id")) or None
    found = ForgeReview(account, head, given, f"{where}, review {one.get('id')}")
    if state == "DISMISSED":
        return replace(found, refused="it was dismissed")
    if state == "CHANGES_REQUESTED":
        return replace(found, refused="it asks for changes")
    if given is None or head is None:
        return replace(found, refused="the forge says neither when nor for which commit it was given")
    for move in moves:
        moment = _time(move.get("created_at"))
        if moment is None or moment >= given:
            return replace(found, refused=_MOVES[str(move["event"])])
    return found


def _gitlab_approval(
    one: Mapping[str, Json], where: str, made: Sequence[tuple[datetime, str]], head: str
) -> ForgeReview:
    account, given = _id(_mapping(one.get("user")).get("id")), _time(one.get("approved_at"))
    found = ForgeReview(account, None, given, f"{where}, approval by account {account}")
    if account is None:
        return replace(found, refused="its account has no numeric id")
    if given is None:
        return replace(found, refused="GitLab does not say when it was given, so it is bound to no commit")
    if not made or made[0][1] != head:
        return replace(found, refused="the versions of the merge request do not end at its head")
    at = next((number for number, (moment, _) in enumerate(made) if moment <= given), None)
    if at is None:
        return replace(found, refused="it was given before any version of the merge request existed")
    bound = replace(found, head=made[at][1])
    if at > 0:
        return replace(bound, refused="it was given for an earlier version of the merge request")
    return bound


def _ship_it(
    account: int | None,
    one: Mapping[str, Json],
    where: str,
    made: datetime | None,
    commit: str,
    refused: str,
) -> ForgeReview:
    given = _time(one.get("timestamp"))
    found = ForgeReview(account, commit or None, given, f"{where}, review {one.get('id')}", refused)
    if refused:
        return found
    if account is None:
        return replace(found, refused="its account has no numeric id")
    if given is None or made is None:
        return replace(found, refused="Review Board does not say when it, or the last diff, was published")
    if given <= made:  # whole seconds: in doubt it was given before
        return replace(found, refused="it was given for an earlier diff of the review request")
    return found


def _person(request: Request, review: ForgeReview, policy: Policy) -> tuple[str, str]:
    if review.account is None:
        return "", "its account has no numeric id"
    person = policy.person_of_account(request.source, review.account)
    if review.account == request.opened_by:
        return person or "", "whoever opened the request does not approve it"
    if person is None:
        return (
            f"account {review.account}",
            f"account {review.account} on {request.source} is nobody in the policy",
        )
    return person, ""


def _binding_fault(
    request: Request, review: ForgeReview, head: str | None, committed: datetime | None
) -> str:
    if head is None:
        return "it is for a commit, and what is judged here is none yet"
    if request.head != head:
        return f"the {request.where} is at {request.head[:12]}, and what is judged is {head[:12]}"
    if review.head != head:
        return f"it was given for {(review.head or 'no commit')[:12]}, and the head is {head[:12]}"
    if review.given is None or committed is None:
        return "when it was given, or when the commit was made, is not known"
    if review.given < committed:
        return "it was given before this commit existed"
    return ""


def _order(one: Mapping[str, Json]) -> tuple[datetime, int]:
    return _time(one.get("submitted_at")) or _NEVER, _number(one.get("id"))


def _user_of(one: Mapping[str, Json], role: str = "user") -> str:
    """The name in the link to a user: it only leads to the numeric id."""
    href = _text(_mapping(_mapping(one.get("links")).get(role)).get("href"))
    return unquote(href.rstrip("/").rpartition("/")[2])


def _head(head: str, where: str) -> str:
    if not head:
        raise Unreadable(
            f"the {where} names no head commit", hint="is this the JSON the forge's API answers?"
        )
    return head


def _id(value: Json) -> int | None:
    """A numeric id; true, text and zero are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _number(value: Json) -> int:
    return value if isinstance(value, int) else 0


def _time(value: Json) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}


def _object(value: Json, what: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise Unreadable(f"{what} is not a JSON object", hint="is this the JSON the forge's API answers?")
    return value
