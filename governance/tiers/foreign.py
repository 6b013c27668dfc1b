"""YAML that others wrote, read for importing: every document, anchors and merge keys resolved within limits.

- Anchors, aliases and merge keys are resolved; what aliases stand for is counted, so nothing can grow without
  bound, and an alias inside its own value is refused.
- Tags are ignored (`!!str` makes text). A key that is no text becomes text.
- A value that YAML 1.1 and 1.2 readers read differently gets the YAML 1.2 reading and a warning (TL004).
- NaN, infinities and whole numbers beyond 2^53 - 1 are kept as text, with a warning.
- A document that cannot be read is refused; those before it stand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from governance.tiers.exact import (
    MAX_DEPTH,
    MAX_NODES,
    Composed,
    Composer,
    EndOfReadingError,
    SyntaxFaultError,
    events,
)
from governance.tiers.faults import Fault, token
from governance.tiers.marks import Place, Places
from governance.tiers.scalars import PLAIN_KEYS, Refusal, Scalar, resolve, resolve_12
from governance.values import Json
from governance.verdict import Severity

MAX_DOCUMENTS: Final = 1000
MAX_WARNINGS: Final = 100


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A finished value with a name: how many nodes it stands for, and how deep it is."""

    value: Json
    nodes: int
    height: int


class _Importer(Composer):
    """Folds all documents; `None` in `anchors` is a value that is still open."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.done: list[Composed] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.warnings = 0
        self.seen_any = False

    def all_documents(self) -> list[Composed]:
        """Every document up to the first that cannot be read."""
        try:
            for event in events(self.text):
                if type(event).__name__ == "DocumentEndEvent":
                    self.finish()
                else:
                    self.take(event)
        except EndOfReadingError:
            self.finish()
        except SyntaxFaultError as complaint:
            self.faults.append(complaint.fault)
            self.finish()
        return self.done

    def finish(self) -> None:
        """Close the current document; one that holds nothing is left out."""
        refused = any(fault.severity is Severity.ERROR for fault in self.faults)
        if refused or self.tree is not None:
            tree = None if refused else self.tree
            self.done.append(Composed(tree, Places(self.values, self.keys), self.faults))
        self.faults, self.values, self.keys, self.stack = [], {}, {}, []
        self.tree, self.anchors = None, {}

    def on_document(self, event: Any, place: Place) -> None:  # noqa: ARG002
        """Any number of documents, within reason; directives are read past."""
        self.documents += 1
        if self.documents > MAX_DOCUMENTS:
            self.fault(
                "TL016", f"more than {MAX_DOCUMENTS:,} documents in one file", place, "split the file", ()
            )
            raise EndOfReadingError

    def warn(self, code: str, message: str, place: Place) -> None:
        """Keep one warning, within reason."""
        self.warnings += 1
        if self.warnings <= MAX_WARNINGS:
            self.fault(code, message, place)
            self.faults[-1] = replace(self.faults[-1], severity=Severity.WARNING)

    def fault(self, code: str, message: str, place: Place, hint: str = "", path: Any = None) -> None:
        """As everywhere, but warnings do not stop the reading."""
        where = self.path_of_next() if path is None else path
        self.faults.append(Fault(code, message, place.start, max(1, place.end - place.start), where, hint))

    def on_properties(self, event: Any, place: Place) -> None:  # noqa: ARG002
        """An anchor names what comes; it is filled in when that is complete."""
        if event.anchor is not None:
            self.anchors[event.anchor] = None

    def on_open(self, event: Any, place: Place, container: dict[str, Json] | list[Json]) -> None:
        """A collection begins."""
        first = self.nodes
        super().on_open(event, place, container)
        self.stack[-1].anchor, self.stack[-1].first_node = event.anchor, first

    def on_close(self) -> None:
        """A collection ends: merge what its merge keys named, then hand it on."""
        frame = self.stack.pop()
        if isinstance(frame.container, dict):
            for source in frame.merges:
                for key, value in self.merged(source):
                    frame.container.setdefault(key, value)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = _Anchored(
                frame.container, self.nodes - frame.first_node, frame.height
            )
        self.put_high(frame.container, frame.height)

    def merged(self, source: Json) -> list[tuple[str, Json]]:
        """The members a merge key brings in: of one mapping, or of several, the first winning."""
        if isinstance(source, dict):
            return list(source.items())
        found: dict[str, Json] = {}
        for part in source if isinstance(source, list) else []:
            for key, value in part.items() if isinstance(part, dict) else []:
                found.setdefault(key, value)
        return list(found.items())

    def put_high(self, value: Json, height: int) -> None:
        """Hand on a value that is `height` levels deep."""
        if self.stack:
            frame = self.stack[-1]
            frame.height = max(frame.height, height + 1)
            if frame.key == "<<" and isinstance(frame.container, dict) and "<<" not in frame.seen:
                frame.merges.append(value)
                frame.key, frame.expects_key = None, True
                return
        self.put(value)

    def on_scalar(self, event: Any, place: Place) -> None:
        """A key or a value, either of which may be named."""
        self.count(place)
        self.on_properties(event, place)
        if self.stack and self.stack[-1].expects_key:
            if event.anchor is not None:
                self.anchors[event.anchor] = _Anchored(event.value, 1, 1)
            self.on_key(event, place)
            return
        self.values[self.path_of_next()] = place
        value = self.value_of(event, place)
        if event.anchor is not None:
            self.anchors[event.anchor] = _Anchored(value, 1, 1)
        self.put_high(value, 0)

    def on_key(self, event: Any, place: Place) -> None:
        """A key; `<<` opens a merge."""
        frame = self.stack[-1]
        if event.value == "<<" and not event.style:
            frame.key, frame.expects_key = "<<", False
            frame.seen.pop("<<", None)
            return
        super().on_key(event, place)

    def on_alias(self, event: Any, place: Place) -> None:
        """The value an anchor named, counted as often as it is used."""
        name = token(event.anchor)
        if event.anchor not in self.anchors:
            self.fault(
                "TL024",
                f"alias `*{name}` has no anchor before it",
                place,
                "define the anchor, or write the value",
            )
            raise EndOfReadingError
        anchored = self.anchors[event.anchor]
        if anchored is None:
            self.fault("TL023", f"alias `*{name}` stands inside its own value", place, "write the value out")
            raise EndOfReadingError
        self.nodes += anchored.nodes
        if self.nodes > MAX_NODES:
            message = f"with its aliases followed, the file has more than {MAX_NODES:,} values"
            self.fault("TL016", message, place, "write out what is meant")
            raise EndOfReadingError
        if len(self.stack) + anchored.height > MAX_DEPTH:
            self.fault("TL015", f"with its aliases followed, nested deeper than {MAX_DEPTH} levels", place)
            raise EndOfReadingError
        self.use(anchored, place)

    def use(self, anchored: _Anchored, place: Place) -> None:
        """Put the value of an alias where it stands."""
        frame = self.stack[-1] if self.stack else None
        if frame and frame.expects_key:
            if not isinstance(anchored.value, str):
                self.fault("TL011", "an alias that is no text cannot be a key", place, "use text for the key")
                raise EndOfReadingError
            path = (*frame.path, anchored.value)
            self.keys[path] = place
            frame.key, frame.expects_key = anchored.value, False
            frame.seen.setdefault(anchored.value, place.line)
            return
        self.values[self.path_of_next()] = place
        self.put_high(anchored.value, anchored.height)

    def key_of(self, event: Any, place: Place) -> str:
        """The text of a key, whatever a reader would make of it."""
        text: str = event.value
        if not event.style and text not in PLAIN_KEYS and not isinstance(resolve(text), str):
            self.warn("TL011", f"key `{token(text)}` is no text to every reader; read as text", place)
        self.check_text(text, place, (*self.stack[-1].path, text))
        return text

    def value_of(self, event: Any, place: Place) -> Scalar:
        """The YAML 1.2 reading of a scalar, with a warning where readers differ."""
        text: str = event.value
        self.check_text(text, place, self.path_of_next())
        if event.style or str(event.tag or "").endswith(":str"):
            return text
        resolved = resolve(text)
        if not isinstance(resolved, Refusal):
            return resolved
        value = resolve_12(text)
        shown = "text" if isinstance(value, str) else token(str(value))
        self.warn(resolved.code, f"{resolved.message}; read as {shown}", place)
        return value


def documents(text: str) -> list[Composed]:
    """Every document of `text`, at least one entry: a text without any is one refused document."""
    found = _Importer(text).all_documents()
    if found:
        return found
    return [Composed(None, Places(), [Fault("TL019", "the file holds no value", 0, 0)])]
