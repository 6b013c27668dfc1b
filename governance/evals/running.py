"""One run of a suite: every item asked as the service asks, every result kept, whatever became of it.

- All requests are made before the first is sent: an item the service cannot be asked spoils no run half-way.
- So many requests are under way at once as the endpoint says. An item that is asked several times is asked
  one time after the other, and scored once all its answers are there.
- Tried again is only what may pass by itself: 429, 502, 503, 504 and connections that fail. Every try is kept
  with the result, and what needed more than one is a stratum of its own.
- A server that answers none of the first requests is given up: the rest is not asked, and the run says so.
- Results are handed out as they come (`sink`), so that a run that is broken off can be resumed: what was
  answered is kept, what was not is asked again.
- No result is ever made up: what was not asked is not there.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from governance.adapters.completions import Caller, Reply
from governance.engines.services import effective
from governance.errors import Unreadable
from governance.evals.answers import read
from governance.evals.endpoint import Endpoint
from governance.evals.model import NOT_SCORED, Attempt, Item, Result, Run, Score, State, Suite
from governance.evals.requests import Asking, Request
from governance.fingerprint.layers import service_fingerprint
from governance.records import dataclass, replace
from governance.values import Unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from governance.tiers.config import Service

_RETRIED: Final = frozenset({429, 502, 503, 504})
_PATIENCE: Final = 10.0  # seconds: the longest wait that a server's Retry-After is given

Progress = Callable[[int, int], None]
Sink = Callable[[Run], None]
ScoreItem = Callable[[Item, Sequence[str]], Score]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is made.

    `stream` None is as the sampling config says, streamed when it does not. `limit` asks the first items and
    no more. `evidence` asks for log-probabilities and token ids where the config leaves them open.
    `give_up_after` is how many requests may fail before any was answered. `now` tells the time, `tool` names
    this program.
    """

    stream: bool | None = None
    retries: int = 2
    backoff_s: float = 0.5
    limit: int | None = None
    evidence: bool = True
    give_up_after: int = 20
    now: Callable[[], str] = lambda: ""
    tool: str = ""


def frame_of(suite: Suite, service: Service, endpoint: Endpoint, options: RunOptions) -> Run:
    """The run that is about to be made, without results: what every row of it says.

    Raises `Unreadable` when the service has no fingerprint.
    """
    fingerprint = service_fingerprint(service)
    fold = fingerprint.fold()
    if isinstance(fold, Unknown):
        raise Unreadable(
            f"the service `{service.name}` has no fingerprint: {fold.reason}", hint="tierlock check"
        )
    values = effective(service)
    whole = service_fingerprint(service, effective=() if isinstance(values, Unknown) else values)
    layers = {
        name: digest
        for name, digest in whole.layers.items()
        if not isinstance(digest, Unknown) and not (name == "effective" and isinstance(values, Unknown))
    }
    return Run(
        suite=suite.name,
        suite_digest=suite.digest,
        results=(),
        service=service.name,
        fingerprint=fold,
        layers=layers,
        endpoint=endpoint.url,
        started_at=options.now(),
        tool=options.tool,
        complete=False,
        total=sum(item.repeats for item in suite.items),
    )


def run_suite(
    suite: Suite,
    service: Service,
    endpoint: Endpoint,
    *,
    score: ScoreItem,
    options: RunOptions | None = None,
    progress: Progress = lambda done, total: None,  # noqa: ARG005
    resume: Run | None = None,
    sink: Sink = lambda piece: None,  # noqa: ARG005
) -> Run:
    """The results of `suite` as `service` answers it at `endpoint`.

    `score` judges the answers of one item. `sink` is given the run in pieces, each with the results that
    came. `resume` is an earlier, broken run of the same suite, configs and endpoint. Raises `Unreadable` when
    the service cannot be asked an item, or `resume` is of another run.
    """
    options = options or RunOptions()
    frame = frame_of(suite, service, endpoint, options)
    kept = _kept(resume, frame)
    asking = Asking(service, stream=_streams(service, options), evidence=options.evidence)
    items = suite.items if options.limit is None else suite.items[: options.limit]
    work = [_Work(position, item, asking.request(item)) for position, item in enumerate(items)]
    runner = _Runner(endpoint, options, asking.api, kept, _Out(frame, score, sink, progress))
    results = asyncio.run(runner.run(work))
    started = min(resume.started_at, frame.started_at) if resume is not None else frame.started_at
    return replace(
        frame,
        results=tuple(sorted(results, key=lambda result: (result.position, result.repeat))),
        started_at=started,
        ended_at=options.now(),
        complete=len(results) == frame.total,
    )


def _streams(service: Service, options: RunOptions) -> bool:
    if options.stream is not None:
        return options.stream
    said = service.sampling.tree.get("stream") if service.sampling is not None else None
    return said if isinstance(said, bool) else True


def _kept(resume: Run | None, frame: Run) -> dict[tuple[str, int], Result]:
    """The earlier results by item and repeat. Raises `Unreadable` when they are of another run."""
    if resume is None:
        return {}
    for name in ("suite", "suite_digest", "service", "fingerprint", "endpoint"):
        before, now = getattr(resume, name), getattr(frame, name)
        if before != now:
            raise Unreadable(
                f"the results are of another run: their {name.replace('_', ' ')} is `{before[:60]}`, "
                f"now it is `{now[:60]}`",
                hint="leave --resume out, and give another --out",
            )
    return {(result.item, result.repeat): result for result in resume.results}


@dataclass(frozen=True, slots=True)
class _Work:
    position: int
    item: Item
    request: Request


@dataclass(frozen=True, slots=True)
class _Out:
    """Where results go, and the run they are of."""

    frame: Run
    score: ScoreItem
    sink: Sink
    progress: Progress


class _Runner:
    """The requests under way, and what came of those that ended."""

    def __init__(
        self,
        endpoint: Endpoint,
        options: RunOptions,
        api: str,
        kept: Mapping[tuple[str, int], Result],
        out: _Out,
    ) -> None:
        self._endpoint = endpoint
        self._options = options
        self._api = api
        self._kept = kept
        self._out = out
        self._results: list[Result] = []
        self._answered = 0
        self._failed = 0

    async def run(self, work: Sequence[_Work]) -> list[Result]:
        """Everything that was asked, or was kept from an earlier run."""
        todo = iter(work)
        total = sum(one.item.repeats for one in work)
        many = min(self._endpoint.concurrency, max(1, len(work)))
        async with (
            Caller(
                self._endpoint.url,
                headers=self._endpoint.headers,
                timeout=self._endpoint.timeout_s,
                connections=many,
            ) as caller,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(many):
                group.create_task(self._work(caller, todo, total))
        return self._results

    async def _work(self, caller: Caller, todo: Iterator[_Work], total: int) -> None:
        for one in todo:
            if self._answered == 0 and self._failed >= self._options.give_up_after:
                return
            results, fresh = await self._item(caller, one)
            self._results += results
            if fresh:
                self._out.sink(replace(self._out.frame, results=tuple(fresh)))
            self._out.progress(len(self._results), total)

    async def _item(self, caller: Caller, one: _Work) -> tuple[list[Result], list[Result]]:
        """All results of one item, and those of them that are new."""
        results: list[Result] = []
        for repeat in range(one.item.repeats):
            before = self._kept.get((one.item.id, repeat))
            if before is not None and before.answered:
                self._answered += 1
                results.append(before)
            else:
                results.append(await self._ask(caller, one, repeat, before.attempts if before else ()))
        if all(result.answered for result in results):
            if all(result is self._kept.get((result.item, result.repeat)) for result in results) and all(
                result.score != NOT_SCORED for result in results
            ):
                return results, []
            score = await asyncio.to_thread(
                self._out.score, one.item, [result.text or "" for result in results]
            )
            results = [replace(result, score=score) for result in results]
        return results, [
            result for result in results if result != self._kept.get((result.item, result.repeat))
        ]

    async def _ask(self, caller: Caller, one: _Work, repeat: int, before: tuple[Attempt, ...]) -> Result:
        body = json.dumps(one.request.body, ensure_ascii=False).encode()
        attempts = list(before)
        for turn in range(self._options.retries + 1):
            at = self._options.now()
            reply = await caller.post(one.request.path, body, keep=not one.request.body.get("stream"))
            attempt, answer = read(reply, self._api)
            attempts.append(attempt)
            if not _may_pass(attempt) or turn == self._options.retries:
                break
            await asyncio.sleep(_wait(reply, self._options.backoff_s * 2**turn))
        self._count(attempt)
        result = Result(
            item=one.item.id,
            task=one.item.task,
            state=attempt.state,
            repeat=repeat,
            tags=one.item.tags,
            seconds=attempt.seconds,
            attempts=tuple(attempts),
            request=one.request.body,
            position=one.position,
            at=at,
        )
        if answer is None:
            return result
        return replace(
            result,
            text=answer.text,
            finish_reason=answer.finish_reason,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            cached_tokens=answer.cached_tokens,
            token_ids=answer.token_ids,
            logprobs=answer.logprobs,
            first_token_s=answer.first_token_s,
            per_token_s=answer.per_token_s,
            model=answer.model,
            system_fingerprint=answer.system_fingerprint,
            response=answer.response,
        )

    def _count(self, attempt: Attempt) -> None:
        if attempt.state is State.ANSWERED:
            self._answered += 1
        else:
            self._failed += 1


def _may_pass(attempt: Attempt) -> bool:
    """Whether the same request may be answered a moment later."""
    return attempt.status in _RETRIED or attempt.state is State.UNREACHABLE


def _wait(reply: Reply, backoff: float) -> float:
    """Seconds to wait before the next try: what the server asks for, within reason."""
    told = reply.headers.get("retry-after", "")
    return min(float(told), _PATIENCE) if told.isdigit() else backoff
