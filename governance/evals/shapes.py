"""A value of a server's JSON as the kind of thing that belongs there, or nothing.

- Servers send what they like: a number for a list, a list for an object. What is of the wrong kind is not
  there.
- Booleans are no numbers, and no number is larger than every reader of JSON holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

_LARGEST: Final = 2**53  # RFC 8259 section 6: integers that every reader takes for the same
_EMPTY: Final[Mapping[str, Any]] = {}


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else _EMPTY


def listed(value: object) -> Sequence[Any]:
    """The array, or an empty one."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str:
    """The string, or an empty one."""
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """The number of things, or None."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _LARGEST else None


def is_number(value: object) -> bool:
    """Whether it is a finite number."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= _LARGEST
