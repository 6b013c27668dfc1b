"""Laws of reading replies: whatever a server sends, it is a whole answer or the reason that it is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.completions import Reply
from governance.evals.answers import read
from governance.evals.model import State
from governance.evals.shapes import is_number

USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
TOKEN = {"id": 3, "token": "a", "logprob": -0.1}
CALL = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}
MESSAGE = {"role": "assistant", "content": None, "tool_calls": [CALL]}
PLAIN: list[Any] = [
    {"model": "m", "choices": [{"message": MESSAGE, "finish_reason": "stop"}], "usage": USAGE},
    {"choices": [{"text": "x", "finish_reason": "stop", "logprobs": {"content": [TOKEN]}, "token_ids": [1]}]},
    {"choices": [{"text": "x", "finish_reason": "stop", "logprobs": {"token_logprobs": [-0.1]}}]},
    {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "content": [{"text": "x"}]}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}},
    },
    {"error": {"message": "x"}},
]
STREAMS: list[Any] = [
    [
        {"choices": [{"index": 0, "delta": {"content": "a", "reasoning": "r", "tool_calls": [CALL]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "logprobs": {"content": [TOKEN]}}]},
        {"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}], "usage": USAGE},
    ],
    [{"type": "response.output_text.delta"}, {"type": "response.completed", "response": PLAIN[3]}],
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=4),
    st.just("\ud800"),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=2),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["content", "index", "function", "a"]), inner, max_size=2)
        ),
        max_leaves=4,
    ),
)


def places(tree: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


def changed(tree: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    new = [(key, changed(inner, at[1:], value) if key == at[0] else inner) for key, inner in pairs]
    return dict(new) if isinstance(tree, dict) else [inner for _, inner in new]


@st.composite
def odd(draw: st.DrawFn, trees: list[Any]) -> Any:
    """One of the trees with something else in one or two of its places."""
    tree = draw(st.sampled_from(trees))
    for _ in range(draw(st.integers(1, 2))):
        tree = changed(tree, draw(st.sampled_from(list(places(tree)))), draw(ODD))
    return tree


APIS = st.sampled_from(["chat", "completions", "responses"])


@given(odd(PLAIN), APIS, st.sampled_from([200, 204, 302, 400, 429, 500]))
def test_a_body_is_an_answer_or_none(tree: Any, api: str, status: int) -> None:
    reply = Reply(status, {"content-type": "application/json"}, json.dumps(tree).encode(), 1.0)
    check(reply, api)


@given(odd(STREAMS), APIS, st.booleans())
def test_a_stream_is_an_answer_or_none(events: Any, api: str, closed: bool) -> None:
    texts = [json.dumps(event) for event in events] if isinstance(events, list) else [json.dumps(events)]
    told = tuple((0.1 * (number + 1), text) for number, text in enumerate(texts + ["[DONE]"] * closed))
    check(Reply(200, {"content-type": "text/event-stream"}, b"x", 1.0, events=told), api)


def check(reply: Reply, api: str) -> None:
    attempt, answer = read(reply, api)
    assert (attempt.state is State.ANSWERED) == (answer is not None)
    assert answer is not None or attempt.detail
    if answer is not None:
        answer.text.encode()
        assert all(map(is_number, answer.logprobs))
        assert answer.per_token_s is None or is_number(answer.per_token_s)
