"""What an engine resolved against what was declared and against what golden was recorded with.

- `auto` is no value: the same declaration gave bfloat16 on one GPU and float16 on another.
- An engine may ignore a declared value it cannot do; then declared and resolved differ and nothing fails.
- Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from governance.fingerprint.notices import notice
from governance.values import Json, Unknown

if TYPE_CHECKING:
    from governance.verdict import Finding

FLOATING: Final = ("auto", "default", "", None)
"""Declared values that leave the choice to the engine."""


def resolved_differs(
    resolved: Mapping[str, Json | Unknown],
    *,
    declared: Mapping[str, Json] | None = None,
    golden: Mapping[str, Json] | None = None,
) -> tuple[Finding, ...]:
    """One finding per key where what the engine uses is not what was declared, or not what golden was
    recorded with. An unknown resolved value is a finding too: it equals nothing.
    """
    found: list[Finding] = []
    for key, value in sorted((declared or {}).items()):
        if key in resolved and value not in FLOATING and not _equal(value, resolved[key]):
            text = f"`{key}` is declared {value} and the engine uses {_shown(resolved[key])}"
            found.append(notice("TL957", text, key=key))
    for key, value in sorted((golden or {}).items()):
        actual = resolved.get(key, Unknown("not reported"))
        if not _equal(value, actual):
            found.append(notice("TL957", f"`{key}` is expected {value}, actual {_shown(actual)}", key=key))
    return tuple(found)


def _equal(wanted: Json, actual: Json | Unknown) -> bool:
    if isinstance(wanted, str) and isinstance(actual, str):
        return wanted.lower().removeprefix("torch.") == actual.lower().removeprefix("torch.")
    return type(wanted) is type(actual) and wanted == actual


def _shown(value: Json | Unknown) -> str:
    return f"unknown ({value.reason})" if isinstance(value, Unknown) else str(value)
