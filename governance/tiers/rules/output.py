"""Prompts tier, the output contract: it can be kept, the examples keep it, and no stop string cuts it off."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from governance.tiers.rules.contract import breaks, matches, schema_faults
from governance.tiers.rules.examples import examples, text_of
from governance.tiers.rules.model import (
    ERROR,
    Context,
    Hit,
    Place,
    Rule,
    listed,
    section,
    text_at,
    texts,
    whole,
)
from governance.values import Json, KeyPath, Tree, key_text

_JSON_FORMATS: Final = frozenset({"json", "json_object", "json_schema"})
_CONSTRAINTS: Final = ("schema", "regex", "grammar", "choices")


def output_of(context: Context) -> Tree:
    """The output contract of the prompts config, or of the one a service binds."""
    return section(context.prompts if context.tier == "service" else context.tree, "output")


def output_schema(output: Tree, context: Context) -> Json | None:
    """The JSON Schema of the contract as a value; None when there is none or it is no JSON."""
    import json

    files = context.prompts_files if context.tier == "service" else context.files
    text = text_of(files, text_at(output, "schema", "file"))
    if text is None:
        return None
    try:
        schema: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return schema


def wants_json(output: Tree) -> bool:
    """Whether the contract asks for JSON."""
    return "schema" in output or text_at(output, "format").lower() in _JSON_FORMATS


def _schema_invalid(context: Context) -> Iterator[Hit]:
    output = output_of(context)
    name = text_at(output, "schema", "file")
    schema = output_schema(output, context) if name else None
    if schema is None:
        return
    for path, message in schema_faults(schema):
        at = f" at {key_text(path)}" if path else ""
        yield Hit(f"{message}{at}", ("output", "schema", "file"), place=Place(name, 1, 1))


def _compete(context: Context) -> Iterator[Hit]:
    output = output_of(context)
    given = [key for key in _CONSTRAINTS if key in output]
    if len(given) > 1:
        yield Hit(
            f"{listed(given)} all constrain the answer; an engine follows one",
            ("output", given[1]),
            on_key=True,
        )
    wanted = text_at(output, "format").lower()
    if wanted and wanted not in _JSON_FORMATS and "schema" in output:
        yield Hit(f"`format: {wanted}` with a JSON Schema", ("output", "format"))


def _regex(context: Context) -> Iterator[Hit]:
    pattern = text_at(output_of(context), "regex")
    if not pattern:
        return
    try:
        re.compile(pattern)
    except re.error as error:
        yield Hit(f"`regex` is no regular expression: {error}", ("output", "regex"))


def _example_breaks(context: Context) -> Iterator[Hit]:
    output = output_of(context)
    if not output or "few_shot" not in context.tree:
        return
    schema = output_schema(output, context)
    for shot in examples(context):
        if shot.answer:
            fault = answer_fault(shot.text, output, schema)
            if fault:
                yield Hit(
                    f"an example answer breaks the output contract: {fault}", shot.key, place=shot.place
                )


def answer_fault(answer: str, output: Tree, schema: Json | None) -> str:
    """Why `answer` does not keep the contract `output`, as one sentence; empty when it does, or may."""
    if wants_json(output):
        fault = _json_fault(answer, schema)
        if fault:
            return fault
    pattern, choices = text_at(output, "regex"), texts(output.get("choices"))
    if pattern and matches(pattern, answer, whole=True) is False:
        return f"it does not match `{pattern}`"
    if choices and answer not in choices:
        return f"it is none of {listed(choices)}"
    return _length_fault(answer, output) or _content_fault(answer, output)


def _json_fault(answer: str, schema: Json | None) -> str:
    import json

    try:
        value: Json = json.loads(answer)
    except (ValueError, RecursionError):
        return "it is no JSON"
    return breaks(value, schema, schema) if schema is not None else ""


def _length_fault(answer: str, output: Tree) -> str:
    counts = {
        "max_chars": len(answer),
        "max_words": len(answer.split()),
        "max_paragraphs": len([p for p in re.split(r"\n\s*\n", answer.strip()) if p]),
        "max_sentences": len(re.findall(r"[.!?。!?]+(?=\s|$)|[。!?]", answer.strip())),
    }
    for key, count in counts.items():
        limit = whole(output.get(key))
        if limit is not None and count > limit:
            unit = key.removeprefix("max_").replace("chars", "characters")
            return f"it has {count} {unit}, and `{key}` is {limit}"
    least = whole(output.get("min_chars"))
    if least is not None and len(answer) < least:
        return f"it has {len(answer)} characters, and `min_chars` is {least}"
    return ""


def _content_fault(answer: str, output: Tree) -> str:
    missing = next((text for text in texts(output.get("must_contain")) if text not in answer), None)
    if missing is not None:
        return f"`{missing}` is not in it"
    forbidden = next((text for text in texts(output.get("must_not_contain")) if text in answer), None)
    return f"`{forbidden}` is in it" if forbidden is not None else ""


def _stop_in_answer(context: Context) -> Iterator[Hit]:
    output = output_of(context)
    if not output:
        return
    stops = context.sampling.get("stop") if context.tier == "service" else context.tree.get("stop")
    tier = "sampling" if context.tier == "service" else ""
    always = _in_every_answer(output, output_schema(output, context))
    for index, stop in enumerate(texts(stops)):
        reason = next((why for text, why in always if stop and stop in text), "")
        if reason:
            yield Hit(f"the stop string `{stop}` is in {reason}, so none can end", ("stop", index), tier=tier)


def _in_every_answer(output: Tree, schema: Json | None) -> list[tuple[str, str]]:
    """Texts that every answer has, with the reason; a stop string inside one of them cuts every answer."""
    found = [
        (text, f"every answer: `must_contain` has `{text}`") for text in texts(output.get("must_contain"))
    ]
    choices = texts(output.get("choices"))
    if len(choices) == 1:
        found.append((choices[0], "the only answer there is"))
    if not isinstance(schema, dict):
        return found
    if schema.get("type") == "object" or "properties" in schema:
        found += [("{", "every JSON object"), ("}", "every JSON object")]
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    found += [(f'"{name}"', f"every answer: `{name}` is required") for name in names]
    if names:
        found.append((":", "every JSON object with a key"))
    if len(names) > 1:
        found.append((",", "every JSON object with two keys"))
    if schema.get("type") == "array":
        found += [("[", "every JSON array"), ("]", "every JSON array")]
    return found


def _budget(context: Context) -> Iterator[Hit]:
    output = output_of(context)
    low, high = whole(output.get("min_chars")), whole(output.get("max_chars"))
    key: KeyPath = ("output", "min_chars")
    if low is not None and high is not None and low > high:
        yield Hit(f"`min_chars: {low}` is above `max_chars: {high}`", key)


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "TL430", "schema-invalid", ERROR, ("prompts",),
        what="The output schema is no valid JSON Schema, or no answer can keep it.",
        why="The engine refuses the request, or drops the constraint.",
        fix="Mend the place named in the message.",
        check=_schema_invalid, needs="output.schema",
    ),
    Rule(
        "TL431", "constraints-compete", ERROR, ("prompts",),
        what="The contract holds several of schema, regex, grammar and choices, or a schema for a format "
        "that is no "
        "JSON.",
        why="Engines follow one and ignore the others, or refuse the request.",
        fix="Keep one.",
        check=_compete, needs="output",
    ),
    Rule(
        "TL432", "example-breaks-contract", ERROR, ("prompts",),
        what="An example answer does not keep the output contract.",
        why="The model follows examples more than instructions.",
        fix="Correct the example, or the contract.",
        check=_example_breaks, needs="few_shot",
    ),
    Rule(
        "TL433", "regex-invalid", ERROR, ("prompts",),
        what="`output.regex` cannot be compiled.",
        why="The engine refuses the request.",
        fix="Mend the expression.",
        check=_regex, needs="output.regex",
    ),
    Rule(
        "TL434", "stop-in-every-answer", ERROR, ("prompts", "service"),
        what="A stop string is part of every answer that keeps the contract.",
        why="Every answer is cut off, and what is left breaks the contract.",
        fix="Remove the stop string; the end of a constrained answer needs none.",
        check=_stop_in_answer,
    ),
    Rule(
        "TL435", "contract-contradicts", ERROR, ("prompts",),
        what="The shortest answer allowed is longer than the longest.",
        why="No answer can be right.",
        fix="Correct one of the two.",
        check=_budget, needs="output.min_chars",
    ),
)  # fmt: skip
