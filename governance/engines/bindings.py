"""How keys of the base tier and options of an engine correspond: one table read in both directions.

- A `Binding` ties one key to one option; a `Group` ties keys to the parts of an option that holds JSON; a
  `Part` ties one key to one part.
- Where an engine renamed an option, `names` lists both; the first that the version has is used.
- A key whose value the engine cannot be told is refused when rendered: a launch that silently leaves it out
  would run something else than the repository says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from governance.engines.model import Option, OptionTable
from governance.records import dataclass, field
from governance.values import Json


@dataclass(frozen=True, slots=True)
class Codec:
    """A value in our words and in the engine's. `to_engine` raises `ValueError` for what cannot be said."""

    to_engine: Callable[[Json], Json]
    to_config: Callable[[Json], Json]


def _same(value: Json) -> Json:
    return value


def _inverted(value: Json) -> Json:
    if not isinstance(value, bool):
        raise ValueError("only true or false can be said")
    return not value


def _off_only(value: Json) -> Json:
    if value is not False:
        raise ValueError("only `false` can be said")
    return True


def _listed(value: Json) -> Json:
    return value if isinstance(value, list) else [value]


def _one_or_many(value: Json) -> Json:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _whole(value: Json) -> Json:
    return int(value) if isinstance(value, str) and value.lstrip("-").isdigit() else value


SAME: Final = Codec(_same, _same)
INVERTED: Final = Codec(_inverted, lambda v: (not v) if isinstance(v, bool) else v)
OFF_ONLY: Final = Codec(_off_only, lambda v: False if v is True else None)
NAMES: Final = Codec(_listed, _one_or_many)
INTEGERS: Final = Codec(_listed, lambda v: [_whole(item) for item in v] if isinstance(v, list) else v)
UNLESS_AUTO: Final = Codec(lambda v: None if v == "auto" else v, _same)
UNLESS_NONE: Final = Codec(lambda v: None if v == "none" else v, _same)
GIB: Final = Codec(
    lambda v: round(v * 2**30) if isinstance(v, int | float) else v,
    lambda v: v / 2**30 if isinstance(v, int | float) and not isinstance(v, bool) else v,
)


def words(table: Mapping[str, Json]) -> Codec:
    """Our word on the left, the engine's on the right; any other value is passed on as it is."""
    ours: dict[Json, str] = {}
    for our, theirs in table.items():
        if isinstance(theirs, str | bool | int | float) or theirs is None:
            ours.setdefault(theirs, our)

    def to_engine(value: Json) -> Json:
        return table.get(value, value) if isinstance(value, str) else value

    def to_config(value: Json) -> Json:
        return ours.get(value, value) if isinstance(value, str | bool | int | float) else value

    return Codec(to_engine, to_config)


@dataclass(frozen=True, slots=True)
class Binding:
    """`key` of the base tier is the first of `names` that the engine's version has."""

    key: str
    names: tuple[str, ...]
    codec: Codec = SAME

    def option(self, table: OptionTable) -> Option | None:
        """The option of this version; None when it has none of the names."""
        return next((table.options[n] for n in self.names if n in table.options), None)


@dataclass(frozen=True, slots=True)
class Group:
    """The keys below `prefix` are parts of one JSON option: our name left, the engine's right."""

    prefix: str
    names: tuple[str, ...]
    parts: Mapping[str, str]
    codecs: Mapping[str, Codec] = field(default_factory=dict)

    def option(self, table: OptionTable) -> Option | None:
        """The option of this version; None when it has none of the names."""
        return next((table.options[n] for n in self.names if n in table.options), None)

    def to_engine(self, ours: Mapping[str, Json]) -> dict[str, Json]:
        """The JSON of the option. Raises `ValueError` naming a part the engine cannot be told."""
        result: dict[str, Json] = {}
        for name, value in ours.items():
            theirs = self.parts.get(name)
            if theirs is None:
                raise ValueError(f"`{name}` cannot be said")
            result[theirs] = self.codecs.get(name, SAME).to_engine(value)
        return result

    def to_config(self, theirs: Mapping[str, Json]) -> tuple[dict[str, Json], dict[str, Json]]:
        """Our parts, and what has no name of ours."""
        back = {part: name for name, part in self.parts.items()}
        ours: dict[str, Json] = {}
        left: dict[str, Json] = {}
        for part, value in theirs.items():
            name = back.get(part)
            if name is None:
                left[part] = value
            else:
                ours[name] = self.codecs.get(name, SAME).to_config(value)
        return ours, left


@dataclass(frozen=True, slots=True)
class Part:
    """`key` of the base tier is one part of the JSON option `name`, where the version has that part."""

    key: str
    name: str
    part: str
    codec: Codec = SAME

    def option(self, table: OptionTable) -> Option | None:
        """The option that holds the part at this version; None when the version has no such part."""
        holder = table.options.get(self.name)
        listed = [n for n in table.options if n.startswith(f"{self.name}.")]
        if holder is None or (listed and f"{self.name}.{self.part}" not in listed):
            return None
        return holder


def bound(key: str, *names: str, codec: Codec = SAME) -> Binding:
    """A binding of `key`; without `names`, the option is called as the last step of the key."""
    return Binding(key, names or (key.rpartition(".")[2],), codec)
