"""`python:module:function`: the user's own scorer, imported from the root of the repository.

- It is called as `function(answer, item)`: the text, and the item as its line in the suite has it, `args`
  among it. It returns true or false, a number from 0 to 1, a pair `(value, reason)`, a mapping with `value`,
  `passed` and `reason`, or None when it cannot judge.
- A number passes from `pass_at` on. Whatever it raises, and any other result, is no score, with the reason: a
  broken scorer says nothing about the answer.
- What it prints goes to standard error; no bytecode is left in the repository.
- Its file is part of the suite's digest (`suites.py`): another function is another suite.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from governance.evals.model import Item, Score
from governance.evals.scorers.model import (
    Argument,
    Context,
    Fault,
    Kind,
    Need,
    Scorer,
    argument,
    shown,
    unscored,
    verdict,
)

PREFIX: Final = "python:"


class Entry(NamedTuple):
    """The two halves of `python:module:function`."""

    module: str
    function: str

    @property
    def paths(self) -> tuple[str, str]:
        """Where the module may lie, from the root of the repository."""
        folder = self.module.replace(".", "/")
        return f"{folder}.py", f"{folder}/__init__.py"


class _NotThereError(Exception):
    """The function cannot be had; the text says why."""


def entry_of(name: str) -> Entry | None:
    """The entry point that a scorer's name stands for; None when it is none."""
    module, _, function = name.removeprefix(PREFIX).partition(":")
    steps = [*module.split("."), function]
    return Entry(module, function) if all(step.isidentifier() for step in steps) else None


def defines(source: bytes, function: str) -> str:
    """Why the module `source` has no `function`; empty when it has one. The module is not run."""
    import ast

    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as err:
        return f"it is no Python: {err}"
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.If | ast.Try):
            return ""
    return "" if function in names or "*" in names else f"it defines no `{function}`"


def _judge(item: Item, answer: str, context: Context) -> Score:
    entry = entry_of(item.scorer)
    if entry is None or not context.root:
        return unscored(f"`{item.scorer}` cannot be imported: no repository is at hand")
    try:
        function = _loaded(context.root, entry)
        with contextlib.redirect_stdout(sys.stderr):
            result = function(answer, _as_mapping(item))
    except _NotThereError as err:
        return unscored(str(err))
    except Exception as err:  # noqa: BLE001  foreign code: whatever it raises, it has given no score
        return unscored(f"`{item.scorer}` raised {type(err).__name__}: {shown(str(err), 160)}")
    return _scored(item, result)


def _as_mapping(item: Item) -> dict[str, Any]:
    from governance.evals.items import as_mapping

    return {"args": {}, **as_mapping(item)}


def _scored(item: Item, result: Any) -> Score:
    """The score that a result stands for."""
    passed, reason = None, ""
    if isinstance(result, Mapping):
        passed, reason = result.get("passed"), str(result.get("reason") or "")
        result = result.get("value", passed)
    elif isinstance(result, tuple) and len(result) == 2:
        result, reason = result[0], str(result[1] or "")
    if result is None:
        return unscored(reason or f"`{item.scorer}` could not judge")
    if not isinstance(result, bool | int | float) or not 0 <= result <= 1:
        return unscored(f"`{item.scorer}` returned {shown(repr(result))}, no value from 0 to 1")
    bar = argument(ENTRY_POINT, item, "pass_at")
    if not isinstance(passed, bool):
        passed = result >= bar if isinstance(bar, int | float) else False
    return verdict(passed, float(result), reason)


@lru_cache(maxsize=64)
def _loaded(root: str, entry: Entry) -> Callable[[str, Mapping[str, Any]], Any]:
    import importlib.util
    from pathlib import Path

    path = next((file for path in entry.paths if (file := Path(root, path)).is_file()), None)
    if path is None:
        raise _NotThereError(f"there is no `{entry.paths[0]}` in the repository")
    # a name of its own: the module of one repository must not answer for that of another
    spec = importlib.util.spec_from_file_location(f"_scorer_{abs(hash((root, entry.module)))}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, root)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = bytecode
        with contextlib.suppress(ValueError):
            sys.path.remove(root)
    function = getattr(module, entry.function, None)
    if not callable(function):
        raise _NotThereError(f"`{path.name}` defines no function `{entry.function}`")
    return function  # type: ignore[no-any-return]


def _faults(item: Item) -> Iterator[Fault]:
    if entry_of(item.scorer) is None:
        message = f"`{item.scorer}` names no function"
        yield Fault(
            ("scorer",), message, "write python:module:function, the module from the root of the repository"
        )


ENTRY_POINT: Final = Scorer(
    what="A function of your own judges the answer: `python:module:function`.",
    judge=_judge,
    reference=Need.OPTIONAL,
    reference_kind=Kind.ANY,
    arguments={
        "pass_at": Argument(Kind.SHARE, "value from which an answer passes", 0.5),
    },
    faults=_faults,
    open=True,
    examples=(),
)
