"""Reads SGLang's options, environment variables, sampling defaults and API fields from its wheel.

Three eras: `ServerArgs.add_cli_args` call by call (to 0.5.13), fields annotated with `Arg(...)` (0.5.16 on),
and the same fields spread over `arg_groups/fields/*.py` (0.5.22 on).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from extractors import commandline
from extractors.static import MISSING, ClassRef, Evaluator, FunctionRef, Module, Scope, Unresolved
from extractors.wheel import Wheel

SERVER_ARGS = "sglang.srt.server_args"
FIELDS = "sglang.srt.arg_groups.fields."
PROTOCOLS = ("sglang.srt.entrypoints.openai.protocol", "sglang.srt.openai_api.protocol")
KEPT = {"type", "default", "computed", "choices"}


def declared_fields(evaluator: Evaluator, module: Module) -> dict[str, tuple[ClassRef, ast.AnnAssign]]:
    """The fields of `ServerArgs`, those of its namespace classes included."""
    owner = evaluator.module_name(module, "ServerArgs")
    found = dict(evaluator.fields(owner)) if isinstance(owner, ClassRef) else {}
    for origin, attribute in module.imports.values():
        if origin.startswith(FIELDS) and attribute:
            namespace = evaluator.module_name(module, attribute)
            if isinstance(namespace, ClassRef):
                found.update(evaluator.fields(namespace))
    return found


def metadata(node: ast.expr, evaluator: Evaluator, scope: Scope) -> dict[str, Any] | None:
    """What `A[T, Arg(...)]` or `A[T, "help"]` says beside the type; None when it says nothing."""
    if not (isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"A", "Annotated"}):
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in parts[1:]:
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "Arg":
            return {k.arg: evaluator.value(k.value, scope) for k in part.keywords if k.arg}
        if ast.unparse(part).startswith("NS("):
            continue
        value = evaluator.value(part, scope)
        if isinstance(value, str | Unresolved):
            return {"help": value}
    return {"no_cli": True}


def add_from_dataclass(
    evaluator: Evaluator, _arguments: list[Any], _keywords: dict[str, Any], scope: Scope
) -> None:
    """Stands in for `add_cli_args_from_dataclass`."""
    for name, (owner, statement) in declared_fields(evaluator, scope.module).items():
        inner = Scope(owner.module, {}, owner)
        said = metadata(statement.annotation, evaluator, inner)
        if said is None or said.get("no_cli") is True:
            continue
        flag = (
            said.get("cli_name") if isinstance(said.get("cli_name"), str) else "--" + name.replace("_", "-")
        )
        keywords = argument(evaluator.hints(statement.annotation, inner), said)
        keywords["dest"] = name
        if isinstance(said.get("help"), str):
            keywords["help"] = said["help"]
        if statement.value is not None:
            default = evaluator.field_default(statement.value, inner)
            if default is not MISSING:
                keywords["default"] = default
        aliases = said.get("aliases")
        evaluator_call = [flag, *(aliases if isinstance(aliases, list) else [])]
        commandline.RECORDER.calls.append((evaluator_call, keywords))


def argument(hints: list[tuple[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
    """The argparse keywords SGLang derives from a field's type."""
    kinds = [kind for kind, _ in hints]
    keywords: dict[str, Any] = {}
    if said.get("choices") is not None:
        keywords["choices"] = said["choices"]
    literals = [v for kind, vs in hints if kind == "literal" for v in vs]
    parser = said.get("type_parser")
    literals = [v for v in literals if v is not None]
    if said.get("action") is not None:
        keywords["action"] = said["action"]
        more = said.get("action_kwargs")
        keywords.update(more if isinstance(more, dict) else {})
    elif literals:
        keywords.setdefault("choices", literals)
        keywords["type"] = type(literals[0]).__name__
    elif "list" in kinds and parser is None:
        keywords.update({"type": "str", "nargs": "+"})
    elif kinds[:1] == ["bool"] and parser is None:
        keywords["action"] = "store_true"
    elif parser is not None:
        keywords["type"] = parser if isinstance(parser, FunctionRef) else Unresolved(commandline.text(parser))
    else:
        keywords["type"] = next(
            (k for k in ("int", "float", "str") if k in kinds), "json" if "dict" in kinds else "str"
        )
    if said.get("nargs"):
        keywords["nargs"] = said["nargs"]
    return keywords


def declared_default(evaluator: Evaluator, arguments: list[Any], _k: dict[str, Any], scope: Scope) -> Any:
    """Stands in for `_declared_default("name")`."""
    pair = declared_fields(evaluator, scope.module).get(arguments[0])
    if pair is None or pair[1].value is None:
        return Unresolved("_declared_default")
    return evaluator.field_default(pair[1].value, Scope(pair[0].module, {}, pair[0]))


def options(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """Every option of `sglang.launch_server`."""
    commandline.RECORDER.calls.clear()
    module = evaluator.module(SERVER_ARGS)
    if module is None:
        return {}
    owner = evaluator.module_name(module, "ServerArgs")
    method = evaluator.class_attribute(owner, "add_cli_args") if isinstance(owner, ClassRef) else None
    if isinstance(method, FunctionRef):
        evaluator.call(method, [Unresolved("parser")], {})
    fields = declared_fields(evaluator, module)
    return {_field_name(name, found, fields): found for name, found in commandline.collected().items()}


def _field_name(name: str, found: dict[str, Any], fields: Mapping[str, object]) -> str:
    """The name of the field an option sets (`tp_size`), whichever of its flags comes first."""
    spelled = [f.lstrip("-").replace("-", "_") for f in found["flags"]]
    return next((s for s in (name, *spelled) if s in fields), name)


def environment(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """The variables of `sglang/srt/environ.py` (0.5.3 on); earlier versions have no list."""
    module = evaluator.module("sglang.srt.environ")
    owner = evaluator.module_name(module, "Envs") if module else None
    found: dict[str, dict[str, Any]] = {}
    if not isinstance(owner, ClassRef):
        return found
    for statement in owner.node.body:
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.targets[0], ast.Name)
            and isinstance(statement.value, ast.Call)
        ):
            kind = ast.unparse(statement.value.func).removeprefix("Env").lower()
            if not statement.value.args:
                continue
            default = evaluator.value(statement.value.args[0], Scope(owner.module, {}, owner))
            found[statement.targets[0].id] = {
                "type": kind if kind in {"bool", "int", "float", "str"} else "str",
                **commandline.stored(default),
            }
    return found


def sampling(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """The decoding parameters of `SamplingParams`, from its fields or its `__init__`."""
    module = evaluator.module("sglang.srt.sampling.sampling_params")
    owner = evaluator.module_name(module, "SamplingParams") if module else None
    if not isinstance(owner, ClassRef):
        return {}
    made = evaluator.class_attribute(owner, "__init__")
    if isinstance(made, FunctionRef):
        return _parameters(evaluator, made)
    return model_fields(evaluator, owner)


def _parameters(evaluator: Evaluator, function: FunctionRef) -> dict[str, dict[str, Any]]:
    arguments = function.node.args
    names = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    found = {}
    for argument_node, default in zip(names, arguments.defaults, strict=True):
        scope = Scope(function.module)
        kinds = evaluator.hints(argument_node.annotation, scope) if argument_node.annotation else []
        found[argument_node.arg] = {
            "type": _simple(kinds),
            **commandline.stored(evaluator.value(default, scope)),
        }
    return found


def _simple(hints: list[tuple[str, Any]]) -> str:
    kinds = [kind for kind, _ in hints]
    return next(
        (k for k in ("bool", "int", "float", "list", "str") if k in kinds),
        "json" if "dict" in kinds else "str",
    )


def model_fields(evaluator: Evaluator, owner: ClassRef) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, (holder, statement) in evaluator.fields(owner).items():
        if name.startswith("_") or name == "model_config":
            continue
        scope = Scope(holder.module, {}, holder)
        entry: dict[str, Any] = {"type": _simple(evaluator.hints(statement.annotation, scope))}
        if statement.value is not None:
            default = evaluator.field_default(statement.value, scope)
            if default is not MISSING:
                entry.update(commandline.stored(default))
        found[name] = entry
    return found


def request_fields(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """What a chat completion request may carry, with the defaults of the API."""
    for name in PROTOCOLS:
        module = evaluator.module(name)
        owner = evaluator.module_name(module, "ChatCompletionRequest") if module else None
        if isinstance(owner, ClassRef):
            found = model_fields(evaluator, owner)
            neutral = evaluator.class_attribute(owner, "_DEFAULT_SAMPLING_PARAMS")
            if isinstance(neutral, dict):
                for key, value in neutral.items():
                    found.setdefault(key, {"type": "float"})["unset"] = value
            return found
    return {}


def facts(wheel: Wheel, evaluator: Evaluator) -> dict[str, Any]:
    """Which keys of generation_config.json are taken, and the limit below which decoding is greedy."""
    found: dict[str, Any] = {"requires_transformers": wheel.requirement("transformers")}
    module = evaluator.module("sglang.srt.configs.model_config")
    owner = evaluator.module_name(module, "ModelConfig") if module else None
    method = (
        evaluator.class_attribute(owner, "get_default_sampling_params")
        if isinstance(owner, ClassRef)
        else None
    )
    if isinstance(method, FunctionRef):
        for statement in ast.walk(method.node):
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "available_params":
                found["generation_config_keys"] = evaluator.value(statement.value, Scope(method.module))
    params = evaluator.module("sglang.srt.sampling.sampling_params")
    value = evaluator.module_name(params, "_SAMPLING_EPS") if params else None
    if isinstance(value, float):
        found["greedy_below"] = value
    return found


def extract(wheel: Wheel) -> dict[str, Any]:
    """Everything this project wants to know about one version of SGLang."""
    evaluator = Evaluator(
        wheel,
        {
            "add_argument": commandline.add_argument,
            "add_argument_group": lambda *_: Unresolved("group"),
            "add_cli_args_from_dataclass": add_from_dataclass,
            "_declared_default": declared_default,
        },
    )
    return {
        "options": options(evaluator),
        "environment": environment(evaluator),
        "sampling": sampling(evaluator),
        "request": request_fields(evaluator),
        "facts": facts(wheel, evaluator),
    }
