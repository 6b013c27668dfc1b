"""A governed repository whose service has a smoke suite, evidence for it, and releases cut from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime

from governance.adapters.files import WorkTree, write_all, write_new
from governance.evals import evidence as evidences
from governance.evals.model import Attempt, Evidence, Result, Run, Score, State
from governance.evals.results import dump_run
from governance.evals.suites import load_suite
from governance.fingerprint.layers import Fingerprint
from governance.fingerprint.record import Capture
from governance.fingerprint.services import fingerprint_of
from governance.release.cutting import Done, Terms, cut
from governance.release.record import Record, digest_of
from governance.tiers.naming import TIERS
from governance.verdict import Check, Outcome
from tests.support.governed import FILES, place
from tests.support.repos import Repo
from tests.support.reviewed import at

SERVICE = "summarizer"
TOOL = "tierlock 0.1.0"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SMOKE = "".join(
    json.dumps(item) + "\n"
    for item in (
        {"id": "capital", "task": "question-answering", "prompt": "Name the capital of France.",
         "scorer": "contains", "args": {"all": ["Paris"]}},
        {"id": "sum", "task": "maths", "prompt": "What is 2 + 3?", "scorer": "numeric", "reference": 5},
    )
)  # fmt: skip
SERVICES = """\
version: 1
services:
  summarizer:
    base: qwen
    sampling: factual
    prompts: summarize
    evals: {smoke: smoke}
    deploy: {driver: none}
"""
WITH_SUITE = {**FILES, "tierlock.yaml": SERVICES, "evals/smoke.jsonl": SMOKE}


def stamp(moment: datetime) -> str:
    """A moment as records write it."""
    return moment.isoformat().replace("+00:00", "Z")


def prove(
    repo: Repo,
    *,
    outcome: Outcome = Outcome.PASS,
    suite: str = "smoke",
    when: datetime = NOON,
    layers: Mapping[str, str] | None = None,
) -> str:
    """Write evidence with its results for what the work tree declares; the path of the evidence.

    `layers` are further layers that were seen when the run was made.
    """
    here = place(repo)
    source = WorkTree(repo.path)
    service = here.state("worktree").service(SERVICE)
    assert service is not None
    found = fingerprint_of(service).only(TIERS)
    fold = found.fold()
    assert isinstance(fold, str)
    asked = load_suite(source, suite)
    passed = outcome is Outcome.PASS
    run = Run(
        suite=suite,
        suite_digest=asked.digest,
        results=tuple(
            Result(
                item=item.id,
                task=item.task,
                state=State.ANSWERED,
                score=Score(float(passed), passed, "" if passed else "not what was asked for"),
                text="an answer",
                attempts=(Attempt(State.ANSWERED, 200),),
                at=stamp(when),
                position=number,
            )
            for number, item in enumerate(asked.items)
        ),
        service=SERVICE,
        fingerprint=fold,
        endpoint="http://127.0.0.1:8080/v1",
        started_at=stamp(when),
        ended_at=stamp(when),
        tool=TOOL,
        total=len(asked.items),
    )
    results = dump_run(run)
    path = evidences.free_path(source, SERVICE, fold, asked.digest, at=stamp(when))
    count = len(asked.items)
    told = Evidence(
        service=SERVICE,
        fingerprint=fold,
        layers={**_known(found), **(layers or {})},
        suite=suite,
        suite_digest=asked.digest,
        kind=suite,
        outcome=outcome,
        checks=(Check("items", outcome, "" if passed else "2 items fail: capital, sum"),),
        items=count,
        answered=count,
        scored=count,
        passed=count if passed else 0,
        tasks={},
        endpoint=run.endpoint,
        model="qwen",
        compared=12,
        differing=(),
        started_at=stamp(when),
        ended_at=stamp(when),
        tool=TOOL,
        results=evidences.results_path(path),
        results_digest=digest_of(results),
    )
    write_all(repo.path, {path: evidences.dump(told), told.results: results})
    return path


def _known(found: Fingerprint) -> dict[str, str]:
    return {name: value for name, value in found.layers.items() if isinstance(value, str)}


def terms(**more: object) -> Terms:
    """What is said beside a cut: without a review policy it is made all the same."""
    plain = Terms("author-a", stamp(NOON), date(2026, 11, 30), TOOL, unreviewed="a test of its own")
    return replace(plain, **more)  # type: ignore[arg-type]


def cutting(repo: Repo, said: Terms | None = None) -> Done:
    """What a cut of HEAD gives; nothing is written."""
    return cut(place(repo), SERVICE, at(NOON), said or terms())


def released(repo: Repo, *, capture: Capture | None = None, said: Terms | None = None) -> Record:
    """A release of HEAD on evidence that passes, written and committed."""
    path = prove(repo)
    done = cutting(repo, said or terms(capture=capture))
    assert done.record is not None, done.report
    write_all(repo.path, {name: data for name, data in done.files.items() if name != done.record.path})
    write_new(repo.path / done.record.path, done.files[done.record.path])
    repo.commit(f"release {done.record.label} on {path}")
    return done.record
