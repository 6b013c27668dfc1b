"""A request is the service's own: its text, its examples, its template, its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from governance.errors import Unreadable
from governance.evals.model import Item
from governance.evals.requests import Asking, model_of
from governance.values import Json
from tests.support import evals
from tests.support.llama_server import BASE

VLLM: dict[str, Json] = {
    "kind": "base",
    "model": {"id": "org/m"},
    "engine": {"name": "vllm", "version": "0.32.0"},
}


def item(**given: Any) -> Item:
    return Item("q1", "maths", "exact", **given)


def asking(
    *,
    base: Mapping[str, Json] = BASE,
    sampling: Mapping[str, Json] = evals.SAMPLING,
    prompts: Mapping[str, Json] | None = None,
    service: Mapping[str, Json] | None = None,
    stream: bool = False,
    evidence: bool = False,
) -> Asking:
    told = {
        key: value for key, value in {**evals.PROMPTS, **(prompts or {})}.items() if value not in ("", [])
    }
    files = evals.files(base=base, sampling=sampling, prompts=told, service=service)
    return Asking(evals.service_of(files), stream=stream, evidence=evidence)


def body(asked: Item, **given: Any) -> dict[str, Any]:
    return dict(asking(**given).request(asked).body)


def test_variables_fill_the_template_behind_system_text_and_examples() -> None:
    assert body(item(variables={"question": "two"}))["messages"] == [
        {"role": "system", "content": "You answer briefly."},
        {"role": "user", "content": "Question: one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Question: two"},
    ]


def test_a_prompt_is_one_user_turn_behind_system_text_and_examples() -> None:
    messages = body(item(prompt="Hello"))["messages"]
    assert messages[0]["role"] == "system"
    assert messages[-1] == {"role": "user", "content": "Hello"}
    assert len(messages) == 4


def test_messages_are_sent_as_they_are() -> None:
    turns = (
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    )
    assert body(item(messages=turns))["messages"] == list(turns)


def test_every_parameter_of_the_sampling_config_is_sent_and_none_is_made_up() -> None:
    told = body(item(prompt="x"))
    assert {k: v for k, v in told.items() if k not in ("messages", "model")} == {
        "temperature": 0.1,
        "top_p": 1.0,
        "repeat_penalty": 1.1,
        "seed": 42,
        "max_tokens": 64,
        "stream": False,
    }


def test_a_streamed_answer_is_asked_to_end_with_its_token_counts() -> None:
    told = body(item(prompt="x"), stream=True)
    assert (told["stream"], told["stream_options"]) == (True, {"include_usage": True})


def test_an_item_overrides_what_the_sampling_config_lets_requests_set() -> None:
    assert body(item(prompt="x", overrides={"max_tokens": 5}))["max_tokens"] == 5


def test_an_override_that_the_config_does_not_allow_is_refused() -> None:
    with pytest.raises(
        Unreadable, match="`temperature`, which sampling/factual does not let requests set"
    ) as error:
        body(item(prompt="x", overrides={"temperature": 1.0}))
    assert "`q1`" in error.value.message
    assert "overridable" in error.value.hint


def test_stop_strings_of_both_tiers_are_sent_once_each() -> None:
    sampling = {**evals.SAMPLING, "stop": ["\n\n", "END"]}
    told = body(item(prompt="x"), sampling=sampling, prompts={"stop": ["END", "##"]})
    assert told["stop"] == ["END", "##", "\n\n"]


def test_stop_strings_of_the_prompts_are_sent_when_sampling_names_none() -> None:
    assert body(item(prompt="x"), prompts={"stop": ["##"]})["stop"] == ["##"]


MISFITS = {
    "a variable the template does not have": ({"question": "x", "topic": "y"}, "no variable `topic`"),
    "a variable of another type": ({"question": 3}, "`question` is no text"),
    "a missing variable": ({}, "`question` is undefined"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_an_item_that_does_not_fit_the_template_is_refused_by_name(case: str) -> None:
    variables, message = MISFITS[case]
    with pytest.raises(Unreadable, match=r"cannot be asked the item `q1`.*") as error:
        body(item(variables=variables))
    assert message.replace("`", "'") in error.value.message.replace("`", "'")


LIMITS = {
    "longer than it may be": ({"type": "text", "max_chars": 3}, "four", "has 4 characters, 3 are allowed"),
    "none of its choices": ({"type": "text", "choices": ["a", "b"]}, "c", "is none of a, b"),
    "true, which is no number": ({"type": "number"}, True, "is no number"),
}


@pytest.mark.parametrize("case", LIMITS)
def test_a_variable_is_held_to_what_is_declared(case: str) -> None:
    declared, value, message = LIMITS[case]
    template = {"text": "{{ question }}", "variables": {"question": declared}}
    with pytest.raises(Unreadable, match=message):
        body(item(variables={"question": value}), prompts={"template": template, "few_shot": []})


def test_options_of_the_template_reach_the_renderer() -> None:
    """One newline more is another prompt."""
    text = "{% if question %}\nyes\n{% endif %}\nend"
    template: dict[str, Json] = {"text": text, "variables": {"question": "text"}}
    plain, trimmed = (
        body(item(variables={"question": "x"}), prompts={"template": {**template, **more}, "few_shot": []})
        for more in ({}, {"trim_blocks": True})
    )
    assert plain["messages"][-1]["content"] == "\nyes\n\nend"
    assert trimmed["messages"][-1]["content"] == "yes\nend"


def test_the_text_of_a_template_without_an_engine_is_taken_as_it_is() -> None:
    template = {"text": "{{ question }}", "engine": "none"}
    told = body(item(), prompts={"template": template, "few_shot": []})
    assert told["messages"][-1]["content"] == "{{ question }}"


def test_examples_may_be_turns_texts_and_variables() -> None:
    shots = [
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
        {"input": "plain", "output": "p"},
        {"input": {"question": "v"}, "output": "w"},
    ]
    messages = body(item(prompt="x"), prompts={"few_shot": shots})["messages"]
    assert [message["content"] for message in messages[1:-1]] == ["u", "a", "plain", "p", "Question: v", "w"]


def test_the_model_is_the_endpoints_then_the_served_name_then_the_id() -> None:
    def named(base: Mapping[str, Json], service: Mapping[str, Json] | None = None) -> str:
        return model_of(evals.service_of(evals.files(base=base, service=service)))

    served = {**VLLM, "engine": {**VLLM["engine"], "options": {"served_model_name": "short"}}}  # type: ignore[dict-item]
    endpoint = {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "mine"}}
    assert named(VLLM) == "org/m"
    assert named(served) == "short"
    assert named(served, endpoint) == "mine"


def test_the_beginning_of_an_answer_is_a_turn_that_goes_on() -> None:
    told = body(item(prompt="x"), base=VLLM, prompts={"response_prefix": "Sure:"})
    assert told["messages"][-1] == {"role": "assistant", "content": "Sure:"}
    assert (told["continue_final_message"], told["add_generation_prompt"]) == (True, False)


def test_an_interface_without_messages_takes_one_text() -> None:
    service = {"endpoint": {"url": "http://127.0.0.1:9/v1", "api": "completions"}}
    bare = {"few_shot": [], "system": ""}
    asked = asking(service=service, prompts=bare)
    assert asked.path == "/v1/completions"
    assert asked.request(item(variables={"question": "x"})).body["prompt"] == "Question: x"
    with pytest.raises(Unreadable, match="takes one text"):
        asking(service=service).request(item(prompt="x"))


def test_what_no_request_can_say_is_told() -> None:
    sampling = {**evals.SAMPLING, "min_tokens": 3}
    assert set(asking(sampling=sampling).left_out) == {"sampling.min_tokens"}
    assert "min_tokens" not in body(item(prompt="x"), sampling=sampling)
