"""The prompts config of a service as what it is: system text, examples, a rendered template, a contract.

- Text is byte for byte what the files hold; a template sees the variables it declares and nothing else.
- A variable that is not as declared is an error, as it would be in the service.
- Pure: a loaded config in, messages out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from governance.engines.keys import look
from governance.engines.request import Contract
from governance.errors import Unreadable
from governance.tiers.templates import render
from governance.values import Json, Tree

if TYPE_CHECKING:
    from governance.evals.model import Item
    from governance.tiers.config import Config

# Keys of the prompts tier that say how the engine makes a prompt of the messages.
_FORM: Final = (
    *("chat_template_kwargs", "add_special_tokens", "add_generation_prompt", "continue_final_message"),
    *("documents", "tools"),
)


class Prompts:
    """The prompts config of a service, read once."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._tree = config.tree
        self._system = self._text("system")
        self._template = self._text("template")
        self._shots = tuple(self._examples())

    def messages(self, item: Item) -> list[Json]:
        """System text, examples, and the question of `item` as a user turn or through the template."""
        begin: list[Json] = [{"role": "system", "content": self._system}] if self._system else []
        if item.variables or not item.prompt:
            content = self._rendered(self._checked(item.variables))
            role = look(self._tree, "template.role")
            return [
                *begin,
                *self._shots,
                {"role": role if isinstance(role, str) else "user", "content": content},
            ]
        return [*begin, *self._shots, {"role": "user", "content": item.prompt}]

    def as_text(self, messages: Sequence[Json]) -> str:
        """The messages as one prompt, for an interface without messages."""
        template = self._bytes(look(self._tree, "chat_template.file"))
        if template is not None:
            given: Tree = {
                "messages": messages,
                "add_generation_prompt": True,
                "bos_token": "",
                "eos_token": "",
            }
            return render(template, given, chat=True, today=self._date()) + self.prefix()
        if len(messages) == 1 and isinstance(messages[0], Mapping):
            return str(messages[0].get("content", "")) + self.prefix()
        raise Unreadable(
            "it has several messages, and `endpoint.api: completions` takes one text",
            hint="keep the chat template with the prompts (`chat_template: {file: …}`), or use `api: chat`",
        )

    def prefix(self) -> str:
        """The text answers are made to begin with."""
        prefix = self._tree.get("response_prefix")
        return prefix if isinstance(prefix, str) else ""

    def stop(self) -> list[str]:
        """The strings that end an answer because the prompt's form asks for it."""
        return strings(self._tree.get("stop"))

    def form(self) -> Tree:
        """What becomes fields of a request, files as their content."""
        found: dict[str, Json] = {}
        for key in _FORM:
            value = self._tree.get(key)
            if isinstance(value, Mapping) and set(value) == {"file"}:
                text = self._bytes(value["file"])
                found[key] = json.loads(text) if text is not None else None
            elif value is not None:
                found[key] = value
        return found

    def contract(self) -> Contract:
        """The output contract with its files read."""
        output = self._tree.get("output")
        if not isinstance(output, Mapping):
            return Contract()
        schema = self._bytes(look(output, "schema.file"))
        regex, choices = output.get("regex"), output.get("choices")
        return Contract(
            schema=json.loads(schema) if schema is not None else None,
            regex=regex if isinstance(regex, str) else "",
            grammar=self._bytes(look(output, "grammar.file")) or "",
            choices=tuple(strings(choices)),
        )

    def _checked(self, variables: Tree) -> Tree:
        """The variables the template gets, refused when one is not as it is declared."""
        declared = look(self._tree, "template.variables")
        known = declared if isinstance(declared, Mapping) else {}
        for name, value in variables.items():
            if name not in known:
                raise Unreadable(
                    f"the template of {self._config.id} has no variable `{name}`",
                    hint=f"it has {', '.join(known) or 'none'}",
                )
            if (fault := _misfit(known[name], value)) is not None:
                raise Unreadable(f"the variable `{name}` {fault}", hint=f"see {self._config.path}")
        return variables

    def _rendered(self, variables: Tree) -> str:
        if look(self._tree, "template.engine") == "none":
            return self._template
        blocks = [look(self._tree, f"template.{name}") is True for name in ("trim_blocks", "lstrip_blocks")]
        return render(
            self._template, variables, today=self._date(), trim_blocks=blocks[0], lstrip_blocks=blocks[1]
        )

    def _date(self) -> date | None:
        told = self._tree.get("date")
        return date.fromisoformat(told) if isinstance(told, str) else None

    def _examples(self) -> Iterator[Json]:
        told = self._tree.get("few_shot")
        if isinstance(told, Mapping):
            text = self._bytes(told.get("file")) or ""
            limit = told.get("limit")
            examples = [json.loads(line) for line in text.splitlines() if line.strip()]
            examples = examples[:limit] if isinstance(limit, int) else examples
        else:
            examples = list(told) if isinstance(told, Sequence) else []
        for example in examples:
            yield from self._turns(example)

    def _turns(self, example: Mapping[str, Json]) -> Iterator[Json]:
        turns = example.get("messages")
        if isinstance(turns, Sequence):
            yield from turns
        elif "role" in example:
            yield dict(example)
        else:
            given = example["input"]
            content = given if isinstance(given, str) else self._rendered(given)  # type: ignore[arg-type]
            yield {"role": "user", "content": content}
            yield {"role": "assistant", "content": example["output"]}

    def _text(self, key: str) -> str:
        """A text that is written in place, or in a file."""
        value = self._tree.get(key)
        if isinstance(value, Mapping):
            text = value.get("text")
            value = text if isinstance(text, str) else self._bytes(value.get("file"))
        return value if isinstance(value, str) else ""

    def _bytes(self, name: object) -> str | None:
        """The text of a file the config names; None when it names none."""
        if not isinstance(name, str):
            return None
        try:
            return self._config.file(name).decode("utf-8")
        except KeyError as err:
            raise Unreadable(
                f"`{name}` is named and is not there", where=self._config.path, hint="tierlock check"
            ) from err


_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "list": (list, tuple),
}


def _misfit(declared: Json, value: Json) -> str | None:
    """What is wrong with a value of a variable, or None."""
    said = declared if isinstance(declared, Mapping) else {"type": declared}
    kind, limit, choices = str(said.get("type")), said.get("max_chars"), said.get("choices")
    types = _TYPES.get(kind)
    if types is not None and (
        not isinstance(value, types) or (isinstance(value, bool) and kind != "boolean")
    ):
        return f"is no {kind}"
    if isinstance(limit, int) and isinstance(value, str) and len(value) > limit:
        return f"has {len(value)} characters, {limit} are allowed"
    if isinstance(choices, Sequence) and value not in choices:
        return f"is none of {', '.join(map(str, choices))}"
    return None


def strings(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []
