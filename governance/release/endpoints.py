"""A running server beside what the repository declares, or beside another server.

- Compared is what both sides can know; what the server does not show is listed, never counted as equal.
- A mismatch names layer, field, the declared and the observed value, and where the observed one was read.
- When nothing at all could be compared, the answer is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from governance.engines.drift import Drift, drift, equal
from governance.engines.keys import look
from governance.engines.model import Observed
from governance.engines.resolve import effect_of, reason_of, resolve
from governance.engines.services import generation_config
from governance.fingerprint.changes import Showing
from governance.fingerprint.layers import effective_digest
from governance.release.found import Found, turned
from governance.release.identity import identity_of
from governance.release.sides import EndpointSide, StateSide
from governance.tiers.config import Service
from governance.values import ABSENT, Effect, Unknown, Value
from governance.verdict import Change, EffectiveValue, LayerState

SHOWN = 8  # names listed in a note before the rest is counted


def compare_live(
    declared: StateSide, endpoint: EndpointSide, showing: Showing, *, reverse: bool = False
) -> Found:
    """A service as declared beside the server at an address; `reverse` puts the server first."""
    found = Found(run={"service": declared.service, "declared": declared.label, "endpoint": endpoint.url})
    sides = [f"{declared.label}", endpoint.label]
    found.title = f"{declared.service}   {' → '.join(sides[::-1] if reverse else sides)}"
    service = declared.state.service(declared.service)
    found.findings += declared.state.findings
    if service is None or service.base is None or service.sampling is None:
        found.undecided.append((declared.service, "its base or sampling config does not load"))
        return found
    engine, version = (_text(look(service.base.tree, f"engine.{key}")) for key in ("name", "version"))
    seen = endpoint.look(engine, version)
    result = drift(service.base.tree, service.sampling.tree, generation_config(service.base), seen)
    identity = identity_of(service, seen, endpoint.hash_file, showing)
    changes = [*identity.changes, *result.changes]
    layers = [*_layers(service, result), *identity.layers]
    found.changes += [turned(change) for change in changes] if reverse else changes
    found.layers += [_turned(layer) for layer in layers] if reverse else layers
    found.notes += [*result.notes, *identity.notes, *_unseen(result.unseen, showing)]
    if not result.same and not result.changes:
        found.undecided.append(("effective", f"{endpoint.label} shows nothing that could be compared"))
    found.run["compared"] = len(result.same) + len(result.changes)
    return found


def _turned(layer: LayerState) -> LayerState:
    return LayerState(layer.name, layer.state, layer.after, layer.before, layer.detail)


def compare_servers(left: EndpointSide, right: EndpointSide, showing: Showing) -> Found:
    """Two servers beside each other, over what both show."""
    seen = [side.look("", "") for side in (left, right)]
    found = Found(
        title=f"{left.label} → {right.label}",
        run={"before": left.url, "after": right.url},
    )
    old, new = seen[0].values, seen[1].values
    unseen: dict[str, str] = {}
    compared = 0
    for key in sorted({*old, *new}):
        one, two = old.get(key), new.get(key)
        if one is None or two is None:
            unseen[key] = "one server does not show it"
        elif isinstance(one.value, Unknown) or isinstance(two.value, Unknown):
            unseen[key] = next(v.value.reason for v in (one, two) if isinstance(v.value, Unknown))
        else:
            compared += 1
            if not equal(one.value, two.value):
                found.changes.append(_observed(key, one, two))
    state = "changed" if found.changes else "same" if compared else "unknown"
    found.layers.append(LayerState("effective", state, detail=f"{compared} values compared"))
    found.notes += _unseen(unseen, showing)
    if not compared:
        found.undecided.append(("effective", "the servers show nothing that could be compared"))
    return found


def _observed(key: str, one: Observed, two: Observed) -> Change:
    risk = Effect.OUTPUT if key.startswith(("engine.name", "engine.version")) else effect_of(key)
    return Change("effective", key, one.value, two.value, one.source, two.source, risk, reason_of(key))


def _layers(service: Service, result: Drift) -> list[LayerState]:
    """The effective layer over the keys both sides know; base only when the server is another engine."""
    if service.base is None or service.sampling is None:
        return []
    layers = []
    identity = [change for change in result.changes if change.layer == "base"]
    if identity:
        old, new = _columns(identity)
        layers.append(LayerState("base", "changed", old, new))
    moved = [change for change in result.changes if change.layer == "effective"]
    declared = list(resolve(service.base.tree, service.sampling.tree, generation_config(service.base)))
    named = {value.key for value in declared}
    # what only a running server lists is no effective value of the config, until it moves
    declared += [EffectiveValue(change.key, change.before) for change in moved if change.key not in named]
    keys = {value.key for value in _known(declared)} & {value.key for value in _known(result.values)}
    before, after = (effective_digest(_known(values), keys) for values in (declared, result.values))
    count = len(result.same) + len(moved)
    detail = f"{count} value{'s' * (count != 1)} compared"
    state = "changed" if moved else "same" if count else "unknown"
    layers.append(LayerState("effective", state, before, after, detail))
    return layers


def _columns(changes: list[Change]) -> tuple[str, str]:
    """What is declared and what was seen, each on one line."""
    return ", ".join(_text(c.before) for c in changes), ", ".join(_text(c.after) for c in changes)


def _known(values: Iterable[EffectiveValue]) -> list[EffectiveValue]:
    return [value for value in values if not isinstance(value.value, Unknown)]


def _unseen(unseen: Mapping[str, str], showing: Showing) -> list[str]:
    """What was not compared, by reason."""
    by_reason: dict[str, list[str]] = {}
    for key, why in unseen.items():
        by_reason.setdefault(why, []).append(key)
    silent = by_reason.pop("the server does not show it", [])
    notes = [f"not observable: {_listed(silent, showing)}"] if silent else []
    rest = [f"{', '.join(keys)}: {why}" for why, keys in by_reason.items()]
    limit = len(rest) if showing.everything else SHOWN
    notes += [f"not compared: {line}" for line in rest[:limit]]
    if len(rest) > limit:
        notes.append(f"not compared: {len(rest) - limit} more (--all)")
    return notes


def _listed(names: list[str], showing: Showing) -> str:
    limit = len(names) if showing.everything else SHOWN
    more = f" and {len(names) - limit} more (--all)" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _text(value: Value) -> str:
    return "" if value is ABSENT else str(value)
