"""Bytes of a governed file to text: UTF-8, at most one leading byte order mark, LF or uniform CRLF line ends.

- A fault is refused with its place; nothing is repaired silently, except that uniform CRLF reads as LF
  (a checkout setting, not a change) and one leading byte order mark is read past with a note.
- Raw control characters and the line ends that only YAML 1.1 knows are faults.
"""

from __future__ import annotations

import re
from typing import Final

from governance.records import dataclass
from governance.tiers.faults import MAX_FAULTS, Fault
from governance.verdict import Severity

BOM: Final = "\ufeff"
MAX_TIER_BYTES: Final = 1 << 20
MAX_JSON_BYTES: Final = 16 << 20
MAX_JSONL_BYTES: Final = 64 << 20

# compiled when first used: a good file never gets here
_RAW = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"


@dataclass(frozen=True, slots=True)
class Decoded:
    """The text to parse and what was wrong or worth a note; `ok` says whether parsing makes sense."""

    text: str
    faults: tuple[Fault, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(fault.severity is Severity.ERROR for fault in self.faults)


def decode(data: bytes, *, limit: int, crlf: bool = True) -> Decoded:
    """The text of `data`. With `crlf`, uniform CRLF becomes LF and any other CR is a fault."""
    if len(data) > limit:
        return Decoded("", (too_large(len(data), limit),))
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:4] == b"\x00\x00\xfe\xff":
        kind = "UTF-32" if data[:4] in (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff") else "UTF-16"
        return Decoded("", (Fault("TL001", f"the file is {kind}, not UTF-8", 0, 0, hint="save it as UTF-8"),))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return _not_utf8(data, error)
    notes: list[Fault] = []
    if text.startswith(BOM):
        text = text[1:]
        notes.append(
            Fault(
                "TL002",
                "a byte order mark (U+FEFF) at the start was read past",
                0,
                0,
                hint="save as UTF-8 without a byte order mark",
                severity=Severity.NOTE,
            )
        )
    if crlf and "\r" in text:
        text, fault = _line_ends(text)
        notes += fault
    return Decoded(text, tuple(notes))


def too_large(size: int, limit: int) -> Fault:
    """The fault of a file of `size` bytes where `limit` are accepted."""
    return Fault(
        "TL014",
        f"the file has {size:,} bytes; at most {limit:,} are read",
        0,
        0,
        hint="move long text into its own file beside the config",
    )


def raw_faults(text: str) -> list[Fault]:
    """A fault for each raw character that no YAML file should hold."""
    faults: list[Fault] = []
    for found in re.finditer(_RAW, text):
        code = ord(found[0])
        if code == 0xFEFF:
            what = Fault(
                "TL002", "a byte order mark (U+FEFF) inside the file", found.start(), 1, hint="remove it"
            )
        else:
            hint = "remove it, or write it as an escape in double quotes"
            what = Fault("TL017", f"raw control character U+{code:04X}", found.start(), 1, hint=hint)
        faults.append(what)
        if len(faults) >= MAX_FAULTS:
            break
    return faults


def _line_ends(text: str) -> tuple[str, list[Fault]]:
    pairs = text.count("\r\n")
    if pairs == text.count("\r") == text.count("\n"):
        return text.replace("\r\n", "\n"), []
    start = next(re.finditer(r"\r(?!\n)|(?<!\r)\n", text)).start()
    lone = text[start] == "\r"
    message = "a carriage return that ends no line (U+000D)" if lone else "line ends are mixed, LF and CRLF"
    return text, [Fault("TL003", message, start, 1, hint="convert the file to LF line ends")]


def _not_utf8(data: bytes, error: UnicodeDecodeError) -> Decoded:
    before = data[: error.start].decode(errors="replace")
    byte = data[error.start]
    fault = Fault("TL001", f"byte 0x{byte:02x} is not UTF-8", len(before), 1, hint="save the file as UTF-8")
    return Decoded(data.decode(errors="replace"), (fault,))
