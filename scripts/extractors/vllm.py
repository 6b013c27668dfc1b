"""Reads vLLM's options, environment variables, sampling defaults and API fields from its wheel.

Three eras: options declared call by call (up to 0.8.4), from `vllm/config.py` (to 0.9), from
`vllm/config/*.py` (since 0.10). One reader serves all: it runs `make_arg_parser` statically and answers
`get_kwargs` itself, from the annotations.
"""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import Any

from extractors import commandline
from extractors.static import MISSING, ClassRef, Evaluator, Module, Scope, Unresolved
from extractors.wheel import Wheel

CLI_MODULES = (
    "vllm.entrypoints.common.cli_args",
    "vllm.entrypoints.launchers.cli_args",
    "vllm.entrypoints.openai.cli_args",
)
CHAT_MODULES = ("vllm.entrypoints.openai.chat_completion.protocol", "vllm.entrypoints.openai.protocol")
HUMAN_READABLE = "human_readable_int"


def docs(owner: ClassRef) -> dict[str, str]:
    """The text under each field of a class: vLLM keeps its help there."""
    found = {}
    body = owner.node.body
    for statement, following in pairwise(body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            found[statement.target.id] = following.value.value
    return found


def kwargs_of_type(evaluator: Evaluator, hints: list[tuple[str, Any]]) -> dict[str, Any]:
    """What vLLM's `get_kwargs` makes of a field's type."""
    kinds = [kind for kind, _ in hints]
    classes = [c for kind, c in hints if kind == "class"]
    if any("dict" in (ast.unparse(b) for b in c.node.bases) for c in classes):
        return {"type": "json"}
    dataclasses = [c for c in classes if not evaluator.is_enum(c) and is_dataclass(c)]
    if dataclasses:
        return {"type": "json", "config": dataclasses[0]}
    if set(kinds) == {"bool", "str", "none"}:
        return {"type": "str", "nargs": "?", "const": True}
    if "bool" in kinds:
        return {"action": "BooleanOptionalAction"}
    if "literal" in kinds:
        values = [v for kind, vs in hints if kind == "literal" for v in vs]
        kind = type(values[0]).__name__ if values else "str"
        open_ended = "str" in kinds
        return {"type": kind} if open_ended else {"type": kind, "choices": sorted(values, key=str)}
    for container in ("tuple", "list", "set"):
        if container in kinds:
            inner = next(of for kind, of in hints if kind == container) or []
            members = [v for kind, vs in inner if kind == "literal" for v in vs]
            return {"type": "str", "nargs": "+", **({"choices": sorted(members)} if members else {})}
    for simple in ("int", "float"):
        if simple in kinds:
            return {"type": simple}
    if "dict" in kinds:
        return {"type": "json"}
    enums = [c for c in classes if evaluator.is_enum(c)]
    if enums and all(isinstance(m.value, int) for m in evaluator.enum_members(enums[0])):
        return {"type": "int"}
    if enums and "str" not in kinds:
        members = evaluator.enum_members(enums[0])
        values = [m.value for m in members if isinstance(m.value, str) and m.value.isidentifier()]
        return {"type": "str", "choices": [m.name for m in members] + values}
    return {"type": "str"}


def is_dataclass(owner: ClassRef) -> bool:
    return any(
        "dataclass" in ast.unparse(d) or ast.unparse(d).startswith("config")
        for d in owner.node.decorator_list
    )


def get_kwargs(
    evaluator: Evaluator, arguments: list[Any], _keywords: dict[str, Any], _scope: Scope
) -> dict[str, Any] | Unresolved:
    """Stands in for `vllm.engine.arg_utils.get_kwargs`."""
    if not arguments or not isinstance(arguments[0], ClassRef):
        return Unresolved("get_kwargs")
    owner: ClassRef = arguments[0]
    help_texts = {k: v for c in reversed(list(evaluator.lineage(owner))) for k, v in docs(c).items()}
    result: dict[str, Any] = {}
    for name, (holder, statement) in evaluator.fields(owner).items():
        scope = Scope(holder.module, {}, holder)
        entry = kwargs_of_type(evaluator, evaluator.hints(statement.annotation, scope))
        default = evaluator.field_default(statement.value, scope) if statement.value else None
        entry["default"] = None if default is MISSING else default
        if name in help_texts:
            entry["help"] = help_texts[name]
        result[name] = entry
    return result


def _wrapped_type(_e: Evaluator, arguments: list[Any], _k: dict[str, Any], _s: Scope) -> Unresolved:
    """`optional_type(json.loads)`: the type that is wrapped."""
    if arguments and callable(arguments[0]):
        return Unresolved(arguments[0].__name__)
    return Unresolved(commandline.text(arguments[0]) if arguments else "str")


def evaluator_of(wheel: Wheel) -> Evaluator:
    return Evaluator(
        wheel,
        {
            "get_kwargs": get_kwargs,
            "nullable_kwargs": get_kwargs,
            "add_argument": commandline.add_argument,
            "add_argument_group": lambda *_: Unresolved("group"),
            "optional_type": _wrapped_type,
            "parse_type": _wrapped_type,
        },
    )


def options(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """Every option of `vllm serve`, with the fields of its nested configs under dotted names."""
    commandline.RECORDER.calls.clear()
    for name in CLI_MODULES:
        module = evaluator.module(name)
        if module is not None and "make_arg_parser" in module.bindings:
            function = evaluator.module_name(module, "make_arg_parser")
            evaluator.call(function, [Unresolved("parser")], {})
            break
    nested = [
        (arguments, keywords["config"])
        for arguments, keywords in commandline.RECORDER.calls
        if isinstance(keywords.get("config"), ClassRef)
    ]
    found = commandline.collected()
    speculative = _speculative(evaluator)
    if speculative is not None and "speculative_config" in found:
        nested.append((["--speculative-config"], speculative))
    for arguments, owner in nested:
        pair = commandline.record(arguments, {})
        if pair is not None:
            found.update(nested_fields(evaluator, pair[0], owner))
    return found


def _speculative(evaluator: Evaluator) -> ClassRef | None:
    """The class behind `--speculative-config`, whose declared type is a plain mapping."""
    for name in ("vllm.config.speculative", "vllm.config"):
        module = evaluator.module(name)
        owner = evaluator.module_name(module, "SpeculativeConfig") if module else None
        if isinstance(owner, ClassRef):
            return owner
    return None


def nested_fields(evaluator: Evaluator, prefix: str, owner: ClassRef) -> dict[str, dict[str, Any]]:
    """The public fields of a config given as JSON (`compilation_config.mode`)."""
    found = {}
    for name, keywords in get_kwargs(evaluator, [owner], {}, Scope(owner.module)).items():  # type: ignore[union-attr]
        if name.startswith("_") or keywords["default"] is MISSING:
            continue
        _, option = commandline.record([f"--{prefix}"], keywords) or ("", {})
        option["flags"] = []
        option.pop("negation", None)
        found[f"{prefix}.{name}"] = option
    return found


def environment(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """The variables of `vllm/envs.py`, with the default their reader gives, else the declared one."""
    module = evaluator.module("vllm.envs")
    if module is None:
        return {}
    reader = Evaluator(
        evaluator.sources,
        {"os.getenv": _getenv, "os.environ.get": _getenv, "getenv": _getenv, "env_with_choices": _choices,
         "env_list_with_choices": _choices, "env_set_with_choices": _choices, "maybe_convert_bool": _maybe,
         "maybe_convert_int": _maybe, "env_default_factory": _getenv},
    )  # fmt: skip
    reader.modules = evaluator.modules
    table = _variables_table(module)
    found: dict[str, dict[str, Any]] = {}
    for name, node in table.items():
        declared = _declared_variable(reader, module, name)
        value = (
            reader.value(node.body, Scope(module))
            if isinstance(node, ast.Lambda)
            else reader.value(node, Scope(module))
        )
        entry: dict[str, Any] = {"type": declared.get("type", "str")}
        read = commandline.stored(value)
        entry.update(read if "default" in read else declared.get("stored", read))
        found[name] = entry
    return found


def _getenv(_e: Evaluator, arguments: list[Any], keywords: dict[str, Any], _s: Scope) -> Any:
    return arguments[1] if len(arguments) > 1 else keywords.get("default")


def _choices(_e: Evaluator, arguments: list[Any], keywords: dict[str, Any], _s: Scope) -> Any:
    return arguments[1] if len(arguments) > 1 else keywords.get("default")


def _maybe(_e: Evaluator, arguments: list[Any], _k: dict[str, Any], _s: Scope) -> Any:
    return arguments[0] if arguments and arguments[0] is None else Unresolved("converted")


def _variables_table(module: Module) -> dict[str, ast.expr]:
    statement = module.bindings.get("environment_variables")
    node = getattr(statement, "value", None)
    found: dict[str, ast.expr] = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found[key.value] = value
    return found


def _declared_variable(reader: Evaluator, module: Module, name: str) -> dict[str, Any]:
    statement = module.bindings.get(name)
    if not isinstance(statement, ast.AnnAssign):
        return {}
    kinds = {kind for kind, _ in reader.hints(statement.annotation, Scope(module))}
    kind = next((k for k in ("bool", "int", "float", "list", "dict") if k in kinds), "str")
    value = reader.value(statement.value, Scope(module)) if statement.value else None
    return {"type": "json" if kind == "dict" else kind, "stored": commandline.stored(value)}


def sampling(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """The decoding parameters of `SamplingParams` with their defaults."""
    module = evaluator.module("vllm.sampling_params")
    owner = evaluator.module_name(module, "SamplingParams") if module else None
    if not isinstance(owner, ClassRef):
        return {}
    return {k: v for k, v in _model_fields(evaluator, owner).items() if not k.startswith("_")}


def request_fields(evaluator: Evaluator) -> dict[str, dict[str, Any]]:
    """What a chat completion request may carry, with the defaults of the API."""
    for name in CHAT_MODULES:
        module = evaluator.module(name)
        owner = evaluator.module_name(module, "ChatCompletionRequest") if module else None
        if isinstance(owner, ClassRef):
            found = _model_fields(evaluator, owner)
            found = {k: v for k, v in found.items() if not k.startswith("_") and k != "model_config"}
            neutral = evaluator.class_attribute(owner, "_DEFAULT_SAMPLING_PARAMS")
            if isinstance(neutral, dict):
                for key, value in neutral.items():
                    found.setdefault(key, {"type": "float"})["unset"] = value
            return found
    return {}


def _model_fields(evaluator: Evaluator, owner: ClassRef) -> dict[str, dict[str, Any]]:
    found = {}
    for name, keywords in get_kwargs(evaluator, [owner], {}, Scope(owner.module)).items():  # type: ignore[union-attr]
        keywords.pop("help", None)
        _, entry = commandline.record([f"--{name}"], keywords) or ("", {})
        found[name] = {k: v for k, v in entry.items() if k in {"type", "default", "computed", "choices"}}
    return found


def facts(wheel: Wheel, evaluator: Evaluator) -> dict[str, Any]:
    """Single facts that decide effective values: which keys of generation_config.json are taken, limits."""
    found: dict[str, Any] = {"requires_transformers": wheel.requirement("transformers")}
    keys = _available_params(evaluator)
    if keys:
        found["generation_config_keys"] = keys
    module = evaluator.module("vllm.sampling_params")
    for name, key in (("_SAMPLING_EPS", "greedy_below"), ("_MAX_TEMP", "raised_to")):
        value = evaluator.module_name(module, name) if module else None
        if isinstance(value, int | float):
            found[key] = value
    return found


def _available_params(evaluator: Evaluator) -> list[str]:
    for module_name in ("vllm.config.model", "vllm.config"):
        module = evaluator.module(module_name)
        owner = evaluator.module_name(module, "ModelConfig") if module else None
        if not isinstance(owner, ClassRef):
            continue
        for statement in ast.walk(owner.node):
            if (
                isinstance(statement, ast.Assign)
                and isinstance(statement.targets[0], ast.Name)
                and statement.targets[0].id == "available_params"
            ):
                value = evaluator.value(statement.value, Scope(owner.module))
                return value if isinstance(value, list) else []
    return []


def extract(wheel: Wheel) -> dict[str, Any]:
    """Everything this project wants to know about one version of vLLM."""
    evaluator = evaluator_of(wheel)
    return {
        "options": options(evaluator),
        "environment": environment(evaluator),
        "sampling": sampling(evaluator),
        "request": request_fields(evaluator),
        "facts": facts(wheel, evaluator),
    }
