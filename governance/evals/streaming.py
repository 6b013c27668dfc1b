"""A streamed answer, put together into the form of one that was not streamed.

- The first choice counts; its text, its reasoning, its calls of tools and its tokens come in pieces.
- An answer has ended when the server said why it ended (`finish_reason`), not when the bytes stopped.
- Pure: events in, one JSON object out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.evals.shapes import count, listed, mapping, text


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
        for choice in listed(tree.get("choices")):
            if isinstance(choice, dict) and choice.get("index", 0) == 0:
                self._add_choice(at, choice)

    def _add_response(self, at: float, tree: dict[str, Any]) -> None:
        kind = str(tree.get("type", ""))
        if kind == "response.output_text.delta":
            self.times.append(at)
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._tree, self.ended = dict(mapping(tree.get("response"))), True

    def _add_choice(self, at: float, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        said = delta if isinstance(delta, dict) else {"content": choice.get("text")}
        spoken = False
        for name in ("content", "reasoning_content", "reasoning"):
            if piece := text(said.get(name)):
                spoken = True
                if name == "content":
                    self._pieces.append(piece)
                else:
                    self._message[name] = self._message.get(name, "") + piece
        for call in listed(said.get("tool_calls")):
            spoken = True
            self._add_call(mapping(call))
        if spoken:
            self.times.append(at)
        self._add_tokens(choice)
        if choice.get("finish_reason"):
            self.ended = True
            self._choice["finish_reason"] = choice["finish_reason"]

    def _add_call(self, call: Mapping[str, Any]) -> None:
        """A piece of the call of a tool: its arguments come bit by bit."""
        index = count(call.get("index"))
        index = len(self._calls) if index is None else index
        kept = self._calls.setdefault(index, {"function": {"arguments": ""}})
        kept |= {name: value for name, value in call.items() if name not in ("index", "function")}
        function = mapping(call.get("function"))
        kept["function"] |= {name: value for name, value in function.items() if name != "arguments"}
        kept["function"]["arguments"] += text(function.get("arguments"))

    def _add_tokens(self, choice: Mapping[str, Any]) -> None:
        told = mapping(choice.get("logprobs"))
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
        said = "".join(self._pieces)
        if self._api == "completions":
            self._choice["text"] = said
        else:
            calls = [self._calls[index] for index in sorted(self._calls)]
            content = said if said or not calls else None
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
