"""What evals speak in: items, suites, requests that were sent, answers, scores, runs and evidence.

- A *suite* is versioned by its content: `Suite.digest`. Two suites with one digest ask the same questions and
  judge the answers in the same way.
- A request that brought no whole answer has a `State` and no score. It never counts as a wrong answer.
- A score that could not be given is None with a reason, never 0.
- Evidence speaks for one fingerprint and one suite digest, and for nothing else.
- Pure values; no I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from governance.records import dataclass, field
from governance.values import ABSENT, Absent, Json
from governance.verdict import Check, Outcome

TASKS: Final = (
    "question-answering",
    "extraction",
    "code",
    "maths",
    "multi-turn",
    "summarising",
    "instruction-following",
)
"""What an item can be about: the buckets that are compared on their own."""


class State(Enum):
    """What became of one request."""

    ANSWERED = "answered"
    REFUSED = "refused"  # the server said no: a 4xx
    FAILED = "failed"  # the server could not: a 5xx
    TIMED_OUT = "timed out"
    UNREACHABLE = "unreachable"  # no connection, or it was lost before the answer began
    BROKEN = "broken"  # the answer began and did not end, or is no answer


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its reference and the scorer of its answer.

    Exactly one of the three forms of a question is set: `messages` are sent as they are; `prompt` is one user
    turn after the service's own system text and examples; `variables` fill the service's template, with its
    system text and examples before it. `overrides` are request parameters the sampling tier allows requests
    to set. `repeats` is how often the question is asked, 1 by default.
    """

    id: str
    task: str
    scorer: str
    args: Mapping[str, Json] = field(default_factory=dict)
    reference: Json | Absent = ABSENT
    messages: tuple[Mapping[str, Json], ...] = ()
    prompt: str = ""
    variables: Mapping[str, Json] = field(default_factory=dict)
    overrides: Mapping[str, Json] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    difficulty: str = ""
    repeats: int = 1
    line: int = 0


@dataclass(frozen=True, slots=True)
class Suite:
    """The items of one file in their order; `digest` is 64 hex over what the items mean, not over layout."""

    name: str
    path: str
    items: tuple[Item, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Score:
    """What a scorer says of one answer: `value` in 0 to 1 and whether it passed; None with a reason when it
    could not judge.
    """

    value: float | None
    passed: bool | None
    reason: str = ""


NOT_SCORED: Final = Score(None, None, "no answer to score")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of one request. `status` is 0 when no answer came; seconds count from when it was sent."""

    state: State
    status: int = 0
    detail: str = ""
    seconds: float = 0.0
    body_digest: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What one item brought, asked for the `repeat`-th time (from 0): one row of the results file.

    `request` and `response` are what went over the wire, without secrets. `token_ids` and `logprobs` are
    empty when the server offers none. Seconds: `first_token_s` until the first token (streamed answers),
    `per_token_s` the mean between tokens after the first, `seconds` for the whole of the last attempt.
    `retried` results are a stratum of their own: a retry mostly meets a warm cache. `position` is that of the
    item in its suite, from 0; `at` is when the last attempt was sent.
    """

    item: str
    task: str
    state: State
    score: Score = NOT_SCORED
    text: str | None = None
    repeat: int = 0
    tags: tuple[str, ...] = ()
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    token_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    first_token_s: float | None = None
    per_token_s: float | None = None
    seconds: float | None = None
    attempts: tuple[Attempt, ...] = ()
    model: str = ""
    system_fingerprint: str = ""
    request: Mapping[str, Json] = field(default_factory=dict)
    response: Json = None
    position: int = 0
    at: str = ""

    @property
    def answered(self) -> bool:
        return self.state is State.ANSWERED

    @property
    def retried(self) -> bool:
        return len(self.attempts) > 1


@dataclass(frozen=True, slots=True)
class Run:
    """The results of one suite against one endpoint, in the order of the items.

    `fingerprint` is the fold of the three configs (64 hex), empty when no service was named. `layers` are the
    digests of every layer known when the run was made. `total` is how many results the whole suite asks for;
    `complete` is false when some are missing: the run was broken off, or was told to ask only a part.
    """

    suite: str
    suite_digest: str
    results: tuple[Result, ...]
    service: str = ""
    fingerprint: str = ""
    layers: Mapping[str, str] = field(default_factory=dict)
    endpoint: str = ""
    started_at: str = ""
    ended_at: str = ""
    tool: str = ""
    complete: bool = True
    total: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run says for one fingerprint and one suite: kept in the repository for ever.

    `kind` is `smoke` or `full`, else the name of the suite. `tasks` has, per task, how many passed of how
    many were scored. `compared` and `differing` come from reading the server back before and after the run:
    how many effective values were seen, and the keys of those that were not as declared; `compared` is None
    when the server was not read back. `results` is the path of the results beside it, with their digest.
    """

    service: str
    fingerprint: str
    layers: Mapping[str, str]
    suite: str
    suite_digest: str
    kind: str
    outcome: Outcome
    checks: tuple[Check, ...]
    items: int
    answered: int
    scored: int
    passed: int
    tasks: Mapping[str, tuple[int, int]]
    endpoint: str
    model: str
    compared: int | None
    differing: tuple[str, ...]
    started_at: str
    ended_at: str
    tool: str
    results: str
    results_digest: str
