"""The report as GitHub Markdown: for the step summary of a job and for a comment on a pull request.

- What a user wrote is shown as code or with every active character as an HTML entity: pipes cannot
  break a table, backticks cannot end a span, `@name` cannot call a person, tags cannot become markup.
- The outcome comes first, because a comment is read from the top.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from governance.report.escape import plain, short, shorten, show
from governance.report.text_scores import tables
from governance.values import ABSENT, Unknown
from governance.verdict import Change, Check, EffectiveValue, Finding, LayerState, Outcome, Report

_SIGNS = {Outcome.PASS: "✅", Outcome.BLOCK: "❌", Outcome.UNDECIDED: "⚠️"}
_ENTITIES = str.maketrans({char: f"&#{ord(char)};" for char in "&<>`*[]|\\~@#!"})
_VALUE_WIDTH = 200


def render(report: Report) -> str:
    """`report` as Markdown that ends in one newline."""
    blocks = [
        _heading(report),
        table(("finding", "where", "what"), [_finding(f) for f in report.findings]),
        table(("layer", "state", "before", "after"), [_layer(layer) for layer in report.layers]),
        table(("change", "before", "after", "effect"), [_change(change) for change in report.changes]),
        "\n\n".join(_words(report.changes)),
        table(("value", "is", "from"), [_value(value) for value in report.values]),
        "\n\n".join(_scores(report)),
        table(("check", "outcome", "detail"), [_check(c) for c in report.checks if c.detail]),
        _list([text(note) for note in report.notes]),
        f"Next: {code(report.next)}" if report.next else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def text(user: str) -> str:
    """`user` text with nothing Markdown could act on; `backticked` names become code when they pair up."""
    pieces = plain(user).split("`")
    if len(pieces) % 2 == 0:
        return _inert("`".join(pieces))
    return "".join(code(piece) if index % 2 else _inert(piece) for index, piece in enumerate(pieces))


def code(user: str) -> str:
    """`user` as a code span; as an element when a span could not hold it."""
    shown = plain(user)
    if not shown:
        return ""
    if shown.translate(_ENTITIES) == shown and shown == shown.strip():
        return f"`{shown}`"
    return f"<code>{_inert(shown)}</code>"


def _inert(user: str) -> str:
    """`user` with active characters as entities; an underscore inside a word is not active."""
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", "&#95;", user.translate(_ENTITIES))


def _heading(report: Report) -> str:
    title = f"### {_SIGNS[report.outcome]} tierlock {text(report.command)}: {report.outcome.value}"
    reasons = [check.detail for check in report.checks if check.outcome is not Outcome.PASS and check.detail]
    lines = [title, text(report.title), text(report.summary or "; ".join(reasons))]
    return "\n\n".join(line for line in lines if line)


def _finding(finding: Finding) -> Sequence[str]:
    place = finding.path + (f":{finding.line}" if finding.line else "")
    place += f":{finding.column}" if finding.line and finding.column else ""
    what = [text(finding.message), text(finding.hint)]
    what.append(f"exempted: {text(finding.exempted)}" if finding.exempted else "")
    return (
        f"{finding.code} {finding.severity.value}",
        code(place),
        "<br>".join(part for part in what if part),
    )


def _layer(layer: LayerState) -> Sequence[str]:
    state = f"**{layer.state}**" if layer.state == "changed" else layer.state
    state += f" {text(layer.detail)}" if layer.detail else ""
    return text(layer.name), state, _side(layer.before), _side(layer.after)


def _side(side: str | Unknown | None) -> str:
    if side is None:
        return ""
    return f"unknown: {text(side.reason)}" if isinstance(side, Unknown) else code(short(side))


def _change(change: Change) -> Sequence[str]:
    before, after = (code(shorten(show(value), _VALUE_WIDTH)) for value in (change.before, change.after))
    before += f"<br>{text(change.before_from)}" if change.before_from else ""
    after += f"<br>{text(change.after_from)}" if change.after_from else ""
    effect = f"{change.risk.value}: {text(change.effect)}" if change.effect else change.risk.value
    return f"{text(change.layer)} {code(change.key)}", before, after, effect


def _words(changes: Sequence[Change]) -> Iterator[str]:
    """The word diffs, each in a block of its own that no line of the text can close."""
    for change in changes:
        if change.text:
            lines = [plain(line) for line in change.text]
            fence = "`" * (max(3, *(_longest_run(line) + 1 for line in lines)))
            body = "\n".join(lines)
            yield f"{code(change.key)}\n\n{fence}diff\n{body}\n{fence}"


def _longest_run(line: str) -> int:
    longest = current = 0
    for char in line:
        current = current + 1 if char == "`" else 0
        longest = max(longest, current)
    return longest


def _value(value: EffectiveValue) -> Sequence[str]:
    shown = code(shorten(show(value.value), _VALUE_WIDTH))
    origin = [text(value.provenance)]
    if value.source is not ABSENT and show(value.source) != show(value.value):
        origin.append(f"the config says {code(show(value.source))}")
    origin.append(text(value.note))
    return code(value.key), shown, "<br>".join(part for part in origin if part)


def _check(check: Check) -> Sequence[str]:
    return text(check.name), f"{_SIGNS[check.outcome]} {check.outcome.value}", text(check.detail)


def _scores(report: Report) -> Iterator[str]:
    """Each table of scores; what is no table as code."""
    for head, rows in tables(report.scores):
        if head:
            yield table([text(name) for name in head], [[text(word) for word in row] for row in rows])
        else:
            yield _list([code(row[0]) for row in rows])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are Markdown already; empty without rows."""
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _list(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)
