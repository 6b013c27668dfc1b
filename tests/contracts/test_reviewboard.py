"""A real Review Board: what its answers are worth, and that a `ship it` is bound to its diff."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from governance.adapters import reviewboard
from governance.errors import Unreachable
from governance.review import forge
from governance.review.forge import Request
from tests.support import reviewboard_server
from tests.support.repos import Repo, make_repo
from tests.support.reviewboard_server import ReviewBoard

pytestmark = pytest.mark.skipif(bool(reviewboard_server.missing()), reason=reviewboard_server.missing())


class Stage(NamedTuple):
    """The server, a repository it knows, and the numeric ids of the people."""

    server: ReviewBoard
    repo: Repo
    repository: int
    author: int
    reviewer: int
    environ: dict[str, str]

    def asked(self, number: int) -> Request:
        return forge.reviewboard(*reviewboard.review_request(self.environ, number, self.server.url))

    def commits(self, *texts: str) -> dict[str, Any]:
        """Commits on a new branch from `base`, as a diff is uploaded."""
        base = self.repo.git("rev-parse", "base")
        self.repo.git("checkout", "-q", "--detach", "base")
        found, parent = [], base
        for text in texts:
            made = self.repo.commit(text, {"configs/sampling/a.yaml": text})
            found.append({"id": made, "parent": parent, "diff": self._diff(parent, made)})
            parent = made
        return {"base": base, "commits": found, "diff": self._diff(base, parent)}

    def _diff(self, before: str, after: str) -> bytes:
        return (self.repo.git("diff", "--full-index", "--no-color", before, after) + "\n").encode()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("reviewboard")
    repo = make_repo(folder / "repo", files={"configs/sampling/a.yaml": "temperature: 0.1\n"})
    repo.git("tag", "base")
    with reviewboard_server.started(folder) as server:
        author, reviewer = server.person("author-a"), server.person("reviewer-a")
        environ = {reviewboard.TOKEN: server.token(reviewboard_server.ADMIN)}
        yield Stage(server, repo, server.repository(repo.path), author, reviewer, environ)


def a_second_passes() -> None:
    """Its times are whole seconds, and what happens in the same one counts as earlier."""
    time.sleep(1.1)


def test_a_ship_it_is_bound_to_the_last_commit_of_the_diff_and_to_a_numeric_account(stage: Stage) -> None:
    commits = stage.commits("temperature: 0.2\n", "temperature: 0.3\n")
    number = stage.server.request("author-a", stage.repository, commits)
    assert stage.asked(number).reviews == ()
    a_second_passes()
    stage.server.ship_it("reviewer-a", number)
    seen = stage.asked(number)
    assert (seen.head, seen.opened_by) == (commits["commits"][-1]["id"], stage.author)
    (review,) = seen.reviews
    assert (review.account, review.head, review.refused) == (stage.reviewer, seen.head, "")


def test_a_ship_it_for_an_earlier_diff_does_not_count_for_the_next(stage: Stage) -> None:
    number = stage.server.request("author-a", stage.repository, stage.commits("temperature: 0.4\n"))
    a_second_passes()
    stage.server.ship_it("reviewer-a", number)
    stage.server.diff("author-a", stage.repository, number, stage.commits("temperature: 0.9\n"))
    (review,) = stage.asked(number).reviews
    assert "earlier diff" in review.refused


def test_a_diff_uploaded_before_and_published_after_a_ship_it_is_a_later_one(stage: Stage) -> None:
    """A diff bears the time of its upload: a draft kept back would otherwise be approved unseen."""
    number = stage.server.request("author-a", stage.repository, stage.commits("temperature: 0.4\n"))
    stage.server.upload("author-a", stage.repository, number, stage.commits("temperature: 1.9\n"))
    a_second_passes()
    stage.server.ship_it("reviewer-a", number)
    a_second_passes()
    stage.server.publish("author-a", number)
    seen = stage.asked(number)
    assert "earlier diff" in seen.reviews[0].refused


def test_a_request_with_an_open_issue_is_not_approved(stage: Stage) -> None:
    number = stage.server.request("author-a", stage.repository, stage.commits("temperature: 0.5\n"))
    a_second_passes()
    top = f"review-requests/{number}/reviews/"
    review = stage.server.call("reviewer-a", "POST", top, ship_it="1", body_top="one question")["review"][
        "id"
    ]
    stage.server.call("reviewer-a", "POST", f"{top}{review}/general-comments/", text="why?", issue_opened="1")
    stage.server.call("reviewer-a", "PUT", f"{top}{review}/", public="1")
    (seen,) = stage.asked(number).reviews
    assert "does not call it approved" in seen.refused


def test_a_review_that_is_still_a_draft_is_none(stage: Stage) -> None:
    number = stage.server.request("author-a", stage.repository, stage.commits("temperature: 0.6\n"))
    a_second_passes()
    stage.server.call("reviewer-a", "POST", f"review-requests/{number}/reviews/", ship_it="1")
    assert stage.asked(number).reviews == ()


def test_a_wrong_token_is_told_with_the_name_of_its_variable_and_not_shown(stage: Stage) -> None:
    with pytest.raises(Unreachable) as caught:
        reviewboard.review_request({reviewboard.TOKEN: "s3cret-of-the-test"}, 1, stage.server.url)
    text = f"{caught.value} {caught.value.hint}"
    assert reviewboard.TOKEN in text
    assert "s3cret" not in text


def test_a_request_that_is_not_there_is_an_error(stage: Stage) -> None:
    with pytest.raises(Unreachable, match="HTTP 404"):
        reviewboard.review_request(stage.environ, 9999, stage.server.url)
