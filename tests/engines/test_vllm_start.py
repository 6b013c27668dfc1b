"""What vLLM does to options and variables before it serves is what `vllm_own_map` and `vllm_backends` say."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governance.engines import tables, vllm, vllm_backends
from governance.engines.model import OptionTable
from governance.engines.vllm_map import DERIVED, OPERATIONAL
from governance.engines.vllm_own import text_of
from governance.engines.vllm_own_map import PER_PROCESS, REWRITTEN, SET_BY_ENGINE, UNRELATED
from governance.tiers.rules.variables import classify
from governance.values import ABSENT, Unknown
from tests.support.vllm_server import ENVIRONMENTS, program

pytestmark = pytest.mark.engines
VERSIONS = pytest.mark.parametrize("version", sorted(ENVIRONMENTS))
VARIABLES = """
import json, vllm.envs as envs
def plain(value):
    return sorted(map(str, value)) if isinstance(value, set) else str(value)
print(json.dumps({name: read() for name, read in envs.environment_variables.items()}, default=plain))
"""
BACKENDS = """
import json
from vllm.v1.attention.backends.registry import AttentionBackendEnum
print(json.dumps({name: member.value for name, member in AttentionBackendEnum.__members__.items()}))
"""
PARSER = """
import json, sys
lines, sys.argv = json.loads(sys.argv[1]), ["vllm", "serve"]
from vllm.utils.argparse_utils import FlexibleArgumentParser
from vllm.entrypoints.launchers.cli_args import make_arg_parser
parser = make_arg_parser(FlexibleArgumentParser())
print(json.dumps([parser.parse_args(line).override_generation_config for line in lines]))
"""
OVERRIDE = "--override-generation-config"
TWICE = (
    (OVERRIDE, '{"top_p": 0.5}', OVERRIDE, '{"top_k": 13}'),
    (OVERRIDE, '{"top_p": 0.5}', f"{OVERRIDE}.top_k", "13"),
    (f"{OVERRIDE}.top_k", "13", OVERRIDE, '{"top_p": 0.5}'),
    (f"{OVERRIDE}.top_k", "13", f"{OVERRIDE}.top_p=0.5"),
    (f"{OVERRIDE}.top_k", "13", f"{OVERRIDE}.top_k", "14"),
)
# Where the resolved configuration is made, and what of it is changed only for a rare launch or a benchmark:
# another value than the default is then worth telling.
MAKERS = ("config", "platforms", "engine/arg_utils.py", "model_executor/models/config.py")
RARE = {
    "data_parallel_size": "the launcher of several nodes",
    "enable_bf16x3_router_gemm": "handed on as it is",
    "enforce_eager": "encoder-decoder models on ROCm",
    "gpu_memory_utilization": "an alias of itself",
    "nnodes": "the launcher of several nodes",
    "shutdown_timeout": "XPU",
}
SET = re.compile(
    r"""^\s*(?:os\.environ(?:\[|\.setdefault\()["'](VLLM_\w+)["'](?:\]\s*=[^=]|,)|envs\.(VLLM_\w+)\s*=[^=])""",
    re.MULTILINE,
)


def answer(version: str, code: str, *arguments: str) -> Any:
    """What a script in the environment of `version` prints, as JSON; it sees no variables but these two."""
    plain = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    found = subprocess.run(
        [str(program("python", version)), "-c", code, *arguments],
        capture_output=True, text=True, check=True, env=plain,
    )  # fmt: skip
    return json.loads(found.stdout.splitlines()[-1])


def sources(version: str) -> Path:
    """The folder of the installed package."""
    return next((program("python", version).parent.parent / "lib").glob("python3.*/site-packages/vllm"))


@VERSIONS
def test_a_variable_nobody_sets_has_the_default_of_the_table(version: str) -> None:
    table = tables.defaults("vllm", version, "environment")
    assert not isinstance(table, Unknown)
    real = answer(version, VARIABLES)
    assert real.keys() == table.keys()
    compared = {
        name: text_of(value)
        for name, value in real.items()
        if not isinstance(table[name], Unknown) and name not in SET_BY_ENGINE.keys() | PER_PROCESS
    }
    assert len(compared) > 260
    assert compared == {
        name: text_of(value)
        for name, value in table.items()
        if name in compared and value is not ABSENT and not isinstance(value, Unknown)
    }


@VERSIONS
def test_every_variable_the_engine_sets_is_known_as_such(version: str) -> None:
    known = tables.defaults("vllm", version, "environment")
    assert not isinstance(known, Unknown)
    found = {
        name
        for file in sources(version).rglob("*.py")
        if "benchmarks" not in file.parts
        for pair in SET.findall(file.read_text("utf-8"))
        for name in pair
        if name in known and classify(name) in ("output", "latency")
    }
    assert found - SET_BY_ENGINE.keys() - PER_PROCESS - {"VLLM_BATCH_INVARIANT"} == set()


@VERSIONS
def test_every_default_the_engine_rewrites_is_known_as_such(version: str) -> None:
    table = vllm.table(version)
    assert isinstance(table, OptionTable)
    literal = {
        name: option.default
        for name, option in table.options.items()
        if option.default not in (None, "auto", "") and not isinstance(option.default, Unknown)
    }
    found = {name for name in assigned(sources(version)) if literal.get(name, ABSENT) is not ABSENT}
    known = OPERATIONAL | UNRELATED | DERIVED.keys() | REWRITTEN.keys() | RARE.keys() | {"model"}
    assert found - known == set()


def assigned(package: Path) -> Iterator[str]:
    """The names of fields that code assigns on a configuration."""
    for maker in MAKERS:
        place = package / maker
        for file in place.rglob("*.py") if place.is_dir() else [place]:
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                targets = node.targets if isinstance(node, ast.Assign) else []
                yield from (target.attr for target in targets if isinstance(target, ast.Attribute))


@VERSIONS
def test_every_attention_backend_has_its_name(version: str) -> None:
    shown = {name: value for name, value in answer(version, BACKENDS).items() if value}
    assert {name: vllm_backends.backend(value) for name, value in shown.items()} == {n: n for n in shown}


@VERSIONS
def test_json_given_twice_is_read_as_the_parser_reads_it(version: str) -> None:
    real = answer(version, PARSER, json.dumps([["model", *line] for line in TWICE]))
    read = [
        vllm.parse(["vllm", "serve", "model", *line], {}, version=version).base["engine"] for line in TWICE
    ]
    assert [engine["options"]["generation_overrides"] for engine in read] == real  # type: ignore[index,call-overload]
