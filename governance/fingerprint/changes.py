"""The differences of two configs, or of two services files, as changes people can judge.

- Compared are the *meanings* that the fingerprint digests, so there is a change exactly when the digests
  differ; a number is equal by value, a set has no order.
- Each change carries where it stands in the newer file, what the field does to answers, and its risk, from
  the schema.
- A text or a named file changes by its bytes: shown as a word diff, and as values where it is JSON.
- Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from governance.fingerprint.layers import meaning
from governance.fingerprint.shapes import table
from governance.records import dataclass
from governance.tiers.config import Config
from governance.tiers.naming import SERVICES_FILE
from governance.tiers.places import place_of
from governance.tiers.reader import Reading, read_json
from governance.tiers.textdiff import text_changes
from governance.tiers.textpieces import Unit
from governance.tiers.treediff import Difference, leaves, tree_changes
from governance.tiers.validate import spec as _spec
from governance.values import ABSENT, Absent, Effect, Json, KeyPath, Tree, Unknown, Value, key_text
from governance.verdict import Change

WHOLE: Final = "(whole config)"
# Lists in a model's own JSON files that are sets of token ids: their order means nothing to an engine.
ID_SETS: Final = frozenset({"eos_token_id", "suppress_tokens", "begin_suppress_tokens", "bad_words_ids"})


spec = lru_cache(maxsize=4096)(_spec)


@dataclass(frozen=True, slots=True)
class Showing:
    """How texts are shown: by word or token, and whether nothing is left out."""

    unit: Unit = "word"
    everything: bool = False

    @property
    def limit(self) -> int:
        """Lines of one text diff."""
        return 10**9 if self.everything else 40


def config_changes(
    layer: str, before: Config | None, after: Config | None, showing: Showing
) -> tuple[Change, ...]:
    """What differs in meaning; one change for a config that came or went. Raises `Unreadable`."""
    if before is None or after is None:
        return _whole(layer, before, after)
    pair = _Pair(layer, before, after, showing)
    if before.files or after.files:
        differences = _by_meaning(before, after)
    else:
        differences = _by_value(before, after)
    return tuple(change for one in differences for change in pair.changes(one))


def _by_meaning(before: Config, after: Config) -> tuple[Difference, ...]:
    tier = after.id.tier
    return tree_changes(
        meaning(before), meaning(after), by_value=True, is_set=lambda path: _is_set(tier, path)
    )


def _by_value(before: Config, after: Config) -> tuple[Difference, ...]:
    """As `_by_meaning`, for configs without files: only top-level keys that differ at all are looked at.

    A key that no table of shapes mentions means its value, so its differences are those of its values.
    """
    found = tree_changes(before.tree, after.tree)
    shapes = table(after.id.tier)
    keys = {one.path[0] for one in found}
    shaped = {key for key in keys if shapes.step(str(key)) is not None}
    plain = tuple(one for one in found if one.path[0] not in shaped and not _equal_numbers(one))
    if not shaped:
        return plain
    old, new = ({key: tree[key] for key in tree if key in shaped} for tree in (before.tree, after.tree))
    narrowed = (
        Config(each.id, each.path, tree, each.reading, {}) for each, tree in ((before, old), (after, new))
    )
    return (*_by_meaning(*narrowed), *plain)


def _equal_numbers(one: Difference) -> bool:
    """Whether a difference is one of kind alone: 1 and 1.0 are one number where the schema gives the type."""
    return (
        not isinstance(one.before, Absent | Unknown)
        and not isinstance(one.after, Absent | Unknown)
        and not tree_changes(one.before, one.after, by_value=True)
    )


def services_changes(
    before: Tree, after: Tree, reading: Reading | None, only: str = ""
) -> tuple[Change, ...]:
    """What differs in tierlock.yaml; with `only`, in the entry of that service."""
    if only:
        before, after = ({"services": {only: _entry(tree, only)}} for tree in (before, after))
    found = []
    for one in _taken_apart(tree_changes(before, after, by_value=True)):
        line, column = place_of(reading, one.path) if reading is not None else (0, 0)
        known = spec("services", one.path)
        found.append(
            Change(
                layer="services",
                key=key_text(one.path),
                before=one.before,
                after=one.after,
                risk=known.effect if known else Effect.OUTPUT,
                effect=known.reason if known else "",
                path=SERVICES_FILE,
                line=line,
                column=column,
            )
        )
    return tuple(found)


def _entry(tree: Tree, name: str) -> Json:
    services = tree.get("services", {})
    return services.get(name, {}) if isinstance(services, Mapping) else {}


def _whole(layer: str, before: Config | None, after: Config | None) -> tuple[Change, ...]:
    config = after or before
    if config is None:
        return ()
    said = [ABSENT if one is None else f"{len(list(leaves(one.tree)))} values" for one in (before, after)]
    word = "added" if before is None else "removed"
    return (
        Change(
            layer=layer,
            key=WHOLE,
            before=said[0],
            after=said[1],
            effect=f"the config is {word}",
            path=config.path,
        ),
    )


def _is_set(tier: str, path: KeyPath) -> bool:
    known = spec(tier, path)
    return known is not None and known.unordered and key_text(path) == known.key


def _taken_apart(differences: Sequence[Difference]) -> Iterator[Difference]:
    """Subtrees that came or went, as their leaves: each has its own effect."""
    for one in differences:
        if isinstance(one.after, Absent) and isinstance(one.before, Mapping):
            yield from (Difference(path, value, ABSENT) for path, value in leaves(one.before, one.path))
        elif isinstance(one.before, Absent) and isinstance(one.after, Mapping):
            yield from (Difference(path, ABSENT, value) for path, value in leaves(one.after, one.path))
        else:
            yield one


class _Pair:
    """Two configs and how their differences are told."""

    def __init__(self, layer: str, before: Config, after: Config, showing: Showing) -> None:
        self.layer = layer
        self.before = before
        self.after = after
        self.showing = showing

    def changes(self, difference: Difference) -> Iterator[Change]:
        if difference.path[:1] == ("tl:files",):
            yield self._file(difference)
            return
        for one in _taken_apart([difference]):
            yield self._text(one) if one.path[-1] == "content" else self._value(one)

    def _value(self, one: Difference) -> Change:
        path = tuple(step for step in one.path if step != "tl:float")
        known = spec(self.after.id.tier, path)
        line, column = self._place(path)
        return Change(
            layer=self.layer,
            key=key_text(path),
            before=_written(one.before),
            after=_written(one.after),
            risk=known.effect if known else Effect.OUTPUT,
            effect=known.reason if known else "",
            path=self.after.path,
            line=line,
            column=column,
        )

    def _text(self, one: Difference) -> Change:
        """A text in place, or in a file: the digests differ, the words are shown."""
        path = one.path[:-1]
        old, new = (_content(config, path) for config in (self.before, self.after))
        if old is None and new is None:  # a key that is called `content` and holds a value
            return self._value(one)
        known = spec(self.after.id.tier, path)
        shown = new or old
        assert shown is not None
        line, column = (0, 0) if shown.file else self._place((*path, *shown.below))
        return Change(
            layer=self.layer,
            key=key_text(path),
            before=_digest(one.before),
            after=_digest(one.after),
            risk=known.effect if known else Effect.OUTPUT,
            effect=known.reason if known else "",
            path=shown.file or self.after.path,
            line=line,
            column=column,
            text=content_changes(
                old.data if old else None, new.data if new else None, shown.file, self.showing
            ),
        )

    def _file(self, one: Difference) -> Change:
        """A file that no key of the schema consumes: its bytes are part of the digest all the same."""
        name = str(one.path[-1])
        old, new = (config.files.get(name) for config in (self.before, self.after))
        path = f"configs/{self.after.id.tier}/{name}"
        return Change(
            layer=self.layer,
            key=name.partition("/")[2],
            before=_digest(one.before),
            after=_digest(one.after),
            path=path,
            text=content_changes(old, new, path, self.showing),
        )

    def _place(self, path: KeyPath) -> tuple[int, int]:
        return place_of(self.after.reading, path)


@dataclass(frozen=True, slots=True)
class _Content:
    """The bytes behind a `content` digest, and the file they lie in, or the key that holds them in place."""

    data: bytes
    file: str = ""
    below: KeyPath = ()


def _content(config: Config, path: KeyPath) -> _Content | None:
    value: Json = config.tree
    try:
        for step in path:
            value = value[step]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return None
    below: KeyPath = ()
    if isinstance(value, Mapping):
        below = ("file",) if "file" in value else ("text",)
        value = value.get(str(below[0]))
    if not isinstance(value, str):
        return None
    name = f"{config.id.name}/{value}"
    if name in config.files:
        return _Content(config.files[name], f"{config.id.folder}{value}")
    return _Content(value.encode(), below=below)


def content_changes(
    before: bytes | None, after: bytes | None, path: str, showing: Showing
) -> tuple[str, ...]:
    """How a file or text changed: by value where both are JSON, else by word; None is "not there"."""
    what = "file" if path else "text"
    if before is None or after is None:
        sign, word = ("+", "new") if before is None else ("-", "gone")
        said = f"{sign} the {what} is {word}, {len(after or before or b'')} bytes"
        limit = min(showing.limit, 12)
        return (said, *text_changes(before or b"", after or b"", unit=showing.unit, what=what, limit=limit))
    if path.endswith(".json") and (lines := _json_changes(before, after, path)) is not None:
        return lines
    return text_changes(before, after, unit=showing.unit, what=what, limit=showing.limit)


def _json_changes(before: bytes, after: bytes, path: str) -> tuple[str, ...] | None:
    """The differing values of two JSON files; None when one cannot be read or only its bytes differ."""
    old, new = (read_json(data, path).tree for data in (before, after))
    if old is None or new is None:
        return None
    found = json_differences(old, new)
    return tuple(f"~ {key_text(one.path) or path}  {_said(one)}" for one in found) or (
        "~ the same values: only order or layout of the file changed",
    )


def json_differences(before: Json, after: Json) -> tuple[Difference, ...]:
    """The differences of two JSON files of a model: numbers by value, sets of token ids without order."""
    found = tree_changes(
        before, after, by_value=True, is_set=lambda path: path[-1:] != () and path[-1] in ID_SETS
    )
    return tuple(_taken_apart(found))


def _said(one: Difference) -> str:
    return " → ".join(
        "not set" if isinstance(side, Absent) else json.dumps(side, ensure_ascii=False) for side in one[1:]
    )


def _digest(value: Value) -> Value:
    return f"sha256:{value}" if isinstance(value, str) else value


def _written(value: Value) -> Value:
    """A value of open type as it was written: `layers.open_value` turned back."""
    if isinstance(value, Mapping):
        if value.keys() == {"tl:float"}:
            return value["tl:float"]
        return {name.removeprefix("tl:"): _written(inner) for name, inner in value.items()}  # type: ignore[misc]
    if isinstance(value, list | tuple):
        return [_written(inner) for inner in value]  # type: ignore[misc]
    return value
