"""From keys of the base tier to options and back, for engines whose words are in a `Vocabulary`.

- `options_of` refuses, with the key named, what the engine's version cannot be told.
- `keys_of` returns what has no key of ours by the engine's own name, for `engine.extra`: nothing is dropped
  but what only reaches or watches the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from governance.engines.argparse_line import Spellings, merged, write
from governance.engines.bindings import Binding, Group, Part
from governance.engines.keys import leaves, look, put
from governance.engines.model import Option, OptionTable
from governance.errors import Usage
from governance.records import dataclass
from governance.values import ABSENT, Json, Tree

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of one engine: bindings read in both directions, and options that shape no answer."""

    engine: str
    bindings: tuple[Binding, ...]
    groups: tuple[Group, ...] = ()
    parts: tuple[Part, ...] = ()
    special: frozenset[str] = frozenset()
    operational: frozenset[str] = frozenset()
    special_keys: tuple[str, ...] = ()


# Parts of the base tier that no launch says: files, digests, notes, the host.
NOT_SAID = (
    "kind", "description", "reason", "image", "hardware", "environment", "engine.name", "engine.version",
    "engine.commit", "engine.build", "engine.extra", "model.id", "model.config_revision", "model.weights",
    "model.generation_config", "model.tokenizer_config", "model.config", "model.license",
    "model.architecture", "model.context_length", "model.tokenizer.files", "model.tokenizer.padding_side",
    "model.tokenizer.extra_special_tokens", "precision.weights", "precision.activations",
    "precision.kv_cache.eviction", "precision.logits", "precision.attention_accumulation", "precision.matmul",
    "precision.reduced_precision_reduction", "precision.upcast_layer_norm", "model.adapters",
    "engine.options.speculative.files",
)  # fmt: skip


def options_of(base: Tree, table: OptionTable, words: Vocabulary) -> dict[str, Json]:
    """The value of each option `base` sets, by name. Raises `Usage` naming the key that cannot be said."""
    found: dict[str, Json] = {}
    said: set[str] = set()
    for binding in words.bindings:
        value = look(base, binding.key)
        option = binding.option(table)
        if value is not ABSENT and option is not None:
            found[option.name] = _coded(words, table, binding.key, binding.codec.to_engine, value)
            said.add(binding.key)
    for group in words.groups:
        value = look(base, group.prefix)
        option = group.option(table)
        if isinstance(value, Mapping) and option is not None:
            ours = {k: v for k, v in value.items() if f"{group.prefix}.{k}" not in NOT_SAID}
            found[option.name] = _coded(words, table, group.prefix, group.to_engine, ours)
            said.add(group.prefix)
    for part in words.parts:
        value = look(base, part.key)
        option = part.option(table)
        if value is not ABSENT and option is not None and part.key not in said:
            held = found.get(option.name)
            laid = {part.part: part.codec.to_engine(value)}
            found[option.name] = merged(held if isinstance(held, Mapping) else {}, laid)
            said.add(part.key)
    _refuse(base, table, words, said)
    return found


def _coded(words: Vocabulary, table: OptionTable, key: str, encode: Callable[[T], Json], value: T) -> Json:
    try:
        return encode(value)
    except ValueError as err:
        raise Usage(f"{words.engine} {table.version} cannot be told `{key}`: {err}", where=key) from None


def _refuse(base: Tree, table: OptionTable, words: Vocabulary, said: set[str]) -> None:
    """Raise for a key of the launch that was not said."""
    known = (*NOT_SAID, *words.special_keys, *said)
    for key, value in leaves(base):
        if value != {} and not any(key == k or key.startswith(f"{k}.") for k in known):
            raise Usage(
                f"{words.engine} {table.version} has no option for `{key}`",
                where=key,
                hint="remove the key, or name a version that has it in `engine.version`",
            )


def extras_of(base: Tree, table: OptionTable, words: Vocabulary, found: dict[str, Json]) -> None:
    """Lay `engine.extra` over the options. Raises `Usage` for an option the version does not have."""
    extra = look(base, "engine.extra")
    spellings = Spellings(table)
    for name, value in extra.items() if isinstance(extra, Mapping) else ():
        head, dot, path = name.partition(".")
        option = spellings.named(name) if not dot else spellings.named(head)
        if option is None:
            raise Usage(
                f"`{name}` is no option of {words.engine} {table.version}", where=f"engine.extra.{name}"
            )
        if not dot:
            held = found.get(option.name)
            both = isinstance(held, Mapping) and isinstance(value, Mapping)
            found[option.name] = merged(held, value) if both and isinstance(held, Mapping) else value
            continue
        nested: Json = value
        for step in reversed(path.split(".")):
            nested = {step: nested}
        held = found.get(option.name)
        found[option.name] = merged(held if isinstance(held, Mapping) else {}, nested)


def arguments(found: Mapping[str, Json], table: OptionTable, words: Vocabulary) -> Iterator[str]:
    """The options as arguments, in the order of the table. Raises `Usage` for a value no flag can say."""
    for name in sorted(found):
        option, value = table.options[name], found[name]
        try:
            if _is_no_choice(option, value):
                raise ValueError(
                    f"`{name}` cannot be `{value}`; it is one of {', '.join(option.choices or ())}"
                )
            yield from write(option, value)
        except ValueError as err:
            raise Usage(f"{words.engine} {table.version}: {err}", where=f"option `{name}`") from None


def adapter_arguments(base: Tree) -> list[Json]:
    """Each adapter of the model as `name=place`. Raises `Usage` for one with neither path nor id."""
    adapters = look(base, "model.adapters")
    found: list[Json] = []
    for index, adapter in enumerate(adapters if isinstance(adapters, list) else ()):
        place = adapter.get("path") or adapter.get("id") if isinstance(adapter, Mapping) else None
        if not isinstance(adapter, Mapping) or not place:
            raise Usage("an adapter needs `path` or `id`", where=f"model.adapters[{index}]")
        found.append(f"{adapter.get('name')}={place}")
    return found


def takes(option: Option, value: str | int | float) -> bool:
    """Whether `value` is one of the choices; names of an enum, all capitals, are taken in any case."""
    choices = option.choices or ()
    named = all(choice == choice.upper() for choice in choices)
    return str(value) in choices or (named and str(value).upper() in choices)


def _is_no_choice(option: Option, value: Json) -> bool:
    if option.choices is None or isinstance(value, bool) or not isinstance(value, str | int):
        return False
    return not takes(option, value)


def keys_of(
    values: Mapping[str, Json], table: OptionTable, words: Vocabulary
) -> tuple[dict[str, Json], dict[str, Json]]:
    """The base tree the options describe, and what has no key of ours, by the engine's own names."""
    base: dict[str, Json] = {}
    rest = {n: v for n, v in values.items() if n not in words.special and n not in words.operational}
    for binding in words.bindings:
        option = next((table.options[n] for n in binding.names if n in rest and n in table.options), None)
        if option is not None:
            put(base, binding.key, binding.codec.to_config(rest.pop(option.name)))
    for part in words.parts:
        value = rest.get(part.name)
        if isinstance(value, Mapping) and part.part in value and look(base, part.key) is ABSENT:
            put(base, part.key, part.codec.to_config(value[part.part]))
            rest[part.name] = {k: v for k, v in value.items() if k != part.part}
            if not rest[part.name]:
                del rest[part.name]
    for group in words.groups:
        _ungroup(group, rest, base)
    return base, {extra_name(n): v for n, v in rest.items()}


def extra_name(name: str) -> str:
    """`speculative_config.draft_x` as `speculative-config.draft_x`: the part is a key of JSON, not a flag."""
    head, dot, part = name.partition(".")
    return head.replace("_", "-") + dot + part


def _ungroup(group: Group, rest: dict[str, Json], base: dict[str, Json]) -> None:
    """The parts of a JSON option that have keys of ours go there, the others stay under dotted names."""
    name = next((n for n in group.names if n in rest), None)
    value = rest.get(name) if name is not None else None
    if name is None or not isinstance(value, Mapping):
        return
    ours, left = group.to_config(value)
    if ours:
        put(base, group.prefix, ours)
        del rest[name]
        for part, item in left.items():
            rest[f"{name}.{part}"] = item


def default_of(option: Option) -> Json | None:
    """The literal default of an option, None where there is none or it is computed."""
    value = option.default
    return value if isinstance(value, str | int | float | bool | list | dict) else None
