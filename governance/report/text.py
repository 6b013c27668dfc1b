"""The report for people: plain text, 80 to 100 columns, verdict last, one command to run next.

- Pure: `Report` in, text out. Colour is added around finished words and never carries meaning alone:
  without it the text is the same, character for character.
- Order: title, layers, findings, changes, values, scores, checks, notes, next, verdict.
- What a user wrote is shown through `escape.plain`; nothing in a file can move the cursor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from governance.report.escape import cells, compact, pad, plain, short, shorten, show
from governance.values import ABSENT, Effect, Unknown, Value
from governance.verdict import Change, Check, EffectiveValue, Finding, LayerState, Outcome, Report, Severity

TELLING = frozenset({"fingerprint", "resolve", "capture", "import", "init", "diff", "version"})
"""Commands that tell and do not judge: when nothing is wrong they close with their sentence alone."""

_COLOURS = {
    "bad": "\x1b[1;31m",
    "warn": "\x1b[33m",
    "good": "\x1b[32m",
    "strong": "\x1b[1m",
    "dim": "\x1b[2m",
}
_OUTCOME_COLOUR = {Outcome.PASS: "good", Outcome.BLOCK: "bad", Outcome.UNDECIDED: "warn"}
_VALUE_WIDTH = 60
_KEY_WIDTH = 34
_COLUMN = 28
_LONG = 6
_MANY = 20


@dataclass(frozen=True, slots=True)
class Style:
    """How to show a report: colours, columns, and what is usually left out."""

    colour: bool = False
    width: int = 100
    exempted: bool = False
    full: bool = False

    def paint(self, name: str, text: str) -> str:
        """`text` in a colour, or as it is."""
        return f"{_COLOURS[name]}{text}\x1b[0m" if self.colour and text else text


PLAIN = Style()


def render(report: Report, style: Style = PLAIN) -> str:
    """`report` as text that ends in one newline."""
    parts = (
        [style.paint("strong", plain(report.title))] if report.title else [],
        list(_layers(report.layers, style)),
        list(_findings(report.findings, style)),
        list(_changes(report.changes, style)),
        list(_values(report.values, style)),
        [_score(score) for score in report.scores],
        list(_checks(report, style)),
        [line for note in report.notes for line in _wrap(plain(note), style.width, "", "  ")],
        [f"next    {plain(report.next)}"] if report.next else [],
    )
    blocks = ["\n".join(part) for part in _joined(parts) if part]
    return "\n\n".join([*blocks, _verdict(report, style)]) + "\n"


def _joined(parts: Sequence[list[str]]) -> Iterator[list[str]]:
    """The title stands directly above the layers; everything else is set apart by an empty line."""
    title, layers, *rest = parts
    yield title + layers
    yield from rest


def _verdict(report: Report, style: Style) -> str:
    outcome = report.outcome
    sentence = plain(report.summary or _first_reason(report.checks))
    if outcome is Outcome.PASS and report.command in TELLING:
        return "\n".join(
            style.paint("good", line) for line in _wrap(sentence or "done", style.width, "", "  ")
        )
    word = style.paint(_OUTCOME_COLOUR[outcome], outcome.value.upper())
    lines = _wrap(sentence, style.width, " " * (len(outcome.value) + 2), " " * (len(outcome.value) + 2))
    return "\n".join([f"{word}  {lines[0].lstrip()}", *lines[1:]]) if sentence else word


def _first_reason(checks: Sequence[Check]) -> str:
    for outcome in (Outcome.BLOCK, Outcome.UNDECIDED):
        for check in checks:
            if check.outcome is outcome:
                return check.detail or check.name
    return "" if checks else "nothing was checked"


def _checks(report: Report, style: Style) -> Iterator[str]:
    told = [check for check in report.checks if _worth_saying(check, report)]
    if not report.summary and len(told) == 1:
        return
    width = max((cells(plain(c.name)) for c in told), default=0) + 2
    for check in told:
        if check.detail == report.summary and len(told) == 1:
            continue
        word = style.paint(_OUTCOME_COLOUR[check.outcome], check.outcome.value)
        name = pad(plain(check.name), width)
        first, *rest = _wrap(plain(check.detail), style.width, " " * (width + 11), " " * (width + 11))
        yield f"{name}{word}{' ' * (11 - len(check.outcome.value))}{first.lstrip()}".rstrip()
        yield from rest


def _worth_saying(check: Check, report: Report) -> bool:
    """Findings speak for a check that blocks; of `check`, only what could not be judged is left to say."""
    if check.outcome is Outcome.UNDECIDED:
        return True
    if report.command == "check" or (check.outcome is Outcome.BLOCK and not check.detail):
        return not report.findings and check.outcome is Outcome.BLOCK
    return bool(check.detail)


def _layers(layers: Sequence[LayerState], style: Style) -> Iterator[str]:
    if any(layer.state in ("same", "changed") or layer.after is not None for layer in layers):
        yield from _grid(layers, style)
    width = max((cells(layer.name) for layer in layers), default=0) + 3
    for layer in layers:
        if layer.state == "same":
            continue
        what = _layer_line(layer, style)
        if what:
            yield from _wrap(what, style.width, f"  {pad(layer.name, width)}", " " * (width + 2))


def _layer_line(layer: LayerState, style: Style) -> str:
    sides = [side for side in (layer.before, layer.after) if side is not None]
    what = " → ".join(_side(side, full=style.full) for side in sides)
    return f"{what}   {plain(layer.detail)}" if layer.detail else what


def _grid(layers: Sequence[LayerState], style: Style) -> Iterator[str]:
    width = max(cells(layer.name) for layer in layers) + 3
    columns = max(1, min(3, style.width // (width + 11)))
    for start in range(0, len(layers), columns):
        row = ""
        for layer in layers[start : start + columns]:
            word = layer.state.upper() if layer.state == "changed" else layer.state
            colour = {"changed": "bad", "unknown": "warn"}.get(layer.state, "good")
            row += f"  {pad(layer.name, width)}{style.paint(colour, word)}{' ' * (9 - len(word))}"
        yield row.rstrip()
    yield ""


def _side(value: str | Unknown, *, full: bool) -> str:
    if isinstance(value, Unknown):
        return f"unknown: {plain(value.reason)}"
    return plain(value) if full else plain(short(value))


def _findings(findings: Sequence[Finding], style: Style) -> Iterator[str]:
    """Each finding; of one kind in one file at most `_MANY`, then how many more, unless all are asked for."""
    shown = [finding for finding in findings if style.exempted or not finding.exempted]
    told: dict[tuple[str, str], int] = {}
    for finding in shown:
        kind = (finding.path, finding.code)
        told[kind] = told.get(kind, 0) + 1
        if told[kind] <= _MANY or style.full:
            yield from _finding(finding, style)
    for (path, code), count in told.items():
        if count > _MANY and not style.full:
            yield f"{plain(path)}  {code}  {count - _MANY:,} more like these (all of them with --format json)"


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    place = plain(finding.path) or "repository"
    if finding.line:
        place += f":{finding.line}" + (f":{finding.column}" if finding.column else "")
    kind = "" if finding.severity is Severity.ERROR else f"{finding.severity.value}: "
    head = f"{place}  {finding.code}  "
    lines = _wrap(f"{kind}{plain(finding.message)}", style.width, head, "    ")
    colour = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.NOTE: "dim"}[finding.severity]
    code = style.paint(colour, finding.code)
    yield lines[0].replace(head, f"{style.paint('strong', place)}  {code}  ", 1)
    yield from lines[1:]
    yield from _excerpt(finding, style)
    if finding.exempted:
        yield from _wrap(f"exempted: {plain(finding.exempted)}", style.width, "    ", "    ")


def _excerpt(finding: Finding, style: Style) -> Iterator[str]:
    """The source line with a caret under the marked part, then the hint; the hint alone when the part
    is not in the line that the finding carries."""
    if not finding.excerpt.strip() or finding.column > len(finding.excerpt) + 1:
        if finding.hint:
            yield from _wrap(plain(finding.hint), style.width, "    hint: ", "          ")
        return
    source = finding.excerpt
    blanks = len(source) - len(source.lstrip())
    start = max(finding.column - 1 - blanks, 0)
    source = source[blanks:]
    room = style.width - 4
    cut = max(0, start - room // 3) if cells(plain(source)) > room else 0
    before, marked = source[cut:start], source[start : start + max(finding.width, 1)]
    shown = ("…" if cut else "") + plain(source[cut:].rstrip())
    yield "    " + style.paint("dim", _clip(shown, room))
    column = cells(plain(before)) + (1 if cut else 0)
    caret = " " * column + "^" * max(1, min(cells(plain(marked)), room - column))
    if finding.hint and len(caret) + 1 + cells(finding.hint) <= room:
        yield f"    {caret} {plain(finding.hint)}"
        return
    yield f"    {caret}"
    if finding.hint:
        yield from _wrap(plain(finding.hint), style.width, "    hint: ", "          ")


def _changes(changes: Sequence[Change], style: Style) -> Iterator[str]:
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
            yield from _wrap(f"{before} → {after}", style.width, f"  {pad(key, key_width)}  ", "    ")
            origin = _provenance(change)
            yield from _wrap(origin, style.width, "      ", "        ") if origin else ()
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
        first, *rest = _wrap(plain(change.effect), style.width, f"      {change.risk.value}: ", "        ")
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


def _values(values: Sequence[EffectiveValue], style: Style) -> Iterator[str]:
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
        yield from _flow([f"{plain(v.key)} {shorten(show(v.value), _COLUMN)}" for v in run_on], style.width)


def _flow(items: Sequence[str], width: int) -> Iterator[str]:
    """The items one after the other, each whole, as many to a line as fit."""
    line = " "
    for number, item in enumerate(items):
        piece = item if number == len(items) - 1 else f"{item} ·"
        if line.strip() and cells(line) + 1 + cells(piece) > width:
            yield line
            line = " "
        line += f" {piece}"
    yield line


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
    yield from _wrap(words, style.width, head, " " * (width + 6))
    if remarks:
        yield from _wrap(remarks, style.width, " " * (width + 6), " " * (width + 6))


def _remarks(value: EffectiveValue) -> str:
    said = ""
    if value.source is not ABSENT and show(value.source) != show(value.value):
        said = f"the config says {show(value.source)}"
    return "; ".join(part for part in (said, plain(value.note)) if part)


def _score(score: object) -> str:
    return plain(score if isinstance(score, str) else compact(score))  # type: ignore[arg-type]


def _clip(text: str, width: int) -> str:
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = text[:-1]
    return text + "…"


def _wrap(text: str, width: int, first: str, rest: str) -> list[str]:
    """`text` broken at blanks so that lines fit `width`; a word longer than a line stays whole."""
    lines, line = [], first
    empty = True
    for word in _words(text):
        if not empty and cells(line) + cells(word) > width:
            lines.append(line.rstrip())
            line, word = rest, word.lstrip(" ")
        line += word
        empty = False
    return [*lines, line if empty else line.rstrip()]


def _words(text: str) -> Iterable[str]:
    """The words of `text`, each with the blanks before it, so that columns inside a sentence survive."""
    start = 0
    for index in range(1, len(text)):
        if text[index] == " " and text[index - 1] != " ":
            yield text[start:index]
            start = index
    if text:
        yield text[start:]
