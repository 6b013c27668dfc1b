"""vLLM's launch from a base config, and the config a launch describes.

- `vllm serve MODEL …`, `python -m vllm.entrypoints.openai.api_server --model MODEL …`, and the same inside
  `sh -c` lines that an importer took apart, are read alike.
- A key that the version has no option for is refused: a launch that silently leaves it out would run
  something else than the repository says.
- Positions are an option of their own up to 0.11.0; later they are a part of `--hf-overrides`.
- A `--config` file cannot be read from here: that it is named is reported, `argparse_line.config_arguments`
  turns its contents into arguments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from governance.engines import vllm_map
from governance.engines.argparse_launch import (
    Vocabulary,
    adapter_arguments,
    arguments,
    extras_of,
    keys_of,
    options_of,
)
from governance.engines.argparse_line import Line, Spellings, read
from governance.engines.keys import look, put
from governance.engines.model import UNKNOWN_OPTION, Imported, Launch, Open, OptionTable
from governance.errors import Usage
from governance.tiers.rules.variables import classify
from governance.values import ABSENT, Effect, Json, Tree, Unknown
from governance.verdict import Finding, Severity

NAME: Final = "vllm"
WORDS: Final = Vocabulary(
    NAME,
    vllm_map.BINDINGS,
    (vllm_map.OVERRIDES, vllm_map.SPECULATIVE, vllm_map.KV_TRANSFER),
    vllm_map.PARTS,
    vllm_map.SPECIAL,
    vllm_map.OPERATIONAL,
    special_keys=("engine.options.rope", "model.config_overrides", "engine.options.batch_invariant"),
)
# A tokenizer without a revision of its own is fetched at the model's.
TOKENIZER: Final = "model.tokenizer.revision"
REVISION: Final = "model.revision"


def render(base: Tree, table: OptionTable | Unknown, *, host: str, port: int, weights: str | None) -> Launch:
    """The launch `base` asks for. Raises `Usage` naming the key that this version cannot be told."""
    if isinstance(table, Unknown):
        raise Usage(f"no launch for vLLM: {table.reason}", where="engine.version")
    told, environment = _through_variables(base, table)
    found = options_of(told, table, WORDS)
    _positions(told, table, found)
    if modules := adapter_arguments(told):
        found["lora_modules"] = modules
    extras_of(told, table, WORDS, found)
    model = str(look(base, "model.id"))
    if weights is not None:
        found.pop("revision", None)
        found.setdefault("served_model_name", [model])
    argv = ("vllm", "serve", weights or model, "--host", host, "--port", str(port))
    return Launch((*argv, *arguments(found, table, WORDS)), environment)


def _through_variables(base: Tree, table: OptionTable) -> tuple[Tree, dict[str, str]]:
    """What this version is told by a variable, taken out of the tree, and all variables of the process."""
    declared = look(base, "environment.variables")
    environment = {k: str(v) for k, v in declared.items()} if isinstance(declared, Mapping) else {}
    invariant = look(base, "engine.options.batch_invariant")
    if isinstance(invariant, bool):
        environment[vllm_map.BATCH_INVARIANT] = "1" if invariant else "0"
    attention = look(base, "engine.options.attention")
    if isinstance(attention, str) and "attention_backend" not in table.options:
        if attention != "auto":
            environment[vllm_map.ATTENTION_VARIABLE] = attention
        return _without(base, "attention"), environment
    return base, environment


def _without(base: Tree, name: str) -> Tree:
    engine = look(base, "engine")
    options = look(base, "engine.options")
    if not isinstance(engine, Mapping) or not isinstance(options, Mapping):
        return base
    return {**base, "engine": {**engine, "options": {k: v for k, v in options.items() if k != name}}}


def _positions(base: Tree, table: OptionTable, found: dict[str, Json]) -> None:
    """`engine.options.rope` and `model.config_overrides`."""
    overrides = look(base, "model.config_overrides")
    laid: dict[str, Json] = dict(overrides) if isinstance(overrides, Mapping) else {}
    rope = look(base, "engine.options.rope")
    if isinstance(rope, Mapping):
        parts: dict[str, Json] = {}
        for name, value in rope.items():
            if name == "parameters" and isinstance(value, Mapping):
                parts |= value
            elif name in vllm_map.ROPE_PARTS:
                parts[vllm_map.ROPE_PARTS[name]] = value
            else:
                raise Usage(f"vLLM cannot be told `{name}`", where=f"engine.options.rope.{name}")
        if "rope_scaling" in table.options:
            theta = parts.pop("rope_theta", None)
            if theta is not None:
                found["rope_theta"] = theta
            if parts:
                found["rope_scaling"] = parts
        else:
            laid["rope_parameters"] = parts
    if laid:
        found["hf_overrides"] = laid


def parse(
    argv: Sequence[str], environment: Mapping[str, str], table: OptionTable, *, version: str = ""
) -> Imported:
    """The tiers a launch of vLLM describes, and every value that shapes the output and is left open."""
    line = read(_levels(list(_own_arguments(argv)), table), Spellings(table), exact=bool(version))
    values = dict(line.values)
    base, extra = keys_of(values, table, WORDS)
    put(base, "engine.name", NAME)
    if version:
        put(base, "engine.version", version)
    model = values.get("model") or (line.words[0] if line.words else None)
    if isinstance(model, str):
        put(base, "model.id", model)
    _read_positions(base, values)
    prompts = _read_prompts(values)
    _read_adapters(base, values)
    _read_variables(base, environment, table, known=bool(version))
    if extra:
        put(base, "engine.extra", extra)
    return Imported(base, {}, prompts, _left_open(base, values), tuple(_findings(line, table)))


def _own_arguments(argv: Sequence[str]) -> Iterator[str]:
    """The arguments of the server: without `vllm serve`, `python -m …` and `exec`."""
    rest = list(argv)
    for index, word in enumerate(rest):
        name = word.rstrip("/").rpartition("/")[2]
        if name == "vllm" and rest[index + 1 : index + 2] == ["serve"]:
            yield from rest[index + 2 :]
            return
        if word in vllm_map.MODULES or name == "api_server.py":
            yield from rest[index + 1 :]
            return
        if word == "serve" and index == 0:
            yield from rest[1:]
            return
        if word.startswith("-") and word != "-m":
            break
    yield from rest


def _levels(argv: list[str], table: OptionTable) -> list[str]:
    """`-O3`, `-O 3` and `-O=3` spelled out: the optimisation level, before 0.12 a compilation level."""
    flag = "--optimization-level" if "optimization_level" in table.options else "--compilation-config.level"
    result: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "-O" and rest and rest[0].isdigit():
            result += [flag, rest.pop(0)]
        elif word.startswith("-O") and word[2:].removeprefix("=").isdigit():
            result += [flag, word[2:].removeprefix("=")]
        else:
            result.append(word)
    return result


def _read_positions(base: dict[str, Json], values: Mapping[str, Json]) -> None:
    parts: dict[str, Json] = {}
    scaling = values.get("rope_scaling")
    parts |= scaling if isinstance(scaling, Mapping) else {}
    overrides = values.get("hf_overrides")
    laid = dict(overrides) if isinstance(overrides, Mapping) else {}
    for name in ("rope_parameters", "rope_scaling"):
        inner = laid.get(name)
        if isinstance(inner, Mapping) and all(not isinstance(v, Mapping) for v in inner.values()):
            parts |= inner
            del laid[name]
    if values.get("rope_theta") is not None:
        parts["rope_theta"] = values["rope_theta"]
    if "type" in parts:
        parts.setdefault("rope_type", parts.pop("type"))
    back = {theirs: ours for ours, theirs in vllm_map.ROPE_PARTS.items()}
    rope: dict[str, Json] = {back[k]: v for k, v in parts.items() if k in back}
    other = {k: v for k, v in parts.items() if k not in back}
    if other:
        rope["parameters"] = other
    if rope:
        put(base, "engine.options.rope", rope)
    if laid:
        put(base, "model.config_overrides", laid)


def _read_prompts(values: Mapping[str, Json]) -> dict[str, Json]:
    template = values.get("chat_template")
    return {"chat_template": {"file": template}} if isinstance(template, str) else {}


def _read_adapters(base: dict[str, Json], values: Mapping[str, Json]) -> None:
    modules = values.get("lora_modules")
    found: list[Json] = []
    for item in modules if isinstance(modules, list) else ():
        name, place = _adapter(str(item))
        if name:
            local = place.startswith(("/", "."))
            found.append({"name": name, "path" if local else "id": place})
    if found:
        put(base, "model.adapters", found)


def _adapter(text: str) -> tuple[str, str]:
    """`name=path`, or the JSON form."""
    if not text.lstrip().startswith("{"):
        name, _, place = text.partition("=")
        return name, place
    try:
        parts = json.loads(text)
    except ValueError:
        return "", ""
    return str(parts.get("name", "")), str(parts.get("path", ""))


def _read_variables(
    base: dict[str, Json], environment: Mapping[str, str], table: OptionTable, *, known: bool
) -> None:
    """Variables that shape the output or may: an option where they are one, secrets as references."""
    kept: dict[str, Json] = {}
    for name, value in sorted(environment.items()):
        by_option = known and "attention_backend" not in table.options
        if name == vllm_map.BATCH_INVARIANT:
            put(base, "engine.options.batch_invariant", vllm_map.is_on(value))
        elif name == vllm_map.ATTENTION_VARIABLE and by_option:
            put(base, "engine.options.attention", value)
        elif (kind := classify(name)) == "secret":
            kept[name] = f"env:{name}"
        elif kind in ("output", "latency") or (kind == "unknown" and name.startswith("VLLM_")):
            kept[name] = value
    if kept:
        put(base, "environment.variables", kept)


def _left_open(base: Tree, values: Mapping[str, Json]) -> tuple[Open, ...]:
    opened = [
        Open(f"base: {key}", reason, Effect.OUTPUT, suggestion)
        for key, (reason, suggestion) in vllm_map.LEFT_OPEN.items()
        if look(base, key) in (ABSENT, "auto")
        and not (key == TOKENIZER and look(base, REVISION) is not ABSENT)
    ]
    if "config" in values:
        opened.append(
            Open(
                "base: engine",
                f"`--config {values['config']}` names a file with more options",
                Effect.OUTPUT,
                "import the launch together with that file",
            )
        )
    return tuple(opened)


def _findings(line: Line, table: OptionTable) -> Iterator[Finding]:
    yield from line.findings(f"any vLLM version up to {table.version}")
    if len(line.words) > 1 and "model" not in line.values:
        yield Finding(
            UNKNOWN_OPTION,
            f"words that belong to no option: {', '.join(f'`{w}`' for w in line.words[1:])}",
            severity=Severity.WARNING,
        )
