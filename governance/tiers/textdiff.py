"""What changed in a text, as lines for people: word by word or token by token, with nothing left unseen.

- Lines that changed start with `~`, those that went or came whole with `-` or `+`, context with a blank.
  Inside a line `[-was-]` and `{+is+}` mark what went and what came. Numbers count in the newer text, those
  of lines that went in the older one.
- Invisible characters, look-alikes, tabs, blanks at line ends and newlines that changed are shown as escapes
  (`text.visible`), so two texts that differ never look alike.
- A newline at the very end is said in words: it reaches the model, and no editor shows it.
- Bytes that are no UTF-8 are told by the first place that differs. Different bytes never give an empty diff.
- Output is bounded: unchanged runs are elided, and after `limit` lines the rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from governance.tiers.alignment import matches
from governance.tiers.text import visible
from governance.tiers.textpieces import Piece, Unit, joined_lines, pieces, shared_length, shorten, shown_pair

CONTEXT: Final = 1  # unchanged lines shown around a change
LIMIT: Final = 40  # lines of a diff that are shown


def text_changes(
    before: str | bytes, after: str | bytes, *, unit: Unit = "word", what: str = "text", limit: int = LIMIT
) -> tuple[str, ...]:
    """The lines of the diff; empty only when both are equal. `what` names the end: of a text, of a file."""
    old, new = _text(before), _text(after)
    if old is None or new is None:
        return () if before == after else _bytes_changes(_raw(before), _raw(after))
    if old == new:
        return ()
    if (said := _line_ends(old, new, what)) is not None:
        return (said,)
    lines = [*_lines(old.rstrip("\n"), new.rstrip("\n"), unit), *_end(old, new, what)]
    if len(lines) > limit:
        hidden = sum(line[:1] in "~+-" for line in lines[limit - 1 :])
        lines[limit - 1 :] = [f"… {hidden} more changed line{'s' * (hidden != 1)} (--all)"]
    return tuple(lines)


def _lines(before: str, after: str, unit: Unit) -> Iterator[str]:
    """Changed lines with their context; the bodies have no newline at their end."""
    old, new = before.split("\n") if before else [], after.split("\n") if after else []
    if before == after:
        yield from (f"  {_number(len(new))}{shorten(visible(line))}" for line in new[-1:])
        return
    found: list[str] = []
    i = j = 0
    for next_i, next_j in [*matches(old, new), (len(old), len(new))]:
        if next_i > i or next_j > j:
            found += _stretch(old[i:next_i], new[j:next_j], i + 1, j + 1, unit)
        if next_j < len(new):
            found.append(f"  {_number(next_j + 1)}{shorten(visible(new[next_j]))}")
        i, j = next_i + 1, next_j + 1
    yield from _elided(found)


def _stretch(old: list[str], new: list[str], at_old: int, at_new: int, unit: Unit) -> Iterator[str]:
    """Lines without an equal: compared inside when enough is shared, else gone and come."""
    if inside := _inside("\n".join(old), "\n".join(new), unit) if old and new else None:
        for sign, number, line in joined_lines(inside, at_old, at_new):
            yield f"{sign} {_number(number)}{line}"
        return
    left, right = shown_pair("\n".join(old), "\n".join(new))
    shown_old = left.split("\n") if old else []
    shown_new = right.split("\n") if new else []
    for sign, lines, others, first in (
        ("-", shown_old, shown_new, at_old),
        ("+", shown_new, shown_old, at_new),
    ):
        for number, line in enumerate(lines):
            other = others[number] if number < len(others) else ""
            yield f"{sign} {_number(first + number)}{shorten(line, other)}"


def _inside(before: str, after: str, unit: Unit) -> list[Piece] | None:
    """The pieces of two stretches, by tokens where words share too little; None where both do."""
    if any(mark in text for text in (before, after) for mark in ("[-", "-]", "{+", "+}")):
        return None  # our own brackets in the text: marks would mislead
    size = min(len(before), len(after))
    for by, share in ((unit, 3), ("token", 2)):
        found = pieces(before, after, by)
        if shared_length(found) * share >= size:
            return found
    return None


def _elided(lines: Sequence[str]) -> Iterator[str]:
    """The lines with unchanged runs away from any change replaced by their number."""
    changed = [at for at, line in enumerate(lines) if line[0] != " "]
    near = {at + offset for at in changed for offset in range(-CONTEXT, CONTEXT + 1)}
    skipped = 0
    for at, line in enumerate(lines):
        if at in near:
            if skipped:
                yield _gap(skipped)
            skipped = 0
            yield line
        else:
            skipped += 1
    if skipped:
        yield _gap(skipped)


def _gap(count: int) -> str:
    return f"  … {count} unchanged line{'s' * (count > 1)}"


def _number(line: int) -> str:
    return f"{line:>4}  "


def _end(before: str, after: str, what: str) -> Iterator[str]:
    """What happened to newlines at the very end, in words."""
    counts = [len(text) - len(text.rstrip("\n")) for text in (before, after)]
    if counts[0] == counts[1]:
        return
    number = abs(counts[1] - counts[0])
    sign, verb = ("+", "added") if counts[1] > counts[0] else ("-", "removed")
    noun = "newline" if number == 1 else f"{number} newlines"
    yield f"{sign} {noun} {verb} at end of {what}"


def _line_ends(before: str, after: str, what: str) -> str | None:
    """A change of nothing but line ends, as one sentence."""
    if before.replace("\r\n", "\n") != after.replace("\r\n", "\n"):
        return None
    counts = [text.count("\r\n") for text in (before, after)]
    names = ["CRLF" if count else "LF" for count in counts]
    if names[0] == names[1]:
        return f"~ line ends: {counts[0]} → {counts[1]} lines of this {what} end in CRLF"
    return f"~ line ends: {max(counts)} lines of this {what} from {names[0]} to {names[1]}"


def _text(value: str | bytes) -> str | None:
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _raw(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")


def _bytes_changes(before: bytes, after: bytes) -> tuple[str, ...]:
    """Bytes that are no text: sizes, and both sides around the first place that differs."""
    size = min(len(before), len(after))
    at = next((n for n in range(size) if before[n] != after[n]), size)
    start = max(at - 8, 0)
    return (
        f"~ not UTF-8 text: {len(before)} → {len(after)} bytes, first difference at byte {at}",
        f"- {before[start : at + 24].hex(' ') or 'end'}",
        f"+ {after[start : at + 24].hex(' ') or 'end'}",
    )
