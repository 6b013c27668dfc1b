"""The extractors read declarations out of source text without importing it, and never guess."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from extractors import commandline, llama_cpp, ranges
from extractors.static import Evaluator, Scope, Unresolved

SOURCES = {
    "pkg/words.py": "from typing import Literal\nMODES = ('a', 'b')\nMode = Literal['a', 'b']\n",
    "pkg/kinds.py": "import enum\nclass Kind(enum.Enum):\n    X = 'x'\n    Y = enum.auto()\n",
    "pkg/config.py": """
from dataclasses import dataclass, field
from pkg.words import MODES, Mode
from .kinds import Kind

@dataclass
class Base:
    size: int = 4 * 1024

@dataclass
class Config(Base):
    mode: Mode = MODES[0]
    sizes: list[int] = field(default_factory=list)
    kind: Kind | None = Kind.X
    cores: int = count()

def add(parser):
    group = parser.add_argument_group("x")
    kw = {"default": Config.size}
    kw["default"] += 1
    group.add_argument("--size", "-s", type=int, **kw)
    for name in MODES:
        group.add_argument(f"--{name.replace('_', '-')}", action="store_true")
    group.add_argument("--mode", choices=[m for m in MODES if m != "b"], default=Config.cores)
""",
}


class Tree:
    """Source text in memory."""

    def read(self, member: str) -> str | None:
        return SOURCES.get(member)


def evaluator() -> Evaluator:
    return Evaluator(
        Tree(), {"add_argument": commandline.add_argument, "add_argument_group": lambda *_: Unresolved("g")}
    )


def value(text: str) -> Any:
    import ast

    found = evaluator()
    module = found.module("pkg.config")
    assert module is not None
    return found.value(ast.parse(text, mode="eval").body, Scope(module))


def test_names_are_followed_through_modules_classes_and_bases() -> None:
    assert value("Config.size") == 4096
    assert value("Config.mode") == "a"
    assert value("Config.sizes") == []
    assert value("Config.kind.value") == "x"
    assert value("[k.name for k in Kind]") == ["X", "Y"]
    assert value("get_args(Mode)") == ("a", "b")


def test_what_cannot_be_worked_out_is_unresolved_with_its_source() -> None:
    assert value("Config.cores") == Unresolved("count()")
    assert isinstance(value("Config.cores + 1"), Unresolved)
    assert isinstance(value("nowhere.at_all"), Unresolved)


def test_a_function_body_is_run_for_its_arguments() -> None:
    found = evaluator()
    module = found.module("pkg.config")
    assert module is not None
    commandline.RECORDER.calls.clear()
    found.call(found.module_name(module, "add"), [Unresolved("parser")], {})
    options = commandline.collected()
    assert options["size"] == {"flags": ["--size", "-s"], "type": "int", "default": 4097}
    assert options["a"] == {"flags": ["--a"], "type": "bool", "default": False}
    assert options["mode"] == {"flags": ["--mode"], "type": "str", "choices": ["a"], "computed": "count()"}


HELP = """----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of the prompt context (default: 0, 0 = loaded from model)
                                        (env: LLAMA_ARG_CTX_SIZE)
-kvo,  --kv-offload, -nkvo, --no-kv-offload
                                        whether to offload (default: enabled)
-ctk,  --cache-type-k TYPE              KV cache data type for K
                                        allowed values: f32, f16
                                        (default: f16)
-tb,   --threads-batch N                number of threads (default: same as --threads)
--samplers SAMPLERS                     samplers in order
                                        (default: dry;top_k;temperature)
"""


def test_a_help_text_becomes_options() -> None:
    found = dict(p for h, d in llama_cpp.entries(HELP) if (p := llama_cpp.option(h, d)) is not None)
    for option in found.values():
        option.pop("help")
    assert found == {
        "ctx_size": {"flags": ["--ctx-size", "-c"], "env": "LLAMA_ARG_CTX_SIZE", "type": "int", "default": 0},
        "kv_offload": {
            "flags": ["--kv-offload", "-kvo"], "negation": "--no-kv-offload", "negations": ["-nkvo"],
            "type": "bool", "default": True,
        },
        "cache_type_k": {
            "flags": ["--cache-type-k", "-ctk"], "choices": ["f32", "f16"], "type": "str", "default": "f16",
        },
        "threads_batch": {
            "flags": ["--threads-batch", "-tb"], "type": "number", "computed": "same as --threads",
        },
        "samplers": {"flags": ["--samplers"], "type": "str", "default": "dry;top_k;temperature"},
    }  # fmt: skip


def tables(options: dict[str, Any]) -> dict[str, Any]:
    return {"options": options, "environment": {}, "sampling": {}, "request": {}, "facts": {}}


def test_versions_that_say_the_same_share_one_entry() -> None:
    one, two = {"type": "int", "default": 1}, {"type": "int", "default": 2}
    read = [("1", tables({"a": one})), ("2", tables({"a": one, "b": one})), ("3", tables({"a": two}))]
    folded = ranges.folded(read)["options"]
    assert folded["a"] == [{"since": "1", **one, "until": "2"}, {"since": "3", **two}]
    assert folded["b"] == [{"since": "2", **one, "until": "2"}]


def test_what_is_written_is_json_with_a_line_for_each_entry() -> None:
    document = {
        "engine": "x",
        "versions": ["1"],
        "options": {"a": [{"since": "1", "default": None}]},
        "facts": {},
    }
    text = ranges.dumped(document)
    assert json.loads(text) == document
    assert '   {"since": "1", "default": null}]' in text.splitlines()
