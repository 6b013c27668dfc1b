"""Evidence is exact, lies where its fingerprint and suite say, and speaks for nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from governance.adapters.files import MemoryTree
from governance.errors import NewerFormat, Unreadable
from governance.evals.evidence import dump, evidence_for, filed_for, free_path, load, path_of, results_path
from governance.evals.model import Evidence
from governance.records import replace
from governance.verdict import Check, Outcome

FINGERPRINT, SUITE = "a1" * 32, "b2" * 32
EVIDENCE = Evidence(
    service="helper",
    fingerprint=FINGERPRINT,
    layers={"base": "c3" * 32},
    suite="smoke",
    suite_digest=SUITE,
    kind="smoke",
    outcome=Outcome.PASS,
    checks=(
        Check("answered", Outcome.PASS, "8 of 8 items answered"),
        Check("items", Outcome.PASS, "8 of 8 right"),
    ),
    items=8,
    answered=8,
    scored=8,
    passed=8,
    tasks={"maths": (3, 3), "code": (5, 5)},
    endpoint="http://127.0.0.1:8080/v1",
    model="m",
    compared=31,
    differing=(),
    started_at="2026-11-30T09:00:00Z",
    ended_at="2026-11-30T09:01:00Z",
    tool="tierlock 0",
    results=".tierlock/evidence/helper/x.jsonl",
    results_digest="d4" * 32,
)
PATH = f".tierlock/evidence/helper/{FINGERPRINT[:12]}-{SUITE[:12]}.json"


def tree(*given: tuple[str, Evidence]) -> MemoryTree:
    return MemoryTree({path: dump(one) for path, one in given})


def failing(at: str) -> Evidence:
    check = Check("items", Outcome.BLOCK, "7 of 8 right")
    return replace(EVIDENCE, outcome=Outcome.BLOCK, checks=(check,), passed=7, ended_at=at)


def test_what_is_written_is_read_and_has_one_spelling() -> None:
    data = dump(EVIDENCE)
    assert load(data, PATH) == EVIDENCE
    assert data.endswith(b"}\n")
    assert list(json.loads(data)) == sorted(json.loads(data))
    unseen = replace(EVIDENCE, compared=None)
    assert load(dump(unseen), PATH) == unseen


def test_it_lies_under_its_fingerprint_and_suite_each_later_run_with_its_time() -> None:
    assert path_of("helper", FINGERPRINT, SUITE) == PATH
    assert path_of("helper", FINGERPRINT, SUITE, "2026-11-30T09:01:00Z") == PATH.replace(
        ".json", "-20261130T090100Z.json"
    )
    assert results_path(PATH) == PATH + "l"
    given = ("helper", FINGERPRINT, SUITE)
    assert free_path(MemoryTree({}), *given, at="2026-11-30T09:01:00Z") == PATH
    assert free_path(tree((PATH, EVIDENCE)), *given, at="2026-11-30T09:01:00Z").endswith(
        "-20261130T090100Z.json"
    )


def test_it_is_found_for_its_fingerprint_and_suite_the_newest_last() -> None:
    later = PATH.replace(".json", "-20261201T090100Z.json")
    other = replace(EVIDENCE, suite="full", suite_digest="e5" * 32)
    source = tree(
        (later, failing("2026-12-01T09:01:00Z")),
        (PATH, EVIDENCE),
        (path_of("helper", FINGERPRINT, "e5" * 32), other),
        (path_of("helper", "f6" * 32, SUITE), replace(EVIDENCE, fingerprint="f6" * 32)),
    )
    found = evidence_for(source, "helper", FINGERPRINT, SUITE)
    assert [one.outcome for one in found] == [Outcome.PASS, Outcome.BLOCK]
    assert len(evidence_for(source, "helper", FINGERPRINT)) == 3
    assert evidence_for(source, "other", FINGERPRINT) == ()
    filed = filed_for(source, "helper", FINGERPRINT, SUITE)
    assert [one.path for one in filed] == [PATH, later]
    assert len(filed[0].digest) == 64


def test_twelve_equal_digits_are_not_the_same_fingerprint() -> None:
    twin = FINGERPRINT[:12] + "0" * 52
    source = tree((path_of("helper", twin, SUITE), replace(EVIDENCE, fingerprint=twin)))
    assert evidence_for(source, "helper", FINGERPRINT, SUITE) == ()


def test_evidence_in_the_folder_of_another_service_is_refused() -> None:
    source = tree((PATH.replace("helper", "other"), EVIDENCE))
    with pytest.raises(Unreadable, match="it is of the service `helper`"):
        evidence_for(source, "other", FINGERPRINT)


def alter(**changes: Any) -> bytes:
    told = {**json.loads(dump(EVIDENCE)), **changes}
    return (json.dumps(told, indent=2, sort_keys=True) + "\n").encode()


ALTERED = {
    "another outcome": alter(outcome="block"),
    "a key too many": alter(note=1),
    "another layout": dump(EVIDENCE).replace(b"  ", b"\t"),
    "one byte more": dump(EVIDENCE) + b"\n",
    "a check that is none": alter(checks=[{"name": "x"}]),
    "a task without counts": alter(tasks={"maths": []}),
    "no JSON": b"{",
    "another record": b'{"schema": "tierlock.capture/1"}',
}


@pytest.mark.parametrize("case", ALTERED)
def test_a_record_that_was_altered_is_refused_by_name(case: str) -> None:
    with pytest.raises(Unreadable, match=PATH):
        load(ALTERED[case], PATH)


def test_a_later_format_asks_for_an_upgrade() -> None:
    with pytest.raises(NewerFormat, match="format 2 is newer"):
        load(alter(schema="tierlock.evidence/2"), PATH)
