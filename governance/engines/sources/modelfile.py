"""Ollama Modelfiles: FROM, PARAMETER, SYSTEM, TEMPLATE, ADAPTER and MESSAGE.

- Text is taken exactly: what stands between the quotes, no trimming, any script.
- The names of parameters are Ollama's own table (`ollama.py`).
- Faults carry the line: an instruction nobody knows is an error, as it is for Ollama.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from governance.engines import ollama
from governance.engines.model import Imported, Open
from governance.engines.sources.model import Service
from governance.errors import Unreadable
from governance.values import Json

_INSTRUCTION: Final = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+")
_KNOWN: Final = frozenset(
    ("FROM", "PARAMETER", "SYSTEM", "TEMPLATE", "ADAPTER", "MESSAGE", "LICENSE", "REQUIRES")
)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its upper-case name, its text, the line it starts on (from 1)."""

    name: str
    text: str
    line: int


def instructions(text: str, path: str) -> Iterator[Instruction]:
    """The instructions of a Modelfile in order. Raises `Unreadable` with the line of the first fault."""
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        line = lines[index].rstrip("\r")
        index += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _INSTRUCTION.match(line)
        if not match or match[1].upper() not in _KNOWN:
            word = line.split()[0]
            raise Unreadable(
                f"`{word}` is no instruction of a Modelfile",
                where=f"{path}:{index}",
                hint=f"instructions are {', '.join(sorted(_KNOWN))}",
            )
        start = index
        value, index = _value(line[match.end() :], lines, index, path)
        yield Instruction(match[1].upper(), value, start)


def _value(rest: str, lines: list[str], index: int, path: str) -> tuple[str, int]:
    """The text after the instruction's name, and the next line: triple quotes span lines, others do not."""
    head = re.match(r"([A-Za-z_]+[ \t]+)?\"\"\"", rest)
    if not head:
        return _unquoted(rest.strip()), index
    prefix = head[1] or ""
    body = rest[head.end() :]
    start = index
    while '"""' not in body:
        if index >= len(lines):
            raise Unreadable(
                'the text that starts with `"""` has no end',
                where=f"{path}:{start}",
                hint='close it with """',
            )
        body += "\n" + lines[index].rstrip("\r")
        index += 1
    return prefix + body[: body.index('"""')], index


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def looks_like_modelfile(text: str) -> bool:
    """Whether `text` starts as a Modelfile does: a FROM before any other instruction but comments."""
    for line in text.splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            return (
                bool(re.match(r"\s*(FROM|PARAMETER|SYSTEM)\s", line, re.IGNORECASE))
                and "FROM" in text.upper()
            )
    return False


def services(text: str, *, path: str, name: str) -> Iterator[Service]:
    """The model a Modelfile defines, as one service on Ollama."""
    pairs: list[tuple[str, str]] = []
    prompts: dict[str, Json] = {}
    model: dict[str, Json] = {}
    files: dict[str, bytes] = {}
    examples: list[Json] = []
    for item in instructions(text, path):
        if item.name == "FROM":
            model["id"] = item.text
        elif item.name == "PARAMETER":
            key, _, value = item.text.partition(" ")
            pairs.append((key.lower(), _unquoted(value.strip())))
        elif item.name == "SYSTEM":
            prompts["system"] = item.text
        elif item.name == "TEMPLATE":
            files["chat_template.gotmpl"] = item.text.encode()
        elif item.name == "ADAPTER":
            model["adapters"] = [{"name": "adapter", "path": item.text}]
        elif item.name == "MESSAGE":
            role, _, content = item.text.partition(" ")
            examples.append({"role": role, "content": _unquoted(content.strip())})
    if examples:
        prompts["few_shot"] = examples
    found = ollama.parameters(pairs)
    reason = "a tag of the library moves" if ":" in str(model.get("id", "")) else "no version is named"
    yield Service(
        name=name,
        where=path,
        engine="ollama",
        known=Imported(
            base={"model": model, **found.base},
            sampling=found.sampling,
            prompts={**found.prompts, **prompts},
            left_open=(
                *found.left_open,
                Open("base: model.weights.files", reason, suggestion="the digest `ollama show` prints"),
            ),
            findings=found.findings,
        ),
        files=files,
    )
