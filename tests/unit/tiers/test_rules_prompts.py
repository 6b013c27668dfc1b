"""Prompts rules at their edges: templates, stop strings, contracts, budgets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from governance.verdict import Severity
from tests.support.rules import codes, found

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}
WITH_SCHEMA = {"output": {"schema": {"file": "schema.json"}}}


def schema(value: Any) -> dict[str, str]:
    return {"prompts/demo/schema.json": json.dumps(value) + "\n"}


def template(text: str, *names: str) -> dict[str, Any]:
    return {"template": {"file": "user.md.j2", "variables": dict.fromkeys(names, "text") or {"x": "text"}}}


def files(text: str) -> dict[str, str]:
    return {"prompts/demo/user.md.j2": text}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n{{ x\n", 2),
        ("{% if x %}\n", 1),
        ("{{ x | }}\n", 1),
        ("a\nb\n{% endfor %}{{ x }}\n", 3),
    ],
)
def test_a_broken_template_is_found_at_its_line(text: str, line: int) -> None:
    (finding,) = found("TL410", prompts=template(text, "x"), files=files(text))
    assert finding.path == "configs/prompts/demo/user.md.j2"
    assert finding.line == line


def test_an_undefined_variable_is_found_where_it_stands() -> None:
    text = "Read this:\n\n  {{ article }} and {{ note }}\n"
    (finding,) = found("TL411", prompts=template(text, "article"), files=files(text))
    assert (finding.line, finding.column) == (3, 24)
    assert finding.excerpt == "  {{ article }} and {{ note }}"
    assert "`note`" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "{% for item in x %}{{ item }}{% endfor %}",
        "{% set y = x %}{{ y }}",
        "{{ x }}{% if note is defined %}{{ note }}{% endif %}",
        "{{ x }}{{ note | default('none') }}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(x) }}",
    ],
)
def test_what_the_template_defines_or_guards_is_not_undefined(text: str) -> None:
    assert not found("TL411", prompts=template(text, "x"), files=files(text))


def test_a_template_taken_as_it_is_has_no_variables() -> None:
    prompts = {"template": {"text": "{{ not a variable }}", "engine": "none"}}
    assert codes(prompts=prompts) == []


def test_a_pinned_date_settles_the_clock() -> None:
    text = "{{ x }} {{ strftime_now('%Y') }}"
    assert found("TL413", prompts=template(text, "x"), files=files(text))
    assert not found("TL413", prompts={**template(text, "x"), "date": "2026-11-02"}, files=files(text))


@pytest.mark.parametrize(
    ("prompts", "config", "severity"),
    [
        ({"add_special_tokens": True}, {"add_bos_token": True}, Severity.ERROR),
        ({"add_special_tokens": False}, {"add_bos_token": True}, None),
        ({}, {"add_bos_token": True}, Severity.WARNING),
        ({"add_special_tokens": True}, {}, Severity.WARNING),
        ({"add_special_tokens": True}, {"add_bos_token": False}, None),
        ({"add_special_tokens": True, "bos": {"added_by_tokenizer": True}}, {}, Severity.ERROR),
        ({}, {}, None),
    ],
)
@pytest.mark.parametrize("start", ["{{ bos_token }}", "{{- bos_token }}", "<s>", "{{ bos_token + 'x' }}"])
def test_who_writes_the_first_token(
    prompts: dict[str, Any], config: dict[str, Any], severity: Severity | None, start: str
) -> None:
    given = {
        "chat_template": {"file": "t.jinja"},
        "tokenizer_config": {"file": "tokenizer_config.json"},
        **prompts,
    }
    text = {
        "prompts/demo/t.jinja": start + "{% for m in messages %}{{ m.content }}{% endfor %}",
        "prompts/demo/tokenizer_config.json": json.dumps({"bos_token": "<s>", **config}),
    }
    findings = found("TL416", prompts=given, files=text)
    assert [finding.severity for finding in findings] == ([severity] if severity else [])


def test_the_chat_template_inside_a_tokenizer_config_is_read_too() -> None:
    config = {"bos_token": "<s>", "add_bos_token": True, "chat_template": "{{ bos_token }}{{ messages }}"}
    prompts = {"tokenizer_config": {"file": "tokenizer_config.json"}, "add_special_tokens": True}
    assert found("TL416", prompts=prompts, files={"prompts/demo/tokenizer_config.json": json.dumps(config)})


@pytest.mark.parametrize(
    ("answer", "stop", "told"),
    [
        ("END of it", "END", "at once"),
        ("It is END", "END", "end early"),
        ("a\n\nb", "\n\n", "end early"),
        ("It is so", "END", None),
    ],
)
def test_a_stop_string_in_an_example_answer_is_found(answer: str, stop: str, told: str | None) -> None:
    few = {"few_shot": [{"input": "q", "output": answer}], "stop": [stop]}
    findings = found("TL423", prompts=few)
    assert bool(findings) is (told is not None)
    if told:
        assert told in findings[0].message
    bound = found("TL423", prompts={"few_shot": few["few_shot"]}, sampling={"stop": [stop]})
    assert [finding.path for finding in bound] == ["configs/sampling/demo.yaml"] * bool(told)


def test_the_end_of_a_line_in_a_template_is_no_stop_in_it() -> None:
    prompts = {**template("a\n\nb {{ x }}", "x"), "stop": ["\n\n"]}
    assert not found("TL420", prompts=prompts, files=files("a\n\nb {{ x }}"))


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"type": "text"}, "no type"),
        ({"type": "object", "required": "answer"}, "list of names"),
        ({"enum": []}, "one value"),
        ({"anyOf": []}, "list of schemas"),
        ({"properties": ["a"]}, "mapping"),
        ({"properties": {"a": 7}}, "a schema is"),
        ({"type": "string", "minLength": 5, "maxLength": 2}, "no answer can be right"),
        ({"type": "string", "pattern": "["}, "regular expression"),
        ({"properties": {"a": {}}, "required": ["b"], "additionalProperties": False}, "no answer"),
        ([], "a schema is"),
    ],
)
def test_a_schema_that_is_none_is_found(bad: Any, told: str) -> None:
    (finding, *_) = found("TL430", prompts=WITH_SCHEMA, files=schema(bad))
    assert told in finding.message
    assert finding.path.endswith("schema.json")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"answer": "x", "sure": true}', None),
        ('{"answer": "x"}', "`sure` is missing"),
        ('{"answer": 1, "sure": true}', "no string"),
        ('{"answer": "x", "sure": true, "z": 1}', "not in the schema"),
        ("no json", "no JSON"),
    ],
)
def test_examples_must_keep_the_schema(answer: str, told: str | None) -> None:
    prompts = {**WITH_SCHEMA, "few_shot": {"file": "few_shot.jsonl"}}
    line = json.dumps({"input": "q", "output": answer}) + "\n"
    findings = found("TL432", prompts=prompts, files={**schema(SCHEMA), "prompts/demo/few_shot.jsonl": line})
    assert bool(findings) is (told is not None)
    if told:
        assert told in findings[0].message
        assert (findings[0].path, findings[0].line) == ("configs/prompts/demo/few_shot.jsonl", 1)


@pytest.mark.parametrize(
    ("output", "answer", "wrong"),
    [
        ({"max_sentences": 2}, "One. Two.", False),
        ({"max_sentences": 2}, "Version 1.2 costs 3.50 euro. Yes.", False),
        ({"max_sentences": 2}, "一。二。三。", True),
        ({"max_words": 2}, "one two three", True),
        ({"max_paragraphs": 1}, "a\n\nb", True),
        ({"regex": "[0-9]+"}, "12", False),
        ({"regex": "[0-9]+"}, "12a", True),
        ({"choices": ["yes", "no"]}, "maybe", True),
        ({"must_contain": ["Source:"]}, "none", True),
        ({"must_not_contain": ["sorry"]}, "I am sorry", True),
    ],
)
def test_examples_must_keep_the_rest_of_the_contract(
    output: dict[str, Any], answer: str, wrong: bool
) -> None:
    prompts = {"output": output, "few_shot": [{"input": "q", "output": answer}]}
    assert bool(found("TL432", prompts=prompts)) is wrong


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(?:a|aa)+b", "a*a*a*a*a*b", "(a?){40}b"])
def test_a_regular_expression_that_could_run_for_ever_is_not_run(pattern: str) -> None:
    """A commit hook must end, whatever a prompt author writes."""
    shot = {"few_shot": [{"input": "q", "output": "a" * 60}]}
    assert not found("TL432", prompts={"output": {"regex": pattern}, **shot})
    given = {"type": "string", "pattern": pattern}
    shot = {"few_shot": [{"input": "q", "output": json.dumps("a" * 60)}]}
    assert not found("TL432", prompts={**WITH_SCHEMA, **shot}, files=schema(given))


@pytest.mark.parametrize(
    ("stop", "wrong"), [("}", True), (":", True), ('"', True), (",", True), ("\n\n", False), ("</s>", False)]
)
def test_a_stop_string_that_every_json_answer_has_is_found(stop: str, wrong: bool) -> None:
    assert bool(found("TL434", prompts={**WITH_SCHEMA, "stop": [stop]}, files=schema(SCHEMA))) is wrong
    bound = found("TL434", prompts=WITH_SCHEMA, sampling={"stop": [stop]}, files=schema(SCHEMA))
    assert bool(bound) is wrong


def test_a_recursive_schema_has_no_known_shortest_answer() -> None:
    loop = {"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}}
    given = {**loop, "$ref": "#/$defs/n"}
    assert not found("TL436", prompts=WITH_SCHEMA, sampling={"max_tokens": 1}, files=schema(given))


def test_references_inside_a_schema_are_followed() -> None:
    given = {"$defs": {"t": {"type": "string", "minLength": 400}}, "type": "object"}
    given |= {"properties": {"a": {"$ref": "#/$defs/t"}}, "required": ["a"]}
    assert found("TL436", prompts=WITH_SCHEMA, sampling={"max_tokens": 64}, files=schema(given))
    assert not found("TL436", prompts=WITH_SCHEMA, sampling={"max_tokens": 256}, files=schema(given))


def test_a_prompt_that_cannot_fit_blocks_and_one_that_may_not_warns() -> None:
    base = {"engine/options/max_model_len": 512}
    (certain,) = found("TL440", base=base, prompts={"system": "word " * 600 + "\n"})
    assert certain.severity is Severity.ERROR
    (perhaps,) = found("TL440", base=base, prompts={"system": "word " * 240 + "\n"})
    assert perhaps.severity is Severity.WARNING
    assert "estimated" in perhaps.message
    assert not found("TL440", base=base, prompts={"system": "word " * 100 + "\n"})


def test_a_task_that_cannot_hold_a_schema_blocks_one() -> None:
    services = {"profiles": {"factual": {"structured": False}}}
    (finding,) = found("TL438", prompts=WITH_SCHEMA, files=schema(SCHEMA), services=services)
    assert finding.severity is Severity.ERROR
