"""What is known of every key: type, unit, range, effect and reason, from the shipped field table.

- Keys the schema leaves free (`engine.extra.…`) have the spec of the nearest key above that has one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from governance.records import dataclass
from governance.tiers.compiled import field_tables
from governance.values import Effect, KeyPath


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One key of one kind. `key` is generic: `[]` stands for any item, `*` for any name.

    `type` and `range` are words (`a number or inherit`, `0 to 5`); `unit` is empty for bare numbers and
    names; `also` lists what other tools call the same value.
    """

    key: str
    type: str
    unit: str
    range: str
    effect: Effect
    reason: str
    also: tuple[str, ...] = ()
    required: bool = False
    example: Any = None
    unordered: bool = False


def spec(kind: str, key: KeyPath) -> FieldSpec | None:
    """What is known of `key` in files of `kind`; the nearest key above it when the key itself is free.

    None when the first step is not in the schema, or `kind` is no kind of file.
    """
    table = specs(kind)
    found: FieldSpec | None = None
    at = ""
    for step in key:
        exact = f"{at}[]" if isinstance(step, int) else f"{at}.{step}" if at else step
        at = exact if exact in table else f"{at}.*"
        if at not in table:
            break
        found = table[at]
    return found


@lru_cache(maxsize=8)
def specs(kind: str) -> dict[str, FieldSpec]:
    """Every key of `kind` in the order of the schema; empty for a kind that is not there."""
    return {key: _spec(key, row) for key, row in field_tables().get(kind, {}).items()}


def _spec(key: str, row: dict[str, Any]) -> FieldSpec:
    return FieldSpec(
        key=key,
        type=row["type"],
        unit=row["unit"],
        range=row["range"],
        effect=Effect(row["effect"]),
        reason=row["reason"],
        also=tuple(row["also"]),
        required=row["required"],
        example=row["example"],
        unordered=row["unordered"],
    )
