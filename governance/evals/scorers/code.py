"""`code`: the program an answer holds is run, within bounds, and its tests or its output decide.

- The program is the code fence of the answer (all of them in order, when there are several), else the answer.
- Tests run after it in one namespace; what fails or stops early is a wrong answer, and so is a program that
  needs more time or memory than it may. The last word is that of the harness: an answer that ends the
  process before its tests are through has not passed them.
- Python with the standard library. No network, no writing outside of a folder of its own, as far as the
  system lets us (`adapters/sandbox.py`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from governance.errors import MissingTool
from governance.evals.model import Item, Score
from governance.evals.scorers.json_answers import fences
from governance.evals.scorers.model import (
    Argument,
    Context,
    Example,
    Fault,
    Kind,
    Need,
    Scorer,
    argument,
    right,
    shown,
    texts,
    unscored,
    wrong,
)

if TYPE_CHECKING:
    from governance.adapters.sandbox import Ended

_MAX_SECONDS: Final = 120
_MAX_MEMORY_MB: Final = 8192
_MAX_CODE: Final = 256 * 1024

# The word is read before the answer runs and written after its tests have: whoever cannot name it has not
# got that far. Output is flushed first, so that the word is the end of it.
_HARNESS: Final = r"""
import io, json, os, sys
given = json.load(sys.stdin)
end, word = os.dup(1), given.pop("word")
sys.stdin = io.StringIO(given["stdin"])
space = {"__name__": "__main__"}
exec(compile(given["code"], "answer.py", "exec"), space)
space["__name__"] = "tests"
exec(compile(given["tests"], "tests.py", "exec"), space)
sys.stdout.flush()
os.write(end, word.encode())
"""


def _judge(item: Item, answer: str, context: Context) -> Score:  # noqa: ARG001
    code = program_of(answer)
    if not code.strip():
        return wrong("no program in the answer")
    if len(code) > _MAX_CODE:
        return wrong(f"the program has {len(code):,} characters")
    try:
        passed, output, why = _run(item, code)
    except MissingTool as err:
        return unscored(err.message)
    if not passed:
        return wrong(why)
    expected = texts(item.reference)
    if not expected or any(_same_output(output, each) for each in expected):
        return right()
    return wrong(f"it printed {shown(output)!r}, not {shown(expected[0])!r}")


def program_of(answer: str) -> str:
    """The program in an answer: the contents of its code fences, else all of it."""
    return "\n\n".join(fences(answer, "python", "py", "python3")) or answer


def _run(item: Item, code: str) -> tuple[bool, str, str]:
    """Whether the program and its tests ran to their end, what they printed, and what went wrong."""
    from governance.adapters import sandbox

    word = os.urandom(16).hex()
    given = {
        "code": code,
        "tests": str(argument(CODE, item, "tests") or ""),
        "stdin": str(argument(CODE, item, "stdin") or ""),
        "word": word,
    }
    bounds = sandbox.Bounds(_number(item, "timeout_s"), int(_number(item, "memory_mb")) << 20)
    argv = [sys.executable, "-s", "-S", "-P", "-c", _HARNESS]
    ended = sandbox.run(argv, stdin=json.dumps(given).encode(), bounds=bounds)
    if ended.reason:
        return False, "", ended.reason
    if ended.status == 0 and ended.stdout.endswith(word):
        return True, ended.stdout.removesuffix(word), ""
    return False, "", _what_failed(ended)


def _what_failed(ended: Ended) -> str:
    """The last line of the traceback, with the line of the test that failed."""
    lines = [line for line in ended.stderr.strip().splitlines() if line.strip()]
    if ended.status < 0:
        return f"it was ended by signal {-ended.status}"
    if not lines:
        return "it ended before its tests were through"
    last = shown(lines[-1], 160)
    places = re.findall(r'File "(answer|tests)\.py", line (\d+)', ended.stderr)
    return f"{last} ({places[-1][0]}, line {places[-1][1]})" if places else last


def _same_output(given: str, expected: str) -> bool:
    return [line.rstrip() for line in given.strip().splitlines()] == [
        line.rstrip() for line in expected.strip().splitlines()
    ]


def _number(item: Item, name: str) -> float:
    value = argument(CODE, item, name)
    return float(value) if isinstance(value, int | float) else 0.0


def _faults(item: Item) -> Iterator[Fault]:
    tests = item.args.get("tests")
    if not texts(item.reference) and not (isinstance(tests, str) and tests.strip()):
        yield Fault(
            ("args",), "nothing says when the program is right", "add `tests`, or `reference`: its output"
        )
    if isinstance(tests, str):
        try:
            compile(tests, "tests.py", "exec")
        except (SyntaxError, ValueError) as err:
            yield Fault(("args", "tests"), f"the tests are no Python: {err}", "correct them")
    for name, most in (("timeout_s", _MAX_SECONDS), ("memory_mb", _MAX_MEMORY_MB)):
        value = item.args.get(name)
        if isinstance(value, int | float) and not 0 < value <= most:
            yield Fault(
                ("args", name), f"`{name}` must be above 0 and at most {most}", "choose another bound"
            )


_ADD: Final = "assert add(2, 3) == 5"
CODE: Final = Scorer(
    what="The program in the answer runs, and its tests pass, or its output is the reference.",
    judge=_judge,
    reference=Need.OPTIONAL,
    arguments={
        "tests": Argument(Kind.TEXT, "Python that is run after the program; an exception fails it"),
        "stdin": Argument(Kind.TEXT, "what the program reads from its standard input"),
        "timeout_s": Argument(Kind.NUMBER, "seconds it may take", 10),
        "memory_mb": Argument(Kind.NUMBER, "memory it may use, in MiB", 512),
    },
    faults=_faults,
    examples=(
        Example(("```python\ndef add(a, b):\n    return a + b\n```",), passed=True, args={"tests": _ADD}),
        Example(("print(6 * 7)",), passed=True, reference="42"),
        Example(("def add(a, b):\n    return a - b",), passed=False, args={"tests": _ADD}),
        Example(("import os; os._exit(0)",), passed=False, args={"tests": _ADD}),
    ),
)
