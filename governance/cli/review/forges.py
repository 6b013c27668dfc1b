"""Reviews on a forge as evidence: asked from its API, or read from the JSON that CI has on disk.

- Nothing is asked unless `--forge` names a forge. Tokens come from the environment alone.
- In CI the number and the project are the ones that the forge's own variables name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from governance.adapters.files import read_file
from governance.errors import Unreadable, Usage
from governance.values import Json

if TYPE_CHECKING:
    from governance.review.forge import Request

FORGES = ("github", "gitlab", "reviewboard")
_PROJECT = {"github": "GITHUB_REPOSITORY", "gitlab": "CI_PROJECT_ID"}
_URL = "REVIEWBOARD_URL"


def with_forge(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` with the options that name a forge; it gets the requests as `forge`."""

    @click.option("--forge", "forge_name", type=click.Choice(FORGES), help="Count reviews given there, too.")
    @click.option("--request", "number", type=click.IntRange(1), help="The pull, merge or review request.")
    @click.option("--project", default="", metavar="NAME", help="Its repository, owner/name or id.")
    @click.option("--forge-url", "url", default="", metavar="URL", help="The address of the API.")
    @click.option(
        "--forge-json", "files", multiple=True, metavar="PATH",
        help="Read an event or saved answers instead of asking. Repeatable.",
    )  # fmt: skip
    @wraps(function)
    def call(
        *,
        forge_name: str | None,
        number: int | None,
        project: str,
        url: str,
        files: tuple[str, ...],
        **given: Any,
    ) -> Any:
        if forge_name is None:
            if number or project or url or files:
                raise click.UsageError("--request, --project, --forge-url and --forge-json go with --forge")
            return function(**given, forge=())
        if files:
            return function(**given, forge=(from_disk(forge_name, files),))
        asked = from_api(forge_name, number, project, url, os.environ)
        return function(**given, forge=(asked,))

    return call


def from_api(name: str, number: int | None, project: str, url: str, environ: Mapping[str, str]) -> Request:
    """The request as the forge's API shows it now. Raises `Usage` when it is not named, `Unreachable`."""
    from governance.review import forge

    wanted = number or _number(name, environ)
    place = project or environ.get(_PROJECT.get(name, ""), "")
    if name == "reviewboard":
        from governance.adapters import reviewboard

        address = url or environ.get(_URL, "")
        if not address:
            raise Usage("no Review Board is named", hint=f"--forge-url https://…, or set {_URL}")
        return forge.reviewboard(*reviewboard.review_request(environ, wanted, address))
    if not place:
        raise Usage("no project is named", hint=f"--project owner/name, or set {_PROJECT[name]}")
    if name == "github":
        from governance.adapters import github

        return forge.github(*github.pull_request(environ, place, wanted, url))
    from governance.adapters import gitlab

    return forge.gitlab(*gitlab.merge_request(environ, place, wanted, url))


def from_disk(name: str, paths: Sequence[str]) -> Request:
    """The request as files say: an event of GitHub Actions and lists of reviews, or one file of saved answers
    with the keys of the adapter's tuple. Raises `Unreadable`.
    """
    from governance.review import forge

    trees = [_json(path) for path in paths]
    named = [tree for tree in trees if isinstance(tree, Mapping)]
    reviews = [one for tree in trees if isinstance(tree, list) for one in tree]
    if len(named) != 1:
        raise Unreadable(
            f"{len(named)} of the files say which request it is, and one must",
            hint="give the event ($GITHUB_EVENT_PATH) or one file of saved answers, then lists of reviews",
        )
    tree = named[0]
    if name == "github" and "pull_request" in tree:
        return forge.github_event(tree, reviews)
    if name == "github":
        return forge.github(tree.get("pull"), [*_list(tree, "reviews"), *reviews], _list(tree, "timeline"))
    if name == "gitlab":
        return forge.gitlab(tree.get("merge_request"), tree.get("approvals"), _list(tree, "versions"))
    return forge.reviewboard(
        tree.get("request"), _list(tree, "reviews"), _list(tree, "diffs"), _list(tree, "changes"),
        _list(tree, "commits"), tree.get("accounts"),
    )  # fmt: skip


def _number(name: str, environ: Mapping[str, str]) -> int:
    """The number of the request that CI runs for."""
    text = environ.get({"gitlab": "CI_MERGE_REQUEST_IID"}.get(name, "REVIEWBOARD_REVIEW_REQUEST"), "")
    if name == "github":
        event = environ.get("GITHUB_EVENT_PATH", "")
        tree = _json(event) if event else None
        pull = tree.get("pull_request") if isinstance(tree, Mapping) else None
        text = str(pull.get("number", "")) if isinstance(pull, Mapping) else ""
    if not text.isdigit():
        raise Usage("which request is meant is not known", hint="--request NUMBER")
    return int(text)


def _json(path: str) -> Json:
    try:
        tree: Json = json.loads(read_file(path))
    except ValueError as err:
        raise Unreadable(f"`{path}` is no JSON", where=path) from err
    return tree


def _list(tree: Mapping[str, Json], name: str) -> list[Json]:
    value = tree.get(name, [])
    if not isinstance(value, list):
        raise Unreadable(f"`{name}` is not a list", hint="save what the forge's API answers")
    return value
