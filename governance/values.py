"""The plain values every other module speaks in: JSON trees, absence, the unknown, and effects.

- A tree is what a tier file means: JSON values only, no NaN, no infinity, keys are text.
- `ABSENT` is "nobody said"; it differs from `None` (null) and from a default.
- `Unknown` is "the truth cannot be had, because"; it equals nothing, not even itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Tree: TypeAlias = Mapping[str, Json]
KeyPath: TypeAlias = tuple[str | int, ...]


class Absent(Enum):
    """The type of `ABSENT`."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT


class Unknown:
    """A value that could not be had; `reason` says why. It equals nothing, so no gate opens on it."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __eq__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"unknown({self.reason})"


class Effect(Enum):
    """What a field or a change does to the service, ordered from harmless to grave."""

    NONE = "none"
    LATENCY = "latency"
    OUTPUT = "output"

    @property
    def rank(self) -> int:
        """0 for none, 1 for latency, 2 for output: `max(effects, key=lambda e: e.rank)`."""
        return ("none", "latency", "output").index(self.value)


Value: TypeAlias = "Json | Absent | Unknown"


def key_text(path: KeyPath) -> str:
    """`("files", 0, "a.b")` as `files[0]."a.b"`: how key paths are written everywhere."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            plain = step.replace("_", "").replace("-", "").isalnum()
            text = step if plain else '"' + step.replace('"', '\\"') + '"'
            parts.append(f".{text}" if parts else text)
    return "".join(parts)
