"""What is sent for each item of a suite: the request of the service as its three configs say it.

- System text, examples, the rendered template, stop strings, every decoding parameter in the words of the
  engine (`engines/request.py`). Nothing is filled in that no config says.
- An item overrides only what the sampling config lets requests set (`overridable`).
- An item that the service cannot be asked (a variable its template does not have) is an error of the suite,
  told before the first request is sent.
- On top, log-probabilities and token ids are asked for where the engine offers them and the config leaves
  them open; `left_out` names what the config says and no request can.
- Pure: configs and items in, requests out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from governance.engines.keys import look
from governance.engines.request import (
    dialect_of,
    evidence_fields,
    prompt_fields,
    sampling_fields,
    stream_fields,
)
from governance.errors import Unreadable
from governance.evals.model import Item
from governance.evals.prompting import Prompts, strings
from governance.records import dataclass
from governance.values import Json, Tree

if TYPE_CHECKING:
    from governance.tiers.config import Service

PATHS: Final = {
    "chat": "/v1/chat/completions",
    "completions": "/v1/completions",
    "responses": "/v1/responses",
}


@dataclass(frozen=True, slots=True)
class Request:
    """One request: the path from the server's root and the body, without secrets."""

    path: str
    body: Mapping[str, Json]


class Asking:
    """How one service is asked. `stream` says whether answers come piece by piece.

    Raises `Unreadable` when a config of the service is missing or a file of its prompts is.
    """

    def __init__(self, service: Service, *, stream: bool, evidence: bool = True) -> None:
        base, sampling, prompts = service.base, service.sampling, service.prompts
        if base is None or sampling is None or prompts is None:
            raise Unreadable(f"a config of the service `{service.name}` does not load", hint="tierlock check")
        self.service = service.name
        self.stream = stream
        self._sampling, self._prompts = sampling, Prompts(prompts)
        api = look(service.tree, "endpoint.api")
        self._dialect = dialect_of(base.tree, api if isinstance(api, str) else "chat")
        self._model = model_of(service)
        self._evidence = evidence
        self._form = prompt_fields(self._dialect, self._prompts.form())
        fields = sampling_fields(self._dialect, sampling.tree, self._prompts.contract())
        self.left_out: Mapping[str, str] = {**self._form.left_out, **fields.left_out}

    @property
    def api(self) -> str:
        """The interface that is called: `chat`, `completions` or `responses`."""
        return self._dialect.api

    @property
    def path(self) -> str:
        """Where requests go, from the server's root."""
        return PATHS[self._dialect.api]

    def request(self, item: Item) -> Request:
        """The request of `item`. Raises `Unreadable` when the service cannot be asked it."""
        sampling = {**self._sampling.tree, **self._allowed(item)}
        stop = [*self._prompts.stop(), *strings(sampling.get("stop"))]
        if stop:
            sampling["stop"] = list(dict.fromkeys(stop))
        body: dict[str, Json] = {"model": self._model, **self._asked(item)}
        body |= self._form.body
        body |= sampling_fields(self._dialect, sampling, self._prompts.contract()).body
        if self._evidence:
            body |= evidence_fields(self._dialect, self._sampling.tree)
        body |= stream_fields(self._dialect) if self.stream else {"stream": False}
        return Request(self.path, body)

    def _allowed(self, item: Item) -> Tree:
        allowed = self._sampling.tree.get("overridable")
        names = allowed if isinstance(allowed, Sequence) else ()
        for name in item.overrides:
            if name not in names:
                raise _unasked(
                    item,
                    f"it sets `{name}`, which {self._sampling.id} does not let requests set",
                    f"add `{name}` to `overridable`, or take it out of the item",
                )
        return item.overrides

    def _asked(self, item: Item) -> dict[str, Json]:
        try:
            return self._question(list(item.messages) if item.messages else self._prompts.messages(item))
        except Unreadable as err:
            raise _unasked(item, err.message, err.hint) from err

    def _question(self, messages: list[Json]) -> dict[str, Json]:
        if self._dialect.api == "responses":
            return {"input": messages}
        if self._dialect.api == "completions":
            return {"prompt": self._prompts.as_text(messages)}
        prefix = self._prompts.prefix()
        if not prefix:
            return {"messages": messages}
        told = {"add_generation_prompt": False, "continue_final_message": True}
        going_on = told if self._dialect.engine == "vllm" else {}
        return {"messages": [*messages, {"role": "assistant", "content": prefix}], **going_on}


def model_of(service: Service) -> str:
    """The model name requests carry: that of the endpoint, else the served name, else the model's id."""
    named = look(service.tree, "endpoint.model")
    base = service.base.tree if service.base is not None else {}
    for value in (named, look(base, "engine.options.served_model_name"), look(base, "model.id")):
        if isinstance(value, str):
            return value
        if isinstance(value, Sequence) and value and isinstance(value[0], str):
            return value[0]
    return ""


def _unasked(item: Item, what: str, hint: str) -> Unreadable:
    return Unreadable(f"the service cannot be asked the item `{item.id}`: {what}", hint=hint)
