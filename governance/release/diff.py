"""The difference between any two sides: files, states of the repository, services, releases, captures,
endpoints.

- Each pair of kinds has one comparison; a pair without one is refused with what can be compared.
- A whole repository beside a service means that service on both sides.
- `fail_on_difference` makes a difference block; without it a difference is information.
"""

from __future__ import annotations

import gc
from typing import Final

from governance.errors import Usage
from governance.fingerprint.changes import Showing
from governance.release.found import Found
from governance.release.sides import CaptureSide, EndpointSide, FileSide, ReleaseSide, Side, StateSide
from governance.verdict import Report

_KINDS: Final = {
    FileSide: "a file",
    StateSide: "a state or service",
    ReleaseSide: "a release",
    CaptureSide: "a capture",
    EndpointSide: "a server",
}


def compare(
    left: Side, right: Side, *, fail_on_difference: bool = False, showing: Showing | None = None
) -> Report:
    """What moved from `left` to `right`: layers, then fields, causes and the next command.

    Raises `Usage` for sides that cannot be compared, `Unreachable` for a server that does not answer.
    """
    collecting = gc.isenabled()
    gc.disable()  # nearly all that is made stays to the end; collecting takes 6 % of the time
    try:
        found = _found(left, right, showing or Showing())
    finally:
        if collecting:
            gc.enable()
    found.run = {"left": left.label, "right": right.label, **found.run}
    return found.report(fail_on_difference=fail_on_difference)


def _found(left: Side, right: Side, showing: Showing) -> Found:
    match left, right:
        case StateSide(), StateSide():
            return _states(left, right, showing)
        case FileSide(), FileSide():
            from governance.release.files import compare_files

            return compare_files(left, right, showing)
        case CaptureSide(), CaptureSide():
            from governance.release.captures import compare_hosts

            return compare_hosts(left, right, showing)
        case EndpointSide(), EndpointSide():
            from governance.release.endpoints import compare_servers

            return compare_servers(left, right, showing)
        case StateSide(), EndpointSide():
            return _live(left, right, showing, reverse=False)
        case EndpointSide(), StateSide():
            return _live(right, left, showing, reverse=True)
        case (ReleaseSide(), _) | (_, ReleaseSide()):
            return _release(left, right, showing)
        case FileSide(), StateSide() if not right.service:
            return _found(left, _file_of(right, left), showing)
        case StateSide(), FileSide() if not left.service:
            return _found(_file_of(left, right), right, showing)
    raise _incomparable(left, right)


def _incomparable(left: Side, right: Side) -> Usage:
    kinds = [f"{_KINDS[type(side)]} (`{side.label}`)" for side in (left, right)]
    return Usage(
        f"{kinds[0]} and {kinds[1]} cannot be compared",
        hint="compare two of a kind, or a service with a server",
    )


def _states(left: StateSide, right: StateSide, showing: Showing) -> Found:
    from governance.release.services import compare_service, compare_states

    service = left.service or right.service
    if not service:
        return compare_states(left, right, showing)
    return compare_service(_named(left, service), _named(right, service), showing)


def _release(left: Side, right: Side, showing: Showing) -> Found:
    """A release beside anything: its configs as at its commit, its observed layers as recorded."""
    from governance.release import releases

    if isinstance(left, CaptureSide) or isinstance(right, CaptureSide):
        return _found(releases.host_of(left), releases.host_of(right), showing)
    if isinstance(left, FileSide) or isinstance(right, FileSide):
        raise _incomparable(left, right)
    found = _found(*releases.states_of(left, right), showing)
    releases.tell(found, left, right, showing)
    return found


def _named(side: StateSide, service: str) -> StateSide:
    """The side with its service. One that was named alone is called by the state it was read from."""
    label = side.state.label if side.label == side.service else side.label
    return StateSide(label, side.state, side.service or service, side.revision)


def _live(declared: StateSide, endpoint: EndpointSide, showing: Showing, *, reverse: bool) -> Found:
    from governance.release.endpoints import compare_live

    names = [declared.service] if declared.service else list(declared.state.bindings())
    if len(names) != 1:
        known = ", ".join(f"{name}@{declared.revision or 'worktree'}" for name in names[:3])
        raise Usage(
            f"which service runs at {endpoint.label}?", hint=f"name it: {known or 'none is declared'}"
        )
    return compare_live(_named(declared, names[0]), endpoint, showing, reverse=reverse)


def _file_of(state: StateSide, file: FileSide) -> Side:
    """The same path in a state of the repository."""
    source = state.state.source
    folder = file.path.rpartition("/")[0]
    return FileSide(
        f"{state.label}:{file.path}",
        file.path,
        source.read(file.path),
        lambda name: source.read(f"{folder}/{name}" if folder else name),
    )
