"""Where each key and value of a reading stands in its file.

- Lines and columns count from 1; a column counts characters.
- A reading that needed no wording has never been composed; its places are found when first asked for.
- `start` and `end` of a place are character offsets into the text that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from governance.records import dataclass, field
from governance.values import KeyPath


class Place(NamedTuple):
    """One token: line and column from 1, offsets of its characters, and how it is written.

    `style` is `"`, `'`, `|` or `>` for those scalars, `[` or `{` for a flow collection, else empty.
    """

    line: int
    column: int
    start: int
    end: int
    style: str = ""


@dataclass(frozen=True, slots=True)
class Places:
    """All places of one document by key path: of values, and of the keys themselves."""

    values: Mapping[KeyPath, Place] = field(default_factory=dict)
    keys: Mapping[KeyPath, Place] = field(default_factory=dict)


class Marks:
    """The places of one reading; composes the text when first asked."""

    __slots__ = ("_compose", "_places", "_text")

    def __init__(self, text: str, compose: Callable[[str], Places]) -> None:
        self._text = text
        self._compose = compose
        self._places: Places | None = None

    @property
    def places(self) -> Places:
        """Every place of the document."""
        if self._places is None:
            self._places = self._compose(self._text)
        return self._places

    def value(self, path: KeyPath) -> tuple[int, int] | None:
        """Line and column of the value at `path`, or None when the file has no such value."""
        place = self.places.values.get(path)
        return place and (place.line, place.column)

    def key(self, path: KeyPath) -> tuple[int, int] | None:
        """Line and column of the key that ends `path`, or None when the file has no such key."""
        place = self.places.keys.get(path)
        return place and (place.line, place.column)

    def nearest(self, path: KeyPath, *, on_key: bool = False) -> Place | None:
        """The place of `path`, or of its key, or of the closest enclosing thing that stands in the file."""
        places = self.places
        while True:
            first, second = (places.keys, places.values) if on_key else (places.values, places.keys)
            place = first.get(path) or second.get(path)
            if place or not path:
                return place
            path, on_key = path[:-1], True
