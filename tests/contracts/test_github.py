"""GitHub's REST API: every page, whole or not at all, and no token in sight."""

from __future__ import annotations

from typing import Any

import pytest

from governance.adapters import github
from governance.errors import Unreachable
from governance.review import forge
from tests.support.fake_forge import FakeForge
from tests.support.forge_answers import HEAD, REVIEWER, github_moved, github_pull, github_review

TOP = "/repos/owner-a/configs"
TOKEN = "s3cret-of-the-test"


def answers(reviews: list[Any] | None = None, timeline: list[Any] | None = None) -> dict[str, Any]:
    return {
        f"{TOP}/pulls/7": github_pull(),
        f"{TOP}/pulls/7/reviews": [github_review()] if reviews is None else reviews,
        f"{TOP}/issues/7/timeline": timeline or [],
    }


def asked(server: FakeForge, **environ: str) -> github.PullRequest:
    return github.pull_request({"GITHUB_API_URL": server.url, **environ}, "owner-a/configs", 7)


def test_a_pull_request_is_asked_for_with_reviews_and_timeline() -> None:
    moved = github_moved("head_ref_force_pushed", "2026-11-02T10:00:00Z")
    with FakeForge(answers(timeline=[moved])) as server:
        seen = forge.github(*asked(server))
    (review,) = seen.reviews
    assert (seen.head, review.account, review.head, review.refused) == (HEAD, REVIEWER, HEAD, "")


def test_every_page_is_read() -> None:
    """The dismissal may be on the last one."""
    many = [github_review(1000 + at, id=at) for at in range(250)]
    last = github_review(1000, "DISMISSED", id=999, submitted_at="2026-11-02T13:00:00Z")
    with FakeForge(answers([*many, last])) as server:
        seen = asked(server)
        pages = [path for path, _ in server.requests if "/reviews" in path]
    assert len(seen.reviews) == 251
    assert len(pages) == 3
    by_account = {one.account: one.refused for one in forge.github(*seen).reviews}
    assert by_account[1000] == "it was dismissed"
    assert by_account[1001] == ""


def test_exactly_one_full_page_is_followed_by_a_question_for_the_next() -> None:
    with FakeForge(answers([github_review(1000 + at, id=at) for at in range(100)])) as server:
        assert len(asked(server).reviews) == 100
        assert sum("/reviews" in path for path, _ in server.requests) == 2


def test_the_token_is_sent_and_never_shown() -> None:
    with FakeForge(answers(), status={f"{TOP}/pulls/7/reviews": 403}) as server:
        with pytest.raises(Unreachable) as caught:
            asked(server, GITHUB_TOKEN=TOKEN)
        assert {headers["authorization"] for _, headers in server.requests} == {f"Bearer {TOKEN}"}
    text = f"{caught.value} {caught.value.hint}"
    assert TOKEN not in text
    assert "GITHUB_TOKEN" in text


def test_without_a_token_none_is_sent() -> None:
    with FakeForge(answers()) as server:
        asked(server)
        assert all("authorization" not in headers for _, headers in server.requests)


@pytest.mark.parametrize("status", [301, 401, 404, 429, 500, 503])
def test_an_answer_that_is_not_whole_is_an_error_and_not_an_empty_list(status: int) -> None:
    broken = FakeForge(answers(), status={f"{TOP}/pulls/7/reviews": status})
    with broken as server, pytest.raises(Unreachable, match=f"HTTP {status}"):
        asked(server)


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"[1, 2"])
def test_something_else_than_a_list_is_an_error(body: bytes) -> None:
    given = {**answers(), f"{TOP}/pulls/7/reviews": body}
    with FakeForge(given) as server, pytest.raises(Unreachable):
        asked(server)


def test_nobody_answering_is_told_without_a_traceback() -> None:
    with pytest.raises(Unreachable, match="GitHub did not answer"):
        github.pull_request({"GITHUB_API_URL": "http://127.0.0.1:1"}, "owner-a/configs", 7)
