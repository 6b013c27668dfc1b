"""Pull requests and their reviews, from GitHub's REST API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from governance.adapters.forge_api import Api
from governance.values import Json

URL = "https://api.github.com"
TOKEN = "GITHUB_TOKEN"  # noqa: S105  the name of a variable


class PullRequest(NamedTuple):
    """One pull request as the API answers: itself, its reviews, the events of its timeline."""

    pull: Json
    reviews: list[Json]
    timeline: list[Json]


def pull_request(environ: Mapping[str, str], repository: str, number: int, url: str = "") -> PullRequest:
    """The pull request `number` of `owner/name`. `url` is the API's address (default: GITHUB_API_URL).

    Raises `Unreachable` when any part cannot be had.
    """
    headers = {"X-GitHub-Api-Version": "2022-11-28", "User-Agent": "tierlock"}
    if token := environ.get(TOKEN, ""):
        headers["Authorization"] = f"Bearer {token}"
    api = Api("GitHub", url or environ.get("GITHUB_API_URL") or URL, TOKEN, headers)
    top = f"/repos/{repository}"
    return PullRequest(
        api.get(f"{top}/pulls/{number}"),
        api.pages(f"{top}/pulls/{number}/reviews"),
        api.pages(f"{top}/issues/{number}/timeline"),
    )
