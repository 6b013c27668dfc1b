"""A reply is a whole answer, or it says what became of the request; nothing in between."""

from __future__ import annotations

import json
from typing import Any

import pytest

from governance.adapters.completions import Reply, Trouble
from governance.evals.answers import read
from governance.evals.model import State
from governance.values import Json

JSON = {"content-type": "application/json"}
SSE = {"content-type": "text/event-stream; charset=utf-8"}


def plain(tree: Json, status: int = 200) -> Reply:
    return Reply(status, JSON, json.dumps(tree).encode(), 1.0)


def choice(**given: Json) -> dict[str, Json]:
    return {"index": 0, "message": {"role": "assistant", "content": "four"}, "finish_reason": "stop", **given}


def stream(*events: Json, done: bool = True, every: float = 0.1) -> Reply:
    texts = [json.dumps(event) for event in events] + ["[DONE]"] * done
    told = tuple((every * (number + 1), text) for number, text in enumerate(texts))
    return Reply(200, SSE, b"x", every * len(texts), events=told)


def delta(text: str | None = None, finish: str | None = None, **more: Json) -> dict[str, Json]:
    said: dict[str, Json] = {} if text is None else {"content": text}
    return {"model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": finish, **more}]}


def test_a_plain_answer_is_read() -> None:
    tree = {
        "model": "m",
        "system_fingerprint": "fp",
        "choices": [
            choice(
                token_ids=[4, 2],
                logprobs={"content": [{"token": "fo", "logprob": -0.5}, {"token": "ur", "logprob": -0.25}]},
            )
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
    }
    attempt, answer = read(plain(tree))
    assert attempt.state is State.ANSWERED
    assert answer is not None
    assert (answer.text, answer.finish_reason, answer.model, answer.system_fingerprint) == (
        "four",
        "stop",
        "m",
        "fp",
    )
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (9, 2, 8)
    assert (answer.token_ids, answer.logprobs) == ((4, 2), (-0.5, -0.25))
    assert answer.response == tree


def test_a_streamed_answer_is_put_together_and_timed() -> None:
    logprobs = [
        {"content": [{"token": t, "id": n, "logprob": -n / 4}]} for n, t in enumerate(("fo", "u", "r"))
    ]
    attempt, answer = read(
        stream(
            delta(None),
            delta("fo", logprobs=logprobs[0]),
            delta("u", logprobs=logprobs[1]),
            delta("r", logprobs=logprobs[2]),
            delta(None, "stop"),
            {"model": "m", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}},
        )
    )
    assert attempt.state is State.ANSWERED
    assert answer is not None
    assert (answer.text, answer.finish_reason, answer.completion_tokens) == ("four", "stop", 3)
    assert (answer.token_ids, answer.logprobs) == ((0, 1, 2), (0.0, -0.25, -0.5))
    assert (answer.first_token_s, answer.per_token_s) == (0.2, 0.1)
    assert isinstance(answer.response, dict)
    assert answer.response["choices"][0]["message"]["content"] == "four"  # type: ignore[index, call-overload]


def test_a_streamed_answer_is_the_plain_one() -> None:
    """What scorers and comparisons see does not depend on how it came."""
    _, one = read(plain({"model": "m", "choices": [choice()], "usage": {"completion_tokens": 2}}))
    _, two = read(
        stream(delta("fo"), delta("ur", "stop"), {"choices": [], "usage": {"completion_tokens": 2}})
    )
    assert one is not None
    assert two is not None
    assert (one.text, one.finish_reason, one.completion_tokens) == (two.text, two.finish_reason, 2)


def test_the_time_to_the_first_token_is_that_of_thinking_too() -> None:
    thought = {"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}, "finish_reason": None}]}
    _, answer = read(stream(thought, delta("four"), delta(None, "stop")))
    assert answer is not None
    assert (answer.text, answer.first_token_s) == ("four", 0.1)


def test_calls_of_tools_are_the_text_of_an_answer_without_text() -> None:
    function = {"name": "look", "arguments": '{"a": 1}'}
    _, one = read(
        plain({"choices": [choice(message={"content": None, "tool_calls": [{"function": function}]})]})
    )
    pieces = [
        {"index": 0, "function": {"name": "look", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"a": 1}'}},
    ]
    told = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [piece]}, "finish_reason": None}]}
        for piece in pieces
    ]
    _, two = read(stream(*told, delta(None, "tool_calls")))
    assert one is not None
    assert two is not None
    assert [json.loads(answer.text) for answer in (one, two)] == [[function], [function]]


def test_an_empty_answer_is_an_answer() -> None:
    for content in ("", None):
        attempt, answer = read(plain({"choices": [choice(message={"content": content})]}))
        assert attempt.state is State.ANSWERED
        assert answer is not None
        assert answer.text == ""


BROKEN: dict[str, tuple[Reply, str]] = {
    "a stream that ends in the middle": (
        stream(delta("fo"), done=False),
        "ended in the middle, after 1 piece of",
    ),
    "a stream that is closed without saying why": (stream(delta("fo"), delta("u")), "after 2 pieces of text"),
    "a stream of nothing": (stream(done=False), "after 0 pieces"),
    "an error inside a stream": (
        stream(delta("fo"), {"error": {"message": "out of memory"}}),
        "out of memory",
    ),
    "an event that is no JSON": (Reply(200, SSE, b"x", 1.0, ((0.1, "{"),)), "no JSON"),
    "a body that is no JSON": (Reply(200, JSON, b"<html>", 1.0), "no JSON"),
    "a body that is a list": (plain([1]), "no JSON object"),
    "an error inside a 200": (plain({"error": "engine is dead"}), "engine is dead"),
    "no choices": (plain({"choices": []}), "no `choices`"),
    "a choice without a message": (plain({"choices": [{"finish_reason": "stop"}]}), "no text"),
    "an answer the server ended": (plain({"choices": [choice(finish_reason="abort")]}), "`abort`"),
    "a redirect": (Reply(307, {}, b"", 1.0), "HTTP 307"),
    "a connection lost in the middle": (
        Reply(200, SSE, b"x", 1.0, trouble=Trouble.CUT, detail="lost"),
        "lost",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_whole_answer_is_broken_and_has_no_text(case: str) -> None:
    reply, why = BROKEN[case]
    attempt, answer = read(reply)
    assert (attempt.state, answer) == (State.BROKEN, None)
    assert why in attempt.detail


STATES: dict[str, tuple[Reply, State, str]] = {
    "vLLM, an unknown model": (
        plain({"error": {"message": "The model `x` does not exist.", "code": 404}}, 404),
        State.REFUSED,
        "HTTP 404: The model `x` does not exist.",
    ),
    "FastAPI, a bad field": (
        plain({"detail": [{"loc": ["top_p"], "msg": "must be < 1", "input": "secret prompt"}]}, 422),
        State.REFUSED,
        "HTTP 422: must be < 1",
    ),
    "a proxy's page": (
        Reply(502, {"content-type": "text/html"}, b"<html>Bad</html>", 1.0),
        State.FAILED,
        "HTTP 502",
    ),
    "plain words": (Reply(500, {}, b"CUDA\n error", 1.0), State.FAILED, "HTTP 500: CUDA error"),
    "nobody": (Reply(trouble=Trouble.NO_CONNECTION, detail="refused"), State.UNREACHABLE, "refused"),
    "lost": (Reply(trouble=Trouble.LOST, detail="gone"), State.UNREACHABLE, "gone"),
    "slow": (Reply(200, trouble=Trouble.TIMEOUT, detail="1 s"), State.TIMED_OUT, "1 s"),
}


@pytest.mark.parametrize("case", STATES)
def test_what_became_of_a_request_is_told_in_the_servers_words(case: str) -> None:
    reply, state, detail = STATES[case]
    attempt, answer = read(reply)
    assert (attempt.state, attempt.detail, answer) == (state, detail, None)


def test_the_words_of_a_server_are_one_short_line() -> None:
    attempt, _ = read(plain({"error": "a\n" * 400}, 500))
    assert "\n" not in attempt.detail
    assert len(attempt.detail) < 220


def test_numbers_and_characters_no_file_could_hold_are_replaced() -> None:
    choices = (
        b'{"choices": [{"message": {"content": "\\ud83d ok \\ud83d\\ude00"}, "finish_reason": "stop", '
        b'"logprobs": {"content": [{"token": "a", "logprob": -Infinity}]}}]}'
    )
    _, answer = read(Reply(200, JSON, choices, 1.0))
    assert answer is not None
    assert answer.text == "\ufffd ok \U0001f600"
    assert answer.logprobs == ()
    json.dumps(answer.response, allow_nan=False).encode()


def test_token_ids_are_of_all_tokens_or_of_none() -> None:
    content: list[dict[str, Any]] = [{"id": 1, "logprob": -1.0}, {"logprob": -2.0}]
    _, answer = read(plain({"choices": [choice(logprobs={"content": content})]}))
    assert answer is not None
    assert (answer.token_ids, answer.logprobs) == ((), (-1.0, -2.0))


def test_the_completions_interface_is_read() -> None:
    told = {"text": "four", "finish_reason": "length", "logprobs": {"token_logprobs": [-1.0]}}
    _, one = read(plain({"choices": [told]}), "completions")
    _, two = read(
        stream(
            {"choices": [{"index": 0, "text": "fo"}]},
            {"choices": [{"index": 0, "text": "ur", "finish_reason": "length"}]},
        ),
        "completions",
    )
    assert one is not None
    assert two is not None
    assert (one.text, one.finish_reason, one.logprobs) == ("four", "length", (-1.0,))
    assert (two.text, two.finish_reason) == ("four", "length")


def test_the_responses_interface_is_read() -> None:
    whole = {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "model": "m",
        "output": [
            {"type": "reasoning"},
            {"type": "message", "content": [{"type": "output_text", "text": "four"}]},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    _, one = read(plain(whole), "responses")
    _, two = read(
        stream(
            {"type": "response.output_text.delta", "delta": "four"},
            {"type": "response.incomplete", "response": whole},
        ),
        "responses",
    )
    assert one is not None
    assert two is not None
    assert (one.text, one.finish_reason, one.prompt_tokens) == ("four", "length", 3)
    assert (two.text, two.first_token_s) == ("four", 0.1)
    attempt, _ = read(plain({"status": "failed", "output": []}), "responses")
    assert attempt.state is State.BROKEN
    attempt, _ = read(stream({"type": "response.output_text.delta", "delta": "fo"}, done=False), "responses")
    assert attempt.state is State.BROKEN
