"""What one reply of a server says: an answer with its tokens and times, or what became of the request.

- An answer is whole or it is none: a stream without its end, a body that is no JSON, an error inside a 200
  are `BROKEN`, never a shorter answer.
- A streamed answer is put together into the form of one that was not streamed; the digest is of the bytes.
- Token ids and log-probabilities are taken where the server gives them, and are never made up from text.
- A server's own words about an error are cut to one line; they are all that is kept of it.
- Pure: a reply in, values out.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from governance.adapters.completions import Reply, Trouble
from governance.evals.model import Attempt, State
from governance.evals.shapes import count, is_number, listed, mapping, text
from governance.evals.streaming import Merged
from governance.records import dataclass
from governance.values import Json

_STATES: Final = {
    Trouble.NO_CONNECTION: State.UNREACHABLE,
    Trouble.LOST: State.UNREACHABLE,
    Trouble.CUT: State.BROKEN,
    Trouble.TIMEOUT: State.TIMED_OUT,
    Trouble.TOO_LARGE: State.BROKEN,
}
_DONE: Final = "[DONE]"
_DIGITS: Final = 6  # microseconds
_DETAIL: Final = 200  # characters
_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_DECODER: Final = json.JSONDecoder(parse_constant=lambda _: None)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a whole answer holds; `response` is the server's JSON, put together when it was streamed."""

    text: str = ""
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    first_token_s: float | None = None
    per_token_s: float | None = None
    model: str = ""
    system_fingerprint: str = ""
    response: Json = None


class _BrokenError(Exception):
    """The answer is none; the message says why."""


def read(reply: Reply, api: str = "chat") -> tuple[Attempt, Answer | None]:
    """What became of one try, and the answer when there is a whole one. `api` is the interface asked."""
    answer: Answer | None = None
    state, detail = _failure(reply)
    if state is None:
        try:
            answer = _streamed(reply, api) if reply.streamed else _plain(reply, api)
            state = State.ANSWERED
        except _BrokenError as err:
            state, detail = State.BROKEN, str(err)
    digest = hashlib.sha256(reply.body).hexdigest() if reply.body else ""
    return Attempt(state, reply.status, detail, round(reply.seconds, _DIGITS), digest), answer


def _failure(reply: Reply) -> tuple[State | None, str]:
    """The state of a reply that brings no answer, with why; None when it may bring one."""
    if reply.trouble is not None:
        return _STATES[reply.trouble], reply.detail
    if 200 <= reply.status < 300:
        return None, ""
    said = _words(reply.body)
    detail = f"HTTP {reply.status}" + (f": {said}" if said else "")
    if reply.status >= 500:
        return State.FAILED, detail
    if reply.status >= 400:
        return State.REFUSED, detail
    return State.BROKEN, f"HTTP {reply.status}: redirects are not followed"


def _words(body: bytes) -> str:
    """The server's own words about an error, on one line."""
    said = body.decode("utf-8", "replace")
    try:
        tree = _json(said)
    except _BrokenError:
        tree = said if not said.lstrip().startswith("<") else ""
    return _line(_message(tree))


def _message(tree: Json) -> str:
    """The message of an error in any of the forms servers have for it."""
    if isinstance(tree, str):
        return tree
    if isinstance(tree, Sequence) and tree:
        return _message(tree[0])
    if isinstance(tree, dict):
        for name in ("error", "message", "detail", "msg", "error_message"):
            if tree.get(name):
                return _message(tree[name])
    return ""


def _line(said: str) -> str:
    line = " ".join(said.split())
    return line if len(line) <= _DETAIL else line[: _DETAIL - 1] + "…"


def _plain(reply: Reply, api: str) -> Answer:
    tree = _json(reply.body.decode("utf-8", "replace"))
    if not isinstance(tree, dict):
        raise _BrokenError("the answer is no JSON object")
    _refuse_error(tree)
    return _answer(tree, api)


def _streamed(reply: Reply, api: str) -> Answer:
    merged = Merged(api)
    for at, data in reply.events:
        if data.strip() == _DONE:
            break
        tree = _json(data)
        if not isinstance(tree, dict):
            raise _BrokenError("an event of the stream is no JSON object")
        _refuse_error(tree)
        merged.add(at, tree)
    if not merged.ended:
        pieces = len(merged.times)
        raise _BrokenError(
            f"the stream ended in the middle, after {pieces} piece{'s' * (pieces != 1)} of text"
        )
    return _timed(_answer(merged.tree(), api), merged.times)


def _refuse_error(tree: Mapping[str, Json]) -> None:
    if tree.get("error"):
        raise _BrokenError(f"an error in place of the answer: {_line(_message(tree))}")


def _answer(tree: Mapping[str, Any], api: str) -> Answer:
    """The answer in the JSON of a server."""
    if api == "responses":
        return _response(tree)
    choices = tree.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _BrokenError("the answer has no `choices`")
    choice = choices[0]
    usage = mapping(tree.get("usage"))
    reason = choice.get("finish_reason")
    if reason in ("error", "abort"):
        raise _BrokenError(f"the server ended the answer: finish_reason `{reason}`")
    ids, logprobs = _tokens(choice)
    return Answer(
        text=_text(choice),
        finish_reason=str(reason or ""),
        prompt_tokens=count(usage.get("prompt_tokens")),
        completion_tokens=count(usage.get("completion_tokens")),
        cached_tokens=count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        token_ids=ids,
        logprobs=logprobs,
        model=str(tree.get("model") or ""),
        system_fingerprint=str(tree.get("system_fingerprint") or ""),
        response=dict(tree),
    )


def _text(choice: Mapping[str, Any]) -> str:
    """The text of a choice; the calls of tools where there is no text."""
    message = choice.get("message")
    said = message.get("content") if isinstance(message, dict) else choice.get("text")
    if isinstance(said, str):
        return said
    if said is not None or not ("text" in choice or isinstance(message, dict)):
        raise _BrokenError("the answer has no text")
    calls = listed(mapping(message).get("tool_calls"))
    if not calls:
        return ""
    return json.dumps([mapping(call).get("function") for call in calls], ensure_ascii=False)


def _response(tree: Mapping[str, Any]) -> Answer:
    """The answer of `/v1/responses`."""
    parts = [
        text(mapping(part).get("text"))
        for item in listed(tree.get("output"))
        if mapping(item).get("type") == "message"
        for part in listed(item.get("content"))
    ]
    status = tree.get("status")
    why = str(mapping(tree.get("incomplete_details")).get("reason", ""))
    cut = status == "incomplete" and why in ("max_output_tokens", "")
    if status not in ("completed", None) and not cut:
        raise _BrokenError(f"the server ended the answer: status `{status}` {why}".rstrip())
    if "output" not in tree:
        raise _BrokenError("the answer has no `output`")
    usage = mapping(tree.get("usage"))
    return Answer(
        text="".join(parts),
        finish_reason="length" if cut else "stop",
        prompt_tokens=count(usage.get("input_tokens")),
        completion_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        model=str(tree.get("model") or ""),
        response=dict(tree),
    )


def _tokens(choice: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Token ids and log-probabilities of a choice, each empty when the server gives none or not for all."""
    told = mapping(choice.get("logprobs"))
    entries = listed(told.get("content"))
    ids = (
        choice.get("token_ids") or choice.get("response_token_ids") or [mapping(e).get("id") for e in entries]
    )
    logprobs = told.get("token_logprobs") or [mapping(e).get("logprob") for e in entries]
    return (
        tuple(ids) if _all(ids, lambda one: isinstance(one, int)) else (),
        tuple(map(float, logprobs)) if _all(logprobs, is_number) else (),
    )


def _timed(answer: Answer, times: Sequence[float]) -> Answer:
    """The answer with the times of its tokens: the first, and the mean between those that follow."""
    if not times:
        return answer
    tokens = answer.completion_tokens or len(times)
    each = (times[-1] - times[0]) / (tokens - 1) if tokens > 1 and len(times) > 1 else None
    values = {name: getattr(answer, name) for name in Answer.__slots__}
    values["first_token_s"] = round(times[0], _DIGITS)
    values["per_token_s"] = round(each, _DIGITS) if each is not None else None
    return Answer(**values)


def _json(body: str) -> Any:
    """The JSON in `body`: NaN and infinities, which some servers write, as null, half characters replaced."""
    try:
        tree = _DECODER.decode(body)
    except (ValueError, RecursionError) as err:
        raise _BrokenError(f"the answer is no JSON: {_line(str(err))}") from err
    return _mended(tree) if _HALF.search(body) else tree


def _mended(tree: Any) -> Any:
    """The tree without half characters (lone surrogates), which no file could hold."""
    if isinstance(tree, str):
        return tree.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(tree, dict):
        return {_mended(name): _mended(value) for name, value in tree.items()}
    return [_mended(value) for value in tree] if isinstance(tree, list) else tree


def _all(values: object, holds: Callable[[object], bool]) -> bool:
    return isinstance(values, list) and bool(values) and all(map(holds, values))
