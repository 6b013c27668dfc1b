"""GitLab's REST API: the three answers that together bind an approval to a version."""

from __future__ import annotations

import pytest

from governance.adapters import gitlab
from governance.errors import Unreachable
from governance.review import forge
from tests.support.fake_forge import FakeForge
from tests.support.forge_answers import HEAD, REVIEWER, gitlab_approvals, gitlab_request, gitlab_version

TOP = "/projects/15/merge_requests/7"
TOKEN = "s3cret-of-the-test"
ANSWERS = {
    TOP: gitlab_request(),
    f"{TOP}/approvals": gitlab_approvals((REVIEWER, "2026-11-02T12:00:00.123Z")),
    f"{TOP}/versions": [gitlab_version(HEAD, "2026-11-02T10:00:00.000Z")],
}


def test_a_merge_request_is_asked_for_with_approvals_and_versions() -> None:
    with FakeForge(ANSWERS) as server:
        seen = forge.gitlab(*gitlab.merge_request({"CI_API_V4_URL": server.url}, "15", 7))
    (review,) = seen.reviews
    assert (seen.head, review.account, review.head, review.refused) == (HEAD, REVIEWER, HEAD, "")


def test_a_project_may_be_named_by_its_path() -> None:
    given = {path.replace("/15/", "/group-a%2Fconfigs/"): answer for path, answer in ANSWERS.items()}
    with FakeForge(given) as server:
        gitlab.merge_request({}, "group-a/configs", 7, server.url)
        assert all("group-a%2Fconfigs" in path for path, _ in server.requests)


def test_every_page_of_the_versions_is_read() -> None:
    many = [gitlab_version(HEAD, f"2026-11-02T10:{at // 60:02}:{at % 60:02}Z") for at in range(150)]
    with FakeForge({**ANSWERS, f"{TOP}/versions": many}) as server:
        assert len(gitlab.merge_request({}, "15", 7, server.url).versions) == 150


@pytest.mark.parametrize("part", ["", "/approvals", "/versions"])
def test_a_part_that_cannot_be_had_is_an_error_that_shows_no_token(part: str) -> None:
    with FakeForge(ANSWERS, status={TOP + part: 401}) as server:
        with pytest.raises(Unreachable) as caught:
            gitlab.merge_request({"GITLAB_TOKEN": TOKEN}, "15", 7, server.url)
        assert {headers["private-token"] for _, headers in server.requests} == {TOKEN}
    text = f"{caught.value} {caught.value.hint}"
    assert "GITLAB_TOKEN" in text
    assert TOKEN not in text
