"""llama-server's launch from a base config.

A key of the config that llama.cpp has no option for is refused: a launch that silently leaves it out would
run something else than the repository says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines.flags import Flags
from governance.engines.keys import leaves, look
from governance.engines.llama_cpp_map import (
    BOUND,
    CACHE_KEYS,
    CACHE_VALUES,
    CONTEXT,
    NEUTRAL,
    SAMPLING,
    SLOTS,
)
from governance.engines.llama_cpp_settings import (
    AUTO_SLOTS,
    DIALECT,
    to_engine,
)
from governance.engines.model import Launch, Option, OptionTable
from governance.errors import Usage
from governance.values import ABSENT, Json, Tree, Unknown

PROGRAM: Final = "llama-server"


def render(base: Tree, table: OptionTable | Unknown, *, host: str, port: int, weights: str | None) -> Launch:
    """The launch `base` asks for. Raises `Usage` naming the key that llama.cpp cannot be told."""
    if isinstance(table, Unknown):
        raise Usage(f"no launch for llama.cpp: {table.reason}", where="engine.version")
    flags = Flags(table, DIALECT)
    argv = [PROGRAM, *_model(base, weights), "--host", host, "--port", str(port)]
    argv += _sizes(base)
    for key, flag in BOUND.items():
        value = look(base, key)
        if value is not ABSENT:
            argv += flags.write(_need(flags, flag, key), to_engine(key, value))
    argv += [*_cache(base), *_overrides(base, flags), *_extras(base, flags)]
    _refuse_the_rest(base)
    variables = look(base, "environment.variables")
    environment = {n: str(v) for n, v in variables.items()} if isinstance(variables, Mapping) else {}
    return Launch(tuple(argv), environment)


def _need(flags: Flags, flag: str, key: str) -> Option:
    option = flags.find(flag)
    if option is None:
        raise Usage(
            f"llama.cpp {flags.table.version} has no option for `{key}`",
            where=key,
            hint="remove the key, or name a version that has it in `engine.version`",
        )
    return option


def _model(base: Tree, weights: str | None) -> list[str]:
    found: list[str] = []
    name = str(look(base, "model.id") or "")
    files = look(base, "model.weights.files")
    if weights is not None:
        found = ["--model", weights]
    elif name.endswith(".gguf") or name.startswith(("/", "./", "../")):
        found = ["--model", name]
    elif look(base, "model.revision") is not ABSENT:
        raise Usage(
            f"llama-server cannot fetch `{name}` at a revision: it takes what the hub has that day",
            where="model.revision",
            hint="fetch the file at that revision and start with the local file",
        )
    else:
        found = ["--hf-repo", name]
        if isinstance(files, Mapping) and len(files) == 1:
            found += ["--hf-file", next(iter(files))]
    adapters = look(base, "model.adapters")
    return [*found, *_adapters(adapters if isinstance(adapters, list | tuple) else ())]


def _adapters(adapters: Sequence[Json]) -> list[str]:
    plain_paths: list[str] = []
    scaled: list[str] = []
    for adapter in adapters:
        if not isinstance(adapter, Mapping):
            continue
        path = str(adapter.get("path") or adapter.get("id") or "")
        scale = adapter.get("scale")
        if isinstance(scale, int | float):
            scaled.append(f"{path}:{scale:g}")
        else:
            plain_paths.append(path)
    found = ["--lora", ",".join(plain_paths)] if plain_paths else []
    return found + (["--lora-scaled", ",".join(scaled)] if scaled else [])


def _sizes(base: Tree) -> list[str]:
    """`--ctx-size` is the total of all slots unless the cache is unified."""
    length, slots = look(base, "engine.options.max_model_len"), look(base, "engine.options.max_num_seqs")
    found: list[str] = []
    if isinstance(length, int):
        unified = look(base, "engine.options.kv_unified")
        shared = unified is True or (unified is ABSENT and slots is ABSENT)
        number = slots if isinstance(slots, int) else AUTO_SLOTS
        found += [CONTEXT, str(length if shared else length * number)]
    return found + ([SLOTS, str(slots)] if isinstance(slots, int) else [])


def _cache(base: Tree) -> list[str]:
    tree = look(base, "precision.kv_cache")
    if not isinstance(tree, Mapping):
        return []
    found: list[str] = []
    for flag, half in ((CACHE_KEYS, "key_dtype"), (CACHE_VALUES, "value_dtype")):
        word = tree.get(half, tree.get("dtype"))
        if word is not None and word != "auto":
            found += [flag, str(word)]
    return found


def _overrides(base: Tree, flags: Flags) -> list[str]:
    tree = look(base, "engine.options.generation_overrides")
    if not isinstance(tree, Mapping):
        return []
    found: list[str] = []
    for name, value in leaves(tree):
        key = f"engine.options.generation_overrides.{name}"
        if name not in SAMPLING:
            raise Usage(
                f"llama-server has no default for `{name}`", where=key, hint="set it in the sampling config"
            )
        text = ";".join(map(str, value)) if name == "samplers" and isinstance(value, list | tuple) else value
        found += flags.write(_need(flags, SAMPLING[name][0], key), text)
    return found


def _extras(base: Tree, flags: Flags) -> list[str]:
    tree = look(base, "engine.extra")
    if not isinstance(tree, Mapping):
        return []
    common = {option.name: key for key, flag in BOUND.items() if (option := flags.find(flag))}
    special = {CONTEXT: "engine.options.max_model_len", SLOTS: "engine.options.max_num_seqs"}
    common |= {option.name: key for flag, key in special.items() if (option := flags.find(flag))}
    found: list[str] = []
    for name, value in sorted(tree.items()):
        option = _need(flags, name, f"engine.extra.{name}")
        if option.name in common:
            raise Usage(
                f"`engine.extra.{name}` has a common name",
                where=f"engine.extra.{name}",
                hint=common[option.name],
            )
        found += flags.write(option, value)
    return found


def _refuse_the_rest(base: Tree) -> None:
    """Every launch option of the config must be one that was written, or ask for nothing."""
    options = look(base, "engine.options")
    if not isinstance(options, Mapping):
        return
    handled = {*BOUND, "engine.options.max_model_len", "engine.options.max_num_seqs"}
    for name, value in leaves(options, "engine.options."):
        if name in handled or name.startswith("engine.options.generation_overrides."):
            continue
        if value not in NEUTRAL.get(name, ()):
            raise Usage(
                f"llama.cpp has no option for `{name}`",
                where=name,
                hint="remove the key; an option of its own name goes under `engine.extra`",
            )
