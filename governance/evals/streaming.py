"""A streamed answer, put together into the form of one that was not streamed.

- The first choice counts; its text, its reasoning, its calls of tools and its tokens come in pieces.
- An answer has ended when the server said why it ended (`finish_reason`), not when the bytes stopped.
- Pure: events in, one JSON object out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Merged:
    """One streamed answer. `times` are those of its pieces of text; `ended` says whether its end came."""

    def __init__(self, api: str) -> None:
        self._api = api
        self._tree: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._message: dict[str, Any] = {"role": "assistant", "content": ""}
        self._pieces: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._lists: dict[str, list[Any]] = {}
        self.times: list[float] = []
        self.ended = False

    def add(self, at: float, tree: dict[str, Any]) -> None:
        """Take one event that came at `at`."""
        if self._api == "responses":
            self._add_response(at, tree)
            return
        self._tree |= {name: value for name, value in tree.items() if name != "choices" and value is not None}
        for choice in tree.get("choices") or ():
            if isinstance(choice, Mapping) and choice.get("index", 0) == 0:
                self._add_choice(at, choice)

    def _add_response(self, at: float, tree: dict[str, Any]) -> None:
        kind = str(tree.get("type", ""))
        if kind == "response.output_text.delta":
            self.times.append(at)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._tree, self.ended = dict(_mapping(tree.get("response"))), True

    def _add_choice(self, at: float, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        said = _mapping(delta) if isinstance(delta, Mapping) else {"content": choice.get("text")}
        spoken = False
        for name in ("content", "reasoning_content", "reasoning"):
            if isinstance(piece := said.get(name), str) and piece:
                spoken = True
                if name == "content":
                    self._pieces.append(piece)
                else:
                    self._message[name] = self._message.get(name, "") + piece
        for call in said.get("tool_calls") or ():
            spoken = True
            self._add_call(_mapping(call))
        if spoken:
            self.times.append(at)
        self._add_tokens(choice)
        if choice.get("finish_reason"):
            self.ended = True
            self._choice["finish_reason"] = choice["finish_reason"]

    def _add_call(self, call: Mapping[str, Any]) -> None:
        """A piece of the call of a tool: its arguments come bit by bit."""
        kept = self._calls.setdefault(call.get("index", len(self._calls)), {"function": {"arguments": ""}})
        kept |= {name: value for name, value in call.items() if name not in ("index", "function")}
        function = _mapping(call.get("function"))
        kept["function"] |= {name: value for name, value in function.items() if name != "arguments"}
        kept["function"]["arguments"] += function.get("arguments") or ""

    def _add_tokens(self, choice: Mapping[str, Any]) -> None:
        told = _mapping(choice.get("logprobs"))
        for name, pieces in (
            ("content", told.get("content")),
            ("token_logprobs", told.get("token_logprobs")),
            ("token_ids", choice.get("token_ids") or choice.get("response_token_ids")),
        ):
            if isinstance(pieces, list):
                self._lists.setdefault(name, []).extend(pieces)

    def tree(self) -> Mapping[str, Any]:
        """The answer as one JSON object."""
        if self._api != "responses":
            self._put_together()
        return self._tree

    def _put_together(self) -> None:
        text = "".join(self._pieces)
        if self._api == "completions":
            self._choice["text"] = text
        else:
            calls = [self._calls[index] for index in sorted(self._calls)]
            content = text if text or not calls else None
            self._choice["message"] = {
                **self._message,
                "content": content,
                **({"tool_calls": calls} if calls else {}),
            }
        logprobs = {name: self._lists[name] for name in ("content", "token_logprobs") if name in self._lists}
        if logprobs:
            self._choice["logprobs"] = logprobs
        if "token_ids" in self._lists:
            self._choice["token_ids"] = self._lists["token_ids"]
        self._tree["choices"] = [{"index": 0, **self._choice}]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
