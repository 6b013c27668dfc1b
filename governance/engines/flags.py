"""Command lines and environments read and written by an option table.

- A value is typed by its option; text the option cannot take is an error that names the flag, never a guess.
- `Dialect` holds what differs between the parsers the engines use.
- Nothing here knows an engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from governance.engines.keys import finite
from governance.engines.model import Option, OptionTable
from governance.values import Json

TRUE = frozenset({"1", "true", "on", "yes", "enabled"})
FALSE = frozenset({"0", "false", "off", "no", "disabled"})


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine's parser reads arguments.

    `equals`: `--flag=value` is one argument; `underscores`: `--max_len` is `--max-len`; `repeated`: names of
    options that may be given several times and then form a list; `separator`: what splits a list.
    """

    equals: bool = True
    underscores: bool = True
    repeated: frozenset[str] = frozenset()
    separator: str = ","


@dataclass(frozen=True, slots=True)
class Said:
    """One option as it was given: `by` is the flag or the variable. `error` says why the text is no value."""

    option: Option
    value: Json
    by: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """A command line read: options in order, words that belong to no option, flags no table knows."""

    said: tuple[Said, ...]
    words: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def values(self) -> dict[str, Json]:
        """The value of each option by its name; the last one given counts, lists are joined."""
        result: dict[str, Json] = {}
        for said in self.said:
            if not said.error:
                result[said.option.name] = said.value
        return result


class Flags:
    """The options of one table by flag and by variable."""

    def __init__(self, table: OptionTable, dialect: Dialect) -> None:
        self.table = table
        self.dialect = dialect
        self._by_flag: dict[str, tuple[Option, bool]] = {}
        self._by_env: dict[str, Option] = {}
        for option in table.options.values():
            for flag in option.flags:
                self._by_flag.setdefault(flag, (option, True))
            for negation in (option.negation, *option.negations):
                if negation is not None:
                    self._by_flag[negation] = (option, False)
            if option.env:
                self._by_env.setdefault(option.env, option)

    def find(self, name: str) -> Option | None:
        """The option called `name`: its own name, or any flag, with or without dashes."""
        bare = name.lstrip("-")
        for flag in (f"--{bare.replace('_', '-')}", f"--{bare}", f"-{bare}", name):
            if found := self._by_flag.get(flag):
                return found[0]
        return self.table.options.get(bare.replace("-", "_"))

    def read(self, argv: Sequence[str]) -> Given:
        """What `argv`, without the program, says."""
        said: list[Said] = []
        words: list[str] = []
        unknown: list[str] = []
        rest = list(argv)
        while rest:
            word = rest.pop(0)
            if not word.startswith("-") or word == "-":
                words.append(word)
                continue
            flag, glued, text = word.partition("=") if self.dialect.equals else (word, "", "")
            found = self._lookup(flag)
            if found is None:
                unknown.append(flag)
                if not glued:
                    rest = _skip_value(rest)
                continue
            option, positive = found
            said.append(
                self._said(option, positive=positive, text=text if glued else None, rest=rest, flag=flag)
            )
        return Given(tuple(_joined(said, self.dialect.repeated)), tuple(words), tuple(unknown))

    def read_environment(self, environment: Mapping[str, str]) -> Given:
        """What the environment variables that belong to options say."""
        said = [
            self._typed(self._by_env[name], text, name)
            for name, text in sorted(environment.items())
            if name in self._by_env
        ]
        return Given(tuple(said))

    def write(self, option: Option, value: Json) -> tuple[str, ...]:
        """The arguments that set `option` to `value`."""
        flag = long_flag(option)
        if is_switch(option):
            if value is True:
                return (flag,)
            return (option.negation,) if option.negation else ()
        if isinstance(value, list | tuple):
            if option.name in self.dialect.repeated:
                return tuple(part for item in value for part in (flag, text_of(item)))
            return (flag, self.dialect.separator.join(text_of(item) for item in value))
        return (flag, text_of(value))

    def _lookup(self, flag: str) -> tuple[Option, bool] | None:
        if found := self._by_flag.get(flag):
            return found
        if self.dialect.underscores and flag.startswith("--"):
            return self._by_flag.get(flag.replace("_", "-"))
        return None

    def _said(self, option: Option, *, positive: bool, text: str | None, rest: list[str], flag: str) -> Said:
        if not positive:
            return Said(option, False, flag)
        if is_switch(option):
            return Said(option, True, flag) if text is None else self._typed(option, text, flag)
        if text is None:
            if not rest or (rest[0].startswith("--") and len(rest[0]) > 2):
                return Said(option, None, flag, f"`{flag}` needs a value")
            text = rest.pop(0)
        return self._typed(option, text, flag)

    def _typed(self, option: Option, text: str, by: str) -> Said:
        try:
            return Said(option, typed(option, text, self.dialect.separator), by)
        except ValueError as err:
            return Said(option, None, by, f"`{by}`: {err}")


def is_switch(option: Option) -> bool:
    """Whether the option is a flag that takes no value."""
    return option.type == "bool" and option.choices is None


def long_flag(option: Option) -> str:
    """The spelling that is written: the first long flag, else the first."""
    return next((flag for flag in option.flags if flag.startswith("--")), option.flags[0])


def typed(option: Option, text: str, separator: str = ",") -> Json:
    """`text` as the option's type. Raises `ValueError` with what is wrong with it."""
    value = _typed(option, text, separator)
    if not finite(value):
        raise ValueError(f"`{text}` is not a finite number")
    return value


def _typed(option: Option, text: str, separator: str) -> Json:
    if option.choices is not None and option.type != "list" and text not in option.choices:
        raise ValueError(f"`{text}` is not one of {', '.join(option.choices)}")
    match option.type:
        case "bool":
            return _truth(text)
        case "int" | "float" | "number":
            return _number(option, text)
        case "json":
            value: Json = json.loads(text)
            return value
        case "list":
            return [part for part in text.split(separator) if part]
        case _:
            return text


def text_of(value: Json) -> str:
    """A value as one argument."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, str | int):
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _truth(text: str) -> bool:
    low = text.lower()
    if low in TRUE:
        return True
    if low in FALSE:
        return False
    raise ValueError(f"`{text}` is neither true nor false")


def _number(option: Option, text: str) -> Json:
    if isinstance(option.default, str) and not text.lstrip("-").replace(".", "", 1).isdigit():
        return text  # an option that also takes words: `auto`, `all`
    try:
        whole = option.type == "int" or (option.type == "number" and text.lstrip("-").isdigit())
        number = int(text) if whole else float(text)
    except ValueError:
        raise ValueError(f"`{text}` is not a number") from None
    return number


def _skip_value(rest: list[str]) -> list[str]:
    """`rest` without the value that seems to belong to an unknown flag."""
    return rest[1:] if rest and not rest[0].startswith("-") else rest


def _joined(said: Sequence[Said], repeated: frozenset[str]) -> Iterator[Said]:
    """One entry for each option that may be repeated, its values in one list; the others as they are."""
    lists: dict[str, list[Json]] = {}
    for one in said:
        if one.option.name in repeated and not one.error:
            lists.setdefault(one.option.name, []).extend(
                one.value if isinstance(one.value, list) else [one.value]
            )
    done: set[str] = set()
    for one in said:
        if one.option.name not in lists or one.error:
            yield one
        elif one.option.name not in done:
            done.add(one.option.name)
            yield Said(one.option, lists[one.option.name], one.by)
