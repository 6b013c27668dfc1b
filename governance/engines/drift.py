"""What a running server does otherwise than its config says.

- Compared is what the server can show. What it does not show is listed as unseen, never counted as equal.
- A sampling value the config sets is sent with every request: another default of the server moves nothing,
  and is a note. A value the config inherits, or leaves out, is the server's: another default is a change.
- A value the config leaves to the machine is unknown on our side: the server's value is told, not judged.
- Numbers are equal as the engine holds them (`comparable`): llama.cpp computes with 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from governance.engines.keys import look
from governance.engines.model import FROM_CONFIG, REQUEST_DEFAULT, Observed
from governance.engines.observe import Observation
from governance.engines.resolve import (
    effect_of,
    engine_of,
    pinned,
    reason_of,
    resolve,
    server_values,
)
from governance.values import ABSENT, Absent, Effect, Tree, Unknown, Value
from governance.verdict import Change, EffectiveValue

# Which engine, build and model: they belong to the base layer, not to the effective values. Not every server
# names its model; the weights layer covers what the others load.
MODEL: Final = ("model.id", "model.revision")
IDENTITY: Final = ("engine.name", "engine.version", "engine.commit", *MODEL)
PINNED: Final = "pinned per request, so unmoved"
# Keys of the engine's own, by the hundred: of those nobody set, the names are told and not the values.
OWN: Final = ("engine.extra.", "environment.variables.")
Meant = Callable[[Tree, Mapping[str, Observed]], Mapping[str, EffectiveValue]]


@dataclass(frozen=True, slots=True)
class Drift:
    """A server beside its config.

    `values` are the effective values as the server has them, with the source of each; `same` are the keys
    that were compared and are equal; `unseen` says of each other key why it could not be compared.
    """

    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    same: tuple[str, ...]
    unseen: Mapping[str, str]
    values: tuple[EffectiveValue, ...]


def drift(
    base: Tree,
    sampling: Tree,
    generation_config: Tree | Unknown | Absent,
    observation: Observation,
) -> Drift:
    """How the server of `observation` differs from what `base` and `sampling` ask for."""
    held = _holder(base)
    expected = {value.key: value for value in server_values(base, generation_config)}
    expected |= _meant(base, observation.values)
    expected |= {value.key: value for value in _identity(base, observation.values)}
    fixed = pinned(sampling)
    changes: list[Change] = []
    notes: list[str] = []
    same: list[str] = []
    unseen: dict[str, str] = {}
    for key in sorted({*_shown(expected), *observation.values}):
        wanted = expected.get(key, EffectiveValue(key, ABSENT))
        seen = observation.values.get(key)
        if (why := _unseen(wanted, seen)) is not None:
            if key not in fixed:
                unseen[key] = why
        elif seen is not None and equal(held(wanted.value), held(seen.value)):
            same.append(key)
        elif seen is not None and key in fixed:
            notes.append(_note(key, wanted, seen))
        elif seen is not None:
            changes.append(_change(key, wanted, seen))
    values = _as_observed(base, sampling, generation_config, observation, frozenset(same))
    return Drift(tuple(changes), tuple(notes), tuple(same), unseen, values)


def equal(left: Value, right: Value) -> bool:
    """Whether two values mean the same: 1 is 1.0, true is neither, unknown equals nothing."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return False
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    return left == right


def _holder(base: Tree) -> Callable[[Value], Value]:
    comparable = getattr(engine_of(base), "comparable", None)
    return cast("Callable[[Value], Value]", comparable) if comparable is not None else _as_it_is


def _shown(expected: Mapping[str, EffectiveValue]) -> list[str]:
    """The keys a server can hold a value for: those only a request sets are left out."""
    return [key for key, value in expected.items() if not value.provenance.startswith(REQUEST_DEFAULT)]


def _meant(base: Tree, shown: Mapping[str, Observed]) -> Mapping[str, EffectiveValue]:
    """`meant` of an engine module: what the config means for what only a running server lists."""
    ask = cast("Meant | None", getattr(engine_of(base), "meant", None))
    return ask(base, shown) if ask is not None else {}


def _as_it_is(value: Value) -> Value:
    return value


def _identity(base: Tree, shown: Mapping[str, Observed]) -> list[EffectiveValue]:
    found = []
    for key in IDENTITY:
        value = look(base, key)
        if value is not ABSENT and (key not in MODEL or key in shown):
            found.append(EffectiveValue(key, value, value, FROM_CONFIG))
    return found


def _unseen(wanted: EffectiveValue, seen: Observed | None) -> str | None:
    """Why a key cannot be compared, or None when it can."""
    if seen is None:
        return "the server does not show it"
    if isinstance(seen.value, Unknown):
        return seen.value.reason
    if isinstance(wanted.value, Unknown) and wanted.key.startswith(OWN):
        return wanted.value.reason
    if isinstance(wanted.value, Unknown):
        return f"the config leaves it open ({wanted.value.reason}); the server has {_text(seen.value)}"
    if wanted.key in IDENTITY and wanted.value is ABSENT:
        return f"the config does not name it; the server has {_text(seen.value)}"
    if wanted.key == "model.id" and _is_folder(seen.value) and not _is_folder(wanted.value):
        return f"the server loads the folder {_text(seen.value)}: its files tell which model it is"
    return None


def _is_folder(value: Value) -> bool:
    """Whether a model is named by a path on the serving host, not by the name of a repository."""
    return isinstance(value, str) and (value.startswith(("/", ".", "~")) or value.count("/") > 1)


def _note(key: str, wanted: EffectiveValue, seen: Observed) -> str:
    name = key.removeprefix("sampling.")
    return f"server default of `{name}` is {_text(seen.value)}, not {_text(wanted.value)}: {PINNED}"


def _change(key: str, wanted: EffectiveValue, seen: Observed) -> Change:
    risk = wanted.risk if key.startswith("engine.extra.") and wanted.value is not ABSENT else effect_of(key)
    return Change(
        layer="base" if key in IDENTITY else "effective",
        key=key,
        before=wanted.value,
        after=seen.value,
        before_from=wanted.provenance,
        after_from=seen.source,
        risk=Effect.OUTPUT if key in IDENTITY else risk,
        effect=reason_of(key),
    )


def _as_observed(
    base: Tree,
    sampling: Tree,
    generation_config: Tree | Unknown | Absent,
    observation: Observation,
    same: frozenset[str],
) -> tuple[EffectiveValue, ...]:
    """The service's effective values with everything that is the server's taken from the server."""
    held = _holder(base)
    fixed = pinned(sampling)
    found: dict[str, EffectiveValue] = {}
    for value in resolve(base, sampling, generation_config):
        seen = observation.values.get(value.key)
        if value.key in fixed or not _server_side(value):
            found[value.key] = value
        elif seen is None:
            found[value.key] = replace(value, value=Unknown("the server does not show it"), provenance="")
        elif value.key in same or equal(held(value.value), held(seen.value)):
            found[value.key] = replace(value, provenance=seen.source)
        else:
            found[value.key] = replace(value, value=seen.value, provenance=seen.source)
    for key, seen in observation.values.items():
        if key not in found and key not in IDENTITY and not isinstance(seen.value, Unknown):
            found[key] = EffectiveValue(key, seen.value, ABSENT, seen.source, effect_of(key))
    return tuple(found[key] for key in sorted(found))


def _server_side(value: EffectiveValue) -> bool:
    """Whether the server could hold another value: not for what only a request sets or nobody applies."""
    return not value.provenance.startswith(("not applied by ", REQUEST_DEFAULT))


def _text(value: Value) -> str:
    return "nothing" if value is ABSENT else str(value)
