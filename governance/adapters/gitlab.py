"""Merge requests, their approvals and versions, from GitLab's REST API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from governance.adapters.forge_api import Api
from governance.values import Json

URL = "https://gitlab.com/api/v4"
TOKEN = "GITLAB_TOKEN"  # noqa: S105  the name of a variable


class MergeRequest(NamedTuple):
    """One merge request as the API answers: itself, its approvals, its versions."""

    merge_request: Json
    approvals: Json
    versions: list[Json]


def merge_request(environ: Mapping[str, str], project: str, number: int, url: str = "") -> MergeRequest:
    """The merge request `number` of a project, named by id or `group/name`. `url` is the API's address
    (default: CI_API_V4_URL).

    Raises `Unreachable` when any part cannot be had.
    """
    headers = {"User-Agent": "tierlock"}
    if token := environ.get(TOKEN, ""):
        headers["PRIVATE-TOKEN"] = token
    api = Api("GitLab", url or environ.get("CI_API_V4_URL") or URL, TOKEN, headers)
    top = f"/projects/{quote(project, safe='')}/merge_requests/{number}"
    return MergeRequest(api.get(top), api.get(f"{top}/approvals"), api.pages(f"{top}/versions"))
