"""Reads transformers' generation defaults and the arguments of `transformers serve` from its wheel.

Two eras each: defaults in `GenerationConfig.__init__` (4.x) or in `_get_default_generation_params` (5.x);
arguments in a `ServeArguments` dataclass (4.x) or in annotated parameters of `Serve.__init__` (5.x).
"""

from __future__ import annotations

import ast
from typing import Any

from extractors import commandline
from extractors.static import MISSING, ClassRef, Evaluator, FunctionRef, Scope
from extractors.wheel import Wheel

GENERATION = "transformers.generation.configuration_utils"
NEVER = {"_from_model_config", "_commit_hash", "transformers_version"}


def sampling(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """The decoding parameters of `GenerationConfig` with the value used when nobody sets one."""
    module = evaluator.module(GENERATION)
    owner = evaluator.module_name(module, "GenerationConfig") if module else None
    if not isinstance(owner, ClassRef):
        return {}
    found: dict[str, Any] = {}
    made = evaluator.class_attribute(owner, "__init__")
    assert isinstance(made, FunctionRef)
    for node in ast.walk(made.node):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "kwargs.pop" and len(node.args) > 1:
            name = evaluator.value(node.args[0], Scope(owner.module))
            if isinstance(name, str) and name not in NEVER:
                found[name] = evaluator.value(node.args[1], Scope(owner.module))
    defaults = evaluator.class_attribute(owner, "_get_default_generation_params")
    if isinstance(defaults, FunctionRef):
        produced = evaluator.call(defaults, [], {})
        if isinstance(produced, dict):
            found.update(produced)
    return {
        name: {"type": _kind(value), **commandline.stored(value)} for name, value in sorted(found.items())
    }


def _kind(value: Any) -> str:
    return type(value).__name__ if isinstance(value, bool | int | float | str) else "json"


def options(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """The arguments of `transformers serve`."""
    new = evaluator.module("transformers.cli.serve")
    if new is not None:
        owner = evaluator.module_name(new, "Serve")
        made = evaluator.class_attribute(owner, "__init__") if isinstance(owner, ClassRef) else None
        return _annotated(evaluator, made) if isinstance(made, FunctionRef) else {}
    old = evaluator.module("transformers.commands.serving")
    owner = evaluator.module_name(old, "ServeArguments") if old else None
    return _dataclass(evaluator, owner) if isinstance(owner, ClassRef) else {}


def _annotated(evaluator: Evaluator, made: FunctionRef) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    arguments = made.node.args
    padded = [None] * (len(arguments.args) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(arguments.args, padded, strict=True):
        note = argument.annotation
        if note is None or "typer.Option" not in ast.unparse(note):
            continue
        scope = Scope(made.module)
        found[argument.arg] = _option(evaluator, argument.arg, note, default, scope, negatable=True)
    return found


def _dataclass(evaluator: Evaluator, owner: ClassRef) -> dict[str, dict[str, Any]]:
    return {
        name: _option(
            evaluator, name, statement.annotation, statement.value, Scope(holder.module), negatable=False
        )
        for name, (holder, statement) in evaluator.fields(owner).items()
    }


def _option(
    evaluator: Evaluator,
    name: str,
    annotation: ast.expr,
    default: ast.expr | None,
    scope: Scope,
    *,
    negatable: bool,
) -> dict[str, Any]:
    hints = evaluator.hints(annotation, scope)
    kinds = [kind for kind, _ in hints]
    kind = next((k for k in ("bool", "int", "float") if k in kinds), "str")
    dashed = "--" + name.replace("_", "-")
    entry: dict[str, Any] = {"flags": [dashed] if negatable else [dashed, f"--{name}"], "type": kind}
    if kind == "bool" and negatable:
        entry["negation"] = "--no-" + name.replace("_", "-")
    classes = [c for k, c in hints if k == "class" and evaluator.is_enum(c)]
    if classes:
        entry["choices"] = [str(commandline.plain(m.value)) for m in evaluator.enum_members(classes[0])]
    value = evaluator.field_default(default, scope) if default is not None else None
    entry.update(commandline.stored(None if value is MISSING else value))
    return entry


def extract(wheel: Wheel) -> dict[str, Any]:
    """Everything this project wants to know about one version of transformers."""
    evaluator = Evaluator(wheel, {})
    return {
        "options": options(evaluator),
        "environment": {},
        "sampling": sampling(evaluator),
        "request": {},
        "facts": {},
    }
