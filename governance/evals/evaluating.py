"""`tierlock eval run`: a suite asked of a running service, judged, and put in the form of evidence.

- The server is read back before and after; a run against another server than declared is told as that.
- Nothing is written here: the results go to `sink` as they come, `filed` gives what a repository would keep.
- A part of a suite (`limit`) is no verdict on the suite.
- What a config says and no request can carry is told, not passed over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from statistics import median
from typing import TYPE_CHECKING, Final

from governance.evals import evidence as records
from governance.evals.asked import Asked
from governance.evals.evidence import free_path, results_path
from governance.evals.judging import SMOKE, bar_of, judge
from governance.evals.model import Evidence, Run, Suite
from governance.evals.read_back import NAME, Seen, differing, judge_server, read_back
from governance.evals.requests import Asking
from governance.evals.results import dump_run, lean
from governance.evals.running import Progress, RunOptions, Sink, run_suite
from governance.evals.statistics import wilson
from governance.evals.tally import Tally, listed, tally
from governance.fingerprint.layers import short
from governance.records import dataclass, replace
from governance.values import Json
from governance.verdict import Check, Finding, Outcome, Report, Severity, decide

if TYPE_CHECKING:
    from governance.adapters.files import FileSource

_LEFT_OUT: Final = 8


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A run with what it says. `compared` is None when the server was not read back."""

    run: Run
    kind: str
    checks: tuple[Check, ...]
    counts: Tally
    compared: int | None = None
    differing: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        return decide(self.checks)


def evaluate(
    asked: Asked,
    *,
    options: RunOptions | None = None,
    progress: Progress = lambda done, total: None,  # noqa: ARG005
    resume: Run | None = None,
    sink: Sink = lambda piece: None,  # noqa: ARG005
) -> Evaluated:
    """The run of a suite against a service, judged. Raises as `run_suite` does."""
    options = options or RunOptions()
    before = read_back(asked.service, asked.look) if asked.look is not None else None
    run = run_suite(
        asked.suite,
        asked.service,
        asked.endpoint,
        score=asked.score,
        options=options,
        progress=progress,
        resume=resume,
        sink=sink,
    )
    after = read_back(asked.service, asked.look) if asked.look is not None else None
    checks = [*_part(run, options)]
    part = _asked_part(asked.suite, options)
    checks += judge(
        run,
        part,
        kind=asked.means,
        bar=asked.bar or bar_of(asked.service),
        golden=asked.golden,
    )
    found = Evaluated(run, asked.means, tuple(checks), tally(run, part))
    return _with_looks(found, before, after)


def _asked_part(suite: Suite, options: RunOptions) -> Suite:
    """The items that are asked, still under the digest of the whole suite."""
    return suite if options.limit is None else replace(suite, items=suite.items[: options.limit])


def _part(run: Run, options: RunOptions) -> Iterator[Check]:
    if options.limit is not None and not run.complete:
        told = f"only the first {options.limit} of its items (--limit): no verdict on the suite"
        yield Check("whole suite", Outcome.UNDECIDED, told)


def _with_looks(found: Evaluated, before: Seen | None, after: Seen | None) -> Evaluated:
    """What was found, with what the two looks at the server say."""
    if before is None or after is None:
        return found
    return replace(
        found,
        checks=(judge_server(before, after), *found.checks),
        compared=min(before.compared, after.compared),
        differing=differing(before, after),
    )


def evidence_of(found: Evaluated, *, results: str, results_digest: str) -> Evidence:
    """What the run says for its fingerprint and suite; `results` is where the results lie."""
    run, counts = found.run, found.counts
    return Evidence(
        service=run.service,
        fingerprint=run.fingerprint,
        layers=run.layers,
        suite=run.suite,
        suite_digest=run.suite_digest,
        kind=found.kind,
        outcome=found.outcome,
        checks=found.checks,
        items=counts.items,
        answered=counts.answered,
        scored=counts.scored,
        passed=counts.passed,
        tasks=counts.tasks,
        endpoint=run.endpoint,
        model=_model(counts),
        compared=found.compared,
        differing=found.differing,
        started_at=run.started_at,
        ended_at=run.ended_at,
        tool=run.tool,
        results=results,
        results_digest=results_digest,
    )


def _model(counts: Tally) -> str:
    """The server that answered, as it calls itself; of a path on its host only the last part."""
    name, _, build = next(iter(counts.servers), "").partition(" ")
    return f"{name.rpartition('/')[2] if name.startswith('/') else name} {build}".strip()


def filed(found: Evaluated, source: FileSource) -> Mapping[str, bytes]:
    """The files that keep the evidence in the repository of `source`: the record, and the results beside
    it.
    """
    run = found.run
    path = free_path(source, run.service, run.fingerprint, run.suite_digest, at=run.ended_at)
    rows = dump_run(lean(run))
    evidence = evidence_of(found, results=results_path(path), results_digest=hashlib.sha256(rows).hexdigest())
    return {path: records.dump(evidence), results_path(path): rows}


def evaluation_report(
    asked: Asked, found: Evaluated, *, results: str = "", show_reasons: bool = False
) -> Report:
    """What is told of `found`. `results` is where the rows went; reasons of failing items may quote answers,
    so they are told on request.
    """
    run, counts = found.run, found.counts
    suite = f"{run.suite} {run.suite_digest[:12]}"
    passed = f"{counts.passed} of {counts.scored} items right"
    kept = (f"results: {results}",) if results else ()
    return Report(
        "eval run",
        title=f"{run.service} {short(run.fingerprint)}   {suite} at {run.endpoint}",
        checks=found.checks,
        findings=tuple(_findings(asked, found, show_reasons=show_reasons)),
        scores=tuple(_scores(counts)) if found.kind != SMOKE else (),
        notes=(*_notes(asked, found), *kept),
        summary=passed if found.outcome is Outcome.PASS else "",
        next=_next(found),
        generated_at=run.ended_at,
        run=_facts(found, results),
    )


def _findings(asked: Asked, found: Evaluated, *, show_reasons: bool) -> Iterator[Finding]:
    """The items that fail: each blocks a smoke suite; those of others are told one by one on request."""
    reasons = {result.item: result.score.reason for result in found.run.results}
    blocking = found.kind == SMOKE
    failing = set(found.counts.failing) if blocking or show_reasons else set()
    known = _failing_in(asked.golden) if blocking else frozenset()
    for item in asked.suite.items:
        if item.id in failing:
            why = reasons.get(item.id, "") if show_reasons else ""
            message = f"the answer to `{item.id}` fails `{item.scorer}`" + (f": {why}" if why else "")
            severity = Severity.ERROR if blocking and item.id not in known else Severity.NOTE
            yield Finding("TL720", message, severity, path=asked.suite.path, line=item.line, key=item.id)


def _failing_in(golden: Run | None) -> frozenset[str]:
    results = golden.results if golden is not None else ()
    return frozenset(result.item for result in results if result.score.passed is False)


def _scores(counts: Tally) -> Iterator[Json]:
    for task, (passed, of) in sorted(counts.tasks.items()):
        interval = wilson(passed, of)
        yield {
            "task": task,
            "right": passed,
            "of": of,
            "rate": round(passed / of, 4),
            "low": round(interval.low, 4),
            "high": round(interval.high, 4),
        }


def _notes(asked: Asked, found: Evaluated) -> Iterator[str]:
    if found.kind != SMOKE and found.counts.failing:
        count = len(found.counts.failing)
        yield f"{count} item{'s' * (count != 1)} wrong: {listed(found.counts.failing)}"
    left_out = Asking(asked.service, stream=True).left_out
    for key, why in list(left_out.items())[:_LEFT_OUT]:
        yield f"not sent: {key}: {why}"
    if len(left_out) > _LEFT_OUT:
        yield f"not sent: {len(left_out) - _LEFT_OUT} more"
    if asked.look is None:
        yield "the server was not read back (--unobserved): that it runs what is declared is not shown"
    firsts = [r.first_token_s for r in found.run.results if r.first_token_s is not None]
    tokens = [r.per_token_s for r in found.run.results if r.per_token_s is not None]
    if firsts:
        each = f", {median(tokens) * 1000:.1f} ms a token" if tokens else ""
        yield f"first token after {median(firsts) * 1000:.0f} ms{each} (medians of {len(firsts)} answers)"


def _next(found: Evaluated) -> str:
    service, run = found.run.service, found.run
    if any(check.name == NAME and check.outcome is Outcome.BLOCK for check in found.checks):
        return f"tierlock diff {service} {run.endpoint}"
    if found.counts.answered < found.counts.items and found.outcome is Outcome.UNDECIDED:
        return f"tierlock eval run {service} --suite {run.suite} --resume"
    if found.counts.failing and found.outcome is Outcome.BLOCK:
        return f"tierlock eval run {service} --suite {run.suite} --show-content"
    return ""


def _facts(found: Evaluated, results: str) -> dict[str, Json]:
    run, counts = found.run, found.counts
    return {
        "service": run.service,
        "fingerprint": run.fingerprint,
        "suite": run.suite,
        "suite_digest": run.suite_digest,
        "kind": found.kind,
        "endpoint": run.endpoint,
        "items": counts.items,
        "answered": counts.answered,
        "scored": counts.scored,
        "passed": counts.passed,
        "failing": list(counts.failing),
        "compared": found.compared,
        "differing": list(found.differing),
        "started_at": run.started_at,
        "results": results,
    }
