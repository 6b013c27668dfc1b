"""The nearest right thing to what was written: keys, words, forms.

- A key is looked for under its own mapping, then in the whole tier, then in the other tiers; by its name and
  by what other tools call it.
- Suggests only what is near: a wrong suggestion costs more than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from governance.tiers.fields import spec, specs
from governance.tiers.schemas import forms
from governance.values import KeyPath

TIERS: Final = ("base", "sampling", "prompts")
_MANY: Final = 12


def for_unknown_key(kind: str, path: KeyPath, name: str, fields: Mapping[str, Any]) -> str:
    """A hint for `name`, which the mapping at `path` does not have; `fields` are those it has."""
    plain = _plain(name)
    here = _generic(kind, path)
    for key in _called(kind, plain):
        parent, _, last = key.rpartition(".")
        if parent == here and last in fields:
            return f"did you mean `{last}`?"
    if near := nearest(name, fields):
        return f"did you mean `{near}`?"
    for key in _called(kind, plain):
        return f"did you mean `{key}`?"
    for other in TIERS:
        if other != kind and (keys := _called(other, plain)):
            return f"`{keys[0]}` is a key of {other} configs (configs/{other}/)"
    if here == "engine.options":
        return "an engine's own option goes under `engine.extra`"
    if len(fields) <= _MANY:
        return f"the keys here are: {', '.join(fields)}"
    return "all keys are in docs/reference/fields.md"


def for_choice(kind: str, value: str, choices: Sequence[str]) -> str:
    """A hint for `value`, which is none of `choices`."""
    called = (key for key in _called(kind, _plain(value)) if key in choices)
    if near := next(called, None) or nearest(value, choices):
        return f"did you mean `{near}`?"
    shown = ", ".join(choices[:_MANY])
    return f"choose from: {shown}" if len(choices) <= _MANY else "all choices are in docs/reference/fields.md"


def for_missing(kind: str, path: KeyPath) -> str:
    """A hint for the required key at `path`."""
    known = spec(kind, path)
    if known is None:
        return ""
    if path == ("kind",):
        return f"add `kind: {kind}`"
    example = (
        f", as `{known.key.rpartition('.')[2]}: {known.example}`"
        if isinstance(known.example, str | int)
        else ""
    )
    return f"add it: {known.reason}{example}"


def for_form(pattern: str, value: str) -> str:
    """A hint for text that has not the form `pattern`."""
    if pattern == forms.DIGEST.pattern:
        digits = value.rpartition(":")[2]
        if re.fullmatch(r"[0-9a-fA-F]{64}", digits):
            return f"write sha256:{digits.lower()}"
        return "a digest is written out whole"
    if pattern == forms.SECRET.pattern:
        return "write env:NAME and set the variable where tierlock runs"
    if pattern == forms.NAME.pattern and " " in value:
        return f"write {re.sub(' +', '-', value)}"
    if "${" in value:
        return "values are not taken from the environment here; write the value itself"
    return ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` was probably meant to be, or None."""
    from difflib import get_close_matches

    plain = {_plain(each): each for each in known}
    if _plain(name) in plain:
        return plain[_plain(name)]
    near = get_close_matches(_plain(name), list(plain), n=1, cutoff=0.75)
    return plain[near[0]] if near else None


def _called(kind: str, plain: str) -> list[str]:
    """The keys of `kind` whose last step, or name elsewhere, is `plain`: own names first, then short ones."""
    own, also = _index(kind)
    mine = own.get(plain, [])
    return mine + [key for key in also.get(plain, []) if key not in mine]


@cache
def _index(kind: str) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The keys of `kind` by plain last step, and by plain name elsewhere; the shortest first."""
    own: dict[str, list[str]] = {}
    also: dict[str, list[str]] = {}
    for key, known in sorted(specs(kind).items(), key=lambda item: len(item[0])):
        own.setdefault(_plain(key.rpartition(".")[2]), []).append(key)
        for name in dict.fromkeys(map(_plain, known.also)):
            also.setdefault(name, []).append(key)
    return own, also


def _generic(kind: str, path: KeyPath) -> str:
    known = spec(kind, path)
    return known.key if known else ""


def _plain(name: str) -> str:
    """`--Max-Tokens` and `maxTokens` as `max_tokens`: how different tools spell one name."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip().lstrip("-"))
    return snake.lower().replace("-", "_").replace(".", "_")
