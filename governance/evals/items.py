"""One line of a suite as an `Item`: closed keys, one kind for each, exactly one form of question.

- Everything wrong is collected; an item with an error is no item.
- Keys are closed: a misspelt one is an error with the nearest right name.
- `as_mapping` is the line again, with the keys that say something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from governance.evals.model import TASKS, Item
from governance.evals.scorers.model import Fault
from governance.evals.scorers.registry import item_faults
from governance.records import dataclass
from governance.tiers.reader import Reading, finding_at
from governance.values import ABSENT, Json, KeyPath
from governance.verdict import Finding

MAX_REPEATS: Final = 1000
ROLES: Final = ("system", "developer", "user", "assistant", "tool")
QUESTIONS: Final = ("messages", "prompt", "variables")

_ID: Final = re.compile(r"\w[\w.:/+-]{0,99}")
_WORD: Final = re.compile(r"\w[\w.:/+-]{0,49}")
_JUDGED: Final = ("scorer", "args", "repeats")
_NO_PARAMETERS: Final = frozenset({"kind", "description", "task", "extra", "overridable", "reason"})


@dataclass(frozen=True, slots=True)
class _Key:
    """What one key takes."""

    fits: Callable[[Json], bool]
    form: str
    what: str


KEYS: Final[Mapping[str, _Key]] = {
    "id": _Key(
        lambda value: isinstance(value, str) and _ID.fullmatch(value) is not None,
        "up to 100 letters, digits and `._:/+-`",
        "name of the item in this suite, never given to another",
    ),
    "task": _Key(lambda value: value in TASKS, f"one of {', '.join(TASKS)}", "what the item is about"),
    "prompt": _Key(
        lambda value: isinstance(value, str) and bool(value.strip()),
        "a text",
        "one user message, after the service's own system text and examples",
    ),
    "variables": _Key(
        lambda value: isinstance(value, Mapping) and bool(value),
        "a mapping of names to values",
        "what fills the service's template",
    ),
    "messages": _Key(
        lambda value: isinstance(value, list) and bool(value),
        "a list of messages",
        "the whole conversation, sent as it is",
    ),
    "scorer": _Key(
        lambda value: isinstance(value, str) and bool(value), "the name of a scorer", "what judges it"
    ),
    "args": _Key(lambda value: isinstance(value, Mapping), "a mapping", "arguments of the scorer"),
    "reference": _Key(lambda _: True, "any value", "what is right"),
    "repeats": _Key(
        lambda value: type(value) is int and 1 <= value <= MAX_REPEATS,
        f"a whole number from 1 to {MAX_REPEATS}",
        "how often it is asked",
    ),
    "overrides": _Key(
        lambda value: isinstance(value, Mapping), "a mapping", "request parameters that `overridable` allows"
    ),
    "tags": _Key(
        lambda value: (
            isinstance(value, list)
            and all(isinstance(tag, str) and _WORD.fullmatch(tag) for tag in value)
            and len(set(map(str, value))) == len(value)
        ),
        "a list of words, each once",
        "words to choose and group items by",
    ),
    "difficulty": _Key(
        lambda value: isinstance(value, str) and _WORD.fullmatch(value) is not None,
        "a word",
        "how hard it is held to be",
    ),
}
REQUIRED: Final = ("id", "task", "scorer")


def read_item(reading: Reading) -> tuple[Item | None, tuple[Finding, ...]]:
    """The item of one line, or None and everything that is wrong with it."""
    tree = reading.tree
    if not isinstance(tree, dict):
        if tree is None:
            return None, reading.findings
        return None, (_finding(reading, "TL705", Fault((), "an item is a mapping", 'write {"id": …}')),)
    faults = [*_key_faults(tree), *_question_faults(tree)]
    item = _item(tree, reading.first_line)
    if "scorer" in tree and all(KEYS[key].fits(tree[key]) for key in _JUDGED if key in tree):
        faults += [(_code(fault), fault) for fault in item_faults(item)]
    findings = (*reading.findings, *(_finding(reading, code, fault) for code, fault in faults))
    return (None if faults else item), findings


def _code(fault: Fault) -> str:
    return "TL708" if fault.key and fault.key[-1] == "scorer" else "TL709"


def _finding(reading: Reading, code: str, fault: Fault) -> Finding:
    return finding_at(reading, code, fault.message, fault.key, hint=fault.hint, on_key=fault.on_key)


def _item(tree: Mapping[str, Any], line: int) -> Item:
    """The item; what is missing or of the wrong kind was told, and is empty here."""
    given = {key: value for key, value in tree.items() if key in KEYS and KEYS[key].fits(value)}
    return Item(
        id=given.get("id", ""),
        task=given.get("task", ""),
        scorer=given.get("scorer", ""),
        args=given.get("args", {}),
        reference=given.get("reference", ABSENT),
        messages=tuple(given.get("messages", ())),
        prompt=given.get("prompt", ""),
        variables=given.get("variables", {}),
        overrides=given.get("overrides", {}),
        tags=tuple(given.get("tags", ())),
        difficulty=given.get("difficulty", ""),
        repeats=given.get("repeats", 1),
        line=line,
    )


def as_mapping(item: Item) -> dict[str, Any]:
    """The item as its line in a suite: the keys that are set, in the order of `KEYS`."""
    values: dict[str, Any] = {key: getattr(item, key) for key in KEYS}
    for key in ("messages", "tags"):
        values[key] = list(values[key])
    silent: dict[str, Any] = {"reference": ABSENT, "repeats": 1}
    return {
        key: value
        for key, value in values.items()
        if (value is not silent[key] if key == "reference" else value not in (silent.get(key), "", [], {}))
    }


def _key_faults(tree: Mapping[str, Json]) -> Iterator[tuple[str, Fault]]:
    from governance.tiers.hints import nearest

    for key, value in tree.items():
        known = KEYS.get(key)
        if known is None:
            near = _ELSEWHERE.get(key) or nearest(key, KEYS)
            hint = f"did you mean `{near}`?" if near else f"the keys here are: {', '.join(KEYS)}"
            yield "TL703", Fault((key,), f"`{key}` is no key of an item", hint, on_key=True)
        elif not known.fits(value):
            yield "TL705", Fault((key,), f"`{key}` must be {known.form}", _hint(key, value))
    for key in REQUIRED:
        if key not in tree:
            yield "TL704", Fault((), f"the item has no `{key}`", f"add it: {KEYS[key].what}")
    overrides = tree.get("overrides")
    yield from _override_faults(overrides if isinstance(overrides, Mapping) else {})


# What other tools call these keys.
_ELSEWHERE: Final = {
    "input": "prompt", "question": "prompt", "query": "prompt", "instruction": "prompt", "turns": "messages",
    "conversation": "messages", "vars": "variables", "inputs": "variables", "target": "reference",
    "answer": "reference", "expected": "reference", "ideal": "reference", "output": "reference",
    "assert": "scorer", "metric": "scorer", "grader": "scorer", "category": "task", "type": "task",
    "name": "id", "n": "repeats", "runs": "repeats", "epochs": "repeats", "params": "overrides",
    "arguments": "args", "labels": "tags", "level": "difficulty",
}  # fmt: skip


def _hint(key: str, value: Json) -> str:
    from governance.tiers.hints import nearest

    if key == "task" and isinstance(value, str):
        near = nearest(value, TASKS)
        return f"did you mean `{near}`?" if near else ""
    if key == "id" and isinstance(value, int | float):
        return f'write "{value}"'
    return KEYS[key].what


def _override_faults(overrides: Mapping[str, Json]) -> Iterator[tuple[str, Fault]]:
    from governance.tiers.fields import specs
    from governance.tiers.hints import nearest

    known = {key for key in specs("sampling") if not re.search(r"[.\[]", key)} - _NO_PARAMETERS
    for name in overrides:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean `{near}`?" if near else "all parameters are in docs/reference/fields.md"
            yield "TL705", Fault(("overrides", name), f"`{name}` is no request parameter", hint, on_key=True)


def _question_faults(tree: Mapping[str, Json]) -> Iterator[tuple[str, Fault]]:
    asked = [key for key in QUESTIONS if key in tree]
    if not asked:
        hint = f"add one of {', '.join(QUESTIONS)}"
        # a key that is almost one has been told already
        if not any(_ELSEWHERE.get(key) in QUESTIONS for key in tree):
            yield "TL704", Fault((), "the item asks nothing", hint)
    elif len(asked) > 1:
        message = f"the item has {' and '.join(f'`{key}`' for key in asked)}: which is the question?"
        yield "TL705", Fault((asked[1],), message, "keep one")
    messages = tree.get("messages")
    for index, turn in enumerate(messages if isinstance(messages, list) else ()):
        yield from (("TL705", fault) for fault in _turn_faults(turn, ("messages", index)))


def _turn_faults(turn: Json, at: KeyPath) -> Iterator[Fault]:
    if not isinstance(turn, Mapping):
        yield Fault(at, "a message is a mapping", 'write {"role": "user", "content": "…"}')
        return
    if turn.get("role") not in ROLES:
        key = (*at, "role") if "role" in turn else at
        yield Fault(key, f"a message has a `role`: {', '.join(ROLES)}", "add or correct it")
    content = turn.get("content")
    if not isinstance(content, str | list) and not (content is None and "tool_calls" in turn):
        key = (*at, "content") if "content" in turn else at
        yield Fault(key, "a message has its text in `content`", "add or correct it")
