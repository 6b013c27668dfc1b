"""Releases in a comparison: the state at the commit, with the layers, evidence and approvals on record.

- Weights, packages, platform and image are compared as they were captured. A layer that only one side knows
  is unknown and keeps equality from being claimed; it is never counted as equal.
- A record that its own commit does not bear out is undecided: what is compared then is the commit.
- A release beside a capture is its captured host; beside a state or a server it is the service at its commit.
"""

from __future__ import annotations

from governance.adapters.files import FileSource
from governance.errors import Unreadable
from governance.fingerprint.changes import Showing
from governance.fingerprint.layers import OBSERVED, short
from governance.fingerprint.services import fingerprint_of
from governance.release.captures import compare_hosts
from governance.release.found import Found
from governance.release.record import Record, load_at
from governance.release.showing import evidence_text
from governance.release.sides import CaptureSide, EndpointSide, Place, ReleaseSide, Side, StateSide
from governance.tiers.naming import TIERS
from governance.values import Unknown
from governance.verdict import LayerState, Report


def host_of(side: Side) -> Side:
    """The captured host of a release; any other side as it is. Raises `Unreadable` when it has none."""
    if not isinstance(side, ReleaseSide):
        return side
    capture = side.record.captured()
    if capture is None:
        raise Unreadable(
            f"{side.record.label} was cut without a capture, so there is no host to compare",
            where=side.record.path,
            hint="tierlock release cut SERVICE --capture host.json",
        )
    return CaptureSide(side.label, capture)


def states_of(left: Side, right: Side) -> tuple[Side, Side]:
    """Both sides, a release as the service at its commit, a whole repository as that service."""
    names = [side.record.service for side in (left, right) if isinstance(side, ReleaseSide)]
    one, two = (_state(side, names[0]) for side in (left, right))
    return one, two


def _state(side: Side, service: str) -> Side:
    if isinstance(side, ReleaseSide):
        return StateSide(side.record.id, side.state, side.record.service, side.record.commit[:12])
    if isinstance(side, StateSide) and not side.service:
        return StateSide(side.label, side.state, service, side.revision)
    return side


def tell(found: Found, left: Side, right: Side, showing: Showing) -> None:
    """Add to what was found of the configs what the records say beside them."""
    found.title = _title(found, left, right)
    for side in (left, right):
        if isinstance(side, ReleaseSide) and (moved := _untrue(side)):
            command = f"tierlock release verify {side.record.service} {side.record.id}"
            found.undecided.append((side.record.label, f"its commit gives another {moved}: {command}"))
    if isinstance(left, ReleaseSide) and isinstance(right, ReleaseSide):
        _observed(found, left, right, showing)
    else:
        known = next(side.record for side in (left, right) if isinstance(side, ReleaseSide))
        names = [name for name in OBSERVED if not isinstance(known.layers[name], Unknown)]
        if names and not any(isinstance(side, EndpointSide) for side in (left, right)):
            found.notes.append(f"not compared, known of {known.id} only: {', '.join(names)}")
    if isinstance(right, ReleaseSide):
        _records(found, right.record)


def since_parent(record: Record, source: FileSource, place: Place) -> Report | None:
    """What moved from the release before `record` to it; None for the first. Raises as `diff.compare`."""
    if not record.parent:
        return None
    from governance.release.diff import compare

    parent = load_at(source, record.service, record.parent)
    left, right = (ReleaseSide(one.id, one, place.state(one.commit)) for one in (parent, record))
    return compare(left, right)


def _title(found: Found, left: Side, right: Side) -> str:
    names = [_called(side) for side in (left, right)]
    services = [side.record.service for side in (left, right) if isinstance(side, ReleaseSide)]
    name = " → ".join(dict.fromkeys(services))
    return f"{name}   {names[0]} → {names[1]}" if len(services) == 2 else found.title


def _called(side: Side) -> str:
    return f"{side.record.id} {side.record.fingerprint[:12]}" if isinstance(side, ReleaseSide) else side.label


def _untrue(side: ReleaseSide) -> str:
    """The source layers of a record that its commit does not give, as recorded and as found."""
    service = side.state.service(side.record.service)
    if service is None:
        return f"set of services: there is no `{side.record.service}`"
    layers = fingerprint_of(service).layers
    wrong = [name for name in TIERS if layers[name] != side.record.layers[name]]
    return ", ".join(f"{name} ({short(layers[name])})" for name in wrong)


def _observed(found: Found, left: ReleaseSide, right: ReleaseSide, showing: Showing) -> None:
    """The captured layers of two releases."""
    sides = [side.record.captured() for side in (left, right)]
    seen: dict[str, LayerState] = {}
    if sides[0] is not None and sides[1] is not None:
        hosts = compare_hosts(CaptureSide(left.label, sides[0]), CaptureSide(right.label, sides[1]), showing)
        seen = {layer.name: layer for layer in hosts.layers}
        found.changes += hosts.changes
        found.notes += hosts.notes
    open_ = []
    for name in OBSERVED:
        layer = seen.get(name) or _unseen(name, left.record, right.record)
        found.layers.append(layer)
        if layer.state == "unknown":
            open_.append(f"{name} ({layer.detail})" if layer.detail else name)
    if open_:
        found.open = f"not covered: {', '.join(open_)}"


def _unseen(name: str, one: Record, two: Record) -> LayerState:
    """A layer that no comparison of captures reached."""
    without = [record.id for record in (one, two) if isinstance(record.layers[name], Unknown)]
    return LayerState(name, "unknown", detail=f"not known of {' and '.join(without)}")


def _records(found: Found, record: Record) -> None:
    """What the newer release was made on."""
    for evidence in record.evidence:
        found.notes.append(f"evidence     {evidence_text(evidence)}")
    if record.approvals:
        by: dict[str, list[str]] = {}
        for one in record.approvals:
            by.setdefault(one.subject.partition(":")[2], []).append(one.person)
        told = " · ".join(f"{subject} {', '.join(dict.fromkeys(people))}" for subject, people in by.items())
        found.notes.append(f"approvals    {told}")
    for override in record.overrides:
        found.notes.append(f"accepted     without {override.check}, by {override.by}: {override.reason}")
