"""Review requests and their reviews, from Review Board's REST API.

- Lists come in pages named by `start`; reviews name people by a link, so the numeric id of each is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote

from governance.adapters.forge_api import MAX_PAGES, PER_PAGE, Api
from governance.errors import Unreachable
from governance.values import Json

TOKEN = "REVIEWBOARD_TOKEN"  # noqa: S105  the name of a variable


class ReviewRequest(NamedTuple):
    """One review request as the API answers, with the commits of its last diff and ids by user name.

    `changes` says when what was published: a diff itself only says when it was uploaded.
    """

    request: Json
    reviews: list[Json]
    diffs: list[Json]
    changes: list[Json]
    commits: list[Json]
    accounts: dict[str, Json]


def review_request(environ: Mapping[str, str], number: int, url: str) -> ReviewRequest:
    """The review request `number` of the server at `url`. Raises `Unreachable` when a part cannot be had."""
    headers = {"User-Agent": "tierlock"}
    if token := environ.get(TOKEN, ""):
        headers["Authorization"] = f"token {token}"
    api = Api("Review Board", url.rstrip("/"), TOKEN, headers)
    top = f"/api/review-requests/{number}/"
    request = _part(api.get(top), "review_request")
    reviews = _pages(api, f"{top}reviews/", "reviews")
    diffs = _pages(api, f"{top}diffs/", "diffs")
    changes = _pages(api, f"{top}changes/", "changes")
    last = max((_number(one) for one in diffs), default=0)
    commits = _pages(api, f"{top}diffs/{last}/commits/", "commits") if last else []
    names = {_user(request, "submitter"), *(_user(one, "user") for one in reviews)} - {""}
    accounts = {
        name: _id(_part(api.get(f"/api/users/{quote(name, safe='')}/"), "user")) for name in sorted(names)
    }
    return ReviewRequest(request, reviews, diffs, changes, commits, accounts)


def _pages(api: Api, path: str, name: str) -> list[Json]:
    found: list[Json] = []
    for _ in range(MAX_PAGES):
        entries = _part(api.get(f"{path}?max-results={PER_PAGE}&start={len(found)}"), name)
        if not isinstance(entries, list):
            raise Unreachable(f"{api.name} answered GET {path} without `{name}`", where=api.url)
        found += entries
        if len(entries) < PER_PAGE:
            return found
    raise Unreachable(f"{api.name} has more than {MAX_PAGES * PER_PAGE} entries at {path}", where=api.url)


def _part(answer: Json, name: str) -> Json:
    return answer.get(name) if isinstance(answer, dict) else None


def _number(diff: Json) -> int:
    revision = _part(diff, "revision")
    return revision if isinstance(revision, int) else 0


def _user(of: Json, role: str) -> str:
    """The user name at the end of a link."""
    href = _part(_part(_part(of, "links"), role), "href")
    return unquote(href.rstrip("/").rpartition("/")[2]) if isinstance(href, str) else ""


def _id(user: Json) -> Json:
    return _part(user, "id")
