"""SGLang's launch from a base config, and the config a launch describes.

- `python -m sglang.launch_server …`, `sglang serve …` and their container forms are read alike.
- A key that the version has no option for is refused, as for every engine.
- A switch that only turns something off says nothing about "on": `prefix_caching: true` adds no argument.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from governance.engines import sglang_map
from governance.engines.argparse_launch import adapter_arguments, arguments, extras_of, keys_of, options_of
from governance.engines.argparse_line import Spellings, read
from governance.engines.keys import look, put
from governance.engines.model import Imported, Launch, Open, OptionTable
from governance.engines.sglang_map import NAME, WORDS
from governance.errors import Usage
from governance.tiers.rules.variables import classify
from governance.values import ABSENT, Effect, Json, Tree, Unknown

MODULES: Final = frozenset({"sglang.launch_server", "sglang.srt.entrypoints.http_server"})
CHUNKED: Final = "engine.options.chunked_prefill"
CHUNK: Final = "engine.options.chunk_size"
CONNECTOR: Final = "engine.options.kv_transfer.connector"
ROLE: Final = "engine.options.kv_transfer.role"


def render(base: Tree, table: OptionTable | Unknown, *, host: str, port: int, weights: str | None) -> Launch:
    """The launch `base` asks for. Raises `Usage` naming the key that this version cannot be told."""
    if isinstance(table, Unknown):
        raise Usage(f"no launch for SGLang: {table.reason}", where="engine.version")
    found = options_of(base, table, WORDS)
    if look(base, CHUNKED) is False and look(base, CHUNK) is ABSENT:
        found["chunked_prefill_size"] = -1
    if paths := adapter_arguments(base):
        found["lora_paths"] = paths
    extras_of(base, table, WORDS, found)
    model = str(look(base, "model.id"))
    if weights is not None:
        found.pop("revision", None)
        found.setdefault("served_model_name", model)
    argv = ("python", "-m", "sglang.launch_server", "--model-path", weights or model)
    declared = look(base, "environment.variables")
    environment = {k: str(v) for k, v in declared.items()} if isinstance(declared, Mapping) else {}
    return Launch((*argv, "--host", host, "--port", str(port), *arguments(found, table, WORDS)), environment)


def parse(
    argv: Sequence[str], environment: Mapping[str, str], table: OptionTable, *, version: str = ""
) -> Imported:
    """The tiers a launch of SGLang describes, and every value that shapes the output and is left open."""
    line = read(list(_own_arguments(argv)), Spellings(table), exact=bool(version))
    values = {name: value for name, value in line.values.items() if value is not None}
    base, extra = keys_of(values, table, WORDS)
    put(base, "engine.name", NAME)
    if version:
        put(base, "engine.version", version)
    model = values.get("model_path") or (line.words[0] if line.words else None)
    if isinstance(model, str):
        put(base, "model.id", model)
    if look(base, ROLE) is not ABSENT and look(base, CONNECTOR) is ABSENT:
        backend = table.options.get("disaggregation_transfer_backend")
        put(base, CONNECTOR, backend.default if backend and isinstance(backend.default, str) else "mooncake")
    _read_adapters(base, values)
    _read_variables(base, environment)
    if extra:
        put(base, "engine.extra", extra)
    template = values.get("chat_template")
    prompts: dict[str, Json] = {"chat_template": {"file": template}} if isinstance(template, str) else {}
    return Imported(
        base,
        {},
        prompts,
        _left_open(base, values),
        tuple(line.findings(f"any SGLang version up to {table.version}")),
    )


def _own_arguments(argv: Sequence[str]) -> Iterator[str]:
    """The arguments of the server: without `python -m sglang.launch_server` and `sglang serve`."""
    rest = list(argv)
    for index, word in enumerate(rest):
        name = word.rstrip("/").rpartition("/")[2]
        if word in MODULES or name == "launch_server.py":
            yield from rest[index + 1 :]
            return
        if name == "sglang" and rest[index + 1 : index + 2] == ["serve"]:
            yield from rest[index + 2 :]
            return
        if word.startswith("-") and word != "-m":
            break
    yield from rest


def _read_adapters(base: dict[str, Json], values: Mapping[str, Json]) -> None:
    found: list[Json] = []
    paths = values.get("lora_paths")
    for item in paths if isinstance(paths, list) else ():
        name, equals, place = str(item).partition("=")
        place = place if equals else name
        found.append({"name": name, "path" if place.startswith(("/", ".")) else "id": place})
    if found:
        put(base, "model.adapters", found)


def _read_variables(base: dict[str, Json], environment: Mapping[str, str]) -> None:
    """Variables that shape the output or may; secrets as references."""
    kept: dict[str, Json] = {}
    for name, value in sorted(environment.items()):
        kind = classify(name)
        if kind == "secret":
            kept[name] = f"env:{name}"
        elif kind in ("output", "latency") or (kind == "unknown" and name.startswith(("SGLANG_", "SGL_"))):
            kept[name] = value
    if kept:
        put(base, "environment.variables", kept)


def _left_open(base: Tree, values: Mapping[str, Json]) -> tuple[Open, ...]:
    opened = [
        Open(f"base: {key}", reason, Effect.OUTPUT, suggestion)
        for key, (reason, suggestion) in sglang_map.LEFT_OPEN.items()
        if look(base, key) in (ABSENT, "auto")
    ]
    if "config" in values:
        reason = f"`--config {values['config']}` names a file with more options"
        opened.append(
            Open("base: engine", reason, Effect.OUTPUT, "import the launch together with that file")
        )
    return tuple(opened)
