"""A reading in, a clean tree or findings out: the schema half of reading a file.

- The tree has JSON values only and just the keys the file sets, in the order of the schema. In number fields
  1 is 1.0; -0.0 is 0.0; lists that are sets are sorted, each item once.
- Valid files are validated by the compiled schema alone. What words an error is imported when there is one.
- Fields are judged one by one; what two fields mean together is for the rules.
"""

from __future__ import annotations

import re
from typing import Any

from governance.tiers.compiled import core, schema, unordered, validator
from governance.tiers.fields import FieldSpec, spec
from governance.tiers.reader import Reading
from governance.values import Json, Tree
from governance.verdict import Finding

__all__ = ["FieldSpec", "spec", "validate"]


# The reader refuses numbers too small for a double, so -0.0 is always written with its zero; a minus inside
# a word, a version or a date begins no number. The minus stands first: it is searched for at the speed of
# memory, a look behind at every character is not.
_NEGATIVE_ZERO = re.compile(r"-(?<![\w.-]-)\.?0(?![0-9._]*[1-9])")


def validate(kind: str, reading: Reading) -> tuple[Tree | None, tuple[Finding, ...]]:
    """The clean tree of `reading` as a file of `kind`, or None and why not.

    `kind` is base, sampling, prompts, services, or few_shot for one line of a few-shot file. A refused
    reading gives None and no further finding.
    """
    if reading.tree is None:
        return None, ()
    try:
        tree: dict[str, Json] = validator(kind).validate_python(reading.tree)
    except core().ValidationError:
        return None, _findings(kind, reading)
    for path in unordered(kind):
        if path[0] in tree:
            _sort(tree, path, 0)
    if _NEGATIVE_ZERO.search(reading.text):
        _clear_negative_zero(tree)
    return tree, ()


def _sort(node: Any, path: tuple[str, ...], at: int) -> None:
    step = path[at]
    if step in node:
        if at + 1 < len(path):
            _sort(node[step], path, at + 1)
        elif isinstance(node[step], list):
            node[step] = sorted(set(node[step]))
    elif step == "[]" or step == "*":
        for each in node if step == "[]" else node.values():
            _sort(each, path, at + 1)


def _clear_negative_zero(node: Any) -> None:
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, dict | list):
            _clear_negative_zero(value)
        elif value == 0 and isinstance(value, float):
            node[key] = 0.0


def _findings(kind: str, reading: Reading) -> tuple[Finding, ...]:
    from governance.tiers.refusal import findings

    return findings(kind, schema(kind), reading)
