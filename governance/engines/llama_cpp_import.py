"""The config a launch of llama-server describes, and what it leaves open.

- Flags of reaching and watching the server (ports, logs, keys) are read and dropped; a secret on the command
  line is never kept.
- What is no option, or no value of one, is a finding and is not taken over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Final

from governance.engines.flags import Flags, Given, Said, is_switch, long_flag, text_of
from governance.engines.keys import finite, look, put
from governance.engines.llama_cpp_map import (
    BOUND,
    CACHE_KEYS,
    CACHE_VALUES,
    CONTEXT,
    MODEL_FLAGS,
    OPERATIONAL,
    SAMPLING,
    SLOTS,
)
from governance.engines.llama_cpp_settings import (
    AUTO_SLOTS,
    DIALECT,
    NAME,
    from_engine,
    per_sequence,
    plain,
)
from governance.engines.model import UNKNOWN_OPTION, Imported, Open, OptionTable
from governance.values import ABSENT, Effect, Json, Tree, Unknown
from governance.verdict import Finding, Severity

# What a launch that says nothing leaves to the machine or the build, and what to write down instead.
_LEFT_OPEN: Final[dict[str, tuple[str, str]]] = {
    "engine.options.max_model_len": (
        "no context size: the model's own is used, lowered to what the memory allows",
        "engine: {options: {max_model_len: 4096}}",
    ),
    "engine.options.max_num_seqs": (
        "no number of slots: the build chooses, and shares one cache between them",
        "engine: {options: {max_num_seqs: 4}}",
    ),
    "engine.options.attention": (
        "flash attention is left to the build and the device",
        "engine: {options: {attention: flash}}",
    ),
    "engine.options.threads": (
        "the number of threads is that of the host's cores, and moves the order of sums",
        "engine: {options: {threads: 4}}",
    ),
    "engine.options.gpu_layers": (
        "as many layers go to the GPU as its free memory takes",
        "engine: {options: {gpu_layers: -1}}",
    ),
    "precision.kv_cache.dtype": (
        "the number format of the KV cache is the build's default",
        "precision: {kv_cache: {dtype: f16}}",
    ),
}


def parse(argv: Sequence[str], environment: Mapping[str, str], table: OptionTable) -> Imported:
    """The tiers a launch of llama-server describes, and what it leaves open."""
    flags = Flags(table, DIALECT)
    arguments = list(argv)
    while arguments and not arguments[0].startswith("-"):
        arguments.pop(0)
    given = flags.read(_old_spellings(arguments))
    said = {one.option.name: one for one in flags.read_environment(environment).said}
    said |= {one.option.name: one for one in given.said}
    base: dict[str, Json] = {"engine": {"name": NAME}}
    sampling: dict[str, Json] = {}
    prompts: dict[str, Json] = {}
    values = {name: one for name, one in said.items() if not one.error}
    _read_model(base, values, flags)
    _read_sizes(base, values, flags)
    _read_cache(base, values, flags)
    _read_rest(base, sampling, prompts, values, flags)
    _read_negated(base, environment, flags)
    return Imported(base, sampling, prompts, _open(base, sampling), _findings(given, tuple(said.values())))


def _old_spellings(arguments: Sequence[str]) -> list[str]:
    """`-fa` alone meant on before build b6325; today it takes a word."""
    found: list[str] = []
    for at, word in enumerate(arguments):
        found.append(word)
        follower = arguments[at + 1] if at + 1 < len(arguments) else "-"
        if word in ("-fa", "--flash-attn", "--flash_attn") and follower.startswith("-"):
            found.append("on")
    return found


def _take(values: dict[str, Said], flags: Flags, flag: str) -> Json:
    option = flags.find(flag)
    one = values.pop(option.name, None) if option is not None else None
    return one.value if one is not None else None


def _read_model(base: dict[str, Json], values: dict[str, Said], flags: Flags) -> None:
    path, repo = _take(values, flags, "--model"), _take(values, flags, "--hf-repo")
    file, url = _take(values, flags, "--hf-file"), _take(values, flags, "--model-url")
    docker = _take(values, flags, "--docker-repo")
    if isinstance(repo, str):
        name, _, quantisation = repo.partition(":")
        put(base, "model.id", name)
        if quantisation:
            put(base, "precision.weights", {"method": "gguf", "type": quantisation.lower()})
        if isinstance(file, str):
            put(base, "engine.extra.hf-file", file)
    elif path or url or docker:
        put(base, "model.id", str(path or url or docker))
    if "model" in base:
        put(base, "model.weights.format", "gguf")
    adapters = [*_paths(_take(values, flags, "--lora")), *_scaled(_take(values, flags, "--lora-scaled"))]
    if adapters:
        put(base, "model.adapters", adapters)


def _paths(text: Json) -> list[Json]:
    paths = text.split(",") if isinstance(text, str) else []
    return [{"name": _stem(path), "path": path} for path in paths if path]


def _scaled(text: Json) -> list[Json]:
    found: list[Json] = []
    for part in text.split(",") if isinstance(text, str) else []:
        path, _, scale = part.rpartition(":")
        with contextlib.suppress(ValueError):
            if path and finite(float(scale)):
                found.append({"name": _stem(path), "path": path, "scale": float(scale)})
    return found


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].removesuffix(".gguf")


def _read_sizes(base: dict[str, Json], values: dict[str, Said], flags: Flags) -> None:
    total, slots = _take(values, flags, CONTEXT), _take(values, flags, SLOTS)
    option = flags.find("--kv-unified")
    unified = values[option.name].value if option is not None and option.name in values else None
    number = slots if isinstance(slots, int) and slots > 0 else None
    if number is not None:
        put(base, "engine.options.max_num_seqs", number)
    if isinstance(total, int) and total > 0:
        shared = unified is True or (unified is None and number is None)
        share = per_sequence(total, number or AUTO_SLOTS, unified=shared)
        put(base, "engine.options.max_model_len", share)


def _read_cache(base: dict[str, Json], values: dict[str, Said], flags: Flags) -> None:
    keys, cached = _take(values, flags, CACHE_KEYS), _take(values, flags, CACHE_VALUES)
    if keys is not None and keys == cached:
        put(base, "precision.kv_cache.dtype", keys)
        return
    if keys is not None:
        put(base, "precision.kv_cache.key_dtype", keys)
    if cached is not None:
        put(base, "precision.kv_cache.value_dtype", cached)


def _read_rest(
    base: dict[str, Json],
    sampling: dict[str, Json],
    prompts: dict[str, Json],
    values: Mapping[str, Said],
    flags: Flags,
) -> None:
    bound = {option.name: key for key, flag in BOUND.items() if (option := flags.find(flag))}
    drawn = {option.name: key for key, (flag, _) in SAMPLING.items() if (option := flags.find(flag))}
    dropped = {option.name for flag in (*OPERATIONAL, *MODEL_FLAGS) if (option := flags.find(flag))}
    for name, one in sorted(values.items()):
        flag = long_flag(one.option)
        if flag == "--chat-template-file":
            put(prompts, "chat_template", {"file": one.value})
        elif name in bound:
            value = from_engine(bound[name], one.value)
            if not isinstance(value, Unknown) and value is not ABSENT and not _unlimited_seed(name, value):
                put(base, bound[name], value)
        elif name in drawn:
            value = plain(drawn[name], one.value)
            if not isinstance(value, Unknown) and value is not ABSENT:
                put(base, f"engine.options.generation_overrides.{drawn[name]}", value)
                put(sampling, drawn[name], value)
        elif name not in dropped:
            put(base, f"engine.extra.{flag.lstrip('-')}", _number(one.value))


def _unlimited_seed(name: str, value: Json) -> bool:
    return name == "seed" and isinstance(value, int) and value < 0


def _number(value: Json) -> Json:
    """Text that is a number as a number: how a person writes it in YAML."""
    if isinstance(value, str) and value.lstrip("-").isdigit() and text_of(int(value)) == value:
        return int(value)
    return value


def _read_negated(base: dict[str, Json], environment: Mapping[str, str], flags: Flags) -> None:
    """`LLAMA_ARG_NO_X` set to anything is `--no-x`."""
    bound = {option.name: key for key, flag in BOUND.items() if (option := flags.find(flag))}
    for name in environment:
        if not name.startswith("LLAMA_ARG_NO_"):
            continue
        positive = "LLAMA_ARG_" + name.removeprefix("LLAMA_ARG_NO_")
        option = next((o for o in flags.table.options.values() if o.env == positive and o.negation), None)
        if option is not None and is_switch(option):
            key = bound.get(option.name, f"engine.extra.{long_flag(option).lstrip('-')}")
            if look(base, key) is ABSENT:
                put(base, key, "builtin" if key.endswith("chat_template_engine") else False)


def _open(base: Tree, sampling: Tree) -> tuple[Open, ...]:
    found = [
        Open(
            "base: engine.version", "a launch does not name the build", suggestion="engine: {version: b10434}"
        )
    ]
    if look(base, "model.id") is ABSENT:
        found.append(Open("base: model.id", "the launch names no model"))
    for key, (reason, suggestion) in _LEFT_OPEN.items():
        halves = look(base, "precision.kv_cache") if key.startswith("precision.kv_cache") else ABSENT
        value = look(base, key)
        if (value is ABSENT and halves is ABSENT) or value == "auto":
            found.append(Open(f"base: {key}", reason, Effect.OUTPUT, suggestion))
    if look(sampling, "seed") is ABSENT and look(base, "engine.options.seed") is ABSENT:
        found.append(Open("sampling: seed", "a new random seed per request", Effect.OUTPUT, "seed: 42"))
    return tuple(found)


def _findings(given: Given, said: Sequence[Said]) -> tuple[Finding, ...]:
    found = [
        Finding(
            UNKNOWN_OPTION,
            f"`{flag}` is no option of llama-server that tierlock knows",
            Severity.WARNING,
            hint="check its spelling and the build; it is not taken over",
        )
        for flag in given.unknown
    ]
    found += [Finding(UNKNOWN_OPTION, one.error, Severity.ERROR) for one in said if one.error]
    found += [
        Finding(UNKNOWN_OPTION, f"`{word}` belongs to no option", Severity.WARNING) for word in given.words
    ]
    return tuple(found)
