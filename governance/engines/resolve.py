"""What a service will really use: each decoding and engine value, its source, its effect and its provenance.

- A value the sampling config sets is sent with every request: the server's default does not matter for it.
- A value that is `inherit` or absent is the server's: the engine module says what that is at its version.
- A parameter the engine does not know is not applied; it is said, not dropped.
- `project` reduces values to what a server can show, so that a repository and a server are compared over the
  same keys. Unknown stays unknown and equals nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, cast

from governance.engines import registry
from governance.engines.keys import leaves, look
from governance.engines.model import FROM_CONFIG, Engine
from governance.errors import Usage
from governance.tiers.validate import spec
from governance.values import ABSENT, Absent, Effect, Json, KeyPath, Tree, Unknown, Value
from governance.verdict import EffectiveValue

INHERIT: Final = "inherit"
# Keys of the sampling tier that are no decoding parameter: they reach no server.
NOT_SENT: Final = frozenset(
    {"kind", "description", "task", "deterministic", "overridable", "reason", "extra"}
)
# Groups that are one parameter each: their parts resolve on their own.
_GROUPS: Final = frozenset({"dry", "xtc", "mirostat", "dynamic_temperature", "beam", "structured"})

# `as_applied` of an engine module: what the engine makes of the values together (greedy resets top_p).
Adjust = Callable[[Mapping[str, EffectiveValue]], Mapping[str, EffectiveValue]]
# `takes` of an engine module: whether its API has a field for a decoding parameter it knows.
Takes = Callable[[str], bool]


def resolve(
    base: Tree, sampling: Tree, generation_config: Tree | Unknown | Absent
) -> tuple[EffectiveValue, ...]:
    """Every decoding value (`sampling.top_k`) and engine value (`engine.options.threads`), sorted by key."""
    engine = engine_of(base)
    defaults = engine.sampling_defaults(base, generation_config)
    takes = cast("Takes | None", getattr(engine, "takes", None))
    drawn = _drawn(sampling, defaults, engine.NAME, takes)
    adjust = cast("Adjust | None", getattr(engine, "as_applied", None))
    if adjust is not None:
        drawn = dict(adjust(drawn))
    values = [_as_sampling(value) for value in drawn.values()]
    values += [_judged(value) for value in engine.engine_values(base).values()]
    return tuple(sorted(values, key=lambda value: value.key))


def server_values(base: Tree, generation_config: Tree | Unknown | Absent) -> tuple[EffectiveValue, ...]:
    """What a server started from `base` shows when asked: its own sampling defaults and engine values."""
    engine = engine_of(base)
    values = [_as_sampling(value) for value in engine.sampling_defaults(base, generation_config).values()]
    values += [_judged(value) for value in engine.engine_values(base).values()]
    return tuple(sorted(values, key=lambda value: value.key))


def engine_of(base: Tree) -> Engine:
    """The engine module `engine.name` names. Raises `Usage` when it names none."""
    name = look(base, "engine.name")
    if not isinstance(name, str):
        raise Usage("the base config names no engine", where="engine.name")
    return registry.load(name)


def pinned(sampling: Tree) -> frozenset[str]:
    """The keys (`sampling.temperature`) that every request of the service sets for itself."""
    return frozenset(f"sampling.{key}" for key, value in _sent(sampling) if value != INHERIT)


def effective_tree(values: Iterable[EffectiveValue]) -> dict[str, Json | Unknown]:
    """The values by key: what the `effective` layer digests. An absent value has no key."""
    return {value.key: value.value for value in values if value.value is not ABSENT}


def project(values: Iterable[EffectiveValue], keys: Collection[str]) -> tuple[EffectiveValue, ...]:
    """The values whose keys are in `keys`: what a server can show."""
    return tuple(value for value in values if value.key in keys)


def effect_of(key: str) -> Effect:
    """What the schema says a key does; `output` where it says nothing."""
    tier, path = _path(key)
    found = spec(tier, path)
    return found.effect if found is not None else Effect.OUTPUT


def reason_of(key: str) -> str:
    """One line on what a key does to the answers; empty where the schema says nothing."""
    tier, path = _path(key)
    found = spec(tier, path)
    return found.reason if found is not None else ""


def _path(key: str) -> tuple[str, KeyPath]:
    steps = tuple(key.split("."))
    if steps[0] == "sampling":
        return "sampling", steps[1:]
    return "base", steps


def _sent(sampling: Tree) -> Iterable[tuple[str, Json]]:
    """Each decoding parameter of the config by its key, groups taken apart (`dry.multiplier`)."""
    for name, value in sampling.items():
        if name in NOT_SENT:
            continue
        if name in _GROUPS and isinstance(value, Mapping):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value
    extra = sampling.get("extra")
    if isinstance(extra, Mapping):
        for name, value in extra.items():
            yield f"extra.{name}", value


def _drawn(
    sampling: Tree, defaults: Mapping[str, EffectiveValue], engine: str, takes: Takes | None
) -> dict[str, EffectiveValue]:
    found = dict(defaults)
    for key, value in _sent(sampling):
        if value == INHERIT:
            found.update(_inherited(key, defaults, engine))
        elif key.startswith("extra.") or (key in defaults and (takes is None or takes(key))):
            found[key] = EffectiveValue(key, value, value, FROM_CONFIG)
        else:
            kept = defaults[key].value if key in defaults else ABSENT
            found[key] = EffectiveValue(key, kept, value, f"not applied by {engine}", note=_no_field(engine))
    return found


def _no_field(engine: str) -> str:
    return f"{engine} takes no such field of a request"


def _inherited(key: str, defaults: Mapping[str, EffectiveValue], engine: str) -> dict[str, EffectiveValue]:
    """The server's value of an inherited key; all parts of an inherited group."""
    parts = [name for name in defaults if name == key or name.startswith(f"{key}.")]
    if not parts:
        return {key: EffectiveValue(key, ABSENT, INHERIT, f"not applied by {engine}", note=_no_field(engine))}
    return {name: _with(defaults[name], source=INHERIT) for name in parts}


def _with(value: EffectiveValue, *, source: Value) -> EffectiveValue:
    return EffectiveValue(value.key, value.value, source, value.provenance, value.risk, value.note)


def _as_sampling(value: EffectiveValue) -> EffectiveValue:
    key = value.key if value.key.startswith("sampling.") else f"sampling.{value.key}"
    return EffectiveValue(key, value.value, value.source, value.provenance, effect_of(key), value.note)


def _judged(value: EffectiveValue) -> EffectiveValue:
    """Options of the engine's own name carry the engine module's judgement, the others the schema's."""
    risk = value.risk if value.key.startswith("engine.extra.") else effect_of(value.key)
    return EffectiveValue(value.key, value.value, value.source, value.provenance, risk, value.note)
