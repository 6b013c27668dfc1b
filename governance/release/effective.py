"""How the effective values of a service moved between two states, and what moved them.

- A value that moved because its own key in the sampling or base config changed is told there, not here again.
- The cause of the rest is read from what changed in the base config and from the provenance of each value:
  an engine version, the policy for the model's generation config, that file itself, another model or engine.
- Values that every request pins are said to be unmoved where the default beneath them moved.
- Unknown equals nothing: a value unknown on either side is a doubt, not a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from governance.engines.keys import look
from governance.engines.model import FROM_CONFIG, FROM_GENERATION_CONFIG
from governance.engines.resolve import engine_of, pinned, reason_of, server_values
from governance.engines.services import effective, generation_config
from governance.errors import TierlockError
from governance.records import dataclass, field
from governance.tiers.config import Config, Service
from governance.tiers.treediff import tree_changes
from governance.values import Effect, Tree, Unknown, Value
from governance.verdict import Change, EffectiveValue

POLICY: Final = ("engine.options.generation_config", "engine.options.generation_overrides")


_Engine: TypeAlias = tuple[object, object]  # name and version


@dataclass(frozen=True, slots=True)
class Moves:
    """What moved: `changes` without a change of their own key, `with_config` those with one.

    `one_sided` are keys that one engine version alone has, `harmless` those that moved and shape no answer:
    neither is in the digest. `doubts` says of each key unknown on a side why; `held` are pinned values whose
    default moved; `known` are the values both sides know. With `same_base` what is not known is not known of
    either in the same way, and is no news.
    """

    changes: tuple[Change, ...] = ()
    with_config: tuple[str, ...] = ()
    one_sided: tuple[str, ...] = ()
    harmless: tuple[str, ...] = ()
    doubts: Mapping[str, str] = field(default_factory=dict)
    held: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    unknown: str = ""
    same_base: bool = False
    known: tuple[tuple[EffectiveValue, ...], tuple[EffectiveValue, ...]] = ((), ())


def moves(before: Service, after: Service) -> Moves:
    """The effective values of `after` beside those of `before`."""
    sides = [effective(service) for service in (before, after)]
    for side in sides:
        if isinstance(side, Unknown):
            return Moves(unknown=side.reason)
    old, new = ({value.key: value for value in side} for side in sides if not isinstance(side, Unknown))
    changes: list[Change] = []
    with_config: list[str] = []
    one_sided: list[str] = []
    harmless: list[str] = []
    doubts: dict[str, str] = {}
    missing = _no_table(before) or _no_table(after)
    for key in sorted({*old, *new}):
        one, two = old.get(key), new.get(key)
        if one is None or two is None:
            if missing is not None:
                doubts[key] = missing
            else:
                one_sided.append(key)
        elif (why := _doubt(one, two)) is not None:
            doubts[key] = why
        elif not equal(one.value, two.value):
            if Effect.OUTPUT not in (one.risk, two.risk):
                harmless.append(key)
            elif _said_in_config(one, two):
                with_config.append(key)
            else:
                changes.append(_change(key, one, two))
    return Moves(
        changes=tuple(changes),
        with_config=tuple(with_config),
        one_sided=tuple(one_sided),
        harmless=tuple(harmless),
        doubts=doubts,
        held=tuple(_held(before, after)),
        causes=tuple(_causes(before, after, changes)),
        same_base=_same(before.base, after.base),
        known=(_known(old, doubts), _known(new, doubts)),
    )


def _same(one: Config | None, other: Config | None) -> bool:
    return one is not None and other is not None and (one.tree, one.files) == (other.tree, other.files)


def equal(left: Value, right: Value) -> bool:
    """Whether two values mean the same: 1 is 1.0, true is neither, unknown equals nothing."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return False
    return not tree_changes(left, right, by_value=True)


def _known(values: Mapping[str, EffectiveValue], doubts: Mapping[str, str]) -> tuple[EffectiveValue, ...]:
    return tuple(value for key, value in values.items() if key not in doubts)


def _no_table(service: Service) -> str | None:
    """Why the options of this service's engine version are not known; None when they are."""
    if service.base is None:
        return "the base config does not load"
    version = look(service.base.tree, "engine.version")
    table = engine_of(service.base.tree).table(version if isinstance(version, str) else "")
    return table.reason if isinstance(table, Unknown) else None


def _doubt(one: EffectiveValue, two: EffectiveValue) -> str | None:
    """Why two values cannot be compared. The same open question on both sides is no news."""
    reasons = [value.value.reason for value in (one, two) if isinstance(value.value, Unknown)]
    return reasons[-1] if reasons else None


def _said_in_config(one: EffectiveValue, two: EffectiveValue) -> bool:
    """Whether the config itself says so on both sides, or on one and leaves the key to nothing else."""
    return FROM_CONFIG in (one.provenance, two.provenance) and one.source != two.source


def _change(key: str, one: EffectiveValue, two: EffectiveValue) -> Change:
    return Change(
        layer="effective",
        key=key,
        before=one.value,
        after=two.value,
        before_from=one.provenance,
        after_from=two.provenance,
        risk=max(one.risk, two.risk, key=lambda effect: effect.rank),
        effect=two.note or one.note or reason_of(key),
    )


def _held(before: Service, after: Service) -> list[str]:
    """`temperature 0.2`: pinned on both sides to one value while the server's default moved."""
    if not (before.base and before.sampling and after.base and after.sampling):
        return []
    try:
        old, new = ({value.key: value.value for value in _defaults(service)} for service in (before, after))
    except TierlockError:
        return []
    fixed = pinned(before.sampling.tree) & pinned(after.sampling.tree)
    found = []
    for key in sorted(fixed & old.keys() & new.keys()):
        name = key.removeprefix("sampling.")
        value = look(after.sampling.tree, name)
        known = not isinstance(old[key], Unknown) and not isinstance(new[key], Unknown)
        if known and equal(look(before.sampling.tree, name), value) and not equal(old[key], new[key]):
            found.append(f"{name} {value}")
    return found


def _defaults(service: Service) -> tuple[EffectiveValue, ...]:
    base = service.base
    return server_values(base.tree, generation_config(base)) if base else ()


def _causes(before: Service, after: Service, changes: Sequence[Change]) -> list[str]:
    """Why values moved that no config moved, the most telling first."""
    if not changes or before.base is None or after.base is None:
        return []
    old, new = before.base.tree, after.base.tree
    engine = [(look(tree, "engine.name"), look(tree, "engine.version")) for tree in (old, new)]
    if engine[0][0] != engine[1][0]:
        return [f"another engine: {engine[0][0]} {engine[0][1]} → {engine[1][0]} {engine[1][1]}"]
    return [
        *_policy_causes(old, new),
        *_version_causes(engine[0], engine[1], changes),
        *_file_causes(old, new, changes),
    ] or [f"the base config changed ({after.base.id})"]


def _policy_causes(old: Tree, new: Tree) -> list[str]:
    return [f"`{key}` changed" for key in POLICY if look(old, key) != look(new, key)]


def _version_causes(
    old: tuple[object, object], new: tuple[object, object], changes: Sequence[Change]
) -> list[str]:
    if old[1] == new[1]:
        return []
    versions = f"{old[0]} {old[1]} → {new[1]}"
    told = [(_from_file(change.before_from), _from_file(change.after_from)) for change in changes]
    said = {
        (False, True): f"the engine upgrade ({versions}) reads the model's generation config by default",
        (True, False): f"the engine change ({versions}) no longer reads the model's generation config",
        (False, False): f"other defaults of the engine ({versions})",
    }
    return [sentence for kind, sentence in said.items() if kind in told]


def _file_causes(old: Tree, new: Tree, changes: Sequence[Change]) -> list[str]:
    if not any(_from_file(change.before_from) and _from_file(change.after_from) for change in changes):
        return []
    models = look(old, "model.id"), look(new, "model.id")
    if models[0] != models[1]:
        return [f"another model: {models[0]} → {models[1]}"]
    return ["the model's generation_config.json changed"]


def _from_file(provenance: str) -> bool:
    return FROM_GENERATION_CONFIG in provenance


def risk_of(changes: Sequence[Change]) -> Effect:
    """The gravest risk of `changes`; none when there is no change."""
    return max((change.risk for change in changes), key=lambda effect: effect.rank, default=Effect.NONE)
