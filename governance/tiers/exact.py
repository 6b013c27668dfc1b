"""The exact path: one YAML document to a tree with all its places, on ruamel's events; every fault worded.

- Scalars mean what `scalars.resolve` says: only what YAML 1.1 and 1.2 readers agree on.
- Duplicate keys, anchors, aliases, merge keys, tags, directives, further documents, interpolation and
  keys that are no text are faults, each with its place.
- Events are folded with a stack of our own, so depth is a bound and never a crash.
- It never raises on bad input: a parser's complaint is a fault (TL005).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from governance.tiers.faults import MAX_FAULTS, Fault, token
from governance.tiers.marks import Place, Places
from governance.tiers.scalars import PLAIN_KEYS, Refusal, Scalar, resolve
from governance.tiers.text import key_spot
from governance.values import Json, KeyPath, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000

_BRACED = re.compile(r"\$\{[A-Za-z_][^{}\n]*\}")
_WHOLLY = re.compile(r"\$[A-Za-z_][A-Za-z0-9_]*|\$\([A-Za-z_][A-Za-z0-9_]*\)")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class Composed:
    """What one document yields: the tree (None when refused), its places, and what was wrong."""

    tree: Json
    places: Places
    faults: list[Fault]


@dataclass(slots=True)
class _Frame:
    """One open collection: its key path, and for a mapping the key that waits for its value."""

    container: dict[str, Json] | list[Json]
    path: KeyPath
    expects_key: bool
    key: str | None = None
    seen: dict[str, int] = field(default_factory=dict)
    anchor: str | None = None
    first_node: int = 0
    height: int = 1
    merges: list[Json] = field(default_factory=list)


class EndOfReadingError(Exception):
    """Reading ends here: what follows cannot be read, or would be too much."""


class Composer:
    """Folds the events of one text; subclasses say what anchors, tags and further documents mean."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.faults: list[Fault] = []
        self.values: dict[KeyPath, Place] = {}
        self.keys: dict[KeyPath, Place] = {}
        self.stack: list[_Frame] = []
        self.tree: Json = None
        self.nodes = 0
        self.documents = 0
        self.aliases: set[str] = set()

    # -- faults

    def fault(
        self, code: str, message: str, place: Place, hint: str = "", path: KeyPath | None = None
    ) -> None:
        """Keep one fault; stop when there are so many that more would not help."""
        where = self.path_of_next() if path is None else path
        width = max(1, place.end - place.start)
        self.faults.append(Fault(code, message, place.start, width, where, hint))
        if len(self.faults) >= MAX_FAULTS:
            raise EndOfReadingError

    # -- the fold

    def run(self) -> Composed:
        """Read the whole text."""
        try:
            for event in events(self.text):
                self.take(event)
        except EndOfReadingError:
            pass
        except SyntaxFaultError as complaint:
            self.faults.append(complaint.fault)
        return Composed(None if self.faults else self.tree, Places(self.values, self.keys), self.faults)

    def take(self, event: Any) -> None:
        """Fold one parser event."""
        name = type(event).__name__
        if name == "ScalarEvent":
            self.on_scalar(event, place_of(event, self.text))
        elif name in {"MappingStartEvent", "SequenceStartEvent"}:
            self.on_open(event, place_of(event, self.text), {} if name == "MappingStartEvent" else [])
        elif name in {"MappingEndEvent", "SequenceEndEvent"}:
            self.on_close()
        elif name == "AliasEvent":
            self.on_alias(event, place_of(event, self.text))
        elif name == "DocumentStartEvent":
            self.on_document(event, place_of(event, self.text))

    def path_of_next(self) -> KeyPath:
        """The key path of the value that comes next (of the mapping itself while a key is awaited)."""
        if not self.stack:
            return ()
        frame = self.stack[-1]
        if isinstance(frame.container, list):
            return (*frame.path, len(frame.container))
        return frame.path if frame.key is None else (*frame.path, frame.key)

    def count(self, place: Place) -> None:
        """Count one node against the bound."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fault("TL016", f"more than {MAX_NODES:,} values in one file", place, "split the file")
            raise EndOfReadingError

    def on_document(self, event: Any, place: Place) -> None:
        """A document begins; only the first may."""
        self.documents += 1
        if self.documents > 1:
            self.fault(
                "TL006",
                f"a second YAML document starts here, on line {place.line}",
                place,
                "keep one document per file",
                (),
            )
            raise EndOfReadingError
        if event.version or event.tags:
            start = re.search("^%", self.text, re.MULTILINE)
            at = start.start() if start else place.start
            self.fault(
                "TL018",
                "a directive changes how the file is read",
                Place(place.line, 1, at, at + 5),
                "remove the line that starts with `%`",
                (),
            )

    def on_open(self, event: Any, place: Place, container: dict[str, Json] | list[Json]) -> None:
        """A mapping or a sequence begins."""
        self.count(place)
        self.on_properties(event, place)
        if len(self.stack) >= MAX_DEPTH:
            self.fault("TL015", f"nested deeper than {MAX_DEPTH} levels", place, "flatten the file")
            raise EndOfReadingError
        frame = self.stack[-1] if self.stack else None
        if frame and frame.expects_key:
            self.fault("TL011", "a list or a mapping cannot be a key", place, "use text for the key")
            raise EndOfReadingError
        path = self.path_of_next()
        self.values[path] = place
        self.stack.append(_Frame(container, path, isinstance(container, dict)))

    def on_close(self) -> None:
        """The innermost collection ends."""
        frame = self.stack.pop()
        self.put(frame.container)

    def on_scalar(self, event: Any, place: Place) -> None:
        """A key or a value."""
        self.count(place)
        self.on_properties(event, place)
        if self.stack and self.stack[-1].expects_key:
            self.on_key(event, place)
            return
        self.values[self.path_of_next()] = place
        self.put(self.value_of(event, place))

    def on_key(self, event: Any, place: Place) -> None:
        """A mapping key: text, never seen before in its mapping."""
        frame = self.stack[-1]
        key = self.key_of(event, place)
        path = (*frame.path, key)
        first = frame.seen.setdefault(key, place.line)
        if path in self.keys:
            self.fault(
                "TL007",
                f"key `{token(key_text(path), 80)}` is here and on line {first}",
                place,
                "remove one of the two; most readers keep the last without a word",
                path,
            )
        self.keys[path] = place
        frame.key, frame.expects_key = key, False

    def put(self, value: Json) -> None:
        """Hand a finished value to the collection that waits for it."""
        if not self.stack:
            self.tree = value
            return
        frame = self.stack[-1]
        if isinstance(frame.container, list):
            frame.container.append(value)
        elif frame.key is not None:
            frame.container[frame.key] = value
            frame.key, frame.expects_key = None, True

    # -- meaning

    def key_of(self, event: Any, place: Place) -> str:
        """The text of a key; faults for one that is no text."""
        text: str = event.value
        if event.style:
            self.check_key(text, place, (*self.stack[-1].path, text))
            return text
        path = (*self.stack[-1].path, text)
        if text == "<<":
            self.fault(
                "TL008", "a merge key (`<<`) takes values from elsewhere", place, "write the keys out", path
            )
            return text
        resolved = text if text in PLAIN_KEYS else resolve(text)
        if isinstance(resolved, Refusal):
            self.fault(resolved.code, f"key {resolved.message}", place, f'quote the key: "{text}"', path)
        elif not isinstance(resolved, str):
            kind = "null" if resolved is None else "a boolean" if isinstance(resolved, bool) else "a number"
            self.fault(
                "TL011", f"key `{token(text)}` is {kind}, not text", place, f'quote it: "{text}"', path
            )
        self.check_key(text, place, path)
        return text

    def value_of(self, event: Any, place: Place) -> Scalar:
        """The value of a scalar; faults for one that readers differ on."""
        text: str = event.value
        if event.style:
            self.check_text(text, place, self.path_of_next())
            self.check_interpolation(text, place)
            self.check_ending(place)
            return text
        resolved = resolve(text)
        if isinstance(resolved, Refusal):
            self.fault(resolved.code, resolved.message, place, resolved.hint)
            return text
        if isinstance(resolved, str):
            self.check_interpolation(text, place)
            self.check_text(text, place, self.path_of_next())
        return resolved

    def check_key(self, text: str, place: Place, path: KeyPath) -> None:
        """A key is what it looks like."""
        self.check_text(text, place, path)
        spot = key_spot(text)
        if spot is not None:
            self.fault(spot.code, f"key `{token(text)}`: {spot.message}", place, "type the key again", path)

    def check_text(self, text: str, place: Place, path: KeyPath) -> None:
        """Text must be storable as UTF-8."""
        if not text.isascii() and _SURROGATE.search(text):
            self.fault(
                "TL025", "an escape here yields half a character", place, "write the character itself", path
            )

    def check_interpolation(self, text: str, place: Place) -> None:
        """Values come from the file, not from the environment; an escaped `\\x24{` is meant as it stands."""
        if place.style in {"|", ">"} or "$" not in text:
            return
        if place.style == '"':
            text = self.text[place.start : place.end]
        found = _BRACED.search(text) or (None if place.style else _WHOLLY.fullmatch(text))
        if found:
            name = token(found[0])
            self.fault(
                "TL010",
                f"`{name}` would be filled in from the environment of whoever reads the file",
                place,
                "write the value; if the characters are meant, use a block scalar (`|-`) or write `\\x24{`",
            )

    def check_ending(self, place: Place) -> None:
        """A block scalar that keeps its last line end must have one in the file."""
        if place.style not in {"|", ">"} or place.end < len(self.text) or self.text.endswith("\n"):
            return
        header = self.text[place.start : self.text.find("\n", place.start)].split("#")[0]
        if "-" not in header:
            self.fault(
                "TL026",
                "the file ends inside this text without a line end, which some readers add and some do not",
                place,
                "end the file with a newline, or use `|-`",
            )

    def on_properties(self, event: Any, place: Place) -> None:
        """Anchors and tags are refused."""
        if event.anchor is not None:
            self.fault(
                "TL008",
                f"anchor `&{token(event.anchor)}`: values must be written out",
                place,
                "remove the anchor",
            )
        if event.ctag is not None and event.tag is not None:
            self.fault("TL009", f"tag `{token(str(event.tag))}` on a value", place, "remove the tag")

    def on_alias(self, event: Any, place: Place) -> None:
        """Aliases are refused; one that is used again is not told again."""
        self.count(place)
        name = token(event.anchor)
        if event.anchor not in self.aliases:
            self.aliases.add(event.anchor)
            self.fault(
                "TL008", f"alias `*{name}` takes its value from elsewhere", place, "write the value out"
            )
        frame = self.stack[-1] if self.stack else None
        if frame and frame.expects_key:
            frame.key, frame.expects_key = f"*{name}", False
        else:
            self.put(None)


def compose(text: str) -> Composed:
    """The tree of `text`, its places and every fault found."""
    return Composer(text).run()


def places(text: str) -> Places:
    """The places of `text`."""
    return Composer(text).run().places


class SyntaxFaultError(Exception):
    """The parser could not go on."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def events(text: str) -> Iterator[Any]:
    """ruamel's events for `text`; raises `SyntaxFaultError` where it is not YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as complaint:
        raise SyntaxFaultError(_worded(complaint)) from complaint
    except YAMLError as complaint:
        start = getattr(complaint, "position", 0)
        message = str(complaint).splitlines()[0] if str(complaint) else "this is not YAML"
        raise SyntaxFaultError(Fault("TL005", message, start)) from complaint


_HINTS: Final = (
    ("'\\t'", "indent with spaces"),
    ("mapping values are not allowed", "quote a value that contains `: `, or mend the indentation"),
    ("could not find expected ':'", "write `key: value`, or mend the indentation"),
    ("while scanning a quoted scalar", "close the quotes"),
    ("unknown escape character", "use single quotes, or double the backslash"),
    ("that cannot start any token", "quote the value"),
    ("expected ',' or", "close the bracket"),
    ("block collection", "mend the indentation"),
    ("block mapping", "mend the indentation"),
)


def _worded(complaint: Any) -> Fault:
    problem = " ".join(str(complaint.problem or complaint.context or "this is not YAML").split())
    context = str(complaint.context or "")
    mark = complaint.problem_mark or complaint.context_mark
    whole = f"{context} {problem}"
    hint = next((fix for sign, fix in _HINTS if sign in whole), "")
    message = f"{problem} {context}".strip() if context and context != problem else problem
    return Fault("TL005", token(message, 200), mark.index if mark else 0, 1, (), hint)


def place_of(event: Any, text: str) -> Place:
    """The place of an event, without the trailing blanks the parser includes."""
    start, end = event.start_mark, event.end_mark
    style = getattr(event, "style", None) or ""
    if getattr(event, "flow_style", False):
        style = text[start.index : start.index + 1]
    return Place(start.line + 1, start.column + 1, start.index, end.index, style)
