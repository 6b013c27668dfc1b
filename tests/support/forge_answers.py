"""Answers of forges in the shape of their APIs: the parts that matter here and some that do not."""

from __future__ import annotations

from typing import Any

HEAD = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
OLD = "ecdd80bb57125d7ba9641ffaa4d7d2c19d3f3091"
BASE = "c3d0be41ecbe669545ee3e94d31ed9a4bc91ee3c"
AUTHOR, REVIEWER, OTHER = 101, 102, 103


def github_user(number: int, login: str = "octocat") -> dict[str, Any]:
    return {
        "login": login, "id": number, "node_id": "MDQ6VXNlcjE=", "type": "User", "site_admin": False,
        "url": f"https://api.github.com/users/{login}", "html_url": f"https://github.com/{login}",
    }  # fmt: skip


def github_pull(**more: Any) -> dict[str, Any]:
    """`GET /repos/{owner}/{repo}/pulls/{number}`."""
    return {
        "url": "https://api.github.com/repos/owner-a/configs/pulls/7", "id": 1, "number": 7, "state": "open",
        "title": "Make summaries richer", "user": github_user(AUTHOR, "author"), "draft": False,
        "created_at": "2026-11-02T08:00:00Z", "updated_at": "2026-11-02T12:00:00Z",
        "merge_commit_sha": "e5bd3914e2e596debea16f433f57875b5b90bcd6",
        "head": {"label": "owner-a:topic", "ref": "topic", "sha": HEAD, "user": github_user(AUTHOR)},
        "base": {"label": "owner-a:main", "ref": "main", "sha": BASE}, "author_association": "MEMBER",
        **more,
    }  # fmt: skip


def github_review(account: int = REVIEWER, state: str = "APPROVED", **more: Any) -> dict[str, Any]:
    """One entry of `GET /repos/{owner}/{repo}/pulls/{number}/reviews`."""
    return {
        "id": 80, "node_id": "MDE3OlB1bGxSZXF1ZXN0UmV2aWV3ODA=", "user": github_user(account, "reviewer"),
        "body": "measured", "state": state, "submitted_at": "2026-11-02T12:00:00Z", "commit_id": HEAD,
        "author_association": "MEMBER", "html_url": "https://github.com/owner-a/configs/pull/7#r80", **more,
    }  # fmt: skip


def github_moved(event: str, moment: str) -> dict[str, Any]:
    """One entry of `GET /repos/{owner}/{repo}/issues/{number}/timeline`."""
    return {"id": 6, "event": event, "created_at": moment, "actor": github_user(AUTHOR), "commit_id": None}


def gitlab_user(number: int, name: str = "reviewer") -> dict[str, Any]:
    return {"id": number, "username": name, "name": "R", "state": "active", "locked": False}


def gitlab_request(**more: Any) -> dict[str, Any]:
    """`GET /projects/{id}/merge_requests/{iid}`."""
    return {
        "id": 155, "iid": 7, "project_id": 15, "title": "Make summaries richer", "state": "opened",
        "author": gitlab_user(AUTHOR, "author"), "sha": HEAD, "target_branch": "main",
        "diff_refs": {"base_sha": BASE, "head_sha": HEAD, "start_sha": BASE}, **more,
    }  # fmt: skip


def gitlab_approvals(*given: tuple[int, str | None]) -> dict[str, Any]:
    """`GET /projects/{id}/merge_requests/{iid}/approvals` with approvals by account and time."""
    found = []
    for account, moment in given:
        one: dict[str, Any] = {"user": gitlab_user(account)}
        found.append(one if moment is None else {**one, "approved_at": moment})
    return {"id": 155, "iid": 7, "approved": True, "approvals_required": 1, "approved_by": found}


def gitlab_version(head: str, moment: str) -> dict[str, Any]:
    """One entry of `GET /projects/{id}/merge_requests/{iid}/versions`."""
    return {
        "id": 110, "head_commit_sha": head, "base_commit_sha": BASE, "start_commit_sha": BASE,
        "created_at": moment, "merge_request_id": 105, "state": "collected", "real_size": "1",
    }  # fmt: skip
