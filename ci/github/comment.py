"""Keep one comment on a pull request up to date: the reports of this run, found again by a mark.

- Reads GITHUB_EVENT_PATH, GITHUB_REPOSITORY, GITHUB_API_URL and GITHUB_TOKEN; its arguments are files.
- The mark in a comment of a person does not make it ours: only a bot's, as the token of a job is.
- Longer than GitHub takes: cut at a line, with a word that says so. Standard library alone.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

MARK = "<!-- tierlock review -->"
LIMIT = 65_000
CUT = "\n\n… the rest is in the summary of the job.\n"
PAGES = 30


def body(paths: list[str]) -> str:
    """The comment: the mark, then the reports that are there."""
    parts = [Path(path).read_text("utf-8") for path in paths if Path(path).is_file()]
    whole = "\n".join([MARK, *parts])
    if len(whole) <= LIMIT:
        return whole
    kept = whole[: LIMIT - len(CUT)]
    return kept[: kept.rindex("\n")] + CUT


def call(method: str, url: str, given: dict[str, str] | None = None) -> Any:
    """The answer of GitHub's API as JSON."""
    headers = {
        "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "User-Agent": "tierlock",
    }
    data = None if given is None else json.dumps(given).encode()
    request = Request(url, data, headers, method=method)  # noqa: S310  the address is the runner's own
    with urlopen(request, timeout=20) as answer:  # noqa: S310
        return json.load(answer)


def ours(comments: str) -> str | None:
    """The address of the comment that an earlier run left; None when there is none."""
    for page in range(1, PAGES + 1):
        found = call("GET", f"{comments}?per_page=100&page={page}")
        for one in found:
            if str(one["body"]).startswith(MARK) and one["user"]["type"] == "Bot":
                return str(one["url"])
        if len(found) < 100:
            return None
    return None


def main(paths: list[str]) -> int:
    """Write the comment; 0 also where the run is about no pull request."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text("utf-8"))
    request = event.get("pull_request")
    if request is None:
        return 0
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    top = f"{api}/repos/{os.environ['GITHUB_REPOSITORY']}"
    comments = f"{top}/issues/{int(request['number'])}/comments"
    before = ours(comments)
    given = {"body": body(paths)}
    call("PATCH", before, given) if before else call("POST", comments, given)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
