"""A service with a smoke suite, as files and as values, for the tests of evals.

The item `q3` is answered rightly by `answer 3`, and wrongly by everything else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from governance.adapters.files import MemoryTree
from governance.evals.model import Attempt, Item, Result, Run, Score, State, Suite
from governance.evals.suites import load_suite
from governance.tiers.config import Service, load_repository
from governance.tiers.writer import dump
from governance.values import Json
from tests.support.completions_server import Say
from tests.support.llama_server import BASE
from tests.support.repos import Repo, make_repo

SAMPLING: dict[str, Json] = {
    "kind": "sampling",
    "temperature": 0.1,
    "top_p": 1.0,
    "top_k": "inherit",
    "repetition_penalty": 1.1,
    "seed": 42,
    "max_tokens": 64,
    "overridable": ["max_tokens"],
}
PROMPTS: dict[str, Json] = {
    "kind": "prompts",
    "system": "You answer briefly.",
    "template": {"text": "Question: {{ question }}", "variables": {"question": "text"}},
    "few_shot": [{"input": {"question": "one"}, "output": "1"}],
}
NAME = "helper"


def files(
    url: str = "http://127.0.0.1:9/v1",
    *,
    base: Mapping[str, Json] = BASE,
    sampling: Mapping[str, Json] = SAMPLING,
    prompts: Mapping[str, Json] = PROMPTS,
    items: int = 10,
    service: Mapping[str, Json] | None = None,
) -> dict[str, str]:
    """The files of a governed repository with the service `helper`, whose endpoint is `url`."""
    told: dict[str, Json] = {
        "base": "tiny",
        "sampling": "factual",
        "prompts": "ask",
        "endpoint": {"url": url, "timeout_s": 5, "concurrency": 4},
        "evals": {"smoke": "smoke"},
        **(service or {}),
    }
    return {
        "tierlock.yaml": dump({"version": 1, "services": {NAME: told}}),
        "configs/base/tiny.yaml": dump(base),
        "configs/sampling/factual.yaml": dump(sampling),
        "configs/prompts/ask.yaml": dump(prompts),
        "evals/smoke.jsonl": "".join(json.dumps(item) + "\n" for item in lines(items)),
    }


def lines(count: int = 10) -> list[dict[str, Json]]:
    """The items of the suite as they are written."""
    return [
        {
            "id": f"q{number}",
            "task": "question-answering",
            "variables": {"question": f"number {number}"},
            "scorer": "exact",
            "reference": f"answer {number}",
        }
        for number in range(count)
    ]


def service_of(given: Mapping[str, str]) -> Service:
    """The service `helper` of these files."""
    found = load_repository(MemoryTree({path: text.encode() for path, text in given.items()}))
    assert not [finding for finding in found.findings if finding.blocks], found.findings
    return found.services[NAME]


def suite_of(given: Mapping[str, str], name: str = "smoke") -> Suite:
    """A suite of these files."""
    return load_suite(MemoryTree({path: text.encode() for path, text in given.items()}), name)


def repository(path: Path, given: Mapping[str, str]) -> Repo:
    """A git repository with these files committed."""
    return make_repo(path, files=given)


def right(number: int, body: Mapping[str, Json]) -> Say:
    """The right answer to whichever item is asked."""
    return Say(f"answer {asked(body)}")


def asked(body: Mapping[str, Json]) -> int:
    """The number of the item that a request asks."""
    messages = body["messages"]
    assert isinstance(messages, Sequence)
    return int(str(messages[-1]["content"]).split()[-1])  # type: ignore[index, call-overload]


def exact(item: Item, answers: Sequence[str]) -> Score:
    """The score of the suite's one scorer."""
    passed = all(answer == item.reference for answer in answers)
    return Score(float(passed), passed)


def result(
    name: str, *, passed: bool | None = True, state: State = State.ANSWERED, **given: object
) -> Result:
    """One result of one item, asked once."""
    answered = state is State.ANSWERED
    score = (
        Score(None if passed is None else float(passed), passed)
        if answered
        else Score(None, None, "no answer")
    )
    attempts = (Attempt(state, 200 if answered else 500, "" if answered else "HTTP 500", 0.1, "ab" * 32),)
    return Result(name, "maths", state, score, "4" if answered else None, attempts=attempts, **given)  # type: ignore[arg-type]


def run(suite: Suite, results: Sequence[Result]) -> Run:
    """A run of `suite` with these results."""
    return Run(
        suite.name,
        suite.digest,
        tuple(results),
        NAME,
        "f" * 64,
        {"base": "b" * 64},
        "http://127.0.0.1:9/v1",
        "2026-11-30T09:00:00Z",
        "2026-11-30T09:01:00Z",
        "tierlock 0",
        total=len(suite.items),
    )
