"""Reads the launcher options and the request defaults of Text Generation Inference from its Rust source.

Options are the fields of clap's `struct Args`: `long` and `env` make the flag and the variable of the field's
name. Request defaults are the `unwrap_or` of `router/src/validation.rs`, and what the chat route makes of a
request before that.
"""

from __future__ import annotations

import re
from typing import Any

from extractors.checkout import Checkout

DISTRIBUTION = "text-generation-inference"
LAUNCHER = "launcher/src/main.rs"
VALIDATION = "router/src/validation.rs"
CHAT = ("router/src/lib.rs", "router/src/server.rs")
ARGS = re.compile(r"^struct Args \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(
    r"(?P<docs>(?:    ///[^\n]*\n)*)    #\[clap\((?P<clap>.*?)\)\]\n    (?P<name>\w+): (?P<type>[^,\n]+),",
    re.DOTALL,
)
DEFAULT = re.compile(r'default_value = "([^"]*)"')
ENUM = r"enum {} \{{\n(.*?)^\}}"
VARIANT = re.compile(r'(?:#\[clap\(name = "([^"]+)"\)\]\s*)?^    (\w+),', re.MULTILINE)
UNWRAP = re.compile(
    r"let (\w+)(?:: \w+)? = \1\s*(?:\.map\(.*?\)\s*)?\.unwrap_or\((?:Ok\()?([\d.]+)\)?\)", re.DOTALL
)
NUMBERS = {"usize", "u8", "u16", "u32", "u64", "i32", "i64"}


def options(launcher: str) -> dict[str, dict[str, Any]]:
    """The launcher's options by field name."""
    block = ARGS.search(launcher)
    found: dict[str, dict[str, Any]] = {}
    for match in FIELD.finditer(block.group(1) if block else ""):
        found[match["name"]] = _option(launcher, match["name"], match["clap"], match["type"], match["docs"])
    return found


def _option(launcher: str, name: str, clap: str, kind: str, docs: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"flags": ["--" + name.replace("_", "-")]}
    words = {word.strip() for word in clap.split(",")}
    if "short" in words:
        entry["flags"].append("-" + name[0])
    if "env" in words:
        entry["env"] = name.upper()
    inner = re.sub(r"^(?:Option|Vec)<(.*)>$", r"\1", kind)
    inner = re.sub(r"^Vec<(.*)>$", r"\1", inner)
    entry["type"] = _type(inner, kind)
    choices = ["true", "false"] if kind == "Option<bool>" else _choices(launcher, inner)
    if choices:
        entry["choices"] = choices
    default = DEFAULT.search(clap)
    if default:
        entry["default"] = _value(default.group(1), entry["type"])
    elif kind == "bool":
        entry["default"] = False
    first = re.search(r"/// (.+)", docs)
    entry["help"] = first.group(1).strip() if first else ""
    return entry


def _type(inner: str, kind: str) -> str:
    if "Vec<" in kind or kind == "Option<bool>":  # one word: `1,2,4`, `true`
        return "str"
    if inner in NUMBERS:
        return "int"
    return {"f32": "float", "f64": "float", "bool": "bool"}.get(inner, "str")


def _choices(launcher: str, name: str) -> list[str] | None:
    block = re.search(ENUM.format(re.escape(name)), launcher, re.MULTILINE | re.DOTALL)
    if block is None:
        return None
    body = re.sub(r"^    //.*\n", "", block.group(1), flags=re.MULTILINE)
    return [named or _kebab(variant) for named, variant in VARIANT.findall(body)]


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _value(text: str, kind: str) -> Any:
    if kind == "bool":
        return text == "true"
    return {"int": int, "float": float}.get(kind, str)(text)


def request(validation: str) -> dict[str, dict[str, Any]]:
    """What a parameter is when a request leaves it out."""
    found: dict[str, dict[str, Any]] = {}
    for name, text in UNWRAP.findall(validation):
        value = float(text) if "." in text else int(text)
        found[name] = {"type": type(value).__name__, "default": None, "unset": value}
    return found


def facts(chat: str) -> dict[str, Any]:
    """What the chat route does to a request before it is validated."""
    found: dict[str, Any] = {}
    shift = re.search(r"presence_penalty\.map\(\|x\| x \+ ([\d.]+)\)", chat)
    if shift:
        found["chat_presence_becomes_repetition_plus"] = float(shift.group(1))
    limit = re.search(r"max_tokens\.or\(Some\((\d+)\)\)", chat)
    if limit:
        found["chat_max_tokens"] = int(limit.group(1))
    found["chat_greedy_at_zero"] = re.search(r"(Some\(0\.0\)|== 0\.0) => \(false, None\)", chat) is not None
    found["chat_drops"] = [name for name in ("top_k", "typical_p", "best_of") if f"{name}: None," in chat]
    return found


def extract(checkout: Checkout) -> dict[str, Any]:
    """Everything this project wants to know about one version of TGI."""
    launcher, validation = checkout.read(LAUNCHER), checkout.read(VALIDATION)
    chat = "\n".join(checkout.read(path) for path in CHAT)
    return {
        "options": options(launcher),
        "environment": {},
        "sampling": {},
        "request": request(validation),
        "facts": facts(chat),
    }
