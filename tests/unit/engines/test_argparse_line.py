"""Command lines as Python's argparse and vLLM's own parser read them."""

from __future__ import annotations

import shlex

import pytest

from governance.engines.argparse_line import Line, Spellings, config_arguments, read, write
from governance.engines.model import Option, OptionTable
from governance.values import Json

OPTIONS = (
    Option("model", ("--model",), type="str"),
    Option("max_model_len", ("--max-model-len",), type="int"),
    Option("max_num_seqs", ("--max-num-seqs",), type="int"),
    Option("gpu_memory_utilization", ("--gpu-memory-utilization",), type="float", default=0.9),
    Option("tensor_parallel_size", ("--tensor-parallel-size", "-tp"), type="int", default=1),
    Option("prefix", ("--enable-prefix-caching",), type="bool", negation="--no-enable-prefix-caching"),
    Option("eager", ("--enforce-eager",), type="bool", default=False),
    Option("chunked", ("--chunked",), type="bool", choices=("true", "false")),
    Option("names", ("--served-model-name",), type="list"),
    Option("middleware", ("--middleware",), type="list", repeats=True),
    Option("dtype", ("--dtype",), type="str", choices=("auto", "float16")),
    Option("config", ("--compilation-config", "-cc"), type="json"),
)
SPELLINGS = Spellings(OptionTable("x", "1", {o.name: o for o in OPTIONS}, ""))


def said(text: str) -> Line:
    return read(shlex.split(text), SPELLINGS)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("--max-model-len 8192", "max_model_len", 8192),
        ("--max_model_len=8192", "max_model_len", 8192),
        ("--max-model 8192", "max_model_len", 8192),
        ("--max-model-len 32k", "max_model_len", 32000),
        ("--max-model-len 32K", "max_model_len", 32768),
        ("--max-model-len 1.5M", "max_model_len", 1572864),
        ("--max-model-len -1", "max_model_len", -1),
        ("--gpu-mem 0.85", "gpu_memory_utilization", 0.85),
        ("-tp 4", "tensor_parallel_size", 4),
        ("-tp4", "tensor_parallel_size", 4),
        ("--enable-prefix-caching", "prefix", True),
        ("--no-enable-prefix-caching", "prefix", False),
        ("--chunked=False", "chunked", False),
        ("--chunked true", "chunked", True),
        ("--served-model-name a b", "names", ["a", "b"]),
        ("--middleware a --middleware b", "middleware", ["a", "b"]),
        ("--compilation-config '{\"mode\": 3}'", "config", {"mode": 3}),
        ("-cc.mode 3 -cc.pass.fuse true", "config", {"mode": 3, "pass": {"fuse": True}}),
        ('-cc \'{"mode": 1, "a": 2}\' -cc \'{"mode": 3}\'', "config", {"mode": 3}),
        ("-cc.sizes+ 1 -cc.sizes+ 2 -cc.limit 4k", "config", {"sizes": ["1", "2"], "limit": 4000}),
        ("--compilation-config.sizes+ 1,2", "config", {"sizes": ["1", "2"]}),
    ],
)
def test_a_value_is_read_however_it_is_spelled(text: str, name: str, value: Json) -> None:
    line = said(text)
    assert line.values == {name: value}
    assert type(line.values[name]) is type(value)
    assert line.problems == ()
    assert line.unknown == ()


@pytest.mark.parametrize(
    "text", ['-cc \'{"mode": 1, "a": 2}\' -cc.mode=3', '-cc.mode=3 -cc \'{"mode": 1, "a": 2}\'']
)
def test_parts_replace_the_whole_wherever_it_stands(text: str) -> None:
    """Measured on vLLM 0.29.0 and 0.32.0: what was given whole is gone, without a word."""
    line = said(text)
    assert line.values == {"config": {"mode": 3}}
    assert line.problems == ("`config` is given whole and by its parts: the parts alone count",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--max-num-seqs many", "`--max-num-seqs`: `many` is no number"),
        ("--dtype float99", "`--dtype`: `float99` is none of auto, float16"),
        ("--max-model-len", "`--max-model-len` needs a value"),
        ("--compilation-config '{mode'", "`--compilation-config`: is no JSON"),
        ("--enforce-eager=maybe", "`--enforce-eager`: `maybe` is neither true nor false"),
        ("--enable-prefix-caching=true", "`--enable-prefix-caching` takes no value"),
        ("--max 3", "`--max` could be `--max-model-len`, `--max-num-seqs`"),
    ],
)
def test_what_cannot_be_read_names_its_flag(text: str, message: str) -> None:
    assert message in said(text).problems[0]


def test_an_unknown_flag_is_kept_apart_with_its_value() -> None:
    line = said("org/model --frobnicate 3 --dtype auto -- rest")
    assert line.unknown == ("--frobnicate",)
    assert line.words == ("org/model", "rest")
    assert line.values == {"dtype": "auto"}


@pytest.mark.parametrize("option", OPTIONS, ids=lambda o: o.name)
def test_what_is_written_reads_back(option: Option) -> None:
    samples: dict[str, list[Json]] = {
        "bool": [True, False] if option.negation or option.choices else [True],
        "int": [0, 7, -1],
        "float": [0.5, 1.0],
        "str": ["auto"],
        "list": [["a"], ["a", "b"]],
        "json": [{"a": {"b": [1, True, None]}}],
    }
    for value in samples[option.type]:
        assert read(list(write(option, value)), SPELLINGS).values == {option.name: value}


def test_a_switch_that_cannot_be_switched_off_says_so() -> None:
    with pytest.raises(ValueError, match="cannot be switched off"):
        list(write(Option("x", ("--x",), type="bool", default=True), False))


def test_a_config_file_stands_for_arguments() -> None:
    arguments = config_arguments(
        {"max_model_len": 4096, "enforce-eager": True, "served-model-name": ["a", "b"], "x": None}
    )
    assert arguments == ["--max-model-len", "4096", "--enforce-eager", "--served-model-name", "a", "b"]
