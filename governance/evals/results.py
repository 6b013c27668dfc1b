"""The results of a run as a file: one JSON object on each line, one line for each result.

- A row stands alone: it says which suite, which fingerprint and which run it belongs to. pandas
  (`read_json(lines=True)`), DuckDB (`read_json_auto`) and a text editor need nothing beside it.
- Rows are appended as they come, so their order is that of the answers; `load_run` puts them in the order of
  the suite.
- A result that was asked again (a resumed run) is another row for the same item: the later row counts, and
  its attempts begin with those of the earlier one. So is one that is scored later, when the last of its
  repeats was answered. Any other repetition is refused.
- A last line that was cut by a kill is passed over; the run is then not complete.
- Rows of another suite, fingerprint, service or address are refused: they are another run.
- A row is exact: what is read and written again has the same bytes, else it was altered.
- Pure: bytes in, values out. `adapters/lines.py` writes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from governance.errors import NewerFormat, Unreadable
from governance.evals.model import NOT_SCORED, Attempt, Result, Run, Score, State
from governance.records import replace
from governance.values import Json

FORMAT: Final = "tierlock.result"
VERSION: Final = 1
# What two rows of one run have in common.
_SAME: Final = ("suite", "suite_digest", "service", "fingerprint", "endpoint")
_AGAIN: Final = "run the suite again: tierlock eval run"


def dump_row(result: Result, run: Run) -> bytes:
    """One line for `result`, its newline included. Of `run` everything but its results is used."""
    row: dict[str, Json] = {
        "item": result.item,
        "repeat": result.repeat,
        "task": result.task,
        "tags": list(result.tags),
        "state": result.state.value,
        "passed": result.score.passed,
        "score": result.score.value,
        "reason": result.score.reason,
        "text": result.text,
        "finish_reason": result.finish_reason,
        "status": result.attempts[-1].status if result.attempts else 0,
        "retried": result.retried,
        "prompt_tokens": result.prompt_tokens,
        "completion_tokens": result.completion_tokens,
        "cached_tokens": result.cached_tokens,
        "first_token_s": result.first_token_s,
        "per_token_s": result.per_token_s,
        "seconds": result.seconds,
        "model": result.model,
        "system_fingerprint": result.system_fingerprint,
        "at": result.at,
        "position": result.position,
        "schema": f"{FORMAT}/{VERSION}",
        "suite": run.suite,
        "suite_digest": run.suite_digest,
        "service": run.service,
        "fingerprint": run.fingerprint,
        "endpoint": run.endpoint,
        "started_at": run.started_at,
        "total": run.total,
        "tool": run.tool,
        "layers": dict(run.layers),
        "attempts": [_attempt(attempt) for attempt in result.attempts],
        "token_ids": list(result.token_ids),
        "logprobs": list(result.logprobs),
        "request": dict(result.request),
        "response": result.response,
    }
    return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()


def dump_run(run: Run) -> bytes:
    """All rows of `run`, in the order of the suite."""
    return b"".join(dump_row(result, run) for result in _ordered(run.results))


def load_run(data: bytes, path: str) -> Run:
    """The run in the bytes of a results file; `path` names it in errors.

    Raises `Unreadable` for anything but whole rows of one run, `NewerFormat` for rows of a later tierlock.
    """
    kept = whole_lines(data)
    rows = [_row(line, path, number) for number, line in enumerate(kept.splitlines(keepends=True), 1)]
    if not rows:
        raise Unreadable(f"`{path}` holds no result", where=path, hint=_AGAIN)
    first = rows[0]
    latest: dict[tuple[str, int], Result] = {}
    for number, row in enumerate(rows, 1):
        _refuse_stranger(row, first, f"{path}:{number}")
        _take(_result(row), latest, f"{path}:{number}")
    total = int(first["total"])
    return Run(
        suite=str(first["suite"]),
        suite_digest=str(first["suite_digest"]),
        results=_ordered(latest.values()),
        service=str(first["service"]),
        fingerprint=str(first["fingerprint"]),
        layers={name: str(value) for name, value in first["layers"].items()},
        endpoint=str(first["endpoint"]),
        started_at=min(str(row["started_at"]) for row in rows),
        ended_at=max(str(row["at"]) for row in rows),
        tool=str(rows[-1]["tool"]),
        complete=len(kept) == len(data) and len(latest) == total,
        total=total,
    )


def lean(run: Run) -> Run:
    """The run as a repository keeps it: without the raw responses, whose digests stay in the attempts."""
    return replace(run, results=tuple(replace(result, response=None) for result in run.results))


def whole_lines(data: bytes) -> bytes:
    """`data` up to its last newline: what a killed writer has surely written."""
    return data[: data.rfind(b"\n") + 1]


def _ordered(results: Iterable[Result]) -> tuple[Result, ...]:
    return tuple(sorted(results, key=lambda result: (result.position, result.item, result.repeat)))


def _attempt(attempt: Attempt) -> dict[str, Json]:
    return {
        "state": attempt.state.value,
        "status": attempt.status,
        "detail": attempt.detail,
        "seconds": attempt.seconds,
        "body_digest": attempt.body_digest,
    }


def _row(line: bytes, path: str, number: int) -> dict[str, Any]:
    where = f"{path}:{number}"
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as err:
        raise Unreadable(f"`{path}` has a line that is not JSON: {err}", where=where, hint=_AGAIN) from err
    told = str(row.get("schema", "missing")) if isinstance(row, dict) else "missing"
    name, _, version = told.partition("/")
    if name != FORMAT or not version.isdigit():
        raise Unreadable(
            f"`{path}` is no results file: the `schema` of a row is `{told}`",
            where=where,
            hint="give a file that `tierlock eval run` wrote",
        )
    if int(version) > VERSION:
        raise NewerFormat(
            f"results format {version} is newer than this tool reads (up to {VERSION})",
            where=where,
            hint="upgrade tierlock",
        )
    _refuse_altered(row, line, where)
    return row  # type: ignore[no-any-return]


def _refuse_altered(row: dict[str, Any], line: bytes, where: str) -> None:
    """Raise `Unreadable` when `row` is not, byte for byte, what `dump_row` writes."""
    try:
        again = dump_row(_result(row), _of(row))
    except (LookupError, TypeError, ValueError, AttributeError) as err:
        what = f"`{err.args[0]}` is missing" if isinstance(err, KeyError) else str(err)
        raise Unreadable(f"the row is no whole result: {what}", where=where, hint=_AGAIN) from err
    if again != line:
        raise Unreadable("the row was altered after it was written", where=where, hint=_AGAIN)


def _refuse_stranger(row: Mapping[str, Any], first: Mapping[str, Any], where: str) -> None:
    for name in (*_SAME, "total"):
        if row[name] != first[name]:
            raise Unreadable(
                f"the row is of another run: its `{name}` is `{row[name]}`, that of the first row "
                f"`{first[name]}`",
                where=where,
                hint="keep each run in a file of its own",
            )


def _take(result: Result, latest: dict[tuple[str, int], Result], where: str) -> None:
    """Put `result` among the latest; it may replace an earlier row of the same question that it goes on."""
    key = (result.item, result.repeat)
    before = latest.get(key)
    if before is not None and not _goes_on(result, before):
        raise Unreadable(f"the item `{result.item}` is there twice", where=where, hint=_AGAIN)
    latest[key] = result


def _goes_on(result: Result, before: Result) -> bool:
    """Whether the later row is the earlier one asked again, or scored when its last repeat was answered."""
    if before.score == NOT_SCORED and replace(before, score=result.score) == result != before:
        return True
    count = len(before.attempts)
    return not before.answered and len(result.attempts) > count and result.attempts[:count] == before.attempts


def _of(row: Mapping[str, Any]) -> Run:
    """The run a row speaks of, without results."""
    return Run(
        suite=row["suite"],
        suite_digest=row["suite_digest"],
        results=(),
        service=row["service"],
        fingerprint=row["fingerprint"],
        layers=row["layers"],
        endpoint=row["endpoint"],
        started_at=row["started_at"],
        tool=row["tool"],
        total=row["total"],
    )


def _result(row: Mapping[str, Any]) -> Result:
    return Result(
        item=row["item"],
        task=row["task"],
        state=State(row["state"]),
        score=Score(row["score"], row["passed"], row["reason"]),
        text=row["text"],
        repeat=row["repeat"],
        tags=tuple(row["tags"]),
        finish_reason=row["finish_reason"],
        prompt_tokens=row["prompt_tokens"],
        completion_tokens=row["completion_tokens"],
        cached_tokens=row["cached_tokens"],
        token_ids=tuple(row["token_ids"]),
        logprobs=tuple(row["logprobs"]),
        first_token_s=row["first_token_s"],
        per_token_s=row["per_token_s"],
        seconds=row["seconds"],
        attempts=tuple(
            Attempt(State(one["state"]), one["status"], one["detail"], one["seconds"], one["body_digest"])
            for one in row["attempts"]
        ),
        model=row["model"],
        system_fingerprint=row["system_fingerprint"],
        request=row["request"],
        response=row["response"],
        position=row["position"],
        at=row["at"],
    )
