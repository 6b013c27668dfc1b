"""What a rule is, what it sees, and what it says.

- A rule is a literal `Rule`: its text is the documentation, `check` is its judgement. `catalogue.RULES`
  lists them all.
- A rule sees plain validated trees and the bytes of the referenced files through a `Context`; it reads
  nothing else and does no I/O. What only an engine knows comes through `EngineFacts`, handed in by the
  caller.
- A rule yields `Hit`s. `judge` turns a hit into a finding: position, excerpt and severity are added there, so
  no rule can get them wrong.
- A rule runs on ten thousand files in one process: it looks for its key first and gives up cheaply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, Protocol, TypeAlias

from governance.records import dataclass, field
from governance.values import Absent, Json, KeyPath, Tree, Unknown, Value
from governance.verdict import EffectiveValue, Severity

ERROR: Final = Severity.ERROR
WARNING: Final = Severity.WARNING
NOTE: Final = Severity.NOTE

# A config of a tier; the configs a service binds, together; its entry in tierlock.yaml; all of that file.
Tier: TypeAlias = Literal["base", "sampling", "prompts", "service", "binding", "settings"]
EMPTY: Final[Tree] = {}


class OptionFact(Protocol):
    """One start option of an engine, as far as a rule needs it."""

    @property
    def name(self) -> str: ...
    @property
    def flags(self) -> tuple[str, ...]: ...
    @property
    def env(self) -> str | None: ...
    @property
    def type(self) -> str: ...
    @property
    def choices(self) -> tuple[str, ...] | None: ...
    @property
    def default(self) -> Value: ...
    @property
    def negation(self) -> str | None: ...


class OptionFacts(Protocol):
    """Every start option of one engine at `version`, the version the facts were read from."""

    @property
    def version(self) -> str: ...
    @property
    def options(self) -> Mapping[str, OptionFact]: ...


class EngineFacts(Protocol):
    """What the engines know. `tiers` may not import them, so whoever calls `check` hands this in."""

    def table(self, engine: str, version: str) -> OptionFacts | Unknown:
        """The options of `engine` at `version` or at the nearest lower known version, else unknown."""

    def sampling_defaults(
        self, base: Tree, generation_config: Tree | Unknown | Absent
    ) -> Mapping[str, EffectiveValue] | Unknown:
        """What the engine of `base` uses for each decoding parameter it knows, by sampling key."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file that a config names (empty: in the config itself)."""

    file: str
    line: int = 0
    column: int = 0
    width: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing a rule saw, before it has a position.

    `key` is the key path in the config of `tier` ("" means the config the rule was called for); `place`
    points into a referenced file instead. `severity` lowers or raises this one hit against its rule.
    """

    message: str
    key: KeyPath = ()
    hint: str = ""
    on_key: bool = False
    severity: Severity | None = None
    tier: str = ""
    place: Place | None = None


@dataclass(slots=True, kw_only=True)
class Context:
    """What one rule sees of one config, or of one service.

    `tree`, `files` and `text` are those of the judged config, or of `tierlock.yaml` and an entry of it. For a
    service `base`, `sampling` and `prompts` are the trees it binds (empty when missing or refused), and
    `services` names every service that binds just these. `engine` and `options` are the engine's name and
    options of the base tree in question. `profiles` are the task profiles, `settings` the thresholds per
    rule code.
    """

    tier: Tier
    tree: Tree
    files: Mapping[str, bytes] = field(default_factory=dict)
    text: str = ""
    base: Tree = field(default_factory=dict)
    sampling: Tree = field(default_factory=dict)
    prompts: Tree = field(default_factory=dict)
    base_files: Mapping[str, bytes] = field(default_factory=dict)
    prompts_files: Mapping[str, bytes] = field(default_factory=dict)
    services: tuple[str, ...] = ()
    profiles: Mapping[str, Tree] = field(default_factory=dict)
    settings: Mapping[str, Tree] = field(default_factory=dict)
    facts: EngineFacts | None = None
    engine: str = ""
    options: Tree = field(default_factory=dict)

    def number(self, code: str, name: str, default: float) -> float:
        """The threshold `name` of rule `code`: what `rules.settings` says, else `default`."""
        value = self.settings.get(code, EMPTY).get(name)
        return default if isinstance(value, bool) or not isinstance(value, int | float) else value


Judge: TypeAlias = Callable[[Context], Iterable[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: `code` and `name` for people, `severity` of its findings, `applies` to these tiers.

    `what` is seen, `why` it matters, `fix` says what to write, `since` the tierlock version that brought it.
    `needs` is the key, at most two steps deep, without which the rule has nothing to say; `engine` says
    that it cannot judge without `EngineFacts`; `settings` names its thresholds in `rules.settings`.
    """

    code: str
    name: str
    severity: Severity
    applies: tuple[Tier, ...]
    what: str
    why: str
    fix: str
    check: Judge
    needs: str = ""
    engine: bool = False
    settings: tuple[str, ...] = ()
    since: str = "0.1.0"


def section(tree: Tree, *path: str) -> Tree:
    """The mapping at `path` in `tree`; an empty one when any step is missing or is no mapping."""
    for step in path:
        value = tree.get(step)
        if not isinstance(value, dict):
            return EMPTY
        tree = value
    return tree


def text_at(tree: Tree, *path: str) -> str:
    """The text at `path` in `tree`; empty when it is missing or is no text."""
    value = section(tree, *path[:-1]).get(path[-1])
    return value if isinstance(value, str) else ""


def whole(value: Json) -> int | None:
    """`value` when it is an integer and no truth value, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Json) -> float | None:
    """`value` when it is a number and no truth value, else None."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def mappings(value: Json) -> Iterable[tuple[int, Tree]]:
    """Each mapping in the list `value` with its index; nothing when it is no list."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield index, item


def texts(value: Json) -> tuple[str, ...]:
    """The texts in the list `value`; nothing when it is no list."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def listed(names: Iterable[str]) -> str:
    """The names in backticks, joined as a sentence does: `a`, `b` and `c`."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}" if quoted else ""
