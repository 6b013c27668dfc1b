"""How text is shown: colours, columns, and what is usually left out."""

from __future__ import annotations

from governance.records import dataclass

_COLOURS = {
    "bad": "\x1b[1;31m",
    "warn": "\x1b[33m",
    "good": "\x1b[32m",
    "strong": "\x1b[1m",
    "dim": "\x1b[2m",
}


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
