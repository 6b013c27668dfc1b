"""Values in trees by dotted key: `engine.options.rope.factor`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from governance.values import ABSENT, Absent, Json, Tree


def look(tree: Tree, key: str) -> Json | Absent:
    """The value at `key`, or `ABSENT`."""
    value: Json = tree
    for step in key.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return ABSENT
        value = value[step]
    return value


def put(tree: dict[str, Json], key: str, value: Json) -> None:
    """Set the value at `key`; the mappings on the way are made."""
    *way, last = key.split(".")
    for step in way:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            raise TypeError(f"{key}: `{step}` holds a value already")
        tree = inner
    tree[last] = value


def leaves(tree: Tree, prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Every value that is no mapping, with its dotted key; an empty mapping counts as a value."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def finite(value: Json) -> bool:
    """Whether no number in `value` is infinite or NaN: JSON has none of them."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Mapping):
        return all(finite(item) for item in value.values())
    return not isinstance(value, list | tuple) or all(finite(item) for item in value)
