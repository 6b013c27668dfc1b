"""Turns the `add_argument` calls of an engine into option records.

A record is what the table stores: `flags`, `type`, `choices`, `default` or `computed`, `negation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractors.static import ClassRef, EnumMember, Evaluator, FunctionRef, Module, Scope, TypeRef, Unresolved

TYPE_NAMES = {
    "int": "int", "float": "float", "str": "str", "bool": "bool", "json.loads": "json", "loads": "json",
    "json_list_type": "json", "human_readable_int": "int", "human_readable_int_or_auto": "int",
    "nullable_str": "str", "optional_str": "str", "optional_int": "int", "optional_float": "float",
    "nullable_kvs": "str", "parse_dataclass": "json", "union_dict_and_str": "json", "from_cli": "json",
    "parse_limit_mm_per_prompt": "json", "from_json": "json", "parse_cuda_graph_config_arg": "json",
}  # fmt: skip


@dataclass
class Parser:
    """Stands in for an argument parser and for its groups: remembers every `add_argument`."""

    calls: list[tuple[list[Any], dict[str, Any]]] = field(default_factory=list)


def add_argument(
    _evaluator: Evaluator, arguments: list[Any], keywords: dict[str, Any], _scope: Scope
) -> Unresolved:
    """Records one call; every parser and group of one run shares the recorder in `RECORDER`."""
    RECORDER.calls.append((arguments, keywords))
    return Unresolved("add_argument")


RECORDER = Parser()


def record(arguments: list[Any], keywords: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The option a call declares, by name; None for a positional argument."""
    flags = [a for a in arguments if isinstance(a, str) and a.startswith("-")]
    if not flags:
        return None
    long = [f for f in flags if f.startswith("--")] or flags
    dest = keywords.get("dest")
    name = dest if isinstance(dest, str) else long[0].lstrip("-").replace("-", "_")
    found: dict[str, Any] = {"flags": [*long, *(f for f in flags if f not in long)]}
    kind = option_type(keywords)
    found["type"] = kind
    if kind == "bool" and text(keywords.get("action")).endswith("BooleanOptionalAction"):
        found["negation"] = "--no-" + long[0].lstrip("-")
    if text(keywords.get("action")) in {"append", "extend"} and "nargs" not in keywords:
        found["repeats"] = True
    choices = choices_of(keywords.get("choices"))
    if text(keywords.get("action")).endswith("StoreBoolean"):
        choices = ["true", "false"]
    if choices is not None:
        found["choices"] = choices
    default = keywords.get("default", False if text(keywords.get("action")) == "store_true" else None)
    if text(keywords.get("action")) == "store_false" and "default" not in keywords:
        default = True
    found.update(stored(default))
    if "help" in keywords:
        found["help"] = keywords["help"]
    return name, found


def text(value: Any) -> str:
    match value:
        case str():
            return value
        case Unresolved():
            return value.text
        case ClassRef():
            return value.name
        case FunctionRef():
            return getattr(value.node, "name", "lambda")
    return ""


def option_type(keywords: dict[str, Any]) -> str:
    """One of bool, int, float, str, json, list."""
    action = text(keywords.get("action"))
    if action.startswith("store_") or action.endswith(("BooleanOptionalAction", "StoreBoolean")):
        return "bool"
    valueless = action.startswith(("DeprecatedStoreTrue", "DeprecatedStoreConst", "DeprecatedAction"))
    if valueless and keywords.get("type") is None and "nargs" not in keywords:
        return "bool"
    if action in {"append", "extend"} or keywords.get("nargs") in {"+", "*"}:
        return "list"
    declared = keywords.get("type")
    if isinstance(declared, str):
        return declared
    name = text(declared).split("(")[0]
    for key, kind in TYPE_NAMES.items():
        if name in {key, key.split(".")[-1]} or name.split(".")[-1] == key:
            return kind
    if declared is None and isinstance(keywords.get("default"), bool | int | float):
        return type(keywords["default"]).__name__
    return "str"


def choices_of(value: Any) -> list[str] | None:
    """The choices as text, in the order written, sorted when they come from a set; None when not known."""
    if isinstance(value, ClassRef | Unresolved | FunctionRef | Module | TypeRef) or value is None:
        return None
    items = [plain(v) for v in value]
    if any(isinstance(v, Unresolved) for v in items):
        return None
    named = list(dict.fromkeys(str(v) for v in items if v is not None))
    return (sorted(named) if isinstance(value, set) else named) or None


def plain(value: Any) -> Any:
    """`value` as JSON, or `Unresolved`."""
    match value:
        case EnumMember():
            return plain(value.value)
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple() | set():
            items = [plain(v) for v in value]
            if any(isinstance(v, Unresolved) for v in items):
                return Unresolved("list with computed parts")
            return sorted(items, key=str) if isinstance(value, set) else items
        case dict():
            pairs = {str(k): plain(v) for k, v in value.items()}
            if any(isinstance(v, Unresolved) for v in pairs.values()):
                return Unresolved("mapping with computed parts")
            return pairs
        case ClassRef():
            return Unresolved(f"{value.name}()")
        case FunctionRef():
            return Unresolved("computed by a function")
        case TypeRef():
            return Unresolved("a type")
    return value if isinstance(value, Unresolved) else Unresolved(str(type(value).__name__))


def stored(default: Any) -> dict[str, Any]:
    """How a default is written down: `default`, or `computed` with the source text as the reason."""
    value = plain(default)
    if isinstance(value, Unresolved):
        return {} if value.text == "argparse.SUPPRESS" else {"computed": value.text}
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return {"computed": str(value)}
    return {"default": value}


def collected(names: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """The options recorded since the last call, by name; a later declaration replaces an earlier one."""
    found = dict(names or {})
    for arguments, keywords in RECORDER.calls:
        pair = record(arguments, keywords)
        if pair is not None:
            found[pair[0]] = pair[1]
    RECORDER.calls.clear()
    return found
