"""Which release is meant: `summarizer v42`, `summarizer@v42`, or the newest of a service; and who acts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from governance.adapters.files import FileSource
from governance.errors import Usage
from governance.release import record as records
from governance.release.record import Record

if TYPE_CHECKING:
    from governance.release.sides import Place


def split(service: str, release: str | None) -> tuple[str, str]:
    """Service and id as written; the id is empty when none is."""
    name, _, written = service.partition("@")
    if written and release and written != release:
        raise Usage(
            f"`{service}` and `{release}` are two releases", hint=f"tierlock release show {name} {release}"
        )
    return name, release or written


def chosen(source: FileSource, service: str, release: str | None) -> Record:
    """The record that is meant. Raises `Usage` when there is none."""
    name, written = split(service, release)
    if written:
        return records.load_at(source, name, written)
    newest = records.latest(source, name)
    if newest is None:
        raise no_releases(source, name)
    return newest


def no_releases(source: FileSource, service: str) -> Usage:
    """The mistake of naming a service that nothing was released of."""
    known = ", ".join(records.services_in(source))
    hint = f"there are releases of: {known}" if known else f"tierlock release cut {service}"
    return Usage(f"service `{service}` has no releases", hint=hint)


def newest_id(source: FileSource, service: str, release: str | None) -> tuple[str, str]:
    """Service and id that are meant, without reading the record. Raises `Usage` when there is no release."""
    name, written = split(service, release)
    known = records.ids(source, name)
    if written or known:
        return name, written or known[-1]
    raise no_releases(source, name)


def actor(place: Place) -> str:
    """Who git would name, by the name the policy has for that address."""
    from governance.adapters.git_history import idents
    from governance.review.authors import ident
    from governance.review.policy import Policy, has_policy

    git = place.git()
    text = idents(git).get("committer", "") if git is not None else ""
    found = ident(text, "committer") if text else None
    if found is None or git is None or not git.has_commits():
        return "unknown"
    settings = place.state("HEAD").settings()
    person = Policy.of(settings).person_of_email(found.email) if has_policy(settings) else None
    return person or f"{found.name} <{found.email}>"


def commit_here(place: Place, paths: Sequence[str], message: str) -> str:
    """The first 12 digits of a new commit of `paths`, which are relative to the governed root."""
    from governance.adapters.git_commits import commit_paths

    git = place.git()
    assert git is not None
    folder = place.folder(git)
    above = f"{folder}/" if folder else ""
    return commit_paths(git, [f"{above}{path}" for path in paths], message)[:12]
