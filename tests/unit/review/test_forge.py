"""Reviews on a forge: what is bound to what, and everything that only looks like an approval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from governance.errors import Unreadable
from governance.review import forge
from governance.review.approval import judge
from governance.review.forge import Request
from governance.review.model import Authors, Transition
from governance.values import Effect
from tests.support.approvals import SUBJECT, evidence, policy, verify
from tests.support.forge_answers import (
    AUTHOR,
    HEAD,
    OLD,
    OTHER,
    REVIEWER,
    github_moved,
    github_pull,
    github_review,
    github_user,
    gitlab_approvals,
    gitlab_request,
    gitlab_version,
)

MOVED = Transition(SUBJECT, (), Effect.OUTPUT)
COMMITTED = datetime(2026, 11, 2, 9, tzinfo=UTC)
NOW = datetime(2026, 11, 2, 15, tzinfo=UTC)


def verdicts(
    request: Request, *, head: str | None = HEAD, committed: datetime | None = COMMITTED
) -> dict[str, str]:
    """Why each review counts not, by person; empty text where it counts."""
    found = forge.evidence(request, [MOVED], policy(), head=head, committed=committed)
    judged = [judge(one, SUBJECT, policy(), Authors(frozenset({"author-a"})), NOW, verify) for one in found]
    return {one.evidence.person: "" if one.accepted else one.why for one in judged}


def of_github(*reviews: dict[str, Any], pull: Any = None, timeline: Any = ()) -> Request:
    return forge.github(pull or github_pull(), reviews or (github_review(),), timeline)


def test_an_approval_of_the_head_counts_for_the_person_with_that_number() -> None:
    assert verdicts(of_github()) == {"reviewer-a": ""}


def test_an_approval_counts_for_each_thing_that_moves_and_no_other_pair() -> None:
    (one,) = forge.evidence(of_github(), [MOVED], policy(), head=HEAD, committed=COMMITTED)
    assert one.is_for(SUBJECT)
    assert (one.before, one.after, one.head, one.account) == (SUBJECT.before, SUBJECT.after, HEAD, REVIEWER)


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (of_github(github_review(state="DISMISSED")), "it was dismissed"),
        (of_github(github_review(state="CHANGES_REQUESTED")), "it asks for changes"),
        (of_github(github_review(commit_id=OLD)), "it was given for ecdd80bb5712, and the head is"),
        (of_github(github_review(commit_id=None)), "neither when nor for which commit"),
        (of_github(github_review(submitted_at=None)), "neither when nor for which commit"),
        (of_github(github_review(submitted_at="2026-11-02T08:59:59Z")), "before this commit existed"),
        (of_github(github_review(submitted_at="yesterday")), "neither when nor for which commit"),
        (
            of_github(timeline=[github_moved("head_ref_force_pushed", "2026-11-02T12:00:01Z")]),
            "force-pushed after it was given",
        ),
        (
            of_github(timeline=[github_moved("base_ref_changed", "2026-11-02T13:00:00Z")]),
            "pointed at another branch",
        ),
    ],
)
def test_an_approval_that_is_none_any_more_does_not_count(request_: Request, why: str) -> None:
    assert why in verdicts(request_)["reviewer-a"]


def test_a_force_push_before_the_review_is_no_matter() -> None:
    moved = github_moved("head_ref_force_pushed", "2026-11-02T11:00:00Z")
    assert verdicts(of_github(timeline=[moved])) == {"reviewer-a": ""}


def test_the_last_word_of_an_account_counts() -> None:
    later = "2026-11-02T13:00:00Z"
    approved = github_review(id=1)
    assert (
        "asks for changes"
        in verdicts(of_github(github_review(id=2, state="CHANGES_REQUESTED", submitted_at=later), approved))[
            "reviewer-a"
        ]
    )
    assert verdicts(of_github(approved, github_review(id=2, state="COMMENTED", submitted_at=later))) == {
        "reviewer-a": ""
    }
    back = github_review(id=1, state="CHANGES_REQUESTED")
    assert verdicts(of_github(back, github_review(id=2, submitted_at=later))) == {"reviewer-a": ""}


def test_a_renamed_account_keeps_its_identity_and_a_taken_name_gains_none() -> None:
    """T3: who is meant is the number, whatever the login says today."""
    renamed = github_review(user=github_user(REVIEWER, "somebody-new"))
    taken = github_review(OTHER + 900, user=github_user(OTHER + 900, "reviewer"))
    assert verdicts(of_github(renamed)) == {"reviewer-a": ""}
    (why,) = verdicts(of_github(taken)).values()
    assert "account 1003 on github is nobody in the policy" in why


@pytest.mark.parametrize("number", [None, True, "102", 102.0, 0, -102])
def test_an_account_without_a_number_is_nobody(number: Any) -> None:
    (why,) = verdicts(of_github(github_review(user={"login": "reviewer", "id": number}))).values()
    assert why


def test_whoever_opened_the_request_does_not_approve_it() -> None:
    pull = github_pull(user=github_user(REVIEWER))
    assert "opened the request" in verdicts(of_github(pull=pull))["reviewer-a"]
    assert verdicts(of_github(github_review(AUTHOR)))["author-a"]


def test_what_is_judged_must_be_the_head_of_the_request() -> None:
    assert "is at 6dcb09b5b578, and what is judged is" in verdicts(of_github(), head=OLD)["reviewer-a"]
    assert "is none yet" in verdicts(of_github(), head=None)["reviewer-a"]


def test_a_commit_without_a_date_decides_nothing_in_favour() -> None:
    assert "is not known" in verdicts(of_github(), committed=None)["reviewer-a"]


def test_a_forge_review_and_a_signature_of_one_person_are_one_person() -> None:
    found = [
        *forge.evidence(of_github(), [MOVED], policy(), head=HEAD, committed=COMMITTED),
        evidence(),
    ]
    judged = [judge(one, SUBJECT, policy(), Authors(), NOW, verify) for one in found]
    assert all(one.accepted for one in judged)
    assert {one.evidence.person for one in judged} == {"reviewer-a"}


def test_a_policy_that_takes_signatures_only_takes_no_review() -> None:
    by = policy(evidence=["signature"])
    (one,) = forge.evidence(of_github(), [MOVED], by, head=HEAD, committed=COMMITTED)
    assert "does not take evidence from github" in judge(one, SUBJECT, by, Authors(), NOW, verify).why


def test_an_event_on_disk_carries_its_own_review() -> None:
    """GitHub writes the state of an event in small letters."""
    event = {"action": "submitted", "pull_request": github_pull(), "review": github_review(state="approved")}
    assert verdicts(forge.github_event(event)) == {"reviewer-a": ""}
    assert verdicts(forge.github_event({**event, "action": "dismissed"}))["reviewer-a"] == "it was dismissed"


def test_an_event_supersedes_the_same_review_in_a_saved_list() -> None:
    event = {"action": "dismissed", "pull_request": github_pull(), "review": github_review()}
    assert verdicts(forge.github_event(event, [github_review()]))["reviewer-a"] == "it was dismissed"


@pytest.mark.parametrize("event", [{}, [], None, {"pull_request": None}, {"pull_request": {}}, "text"])
def test_an_event_about_something_else_is_undecided(event: Any) -> None:
    with pytest.raises(Unreadable):
        forge.github_event(event)


def of_gitlab(moment: str | None = "2026-11-02T12:00:00.000Z", *versions: tuple[str, str]) -> Request:
    made = versions or ((HEAD, "2026-11-02T10:00:00.000Z"),)
    return forge.gitlab(
        gitlab_request(), gitlab_approvals((REVIEWER, moment)), [gitlab_version(*one) for one in made]
    )


def gitlab_verdict(request: Request) -> str:
    tree = {
        "people": {"reviewer-a": {"gitlab": REVIEWER}},
        "roles": {"platform": ["reviewer-a"]},
    }
    by = policy(**tree)
    (one,) = forge.evidence(request, [MOVED], by, head=HEAD, committed=COMMITTED)
    seen = judge(one, SUBJECT, by, Authors(), NOW, verify)
    return "" if seen.accepted else seen.why


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (of_gitlab(), ""),
        (of_gitlab(None), "GitLab does not say when"),
        (of_gitlab("2026-11-02T09:30:00Z"), "before any version"),
        (
            of_gitlab("2026-11-02T12:00:00Z", (HEAD, "2026-11-02T13:00:00Z"), (OLD, "2026-11-02T10:00:00Z")),
            "earlier version",
        ),
        (
            of_gitlab("2026-11-02T12:00:00Z", (HEAD, "2026-11-02T13:00:00Z"), (HEAD, "2026-11-02T10:00:00Z")),
            "earlier version",
        ),
        (of_gitlab("2026-11-02T12:00:00Z", (OLD, "2026-11-02T10:00:00Z")), "do not end at its head"),
    ],
    ids=["last version", "no time", "too early", "pushed since", "retargeted since", "stale list"],
)
def test_an_approval_on_gitlab_counts_for_the_last_version_alone(request_: Request, why: str) -> None:
    seen = gitlab_verdict(request_)
    assert why in seen if why else seen == ""


def review_request(**more: Any) -> Request:
    def link(name: str) -> dict[str, Any]:
        return {"href": f"http://127.0.0.1/api/users/{name}/", "method": "GET", "title": name}

    parts: dict[str, Any] = {
        "request": {"id": 7, "approved": True, "links": {"submitter": link("author")}, "commit_id": None},
        "reviews": [
            {
                "id": 1, "public": True, "ship_it": True, "timestamp": "2026-11-02T12:00:00Z",
                "links": {"user": link("reviewer")},
            }
        ],
        "diffs": [{"revision": 1, "timestamp": "2026-11-02T10:00:00Z"}],
        "changes": [],
        "commits": [{"commit_id": OLD}, {"commit_id": HEAD}],
        "accounts": {"author": AUTHOR, "reviewer": REVIEWER},
        **more,
    }  # fmt: skip
    return forge.reviewboard(*parts.values())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, ""),
        ({"diffs": []}, "does not say when"),
        ({"accounts": {}}, "no numeric id"),
        ({"diffs": [{"revision": 1, "timestamp": "2026-11-02T12:00:00Z"}]}, "earlier diff"),
        (
            {"changes": [{"timestamp": "2026-11-02T13:00:00Z", "fields_changed": {"diff": {"added": {}}}}]},
            "earlier diff",
        ),
        ({"changes": [{"timestamp": "2026-11-02T13:00:00Z", "fields_changed": {"summary": {}}}]}, ""),
        ({"request": {"id": 7, "approved": False, "approval_failure": "open issues"}}, "open issues"),
    ],
)
def test_a_ship_it_counts_for_the_last_published_diff_alone(more: dict[str, Any], why: str) -> None:
    (review,) = review_request(**more).reviews
    assert why in review.refused if why else review.refused == ""
    assert review.head == HEAD


def test_a_request_without_a_head_is_undecided() -> None:
    with pytest.raises(Unreadable, match="names no head commit"):
        review_request(commits=[])


def test_time_moves_no_approval_into_the_future() -> None:
    late = (NOW + timedelta(hours=1)).isoformat()
    assert "has not come yet" in verdicts(of_github(github_review(submitted_at=late)))["reviewer-a"]
