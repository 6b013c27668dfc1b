"""Effective values as text, by provenance: that is what decides whether a value can move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from governance.report.escape import cells, pad, plain, shorten, show
from governance.report.lines import flow, wrap
from governance.report.style import Style
from governance.values import ABSENT, Unknown
from governance.verdict import EffectiveValue

_VALUE_WIDTH = 60
_COLUMN = 28
_LONG = 6


def values_text(values: Sequence[EffectiveValue], style: Style) -> Iterator[str]:
    """By provenance, since that is what decides whether a value can move: config first, unknown last."""
    groups: dict[str, list[EffectiveValue]] = {}
    for value in values:
        origin = "unknown" if isinstance(value.value, Unknown) else value.provenance
        groups.setdefault(origin, []).append(value)
    names = sorted(groups, key=lambda name: (name == "unknown", name != "config"))
    width = max((cells(plain(value.key)) for value in values), default=0)
    for number, name in enumerate(names):
        if number:
            yield ""
        group = groups[name]
        count = "1 value" if len(group) == 1 else f"{len(group)} values"
        yield f"{style.paint('strong', plain(name) or 'not said')}   {count}"
        yield from _value_rows(group, width, style)


def _value_rows(group: Sequence[EffectiveValue], width: int, style: Style) -> Iterator[str]:
    """One value a line; a long list of values with nothing to remark on runs on, unless all is asked for."""
    brief = not style.full and len(group) > _LONG and group[0].provenance != "config"
    run_on = [
        value for value in group if brief and not _remarks(value) and not isinstance(value.value, Unknown)
    ]
    for value in group:
        if value not in run_on:
            yield from _value_row(value, width, style)
    if run_on:
        yield from flow([f"{plain(v.key)} {shorten(show(v.value), _COLUMN)}" for v in run_on], style.width)


def _value_row(value: EffectiveValue, width: int, style: Style) -> Iterator[str]:
    head = f"  {pad(plain(value.key), width)}  "
    unknown = isinstance(value.value, Unknown)
    words = (
        plain(value.value.reason)
        if isinstance(value.value, Unknown)
        else shorten(show(value.value), _VALUE_WIDTH)
    )
    remarks = _remarks(value)
    if remarks and not unknown and cells(head) + cells(words) + cells(remarks) + 3 <= style.width:
        yield f"{head}{words}   {remarks}"
        return
    yield from wrap(words, style.width, head, " " * (width + 6))
    if remarks:
        yield from wrap(remarks, style.width, " " * (width + 6), " " * (width + 6))


def _remarks(value: EffectiveValue) -> str:
    said = ""
    if value.source is not ABSENT and show(value.source) != show(value.value):
        said = f"the config says {show(value.source)}"
    return "; ".join(part for part in (said, plain(value.note)) if part)
