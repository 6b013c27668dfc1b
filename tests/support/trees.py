"""Random trees for the schemas: valid ones made from the compiled schema, and ways to damage them."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from governance.tiers import compiled
from governance.tiers.schemas import forms

# One text per form that has it; a test says that none is missing.
EXAMPLES = {
    forms.LINE.pattern: ["Qwen/Qwen2.5-7B-Instruct", "registry.example/vllm:v1@sha256:" + "0" * 64, "句子"],
    forms.WORD.pattern: ["auto", "fp8_e4m3", "q4_1", "FLASH_ATTN", "same-as-input"],
    forms.NAME.pattern: ["smollm2-q4", "v1.2", "客服", "A"],
    forms.IDENTIFIER.pattern: ["article", "_x", "A1"],
    forms.DIGEST.pattern: ["sha256:" + "ab" * 32, "blake3:" + "0" * 64],
    forms.DATE.pattern: ["2026-11-30", "2024-02-29"],
    forms.VERSION.pattern: ["0.8.4", "b10434", "0.8.5.post1+cu124"],
    forms.VERSION_RANGE.pattern: [">=535,<560", "==12.4.*", ">=3.11, <3.14"],
    forms.VARIABLE.pattern: ["OMP_NUM_THREADS", "x"],
    forms.SECRET.pattern: ["env:API_KEY"],
    forms.OPTION.pattern: ["disable-cascade-attn", "hf_overrides"],
    forms.CAPABILITY.pattern: ["8.9", "9.0a", "12.0"],
    forms.PUBLIC_KEY.pattern: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIQ== reviewer"],
    forms.TOKEN_KEY.pattern: ["50256", "0"],
    forms.URL.pattern: ["http://127.0.0.1:8080/v1", "https://models.example"],
    forms.RULE.pattern: ["TL301"],
    forms.CONFIG.pattern: ["sampling/factual"],
}
ODD_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 3.5, 1.0, -0.0, 0.5, 1e300, float("nan"), float("inf"), 2**53,
    2**53 - 1, -(2**60),
    "", "a", "inherit", "true", "0.1", "1", "auto", "none", " ", "a b", "\n", "a\n", "é", "sha256:ab",
    "../x", "env:X",
    [], [1], ["a"], [None], [[]], {}, {"a": 1}, {"file": "x"}, {"file": 1}, {"": "a"}, {"type": "text"},
]  # fmt: skip


def random_tree(kind: str, rng: random.Random, *, density: float = 0.3) -> dict[str, Any]:
    """A tree the compiled schema of `kind` accepts; `density` is the share of optional keys that are set."""
    schema = compiled.schema(kind)
    shared = {each["ref"]: each for each in schema["definitions"]}
    tree: dict[str, Any] = _value(schema["schema"], rng, density, shared, 0)
    return tree


def damaged(tree: Any, rng: random.Random) -> Any:
    """A copy of `tree` with one to three random changes; some of them leave it valid."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        holders = list(_holders(tree))
        holder = rng.choice(holders)
        _damage(holder, rng)
    return tree


def _value(
    schema: dict[str, Any], rng: random.Random, density: float, shared: dict[str, Any], depth: int
) -> Any:
    kind = schema["type"]
    if kind == "definition-ref":
        if schema["schema_ref"] == "JsonValue" and depth > 6:
            return rng.choice([True, 1, 0.25, "x"])
        return _value(shared[schema["schema_ref"]], rng, density, shared, depth + 1)
    if kind == "union":
        return _value(rng.choice(schema["choices"]), rng, density, shared, depth)
    if kind == "typed-dict":
        return {
            name: _value(field["schema"], rng, density, shared, depth + 1)
            for name, field in schema["fields"].items()
            if field["required"] or rng.random() < density
        }
    if kind == "list":
        return [
            _value(schema["items_schema"], rng, density, shared, depth + 1) for _ in range(rng.randint(0, 3))
        ]
    if kind == "dict":
        keys = [_value(schema["keys_schema"], rng, density, shared, depth) for _ in range(rng.randint(0, 3))]
        return {key: _value(schema["values_schema"], rng, density, shared, depth + 1) for key in keys}
    return _leaf(schema, rng)


def _leaf(schema: dict[str, Any], rng: random.Random) -> Any:
    kind = schema["type"]
    if kind == "literal":
        return rng.choice(schema["expected"])
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "str":
        return rng.choice(
            EXAMPLES[schema["pattern"]] if "pattern" in schema else ["text", "two\nlines\n", "x y"]
        )
    low, high = schema.get("ge", schema.get("gt", -5)), schema.get("le", 100)
    if kind == "int":
        return rng.choice([low, min(high, low + 1), min(high, 42)])
    inside = low + (min(high, 10) - low) * rng.choice([0.5, 0.1, 1.0])
    return rng.choice([inside, int(inside) if low < int(inside) <= high else inside])


def _holders(node: Any) -> Iterator[Any]:
    yield node
    for each in node.values() if isinstance(node, dict) else node:
        if isinstance(each, dict | list):
            yield from _holders(each)


def _damage(holder: Any, rng: random.Random) -> None:
    odd = copy.deepcopy(rng.choice(ODD_VALUES))
    if isinstance(holder, list):
        if holder and rng.random() < 0.5:
            holder[rng.randrange(len(holder))] = odd
        else:
            holder.append(odd)
        return
    names = list(holder)
    action = rng.randrange(4) if names else 3
    if action == 0:
        del holder[rng.choice(names)]
    elif action == 1:
        name = rng.choice(names)
        holder[name + rng.choice("x _")] = holder.pop(name)
    elif action == 2:
        holder[rng.choice(names)] = odd
    else:
        holder[rng.choice(["extra", "temperature", "file", "", "Ω", "max_tokens"])] = odd
