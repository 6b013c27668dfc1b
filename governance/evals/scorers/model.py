"""What a scorer is: its arguments, the reference it needs, examples, and the function that judges.

- A scorer is a value of this module; `registry.SCORERS` lists them all.
- A wrong answer scores 0. A scorer that cannot judge gives None with the reason.
- An item asked several times passes when every one of its answers passes; its value is the mean. A scorer
  that compares the answers with each other says so (`together`).
- Pure. What a scorer needs of the world it takes from `Context`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

from governance.evals.model import Item, Score
from governance.records import dataclass, field
from governance.values import ABSENT, Absent, Json, KeyPath

if TYPE_CHECKING:
    from governance.tiers.config import Service

_MAX_REASON: Final = 300


@dataclass(frozen=True, slots=True)
class Context:
    """What scorers know beside the item and its answers.

    `root` is the folder that `python:` scorers are imported from; empty when there is none. `contract` is the
    `output` section of the service's prompts config, `files` what that config names, by its name for them.
    """

    root: str = ""
    contract: Mapping[str, Json] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def context_of(service: Service, *, root: str = "") -> Context:
    """The context of items that `service` answers."""
    prompts = service.prompts
    if prompts is None:
        return Context(root)
    contract = prompts.tree.get("output")
    folder = f"{prompts.id.name}/"
    files = {path.removeprefix(folder): data for path, data in prompts.files.items()}
    return Context(root, contract if isinstance(contract, Mapping) else {}, files)


class Kind(Enum):
    """What an argument or a reference may be."""

    TEXT = "text"
    TEXTS = "a text, or a list of texts"
    NUMBER = "a number"
    COUNT = "a whole number from 0"
    FLAG = "true or false"
    SHARE = "a number from 0 to 1"
    MAPPING = "a mapping"
    FACTORS = "a mapping of names to numbers"
    CHOICES = "a list of texts, or a mapping of texts to texts"
    ENTITIES = "a list of texts (or of lists of spellings), or a mapping"
    FIGURE = "a number, or a text that is one"
    SCORERS = "a list of mappings with `scorer`, `args` and `reference`"
    ANY = "any value"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a scorer. `choices` are the only values it takes; `required` ones have no default."""

    kind: Kind
    what: str
    default: Json | Absent = ABSENT
    choices: tuple[str, ...] = ()
    required: bool = False


class Need(Enum):
    """What a scorer does with the reference of an item."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in an item: the key below the item, what it is, how to mend it, and whether the key
    itself is wrong (`on_key`) and not its value.
    """

    key: KeyPath
    message: str
    hint: str = ""
    on_key: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """An answer with what the scorer says of it: documentation that the tests run."""

    answers: tuple[str, ...]
    passed: bool
    args: Mapping[str, Json] = field(default_factory=dict)
    reference: Json | Absent = ABSENT
    contract: Mapping[str, Json] = field(default_factory=dict)


Judge = Callable[[Item, str, Context], Score]
JudgeTogether = Callable[[Item, Sequence[str], Context], Score]


def no_more_faults(item: Item) -> Iterator[Fault]:  # noqa: ARG001  the form of every `faults`
    """Nothing beyond the kinds of the arguments can be wrong."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Scorer:
    """One way to judge an answer.

    `judge` is given one answer; `together`, where it is set, all answers of the item at once. `faults` finds
    what is wrong in an item beyond the kinds of its arguments. `open` scorers take arguments of any name.
    """

    what: str
    examples: tuple[Example, ...]
    judge: Judge | None = None
    together: JudgeTogether | None = None
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    reference: Need = Need.REQUIRED
    reference_kind: Kind = Kind.TEXTS
    faults: Callable[[Item], Iterator[Fault]] = no_more_faults
    open: bool = False


def right(reason: str = "", *, value: float = 1.0) -> Score:
    """A passing score."""
    return Score(value, True, _short(reason))


def wrong(reason: str, *, value: float = 0.0) -> Score:
    """A failing score, with what was wrong."""
    return Score(value, False, _short(reason))


def unscored(reason: str) -> Score:
    """No score, and why there is none."""
    return Score(None, None, _short(reason))


def verdict(passed: bool, value: float, reason: str) -> Score:
    """The score of a value that was held against a bar."""
    return right(reason, value=value) if passed else wrong(reason, value=value)


def _short(reason: str) -> str:
    return reason if len(reason) <= _MAX_REASON else reason[: _MAX_REASON - 1] + "…"


def shown(text: str, most: int = 60) -> str:
    """`text` on one line, cut to `most` characters, for reasons."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def argument(scorer: Scorer, item: Item, name: str) -> Json:
    """The value of an argument: the item's, else the default; None where there is neither."""
    default = scorer.arguments[name].default
    return item.args.get(name, None if isinstance(default, Absent) else default)


def texts(value: Json | Absent) -> tuple[str, ...]:
    """A text or a list of texts, as a tuple."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Sequence):
        return tuple(each for each in value if isinstance(each, str))
    return ()
