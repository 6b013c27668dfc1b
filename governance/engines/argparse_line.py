"""Command lines of engines that use Python's argparse (vLLM, SGLang): read and written by an option table.

- A flag is known by any of its spellings, with dashes or underscores, or by a prefix only one has;
  `--flag=value` and `--flag value` are the same.
- A list takes the words that follow it; a switch takes none, though older vLLM takes `true` or `false`.
- `--config.key value` sets one key of an option that holds JSON. Such keys are merged with each other and
  replace the option's own JSON, wherever that stands; of JSON given twice the last counts (measured on vLLM).
- `4k`, `1.5m` are decimal, `4K`, `2G` binary, as in vLLM's own reader.
- Nothing is guessed: what cannot be read is a problem that names the flag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from governance.engines.keys import finite
from governance.engines.model import UNKNOWN_OPTION, Option, OptionTable
from governance.records import dataclass, field
from governance.values import Json
from governance.verdict import Finding, Severity

_HUMAN: Final = re.compile(r"(\d+(?:\.\d+)?)([kKmMgGtT])")
_SUFFIXES: Final = {
    **{s: 1000**i for i, s in enumerate("kmgt", 1)},
    **{s: 1024**i for i, s in enumerate("KMGT", 1)},
}
_WORDS: Final = {"true": True, "false": False}
_NEGATIVE_NUMBER: Final = re.compile(r"-\d+$|-\d*\.\d+$")


@dataclass(frozen=True, slots=True)
class Line:
    """A command line read: each option's value by name, the other words, unknown flags, and what is wrong."""

    values: Mapping[str, Json]
    words: tuple[str, ...]
    unknown: tuple[str, ...]
    problems: tuple[str, ...]

    def findings(self, whose: str) -> Iterator[Finding]:
        """What is wrong with it; `whose` says which engine's options were looked through."""
        for flag in self.unknown:
            yield Finding(
                UNKNOWN_OPTION,
                f"`{flag}` is no option of {whose}",
                severity=Severity.WARNING,
                hint="check the spelling: the server refuses an unknown option",
            )
        for problem in self.problems:
            yield Finding(UNKNOWN_OPTION, problem, severity=Severity.WARNING)


@dataclass(slots=True)
class _Reading:
    exact: bool
    values: dict[str, Json] = field(default_factory=dict)
    parts: dict[str, dict[str, Json]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Spellings:
    """The options of one table by every way to write them."""

    def __init__(self, table: OptionTable) -> None:
        self.table = table
        self._flags: dict[str, tuple[Option, bool]] = {}
        for option in table.options.values():
            for flag in option.flags:
                self._flags.setdefault(flag, (option, True))
            for negation in (option.negation, *option.negations):
                if negation:
                    self._flags.setdefault(negation, (option, False))

    def find(self, flag: str) -> tuple[Option, bool] | None:
        """The option `flag` belongs to, and whether it is the positive spelling."""
        exact = self._flags.get(flag)
        if exact is not None or not flag.startswith("--"):
            return exact
        dashed = "--" + flag[2:].replace("_", "-")
        exact = self._flags.get(dashed) or self._flags.get("--" + flag[2:].replace("-", "_"))
        if exact is not None:
            return exact
        near = {
            (o.name, positive): (o, positive)
            for f, (o, positive) in self._flags.items()
            if f.startswith(dashed)
        }
        return next(iter(near.values())) if len(near) == 1 else None

    def ambiguous(self, flag: str) -> tuple[str, ...]:
        """The flags that begin as `flag` does."""
        dashed = "--" + flag[2:].replace("_", "-")
        return tuple(sorted(f for f in self._flags if flag.startswith("--") and f.startswith(dashed)))

    def named(self, name: str) -> Option | None:
        """The option an `engine.extra` key names: its own name or a flag, with or without dashes."""
        plain = name.lstrip("-").replace("-", "_")
        option = self.table.options.get(plain)
        if option is not None:
            return option
        found = self.find("--" + name.lstrip("-"))
        return found[0] if found is not None and found[1] else None


def read(argv: Sequence[str], spellings: Spellings, *, exact: bool = True) -> Line:
    """What `argv`, without the program, says.

    `exact` says that the table is that of the version that runs: then a spelling that only other versions
    took is a problem.
    """
    state = _Reading(exact)
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            state.words.extend(rest)
            break
        if not word.startswith("-") or word == "-" or _NEGATIVE_NUMBER.match(word):
            state.words.append(word)
        else:
            _flag(word, rest, spellings, state)
    for name in state.parts.keys() & state.values.keys():
        state.problems.append(f"`{name}` is given whole and by its parts: the parts alone count")
    state.values.update(state.parts)
    return Line(state.values, tuple(state.words), tuple(state.unknown), tuple(state.problems))


def _flag(word: str, rest: list[str], spellings: Spellings, state: _Reading) -> None:
    flag, glued, text = word.partition("=")
    head, dot, path = flag.partition(".")
    found = spellings.find(flag)
    if found is None and dot:
        found = spellings.find(head)
        if found is not None and found[0].type == "json":
            _one_key(found[0], path, text if glued else _next(rest), flag, state)
            return
        found = None
    if found is None:
        found, text, glued = _short(flag, spellings, text, glued)
    if found is None:
        near = spellings.ambiguous(flag)
        state.unknown.append(flag)
        if len(near) > 1:
            state.problems.append(f"`{flag}` could be {', '.join(f'`{n}`' for n in near[:4])}")
        if not glued and rest and not rest[0].startswith("-"):
            rest.pop(0)
        return
    option, positive = found
    _value(option, rest, text if glued else None, flag, state, positive=positive)


def _short(
    flag: str, spellings: Spellings, text: str, glued: str
) -> tuple[tuple[Option, bool] | None, str, str]:
    """`-tp4` and `-O3`: a short flag with its value attached."""
    if flag.startswith("--"):
        return None, text, glued
    for length in range(len(flag) - 1, 1, -1):
        found = spellings.find(flag[:length])
        if found is not None and flag[length:].isdigit():
            return found, flag[length:], "="
    return None, text, glued


def _next(rest: list[str]) -> str | None:
    return rest.pop(0) if rest else None


def _one_key(option: Option, path: str, text: str | None, flag: str, state: _Reading) -> None:
    """`--compilation-config.mode 3`."""
    if text is None:
        state.problems.append(f"`{flag}` needs a value")
        return
    value: Json = text
    try:
        value = json.loads(text)
    except ValueError:
        value = _number("int", text) if _HUMAN.fullmatch(text) else text
    if path.endswith("+"):
        path, value = path[:-1], [part for part in text.split(",") if part]
    nested: Json = value
    for step in reversed(path.split(".")):
        nested = {step: nested}
    state.parts[option.name] = _joined(state.parts.get(option.name, {}), nested)


def _joined(left: Mapping[str, Json], right: Json) -> dict[str, Json]:
    """Parts given one by one: mappings are merged, lists grow, of anything else the last counts."""
    result = dict(left)
    for key, value in right.items() if isinstance(right, Mapping) else ():
        held = result.get(key)
        if isinstance(held, Mapping) and isinstance(value, Mapping):
            result[key] = _joined(held, value)
        elif isinstance(held, list) and isinstance(value, list):
            result[key] = [*held, *value]
        else:
            result[key] = value
    return result


def merged(left: Mapping[str, Json], right: Json) -> dict[str, Json]:
    """`left` with `right` laid over it, mapping by mapping."""
    result = dict(left)
    for key, value in right.items() if isinstance(right, Mapping) else ():
        held = result.get(key)
        both = isinstance(held, Mapping) and isinstance(value, Mapping)
        result[key] = merged(held, value) if both and isinstance(held, Mapping) else value
    return result


def _value(
    option: Option, rest: list[str], text: str | None, flag: str, state: _Reading, *, positive: bool
) -> None:
    if option.type == "bool":
        _switch(option, rest, text, flag, state, positive=positive)
        return
    if option.type == "list":
        items = [text] if text is not None else _items(option, rest)
        held = state.values.get(option.name)
        kept = list(held) if option.repeats and isinstance(held, list) else []
        state.values[option.name] = [*kept, *items]
        return
    given = text if text is not None else (None if rest and _is_flag(rest[0]) else _next(rest))
    if given is None:
        state.problems.append(f"`{flag}` needs a value")
        return
    try:
        value = typed(option, given)
    except ValueError as err:
        state.problems.append(f"`{flag}`: {err}")
        return
    state.values[option.name] = value


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _NEGATIVE_NUMBER.match(word)


def _switch(
    option: Option, rest: list[str], text: str | None, flag: str, state: _Reading, *, positive: bool
) -> None:
    if text is None and rest and rest[0].lower() in _WORDS:
        text = rest.pop(0)
    if text is None:
        state.values[option.name] = positive
    elif text.lower() not in _WORDS:
        state.problems.append(f"`{flag}`: `{text}` is neither true nor false")
    else:
        if state.exact and option.negation and positive:
            state.problems.append(
                f"`{flag}` takes no value: write `{flag if _WORDS[text.lower()] else option.negation}`"
            )
        state.values[option.name] = _WORDS[text.lower()] is positive


def _items(option: Option, rest: list[str]) -> list[str]:
    """The words a list takes: one when the flag is repeated for each, else all up to the next flag."""
    items: list[str] = []
    while rest and not _is_flag(rest[0]):
        items.append(rest.pop(0))
        if option.repeats:
            break
    return items


def typed(option: Option, text: str) -> Json:
    """`text` as a value of `option`. Raises `ValueError` that says what is wrong with it."""
    value = _typed(option, text)
    if not finite(value):
        raise ValueError(f"`{text}` is not finite")
    return value


def _typed(option: Option, text: str) -> Json:
    if option.type in ("int", "float", "number"):
        number = _number(option.type, text)
        if number is not None and (option.choices is None or text in option.choices):
            return number
        if text in ("auto", "None", ""):
            return None if text != "auto" else "auto"
        if number is not None:
            raise ValueError(_not_one_of(option, text))
        raise ValueError(f"`{text}` is no number")
    if option.type == "json":
        if not text.lstrip().startswith(("{", "[")) and text.strip() not in ("null", "None"):
            return text if _is_no_json(text) else json.loads(text)
        try:
            value: Json = None if text.strip() == "None" else json.loads(text)
        except ValueError as err:
            raise ValueError(f"is no JSON: {err}") from None
        return value
    if option.choices is not None and text not in option.choices:
        raise ValueError(_not_one_of(option, text))
    return text


def _not_one_of(option: Option, text: str) -> str:
    choices = option.choices or ()
    return f"`{text}` is none of {', '.join(choices[:8])}" + (", …" if len(choices) > 8 else "")


def _is_no_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def _number(kind: str, text: str) -> Json:
    human = _HUMAN.fullmatch(text)
    if human:
        return int(float(human[1]) * _SUFFIXES[human[2]])
    try:
        return int(text) if kind != "float" else float(text)
    except ValueError:
        pass
    try:
        return float(text) if kind == "number" else None
    except ValueError:
        return None


def write(option: Option, value: Json) -> Iterator[str]:
    """The arguments that set `option` to `value`. Raises `ValueError` for a value no flag can say."""
    flag = next((f for f in option.flags if f.startswith("--")), f"--{option.name.replace('_', '-')}")
    if option.type == "bool":
        yield from _written_switch(option, flag, value)
    elif isinstance(value, (list, tuple)) and option.type == "list":
        if option.repeats:
            yield from (part for item in value for part in (flag, text_of(item)))
        elif value:
            yield flag
            yield from (text_of(item) for item in value)
    elif option.type == "list" or value is not None:
        yield from (flag, text_of(value))


def _written_switch(option: Option, flag: str, value: Json) -> Iterator[str]:
    if value is True:
        yield flag
    elif value is False and option.negation:
        yield option.negation
    elif value is False and option.choices:
        yield f"{flag}=false"
    elif value is not False:
        raise ValueError(f"`{flag}` is a switch")
    elif option.default is True:
        raise ValueError(f"`{flag}` cannot be switched off")


def text_of(value: Json) -> str:
    """A value as one argument."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def config_arguments(document: Mapping[str, Json]) -> list[str]:
    """A `--config` file as the arguments it stands for; they come before those of the command line."""
    return list(_config_words(document.items()))


def _config_words(pairs: Iterable[tuple[str, Json]]) -> Iterator[str]:
    for name, value in pairs:
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif isinstance(value, list) and value:
            yield flag
            yield from (text_of(item) for item in value)
        elif value is not False and value is not None and value != []:
            yield from (flag, text_of(value))
