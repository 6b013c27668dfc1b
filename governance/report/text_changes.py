"""Changes as text: by layer, `before → after` in columns, then where each came from and what it does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from governance.report.escape import cells, pad, plain, short, shorten, show
from governance.report.lines import wrap
from governance.report.style import Style
from governance.values import Effect, Value
from governance.verdict import Change

_VALUE_WIDTH = 60
_KEY_WIDTH = 34


def changes_text(changes: Sequence[Change], style: Style) -> Iterator[str]:
    layers = list(dict.fromkeys(change.layer for change in changes))
    for number, layer in enumerate(layers):
        group = [change for change in changes if change.layer == layer]
        count = "1 change" if len(group) == 1 else f"{len(group)} changes"
        if number:
            yield ""
        yield f"{style.paint('strong', pad(plain(layer), 12))}  {count}"
        yield from _change_rows(group, style)


def _change_rows(group: Sequence[Change], style: Style) -> Iterator[str]:
    keys = [plain(change.key) for change in group]
    key_width = min(max(cells(key) for key in keys), _KEY_WIDTH)
    pairs = [_pair(change.before, change.after) for change in group]
    words = _provenances(group)
    left, right = (max(cells(pair[side]) for pair in pairs) for side in (0, 1))
    tabular = key_width + left + right + 11 + max(cells(word) for word in words) <= style.width
    for change, key, (before, after), word in zip(group, keys, pairs, words, strict=True):
        if tabular:
            yield f"  {pad(key, key_width)}  {pad(before, left)} → {pad(after, right)}   {word}".rstrip()
        else:
            yield from wrap(f"{before} → {after}", style.width, f"  {pad(key, key_width)}  ", "    ")
            origin = _provenance(change)
            yield from wrap(origin, style.width, "      ", "        ") if origin else ()
        yield from _consequence(change, style)


def _provenances(group: Sequence[Change]) -> list[str]:
    """Where each value came from; `same` where it is the sentence of the line above."""
    words = [_provenance(change) for change in group]
    return [
        "same" if word and word == above else word for word, above in zip(words, ["", *words], strict=False)
    ]


def _consequence(change: Change, style: Style) -> Iterator[str]:
    if change.effect:
        colour = "dim" if change.risk is Effect.NONE else "warn"
        first, *rest = wrap(plain(change.effect), style.width, f"      {change.risk.value}: ", "        ")
        yield first.replace(change.risk.value, style.paint(colour, change.risk.value), 1)
        yield from rest
    for line in change.text:
        yield f"      {_diff_line(plain(line), style)}"


def _diff_line(line: str, style: Style) -> str:
    colour = {"+": "good", "-": "bad"}.get(line[:1])
    return style.paint(colour, line) if colour else line


def _provenance(change: Change) -> str:
    before, after = plain(change.before_from), plain(change.after_from)
    if before and after and before != after:
        origin = f"was {before}, now {after}"
    else:
        origin = after or before
    place = plain(change.path) + (f":{change.line}" if change.path and change.line else "")
    return "  ".join(part for part in (origin, place) if part)


def _pair(before: Value, after: Value) -> tuple[str, str]:
    """Both values short enough for a table, unless cutting them would hide the difference."""
    left, right = show(before), show(after)
    if short(left) != short(right):
        left, right = short(left), short(right)
    cut = shorten(left, _VALUE_WIDTH), shorten(right, _VALUE_WIDTH)
    return (left, right) if cut[0] == cut[1] else cut
