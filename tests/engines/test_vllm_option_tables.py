"""The tables that were read from the wheels say what the installed vLLM's own parser says."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from typing import Any

import pytest

from governance.engines import tables
from governance.engines.model import OptionTable
from governance.values import ABSENT, Unknown
from tests.support.vllm_server import ENVIRONMENTS, ROOT, program

PROBE = """
import json, sys
sys.argv = ["vllm", "serve"]
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.entrypoints.launchers.cli_args import make_arg_parser

def plain(value):
    try:
        json.dumps(value)
        return value
    except TypeError:
        many = isinstance(value, (set, frozenset, tuple))
        return sorted(map(str, value)) if many else {"object": str(value)}

print(json.dumps({
    action.dest: {
        "flags": action.option_strings, "default": plain(action.default), "class": type(action).__name__,
        "choices": [str(c) for c in action.choices if c is not None] if action.choices else None,
        "many": action.nargs in ("+", "*") or "Append" in type(action).__name__,
    }
    for action in make_arg_parser(FlexibleArgumentParser())._actions
}))
"""
# What `argparse` calls suppressed is not there at all; choices it is not told of, vLLM checks later.
SUPPRESSED = "==SUPPRESS=="
CHECKED_LATER = {
    "attention_backend", "mm_encoder_attn_backend", "mamba_backend", "mm_processor_device",
    "collect_detailed_traces",
}  # fmt: skip

pytestmark = pytest.mark.engines


@pytest.fixture(params=sorted(ENVIRONMENTS), name="pair")
def _pair(request: pytest.FixtureRequest) -> tuple[OptionTable, dict[str, Any]]:
    table = tables.table("vllm", request.param)
    assert isinstance(table, OptionTable)
    return table, parser_of(request.param)


@cache
def parser_of(version: str) -> dict[str, Any]:
    """What the installed parser says of each option; making it takes vLLM ten seconds and more."""
    found = subprocess.run(
        [str(program("python", version)), "-c", PROBE],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT.parent,
    )
    parser = json.loads(found.stdout.splitlines()[-1])
    return {k: v for k, v in parser.items() if k not in ("help", "model_tag")}


def test_the_table_has_exactly_the_options_of_the_parser(pair: tuple[OptionTable, dict[str, Any]]) -> None:
    table, parser = pair
    assert {n for n in table.options if "." not in n} == set(parser)


def test_flags_kinds_and_choices_are_those_of_the_parser(pair: tuple[OptionTable, dict[str, Any]]) -> None:
    table, parser = pair
    for name, action in parser.items():
        option = table.options[name]
        spelled = {*option.flags, *([option.negation] if option.negation else [])}
        assert spelled == set(action["flags"]), name
        assert (option.type == "list") is action["many"], name
        if name not in CHECKED_LATER:
            assert set(option.choices or ()) == set(action["choices"] or ()) - {"None"}, name


def test_literal_defaults_are_those_of_the_parser(pair: tuple[OptionTable, dict[str, Any]]) -> None:
    table, parser = pair
    literal = 0
    for name, action in parser.items():
        default, real = table.options[name].default, action["default"]
        if isinstance(default, Unknown) or (isinstance(real, dict) and "object" in real):
            continue
        literal += 1
        assert (SUPPRESSED if default is ABSENT else default) == real, name
        assert isinstance(default, type(real)) or default is ABSENT, name
    assert literal > 0.9 * len(parser)
