"""Files that configs name: where in a tree they stand, what they hold, and which names are safe.

- A reference is a name relative to the config's own folder, with forward slashes, and stays inside it.
- The table is literal; a test compares it with the schema, so that no reference is overlooked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from governance.tiers.decode import MAX_JSON_BYTES, MAX_JSONL_BYTES
from governance.values import KeyPath

MAX_TEXT_BYTES: Final = 1 << 20
LIMITS: Final = {"text": MAX_TEXT_BYTES, "json": MAX_JSON_BYTES, "jsonl": MAX_JSONL_BYTES}

# For each kind: the steps to a reference (`[]` any item) and what the file holds.
REFERENCES: Final[dict[str, tuple[tuple[tuple[str, ...], str], ...]]] = {
    "base": (
        (("model", "generation_config", "file"), "json"),
        (("model", "tokenizer_config", "file"), "json"),
        (("model", "config", "file"), "json"),
        (("model", "adapters", "[]", "config", "file"), "json"),
        (("precision", "kv_cache", "scales", "file"), "json"),
        (("environment", "packages"), "text"),
    ),
    "sampling": (),
    "prompts": (
        (("system", "file"), "text"),
        (("template", "file"), "text"),
        (("few_shot", "file"), "jsonl"),
        (("chat_template", "file"), "text"),
        (("tokenizer_config", "file"), "json"),
        (("tools", "file"), "json"),
        (("documents", "file"), "json"),
        (("output", "schema", "file"), "json"),
        (("output", "grammar", "file"), "text"),
    ),
}


def references(kind: str, tree: Any) -> Iterator[tuple[KeyPath, str, str]]:
    """Every reference of a clean tree: its key path, the name as written, and what the file holds."""
    for steps, content in REFERENCES[kind]:
        if steps[0] in tree:
            for path, name in _at(tree, steps, ()):
                yield path, name, content


def may_have_references(text: str) -> bool:
    """Whether a config written as `text` can name a file; False is certain and spares the walk."""
    return "file" in text or "packages" in text or "\\" in text


def name_fault(name: str) -> str | None:
    """Why `name` is no reference into the config's own folder, or None when it is one."""
    if "\\" in name:
        return "it has a backslash"
    if name.startswith("/") or name[1:3] == ":/":
        return "it is absolute"
    steps = name.split("/")
    if ".." in steps:
        return "it goes up with `..`"
    if "" in steps or "." in steps:
        return "it has an empty step"
    return None if name.isprintable() else "it has a character that cannot be shown"


def _at(node: Any, steps: tuple[str, ...], path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if not steps:
        if isinstance(node, str):
            yield path, node
    elif steps[0] == "[]":
        for at, each in enumerate(node if isinstance(node, list) else ()):
            yield from _at(each, steps[1:], (*path, at))
    elif isinstance(node, dict) and steps[0] in node:
        yield from _at(node[steps[0]], steps[1:], (*path, steps[0]))
