"""Which release is meant: `summarizer v42`, `summarizer@v42`, or a service alone for its newest."""

from __future__ import annotations

from governance.adapters.files import FileSource
from governance.errors import Usage
from governance.release import record as records
from governance.release.record import Record


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
        known = ", ".join(records.services_in(source))
        hint = f"there are releases of: {known}" if known else f"tierlock release cut {name}"
        raise Usage(f"service `{name}` has no releases", hint=hint)
    return newest
