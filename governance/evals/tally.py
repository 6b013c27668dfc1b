"""A run counted by item: what was asked, answered, scored and right, and what became of the rest.

- An item is answered when every one of its repeats was; its score is one score over all of them.
- What was not answered is no wrong answer: it is counted by what became of it, with the server's own words.
- Pure: a run and its suite in, counts out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from governance.evals.model import Result, Run, Score, State, Suite
from governance.records import dataclass, field

NOT_ASKED: Final = "not asked"
TRUNCATED: Final = "length"
_SHOWN: Final = 8
_WORDS: Final = 2  # kinds of error that are told in the server's words


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of a run. `states` has, of the items that were not answered, how many came to which end;
    `errors` the server's words with how often; `servers` which servers answered, with how many answers.
    """

    items: int = 0
    answered: int = 0
    scored: int = 0
    passed: int = 0
    failing: tuple[str, ...] = ()
    unscored: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    truncated: tuple[str, ...] = ()
    retried: tuple[str, ...] = ()
    servers: Mapping[str, int] = field(default_factory=dict)

    @property
    def coverage(self) -> float:
        """The share of items that were answered; 0 when there is none."""
        return self.answered / self.items if self.items else 0.0

    def ends(self) -> str:
        """What became of the items without an answer: `7 timed out, 2 not asked (HTTP 503: …)`."""
        told = ", ".join(f"{count} {name}" for name, count in self.states.items())
        words = list(self.errors)[:_WORDS]
        return f"{told} ({'; '.join(words)})" if words else told


def tally(run: Run, suite: Suite) -> Tally:
    """The counts of `run` over the items of `suite`."""
    by_item: dict[str, list[Result]] = {}
    for result in run.results:
        by_item.setdefault(result.item, []).append(result)
    scores: dict[str, Score] = {}
    states: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    tasks: dict[str, list[int]] = {}
    for item in suite.items:
        results = by_item.get(item.id, [])
        bad = next((result for result in results if not result.answered), None)
        if bad is not None:
            states[bad.state.value] += 1
            errors[bad.attempts[-1].detail if bad.attempts else ""] += 1
        elif len(results) < item.repeats:
            states[NOT_ASKED] += 1
        else:
            scores[item.id] = results[0].score
            if results[0].score.passed is not None:
                counts = tasks.setdefault(item.task, [0, 0])
                counts[0] += results[0].score.passed
                counts[1] += 1
    errors.pop("", None)
    return Tally(
        items=len(suite.items),
        answered=len(scores),
        scored=sum(score.passed is not None for score in scores.values()),
        passed=sum(score.passed is True for score in scores.values()),
        failing=tuple(name for name, score in scores.items() if score.passed is False),
        unscored={name: score.reason for name, score in scores.items() if score.passed is None},
        tasks={name: (counts[0], counts[1]) for name, counts in tasks.items()},
        states=_in_order(states),
        errors=dict(errors.most_common()),
        truncated=_named(r for r in run.results if r.answered and r.finish_reason == TRUNCATED),
        retried=_named(r for r in run.results if r.retried),
        servers=dict(Counter(filter(None, map(server_of, run.results))).most_common()),
    )


def server_of(result: Result) -> str:
    """Which server gave an answer, as far as it says so; empty when it does not, or gave none."""
    if not result.answered:
        return ""
    return " ".join(part for part in (result.model, result.system_fingerprint) if part)


def listed(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def _named(results: Iterable[Result]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(result.item for result in results))


def _in_order(states: Counter[str]) -> dict[str, int]:
    order = (*(state.value for state in State), NOT_ASKED)
    return {name: states[name] for name in order if states[name]}
