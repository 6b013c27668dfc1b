"""Two states of a repository compared: one service with all its layers, or everything governed.

- Layers first. A config is compared by meaning, a service also by its effective values.
- What does not load on either side is undecided with its findings; the rest is compared all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from governance.engines.resolve import effect_of
from governance.errors import Unreadable
from governance.fingerprint.changes import WHOLE, Showing, config_changes, services_changes
from governance.fingerprint.layers import Fingerprint, effective_digest, short
from governance.fingerprint.layers import compare as compare_layers
from governance.fingerprint.services import fingerprint_of
from governance.fingerprint.states import Differing, bound_by
from governance.release.effective import Moves, moves
from governance.release.found import Found
from governance.release.sides import StateSide
from governance.tiers.config import SERVICES_FILE, TIERS, Config, ConfigId, Service
from governance.values import Effect, Unknown
from governance.verdict import Change, LayerState

SHOWN = 6  # names listed in a note before the rest is counted


def compare_service(left: StateSide, right: StateSide, showing: Showing) -> Found:
    """What differs for one service between two states, or between two services."""
    old, new = left.state.service(left.service), right.state.service(right.service)
    found = Found(run={"service": right.service, "before": left.label, "after": right.label})
    if old is None or new is None:
        _one_sided(found, left, right, old, new)
        return found
    before, after = fingerprint_of(old), fingerprint_of(new)
    moved = moves(old, new)
    name = right.service if left.service == right.service else f"{left.service} → {right.service}"
    found.title = f"{name}   {left.label} {_shown(before)} → {right.label} {_shown(after)}"
    found.layers += [_brief(layer, moved) for layer in compare_layers(before, after)]
    _refusals(found, left, right, [ConfigId(tier, str(s.tree[tier])) for s in (old, new) for tier in TIERS])
    pairs = ((old.base, new.base), (old.sampling, new.sampling), (old.prompts, new.prompts))
    for tier, (one, two) in zip(TIERS, pairs, strict=True):
        if one is not None and two is not None:
            _configs(found, tier, one, two, showing)
    if left.service == right.service:
        settings = left.state.settings(), right.state.settings()
        found.changes += services_changes(*settings, right.state.services_file, right.service)
    _effective(found, moved, "effective", showing)
    if all(layer.state == "same" for layer in found.layers[:2]):
        found.open = ""  # the same inputs: what is not known is not known of either in the same way
    _pinning(found, left, right.service, "effective")
    if not found.changes and any(_bytes(one) != _bytes(two) for one, two in pairs):
        found.same_meaning = "the files differ in layout, order or comments only"
    return found


def compare_states(left: StateSide, right: StateSide, showing: Showing) -> Found:
    """What differs in everything governed."""
    differing = Differing(left.state, right.state)
    found = Found(
        title=f"{left.label} → {right.label}",
        run={"before": left.label, "after": right.label, "paths": len(differing.paths)},
    )
    if SERVICES_FILE in differing.paths:
        settings = left.state.settings(), right.state.settings()
        found.changes += services_changes(*settings, right.state.services_file)
    for config_id in differing.configs:
        one, two = left.state.config(config_id), right.state.config(config_id)
        if config_id not in left.state.refused | right.state.refused:
            _configs(found, str(config_id), one, two, showing)
    _refusals(found, left, right, differing.configs)
    found.layers += _tiers(found.changes, differing.configs)
    _affected(found, left, right, differing, showing)
    _unplaced(found, differing)
    if differing.paths and not found.changes and not found.undecided:
        count = len(differing.paths)
        found.same_meaning = f"{count} file{'s' * (count != 1)} differ in layout, order or comments only"
    return found


def _shown(fingerprint: Fingerprint) -> str:
    """The fold; where a layer is unknown, that of the configs as written."""
    fold = fingerprint.fold()
    return short(fingerprint.only(TIERS).fold()) if isinstance(fold, Unknown) else short(fold)


def _brief(layer: LayerState, moved: Moves) -> LayerState:
    """The effective layer over what both sides know; what is not known is counted here and listed below.

    A value that is known to have moved is a change, whatever else is unknown.
    """
    if layer.name != "effective" or layer.state != "unknown" or not moved.doubts:
        return layer
    detail = f"{len(moved.doubts)} values are not known before start"
    if moved.changes or moved.with_config:
        old, new = (effective_digest(values) for values in moved.known)
        return LayerState("effective", "changed", old, new, detail)
    said = Unknown(detail)
    before, after = (said if isinstance(side, Unknown) else side for side in (layer.before, layer.after))
    return LayerState("effective", "unknown", before, after)


def _configs(found: Found, layer: str, one: Config | None, two: Config | None, showing: Showing) -> None:
    try:
        found.changes += config_changes(layer, one, two, showing)
    except Unreadable as err:
        found.undecided.append((layer, err.message))


def _refusals(found: Found, left: StateSide, right: StateSide, wanted: Iterable[ConfigId]) -> None:
    for side in (left, right):
        for config_id in sorted(side.state.refused.intersection(wanted)):
            found.undecided.append((str(config_id), f"it does not load in {side.label}"))
        if any(one.path == SERVICES_FILE and one.blocks for one in side.state.findings):
            found.undecided.append((SERVICES_FILE, f"it does not load in {side.label}"))
        found.findings += side.state.findings


def _tiers(changes: Iterable[Change], touched: Iterable[ConfigId]) -> list[LayerState]:
    """The three tiers: how many configs changed, came and went."""
    kinds: dict[str, dict[str, str]] = {tier: {} for tier in TIERS}
    for change in changes:
        tier, _, name = change.layer.partition("/")
        if tier in kinds and name:
            kinds[tier][name] = change.effect.rpartition(" ")[2] if change.key == WHOLE else "changed"
    same = Counter(config_id.tier for config_id in touched)
    states = []
    for tier, configs in kinds.items():
        told = Counter(configs.values())
        detail = ", ".join(f"{told[word]} {word}" for word in ("changed", "added", "removed") if told[word])
        layout = same[tier] - len(configs)
        if layout > 0:
            detail += f"{', ' if detail else ''}{layout} the same in meaning"
        states.append(LayerState(tier, "changed" if configs else "same", detail=detail))
    return states


def _affected(
    found: Found, left: StateSide, right: StateSide, differing: Differing, showing: Showing
) -> None:
    """The effective values of each service whose base or sampling config, or binding, changed."""
    touched = [each for each in differing.configs if each.tier != "prompts"]
    before, after = left.state.bindings(), right.state.bindings()
    names = dict.fromkeys(bound_by(after, touched))
    shared = [name for name in after if name in before]
    names |= dict.fromkeys(name for name in shared if _binds(before[name]) != _binds(after[name]))
    both = [tree for side in (before, after) for name, tree in side.items() if name in names]
    differing.load(ConfigId(tier, str(tree[tier])) for tree in both for tier in TIERS)
    state = "same"
    for name in names:
        old, new = left.state.service(name), right.state.service(name)
        if old is None or new is None or not _inputs_moved(found, old, new):
            continue
        one = moves(old, new)
        _effective(found, one, f"effective/{name}", showing)
        if one.changes or one.with_config:
            state = "changed"
        elif one.unknown and state == "same":
            state = "unknown"
        _pinning(found, left, name, f"effective/{name}")
    if names:
        found.layers.append(LayerState("effective", state, detail=_listed("used by", list(names))))


def _inputs_moved(found: Found, old: Service, new: Service) -> bool:
    """Whether what effective values are made of differs in meaning; the same inputs give the same values."""
    layers = {change.layer for change in found.changes}
    bound = [ConfigId(tier, str(one.tree[tier])) for one in (old, new) for tier in ("base", "sampling")]
    return bound[:2] != bound[2:] or any(str(each) in layers for each in bound)


def _binds(tree: object) -> list[object]:
    return [tree.get(tier) for tier in TIERS] if isinstance(tree, dict) else []


def _effective(found: Found, moved: Moves, layer: str, showing: Showing) -> None:
    head = "" if layer == "effective" else f"{layer.partition('/')[2]}: "
    if moved.unknown:
        found.notes.append(f"{head}effective values are not known: {moved.unknown}")
        found.open = moved.unknown
        return
    found.changes += [_in_layer(change, layer) for change in moved.changes]
    if moved.causes:
        found.notes.append(f"{head}cause        {'; '.join(moved.causes)}")
    for said, keys in (
        ("pinned, so unmoved:", moved.held),
        ("effective values that moved with the config:", moved.with_config),
        ("moved, and shape no answer:", moved.harmless),
        ("known to one version only:", moved.one_sided),
        ("not known before start, so not compared:", () if moved.same_base else tuple(moved.doubts)),
    ):
        if keys:
            names = [key.removeprefix("sampling.") for key in keys]
            found.notes.append(_listed(f"{head}{said}", names, showing))
    if not moved.same_base and any(effect_of(key) is Effect.OUTPUT for key in moved.doubts):
        found.open = f"{head}{len(moved.doubts)} effective values are not known before start"


def _in_layer(change: Change, layer: str) -> Change:
    from dataclasses import replace

    return change if layer == change.layer else replace(change, layer=layer)


def _pinning(found: Found, left: StateSide, service: str, layer: str) -> None:
    """The command that writes the older values into the config, when values moved without it."""
    moved = [c for c in found.changes if c.layer == layer and c.key.startswith("sampling.")]
    if moved and left.revision:
        found.next = f"tierlock resolve {service} --at {left.revision} --write"


def _one_sided(
    found: Found, left: StateSide, right: StateSide, old: Service | None, new: Service | None
) -> None:
    found.title = f"{right.service}   {left.label} → {right.label}"
    if old is None and new is None:
        found.undecided.append((right.service, f"it is neither in {left.label} nor in {right.label}"))
        return
    said = [None if one is None else {tier: str(one.tree[tier]) for tier in TIERS} for one in (old, new)]
    found.changes += services_changes(
        {"services": {right.service: said[0]} if said[0] else {}},
        {"services": {right.service: said[1]} if said[1] else {}},
        right.state.services_file,
        right.service,
    )


def _unplaced(found: Found, differing: Differing) -> None:
    """Paths under a governed folder that belong to no config: told, since nothing else would."""
    from governance.tiers.naming import config_of

    stray = [path for path in differing.paths if path != SERVICES_FILE and config_of(path) is None]
    if stray:
        found.notes.append(_listed("changed, and part of no config:", stray))


def _bytes(config: Config | None) -> object:
    return (config.reading.text, dict(config.files)) if config else None


def _listed(head: str, names: list[str], showing: Showing | None = None) -> str:
    limit = len(names) if showing and showing.everything else SHOWN
    more = f" and {len(names) - limit} more (--all)" if len(names) > limit else ""
    return f"{head} {', '.join(names[:limit])}{more}"
