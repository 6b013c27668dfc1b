"""Validation of one file: what comes out of a good one, and what is said about a bad one."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from governance.tiers.reader import read_yaml
from governance.tiers.schema_codes import CODES
from governance.tiers.validate import validate
from governance.verdict import Finding

BASE = "kind: base\nmodel: {id: a}\nengine: {name: vllm, version: 0.8.4}\n"


def judged(kind: str, text: str) -> tuple[Any, list[Finding]]:
    """The clean tree of `text` as a file of `kind`, and the findings of reading and validating it."""
    name = "tierlock.yaml" if kind == "services" else f"configs/{kind}/x.yaml"
    reading = read_yaml(text.encode(), name)
    tree, findings = validate(kind, reading)
    return tree, [*reading.findings, *findings]


def sampling(lines: str) -> Any:
    tree, findings = judged("sampling", f"kind: sampling\n{lines}\n")
    assert not findings
    return tree


def test_the_tree_has_just_the_keys_of_the_file_in_the_order_of_the_schema() -> None:
    assert list(sampling("seed: 1\ntemperature: 0.5")) == ["kind", "temperature", "seed"]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", 1.0),
        ("1.0", 1.0),
        ("1.00", 1.0),
        ("0", 0.0),
        ("-0.0", 0.0),
        ("0.30000000000000004", 0.30000000000000004),
    ],
)
def test_a_whole_number_in_a_number_field_is_that_number(written: str, value: float) -> None:
    """A formatter that writes 1.0 for 1 must not block a release; a last digit that differs must."""
    found = sampling(f"temperature: {written}")["temperature"]
    assert repr(found) == repr(value)


def test_negative_zero_deep_in_a_free_mapping_is_zero() -> None:
    tree, _ = judged("base", BASE.replace("0.8.4}", "0.8.4, extra: {a: [1, {b: -0.0}]}}"))
    assert repr(tree["engine"]["extra"]) == "{'a': [1, {'b': 0.0}]}"


def test_a_set_is_sorted_and_a_list_keeps_its_order() -> None:
    """Stop ids in another order mean the same; samplers in another order do not."""
    tree = sampling("stop_token_ids: [32007, 2, 2]\nsamplers: [top_k, min_p]\nstop: [b, a]")
    assert tree["stop_token_ids"] == [2, 32007]
    assert tree["samplers"] == ["top_k", "min_p"]
    assert tree["stop"] == ["b", "a"]


def test_inherit_is_a_value_of_its_own() -> None:
    assert sampling("top_k: inherit\nstop_token_ids: inherit")["top_k"] == "inherit"


def test_sets_below_lists_are_sorted() -> None:
    adapters = "adapters: [{name: r, target_modules: [q, a]}]"
    tree, findings = judged("base", BASE.replace("{id: a}", f"{{id: a, {adapters}}}"))
    assert not findings
    assert tree["model"]["adapters"][0]["target_modules"] == ["a", "q"]


S = "kind: sampling\n"
# kind, text, then line, column, code, a part of the message, a part of the hint
MISTAKES: list[tuple[str, str, int, int, str, str, str]] = [
    ("sampling", S + "tempurature: 0.1", 2, 1, "TL103", "`tempurature`", "you mean `temperature`?"),
    ("sampling", S + "max_new_tokens: 5", 2, 1, "TL103", "`max_new_tokens`", "`max_tokens`"),
    ("sampling", S + "maxTokens: 5", 2, 1, "TL103", "`maxTokens`", "`max_tokens`"),
    ("sampling", S + "repeat_penalty: 1.1", 2, 1, "TL103", "", "`repetition_penalty`"),
    ("sampling", S + "num_ctx: 4096", 2, 1, "TL103", "`num_ctx`", "`engine.options.max_model_len`"),
    ("sampling", S + "max_model_len: 1", 2, 1, "TL103", "", "a key of base configs"),
    ("sampling", S + "mirostat: {moed: 2}", 2, 12, "TL103", "`moed`", "`mode`"),
    ("sampling", S + 'temperature: "0.1"', 2, 14, "TL102", 'the text "0.1"', "without quotes: 0.1"),
    ("sampling", S + "temperature: true", 2, 14, "TL102", "is true", "are no numbers"),
    ("sampling", S + "max_tokens: 512.5", 2, 13, "TL102", "512.5", "512 or 513"),
    ("sampling", S + "max_tokens: 512.0", 2, 13, "TL102", "512.0", "write 512"),
    ("sampling", S + "max_tokens: 0", 2, 13, "TL104", "allowed is at least 1", "cuts the answer"),
    ("sampling", S + "temperature: 9", 2, 14, "TL104", "allowed is 0 to 5", ""),
    ("sampling", S + "top_k: null", 2, 1, "TL107", "no value", "leave the key out, or write inherit"),
    ("sampling", S + "top_k:\nseed: 1", 2, 1, "TL107", "`top_k`", "write inherit"),
    ("sampling", S + "task:\n", 2, 1, "TL107", "`task`", "leave the key out, or give it a value"),
    ("sampling", S + "stop: [a, null]", 2, 11, "TL107", "`stop[1]`", "remove the item"),
    ("sampling", S + "stop: [false]", 2, 8, "TL102", "`stop[0]` is false", 'quote it: "false"'),
    ("sampling", S + "stop: END", 2, 7, "TL102", "a list", "write a list: [END]"),
    ("sampling", S + "top_p: inherrit", 2, 8, "TL105", "not a choice", "did you mean `inherit`?"),
    ("sampling", S + "overridable: [temp]", 2, 15, "TL105", "`overridable[0]`", "`temperature`"),
    ("sampling", S + "logit_bias: {abc: 1}", 2, 14, "TL110", "`abc`", ""),
    ("sampling", "temperature: 0.1", 1, 1, "TL101", "`kind` is missing", "add `kind: sampling`"),
    ("sampling", "kind: base", 1, 7, "TL106", "configs/sampling/", "`kind: sampling`, or move the file"),
    ("sampling", "kind: samplin", 1, 7, "TL106", "`samplin`", "write `kind: sampling`"),
    ("base", BASE.replace("{id: a}", "{id: a, revision: 0.10}"), 2, 26, "TL102", "is 0.1", 'it: "0.10"'),
    ("base", BASE.replace("0.8.4", "0.8"), 3, 31, "TL102", "is 0.8", 'quote it: "0.8"'),
    ("base", BASE.replace("vllm", "vlm"), 3, 16, "TL105", "`engine.name`", "did you mean `vllm`?"),
    ("base", BASE + "dtype: auto\n", 4, 1, "TL103", "`dtype`", "`precision.dtype`"),
    ("base", BASE + "environment: {variables: {A: 1}}\n", 4, 30, "TL102", "must be text", 'quote it: "1"'),
    ("base", BASE.replace("0.8.4}", "0.8.4, options: {foo: 1}}"), 3, 48, "TL103", "`foo`", "`engine.extra`"),
    ("prompts", "kind: prompts\nsystem: {fil: x}", 2, 10, "TL103", "`fil`", "`file`"),
    ("prompts", 'kind: prompts\nsystem: ""', 2, 9, "TL109", "is empty", "leave the key out"),
    ("prompts", "kind: prompts\nfew_shot: [{role: usr, content: x}]", 2, 19, "TL105", "", "`user`"),
    ("prompts", "kind: prompts\ndate: '2026-13-01'", 2, 7, "TL108", "must be a date", ""),
    ("base", BASE.replace("a}", "a, weights: {format: gguf, files: {x: ab}}}"), 2, 51, "TL108", "", "whole"),
    ("services", "version: 1\nservices: {s: {base: a b, sampling: x}}", 2, 22, "TL108", "", "write a-b"),
    ("services", "version: 1\nrules: {exemptions: [{rule: TL1}]}", 2, 29, "TL108", "a rule code", ""),
    ("services", "version: 1\nreview: {base: {approvals: 99}}", 2, 28, "TL104", "allowed is 0 to 20", ""),
    ("services", "version: 2", 1, 10, "TL104", "allowed is 1", ""),
    ("services", "version: true", 1, 10, "TL102", "is true", ""),
    ("services", "version: 1.0", 1, 10, "TL102", "is 1.0", "write 1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "line", "column", "code", "message", "hint"), MISTAKES)
def test_a_mistake_is_named_with_its_place_and_its_fix(
    kind: str, text: str, line: int, column: int, code: str, message: str, hint: str
) -> None:
    tree, findings = judged(kind, text)
    assert tree is None
    found = [each for each in findings if each.code == code]
    assert found, findings
    first = found[0]
    assert (first.line, first.column) == (line, column)
    assert message in first.message
    assert hint in first.hint
    assert first.excerpt == text.split("\n")[line - 1]
    assert first.width >= 1


def test_every_mistake_in_a_file_is_reported_at_once() -> None:
    text = "kind: sampling\ntempurature: 0.1\ntop_k: null\nseed: true\nmax_tokens: 0\n"
    _, findings = judged("sampling", text)
    assert [(each.line, each.code) for each in findings] == [
        (2, "TL103"),
        (3, "TL107"),
        (4, "TL102"),
        (5, "TL104"),
    ]


def test_the_alternative_that_was_meant_is_explained() -> None:
    """`system` may be a text or a file: a mapping with a slip is a file with a slip, not a wrong type."""
    _, findings = judged("prompts", "kind: prompts\nfew_shot: [{input: a, outptu: b}]\n")
    assert {(each.code, each.key) for each in findings} == {
        ("TL101", "few_shot[0].output"),
        ("TL103", "few_shot[0].outptu"),
    }


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\nservices: {s: {base: a, sampling: a, prompts: a, endpoint: {url: 'http://u:hunter2@h/'}}}",
        "version: 1\nservices:\n  s:\n    endpoint: {url: 'http://h', api_key: hunter2}\n",
    ],
)
def test_a_secret_written_as_a_value_is_refused_and_never_repeated(text: str) -> None:
    tree, findings = judged("services", text)
    assert tree is None
    assert findings
    assert all("hunter2" not in f"{each.message}{each.hint}{each.excerpt}" for each in findings)


def test_a_refused_reading_gives_no_further_finding() -> None:
    reading = read_yaml(b"a: 1\na: 2\n", "configs/sampling/x.yaml")
    assert validate("sampling", reading) == (None, ())


def test_every_code_used_is_in_the_catalogue() -> None:
    used = {code for *_, code, _, _ in MISTAKES}
    assert used <= CODES.keys()
    for code, entry in CODES.items():
        assert code.startswith(("TL05", "TL06", "TL1"))
        assert entry.what.endswith("."), code
        assert entry.why.endswith("."), code
        assert entry.fix.endswith("."), code


LAZY = """
import sys
from governance.tiers.reader import read_yaml
from governance.tiers.validate import validate
name = "configs/sampling/x.yaml"
tree, findings = validate("sampling", read_yaml(b"kind: sampling\\ntemperature: 1\\n", name))
assert tree == {"kind": "sampling", "temperature": 1.0}, findings
tree, findings = validate("sampling", read_yaml(b"kind: sampling\\ntop_q: 1\\n", name))
assert [each.code for each in findings] == ["TL103"], findings
loaded = {"pydantic", "pydantic_core", "typing_extensions"} & set(sys.modules)
assert not loaded, loaded
import pydantic
from governance.tiers.schemas.build import MODELS
assert MODELS["sampling"].model_validate({"kind": "sampling"}).kind == "sampling"
"""
FALLBACK = """
from governance.tiers import compiled
compiled._extension_alone = lambda: None
import pydantic_core
assert compiled.core() is pydantic_core
assert compiled.validator("sampling").validate_python({"kind": "sampling"}) == {"kind": "sampling"}
"""
WITHOUT = """
import importlib.machinery
from governance.tiers import compiled
compiled.EXTENSION_SUFFIXES = []
assert compiled.core().__name__ == "pydantic_core"
assert compiled.validator("sampling").validate_python({"kind": "sampling"}) == {"kind": "sampling"}
"""
AFTER = """
import pydantic_core
from governance.tiers import compiled
assert compiled.core() is pydantic_core
"""


@pytest.mark.parametrize(
    "program", [LAZY, FALLBACK, WITHOUT, AFTER], ids=["lazy", "fallback", "without", "after"]
)
def test_pydantic_is_not_imported_to_validate_and_can_be_imported_afterwards(program: str) -> None:
    """The hook has 20 ms; pydantic alone takes more. Run in a process of its own: imports are global."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
