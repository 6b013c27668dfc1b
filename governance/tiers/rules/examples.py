"""The example turns of a prompts config, from its file or from the config itself, each with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from governance.records import dataclass
from governance.tiers.rules.model import Context, Place, mappings, section, text_at, whole
from governance.values import Json, KeyPath, Tree


@dataclass(frozen=True, slots=True)
class Example:
    """One turn: its text, its role (empty for input and output pairs), and whether it is an answer."""

    text: str
    answer: bool
    role: str
    where: str
    key: KeyPath
    place: Place | None = None


def text_of(files: Mapping[str, bytes], name: str) -> str | None:
    """The text of the referenced file `name`; None when it is not there."""
    data = files.get(name) if name else None
    return data.decode("utf-8", "replace") if data is not None else None


def examples(context: Context) -> Iterator[Example]:
    """Every example turn of the prompts config in order."""
    given = context.tree.get("few_shot")
    if isinstance(given, list):
        for index, item in mappings(given):
            yield from _turns(item, f"{index + 1}", ("few_shot", index), None)
        return
    name = text_at(context.tree, "few_shot", "file")
    text = text_of(context.files, name)
    if text is None:
        return
    limit = whole(section(context.tree, "few_shot").get("limit"))
    yield from _from_lines(text, name, limit)


def _from_lines(text: str, name: str, limit: int | None) -> Iterator[Example]:
    import json

    seen = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if limit is not None and seen >= limit:
            return
        seen += 1
        try:
            item: Json = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(item, dict):
            yield from _turns(
                item, f"in line {number} of {name}", ("few_shot", "file"), Place(name, number, 1, 1)
            )


def _turns(item: Tree, where: str, key: KeyPath, place: Place | None) -> Iterator[Example]:
    messages = item.get("messages")
    if isinstance(messages, list):
        for _, message in mappings(messages):
            yield from _turns(message, where, key, place)
        return
    role, content = item.get("role"), item.get("content")
    if isinstance(role, str) and isinstance(content, str):
        at = key if place else (*key, "content")
        yield Example(content, role == "assistant", role, where, at, place)
        return
    given, output = item.get("input"), item.get("output")
    if given is not None:
        yield Example(given if isinstance(given, str) else str(given), False, "", where, key, place)
    if isinstance(output, str):
        yield Example(output, True, "", where, key if place else (*key, "output"), place)
