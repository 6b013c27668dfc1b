"""Reads Ollama's model parameters, environment variables and request defaults from its Go source.

Parameters are the JSON names of `api.Options` and its `Runner`, defaults those of `DefaultOptions`. The
OpenAI-compatible route has defaults of its own, which win over the Modelfile's: `else` branches of its
request conversion.
"""

from __future__ import annotations

import re
from typing import Any

from extractors.checkout import Checkout

DISTRIBUTION = "ollama"
TYPES = "api/types.go"
ENVIRONMENT = "envconfig/config.go"
OPENAI = ("openai/openai.go",)
STRUCT = r"^type {} struct \{{\n(.*?)^\}}"
FIELD = re.compile(r'^\s+(\w+)\s+(\S+)\s+`json:"(\w+)', re.MULTILINE)
DEFAULTS = re.compile(r"^func DefaultOptions\(\) Options \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^\s+(\w+):\s+(.+?),(?:\s*//.*)?$", re.MULTILINE)
VARIABLE = re.compile(
    r'"((?:OLLAMA|CUDA|HIP|ROCR|GGML|GPU|HSA|LLAMA)_\w+)":\s+\{"\1",.*?, "((?:[^"\\]|\\.)*)"\}'
)
UINT = re.compile(r'Uint(?:64)?\("(\w+)", (\d+)\)')
UNSET = re.compile(
    r'options\["(\w+)"\] = \*?r\.\w+(?: \* [\d.]+)?\n\s+\} else \{\n\s+options\["\1"\] = ([\d.]+)'
)
KINDS = {"int": "int", "float32": "float", "bool": "bool", "*bool": "bool", "*int": "int", "[]string": "list"}


def sampling(types: str) -> dict[str, dict[str, Any]]:
    """Every parameter a Modelfile or a request may set, with its default."""
    found: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for struct in ("Options", "Runner"):
        block = re.search(STRUCT.format(struct), types, re.MULTILINE | re.DOTALL)
        for field, kind, name in FIELD.findall(block.group(1) if block else ""):
            names[field] = name
            found[name] = {"type": KINDS.get(kind, "bool" if kind == "TriState" else "str")}
    block = DEFAULTS.search(types)
    for field, text in ENTRY.findall(block.group(1) if block else ""):
        if field in names:
            found[names[field]].update(_default(text.strip()))
    return found


def _default(text: str) -> dict[str, Any]:
    if re.fullmatch(r"-?\d+", text):
        return {"default": int(text)}
    if re.fullmatch(r"-?\d+\.\d+", text):
        return {"default": float(text)}
    if text in ("true", "false"):
        return {"default": text == "true"}
    return {} if text in ("nil", "TriStateUndefined") else {"computed": text}


def environment(config: str) -> dict[str, dict[str, Any]]:
    """Every variable the server reads, with its default where one is written."""
    numbers = dict(UINT.findall(config))
    found: dict[str, dict[str, Any]] = {}
    for name, text in VARIABLE.findall(config):
        entry: dict[str, Any] = {"type": "int" if name in numbers else "str"}
        told = re.search(r"\(default:? \\?\"?([\w./]+)", text)
        if name in numbers:
            entry["default"] = int(numbers[name])
        elif told:
            entry["default"] = told.group(1)
        found[name] = entry
    return found


def request(openai: str) -> dict[str, dict[str, Any]]:
    """What the OpenAI-compatible route uses for a parameter a request leaves out."""
    return {
        name: {"type": "float", "default": None, "unset": float(text)} for name, text in UNSET.findall(openai)
    }


def extract(checkout: Checkout) -> dict[str, Any]:
    """Everything this project wants to know about one version of Ollama."""
    types, config, openai = checkout.read(TYPES), checkout.read(ENVIRONMENT), checkout.read(*OPENAI)
    return {
        "options": {},
        "environment": environment(config),
        "sampling": sampling(types),
        "request": request(openai),
        "facts": {},
    }
