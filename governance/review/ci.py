"""What a CI run is about, from the event and never from HEAD~1: which commits, and which branch they land on.

- A request (pull request, merge request, entry of a merge queue) is `Proposed`: judged against its branch as
  it is now, always enforced. A push is `Pushed`: judged like the line of a push, enforced where its branch is
  protected. Any other event has no base, so it is undecided.
- The base that an event of a pull request records is stale as soon as its branch moves. It is fetched; where
  that is not possible, the first parent of the test merge is taken, then the remote-tracking ref, and the
  report says so. Of a queue entry the event fixes the base.
- A clone without the history between base and head is deepened; what cannot be had ends undecided. Without
  all commits not all authors are known, and an author could approve.
- Ids and names from outside are checked before git sees them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from governance.adapters import git_fetch
from governance.adapters.git_history import parents_of, raw_commits
from governance.errors import IncompleteHistory, TierlockError, Unreadable
from governance.records import dataclass, replace
from governance.review import verbs
from governance.review.gate import Bench
from governance.review.landings import HEADS, PushedRef, Where
from governance.values import Json
from governance.verdict import Check, Outcome, Report

_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH: Final = re.compile(
    r"(?![-/.])(?!.*(?:\.\.|@\{|//|/\.|\.lock(?:/|$)))[^\x00-\x20\x7f~^:?*\[\\]+(?<![/.])"
)
_NO_BASE: Final = "to look at what has landed: tierlock review audit"


@dataclass(frozen=True, slots=True)
class Proposed:
    """A request to land `head` on `branch`. `tested` is the merge that CI tests, where there is one; `base`
    is set where the event itself fixes what `head` was put on.
    """

    name: str
    branch: str
    head: str
    tested: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class Pushed:
    """A push that has happened."""

    ref: PushedRef


Event: TypeAlias = Proposed | Pushed


def of_github(name: str, event: Json, commit: str) -> Event:
    """What a GitHub event is about; `commit` is GITHUB_SHA. Raises `Unreadable` when it has no base."""
    if not isinstance(event, Mapping):
        raise Unreadable(
            "the event is no JSON object", hint="is GITHUB_EVENT_PATH the file that GitHub wrote?"
        )
    if name in ("pull_request", "pull_request_target", "pull_request_review"):
        number = _look(event, "pull_request", "number") or _look(event, "number")
        return Proposed(
            f"pull request {number}",
            _branch(_look(event, "pull_request", "base", "ref")),
            _id(_look(event, "pull_request", "head", "sha"), "pull_request.head.sha"),
            tested=commit if _ID.fullmatch(commit) else "",
        )
    if name == "merge_group":
        return Proposed(
            "merge queue",
            _branch(_look(event, "merge_group", "base_ref")),
            _id(_look(event, "merge_group", "head_sha"), "merge_group.head_sha"),
            base=_id(_look(event, "merge_group", "base_sha"), "merge_group.base_sha"),
        )
    if name == "push":
        old = _id(_look(event, "before"), "before")
        new = _id(_look(event, "after"), "after")
        ref = _look(event, "ref")
        if not isinstance(ref, str) or not ref.startswith("refs/"):
            raise _unclear("ref")
        return Pushed(PushedRef(ref, _or_none(old), _or_none(new)))
    raise Unreadable(f"the event `{name}` says of no commit what it is to be compared with", hint=_NO_BASE)


def of_gitlab(variables: Mapping[str, str]) -> Event:
    """What a GitLab pipeline is about, from its own variables. Raises `Unreadable` when it has no base."""
    source = variables.get("CI_PIPELINE_SOURCE", "")
    commit = _id(variables.get("CI_COMMIT_SHA"), "CI_COMMIT_SHA")
    if source == "merge_request_event":
        # A merged-results pipeline tests a merge that GitLab made; in a train, with the requests before it.
        train = variables.get("CI_MERGE_REQUEST_EVENT_TYPE") == "merge_train"
        own = variables.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", "")
        return Proposed(
            f"merge request {variables.get('CI_MERGE_REQUEST_IID', '')}".rstrip(),
            _branch(variables.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")),
            commit if train or not own else _id(own, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"),
            tested=commit if own else "",
        )
    if source == "push":
        name = variables.get("CI_COMMIT_TAG", "")
        ref = f"refs/tags/{_branch(name)}" if name else HEADS + _branch(variables.get("CI_COMMIT_BRANCH"))
        before = _id(variables.get("CI_COMMIT_BEFORE_SHA"), "CI_COMMIT_BEFORE_SHA")
        return Pushed(PushedRef(ref, _or_none(before), commit))
    shown = source or "not named"
    raise Unreadable(
        f"the pipeline source `{shown}` says of no commit what it is to be compared with", hint=_NO_BASE
    )


def event_of(system: str, variables: Mapping[str, str], read: Callable[[str], bytes]) -> Event:
    """What the run of `system` (`github` or `gitlab`) is about; `read` reads the file of the event."""
    if system == "gitlab":
        return of_gitlab(variables)
    path = variables.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise Unreadable("GITHUB_EVENT_PATH is not set", hint="is this a GitHub Actions job?")
    try:
        event: Json = json.loads(read(path))
    except (ValueError, RecursionError) as err:
        raise Unreadable(
            "the event is no JSON", hint="is GITHUB_EVENT_PATH the file that GitHub wrote?"
        ) from err
    return of_github(variables.get("GITHUB_EVENT_NAME", ""), event, variables.get("GITHUB_SHA", ""))


def gate_ci(
    where: Where, bench: Bench, system: str, variables: Mapping[str, str], read: Callable[[str], bytes],
    *, bootstrap: bool = False,
) -> Report:  # fmt: skip
    """The report on what the run of `system` is about. What cannot be judged is told in the report, so that
    the summary, the annotations and the uploads of the job say it too.
    """
    try:
        return gate_event(where, bench, event_of(system, variables, read), bootstrap=bootstrap)
    except TierlockError as err:
        place = f"{err.where}: " if err.where else ""
        check = Check("change set", Outcome.UNDECIDED, f"{place}{err.message}")
        return Report("review gate", checks=(check,), next=err.hint)


def gate_event(where: Where, bench: Bench, event: Event, *, bootstrap: bool = False) -> Report:
    """The report on what the CI run is about, with the history that it needs fetched."""
    if isinstance(event, Pushed):
        return _gate_pushed(where, bench, event.ref)
    git = where.git
    git_fetch.bring(git, event.head)
    base, how = (event.base, "as the event says") if event.base else _base(where, event)
    git_fetch.bring_between(git, base, event.head)
    told = verbs.gate_range(where, bench, f"{base}..{event.head}", bootstrap=bootstrap)
    note = f"{event.name}: {event.head[:12]} onto {event.branch} at {base[:12]} ({how})"
    return replace(told, notes=(note, *told.notes), run={**told.run, "base": base, "head": event.head})


def _gate_pushed(where: Where, bench: Bench, ref: PushedRef) -> Report:
    git = where.git
    for oid in (ref.old, ref.new):
        if oid is not None:
            git_fetch.bring(git, oid)
    if ref.old is not None and ref.new is not None:
        git_fetch.bring_between(git, ref.old, ref.new)
    if ref.old is None:
        # A new branch is compared with the protected branch it left last, so every one of them must be here.
        git_fetch.bring_everything(git)
        if not git_fetch.fetch_branches(git) and not _others(where, ref):
            raise IncompleteHistory(
                f"`{ref.ref}` is new, and no other branch is here to compare it with",
                hint=f"git fetch {git_fetch.REMOTE}     ({git_fetch.WHOLE})",
            )
    nothing = "0" * len(ref.new or ref.old or "")
    line = f"{ref.old or nothing} {ref.new or nothing} {ref.ref}\n"
    return verbs.gate_push(where, bench, line.encode("utf-8", "surrogateescape"), remote=git_fetch.REMOTE)


def _base(where: Where, event: Proposed) -> tuple[str, str]:
    """What `branch` is now, and how that is known."""
    git, name = where.git, git_fetch.tracking(event.branch)
    if git_fetch.fetch_branch(git, event.branch):
        return git.resolve(name), "fetched"
    if event.tested and git.find(event.tested) is not None:
        parents = parents_of(raw_commits(git, [git.resolve(event.tested)])[0])
        if len(parents) == 2 and parents[1] == event.head:
            return parents[0], "of the merge under test; the branch could not be fetched"
    if (tip := git.find(name)) is not None:
        return tip, "as this clone has it; the branch could not be fetched"
    raise IncompleteHistory(
        f"`{event.branch}` is not in this clone and cannot be fetched",
        hint=f"git fetch {git_fetch.REMOTE} {event.branch}     ({git_fetch.WHOLE})",
    )


def _others(where: Where, ref: PushedRef) -> bool:
    from governance.adapters.git_history import refs

    own = {git_fetch.tracking(ref.ref.removeprefix(HEADS)), git_fetch.tracking("HEAD")}
    return not set(refs(where.git, git_fetch.tracking(""))) <= own


def _look(tree: Json, *keys: str) -> Json:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def _id(value: Json, what: str) -> str:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise _unclear(what)
    return value


def _branch(value: Json) -> str:
    name = value.removeprefix(HEADS) if isinstance(value, str) else ""
    if not _BRANCH.fullmatch(name):
        raise _unclear("the branch")
    return name


def _unclear(what: str) -> Unreadable:
    return Unreadable(f"the CI run does not say {what}, or says no such thing", hint=_NO_BASE)


def _or_none(oid: str) -> str | None:
    return oid if oid.strip("0") else None
