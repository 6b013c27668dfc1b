"""What the reading modules hand each other: a fault at an offset, and how it becomes a finding.

- A fault knows its offset in the text; line, column and excerpt are worked out once, here.
- Nothing invisible reaches a message or an excerpt: such characters are escaped or replaced, width kept.
"""

from __future__ import annotations

import re
from typing import Final

from governance.records import dataclass
from governance.values import KeyPath, key_text
from governance.verdict import Finding, Severity

EXCERPT_WIDTH: Final = 160
MAX_FAULTS: Final = 20

_UNPRINTABLE = r"[^\x20-\x7e]"  # compiled when there is a fault to show


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong at `start` (offset in the text) over `width` characters, at key path `path`."""

    code: str
    message: str
    start: int
    width: int = 1
    path: KeyPath = ()
    hint: str = ""
    severity: Severity = Severity.ERROR


def position(text: str, start: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at offset `start`."""
    start = min(start, len(text))
    line_start = text.rfind("\n", 0, start) + 1
    return text.count("\n", 0, start) + 1, start - line_start + 1


def excerpt_at(text: str, start: int, width: int) -> tuple[str, int]:
    """The line of `text` at offset `start`, harmless to print, and how many characters to underline."""
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    shown = text[line_start : min(line_end, line_start + EXCERPT_WIDTH)]
    room = len(shown) - (start - line_start)
    return harmless(shown), max(0, min(width, room))


def harmless(text: str) -> str:
    """`text` with every character that a terminal would not show replaced by one visible sign, width kept."""
    if text.isprintable():
        return text
    return re.sub(_UNPRINTABLE, lambda m: m[0] if m[0].isprintable() else "\ufffd", text)


def token(text: str, limit: int = 40) -> str:
    """`text` as it may stand between backticks in a message: escaped, one line, not longer than `limit`."""
    shown = "".join(c if c.isprintable() else escape(c) for c in text[: limit + 1])
    return shown if len(text) <= limit else f"{shown[: limit - 3]}..."


def escape(char: str) -> str:
    """`\\u200b` for one character that must not be printed as itself."""
    code = ord(char)
    known = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    if known:
        return known
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def finding_of(fault: Fault, text: str, path: str, *, first_line: int = 1) -> Finding:
    """The finding that `fault` is, in the file `path` whose text (or one line of it) is `text`."""
    line, column = position(text, fault.start)
    excerpt, width = excerpt_at(text, fault.start, fault.width)
    return Finding(
        code=fault.code,
        message=fault.message,
        severity=fault.severity,
        path=path,
        line=line + first_line - 1,
        column=column,
        key=key_text(fault.path),
        hint=fault.hint,
        excerpt=excerpt,
        width=width,
    )
