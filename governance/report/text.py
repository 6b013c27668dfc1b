"""The report for people: plain text, 80 to 100 columns, verdict last, one command to run next.

- Pure: `Report` in, text out. Colour is added around finished words and never carries meaning alone:
  without it the text is the same, character for character.
- Order: title, layers, findings, changes, values, scores, checks, notes, next, verdict.
- What a user wrote is shown through `escape.plain`; nothing in a file can move the cursor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from governance.report.escape import cells, pad, plain, short
from governance.report.lines import clip, wrap
from governance.report.style import PLAIN, Style
from governance.values import Unknown
from governance.verdict import Check, Finding, LayerState, Outcome, Report, Severity

TELLING = frozenset({"fingerprint", "resolve", "capture", "import", "init", "diff", "version"})
"""Commands that tell and do not judge: when nothing is wrong they close with their sentence alone."""

_OUTCOME_COLOUR = {Outcome.PASS: "good", Outcome.BLOCK: "bad", Outcome.UNDECIDED: "warn"}
_MANY = 20


def render(report: Report, style: Style = PLAIN) -> str:
    """`report` as text that ends in one newline."""
    parts = (
        [style.paint("strong", plain(report.title))] if report.title else [],
        list(_layers(report.layers, style)),
        list(_findings(report.findings, style)),
        _tables(report, style),
        _scores(report),
        list(_checks(report, style)),
        [line for note in report.notes for line in _note(note, style)],
        [f"next    {plain(report.next)}"] if report.next else [],
    )
    blocks = ["\n".join(part) for part in _joined(parts) if part]
    return "\n\n".join([*blocks, _verdict(report, style)]) + "\n"


def _note(note: str, style: Style) -> list[str]:
    """A sentence is broken to fit; an indented line is meant as it is, for pasting."""
    return [plain(note)] if note.startswith("  ") else wrap(plain(note), style.width, "", "  ")


def _tables(report: Report, style: Style) -> list[str]:
    """Changes, then values; their modules are imported for a report that has some: the hook has none."""
    rows: list[str] = []
    if report.changes:
        from governance.report.text_changes import changes_text

        rows += changes_text(report.changes, style)
    if report.values:
        from governance.report.text_values import values_text

        rows += ["", *values_text(report.values, style)] if rows else values_text(report.values, style)
    return rows


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
            style.paint("good", line) for line in wrap(sentence or "done", style.width, "", "  ")
        )
    word = style.paint(_OUTCOME_COLOUR[outcome], outcome.value.upper())
    lines = wrap(sentence, style.width, " " * (len(outcome.value) + 2), " " * (len(outcome.value) + 2))
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
        first, *rest = wrap(plain(check.detail), style.width, " " * (width + 11), " " * (width + 11))
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
            yield from wrap(what, style.width, f"  {pad(layer.name, width)}", " " * (width + 2))


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
    lines = wrap(f"{kind}{plain(finding.message)}", style.width, head, "    ")
    colour = {Severity.ERROR: "bad", Severity.WARNING: "warn", Severity.NOTE: "dim"}[finding.severity]
    code = style.paint(colour, finding.code)
    yield lines[0].replace(head, f"{style.paint('strong', place)}  {code}  ", 1)
    yield from lines[1:]
    yield from _excerpt(finding, style)
    if finding.exempted:
        yield from wrap(f"exempted: {plain(finding.exempted)}", style.width, "    ", "    ")


def _excerpt(finding: Finding, style: Style) -> Iterator[str]:
    """The source line with a caret under the marked part, then the hint; the hint alone when the part
    is not in the line that the finding carries."""
    if not finding.excerpt.strip() or finding.column > len(finding.excerpt) + 1:
        if finding.hint:
            yield from wrap(plain(finding.hint), style.width, "    hint: ", "          ")
        return
    source = finding.excerpt
    blanks = len(source) - len(source.lstrip())
    start = max(finding.column - 1 - blanks, 0)
    source = source[blanks:]
    room = style.width - 4
    cut = max(0, start - room // 3) if cells(plain(source)) > room else 0
    before, marked = source[cut:start], source[start : start + max(finding.width, 1)]
    shown = ("…" if cut else "") + plain(source[cut:].rstrip())
    yield "    " + style.paint("dim", clip(shown, room))
    column = cells(plain(before)) + (1 if cut else 0)
    caret = " " * column + "^" * max(1, min(cells(plain(marked)), room - column))
    if finding.hint and len(caret) + 1 + cells(finding.hint) <= room:
        yield f"    {caret} {plain(finding.hint)}"
        return
    yield f"    {caret}"
    if finding.hint:
        yield from wrap(plain(finding.hint), style.width, "    hint: ", "          ")


def _scores(report: Report) -> list[str]:
    if not report.scores:
        return []
    from governance.report.text_scores import scores_text

    return list(scores_text(report.scores))
