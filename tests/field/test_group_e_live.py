"""E09 of the field cases: the files are restored, and the process still runs the old values.

The inputs are those of the public case. What the file says reaches a server through the model's own
`generation_config.json`, which vLLM reads when it starts: so a file restored afterwards changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from governance.adapters.files import MemoryTree
from governance.engines.model import Observed
from governance.engines.observe import Observation
from governance.errors import Unreachable
from governance.evals.read_back import Look
from governance.release.observation import Expected, Running, is_mixture, judge
from governance.release.rollback_live import read
from governance.tiers.config import Service, load_repository
from governance.values import Unknown
from governance.verdict import Check, Outcome
from tests.support.governed import FILES

VERSION = "0.8.2"  # the first versions that read the file did so only when told to
CASE = Path(__file__).parent / "cases" / "E09"


def case(name: str) -> Any:
    return json.loads((CASE / name).read_text())


def restored() -> tuple[Service, Expected]:
    """The service as the disk has it, and what is expected of its servers."""
    disk = case("disk.json")
    files = {
        **FILES,
        "configs/base/qwen.yaml": FILES["configs/base/qwen.yaml"].replace("0.7.3", VERSION),
        "configs/base/qwen/generation_config.json": json.dumps(disk["sampling"]),
        "configs/sampling/factual.yaml": "kind: sampling\ntemperature: inherit\n",
    }
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    at = datetime.fromisoformat(disk["restored_at"]).timestamp()
    return load_repository(tree).services["summarizer"], Expected(disk["fingerprint"], "9f" * 32, (), at)


def looked_at(effective: Mapping[str, float] | None) -> Look:
    """A server that shows these effective values, or none."""

    def look(engine: str, version: str) -> Observation:
        if effective is None:
            raise Unreachable("the server does not answer for its values")
        values = {f"sampling.{key}": Observed(value, "read back") for key, value in effective.items()}
        return Observation("vllm", VERSION, "http://127.0.0.1:8000/v1", values)

    return look


def running(told: Mapping[str, Any], name: str = "server") -> Running:
    """A server of the case, read back beside the restored configs."""
    seen = read(restored()[0], looked_at(told["effective"]), lambda path, algorithm: Unknown("not asked"))
    started = told.get("process_started_at")
    at = datetime.fromisoformat(started).timestamp() if started else Unknown("the runtime does not say")
    return Running(name, at, compared=seen.compared, moved=seen.moved, missing=seen.missing)


def judged(name: str) -> Check:
    (check,) = judge(restored()[1], (running(case(name)),))
    return check


def test_the_old_process_is_restored_on_disk_and_not_live() -> None:
    check = judged("runtime_old.json")
    assert (check.outcome, check.detail) == (
        Outcome.BLOCK,
        "restored on disk, not live: sampling.temperature is 0.9, golden has 0.2",
    )


def test_a_process_that_started_after_the_files_and_shows_them_is_fine() -> None:
    check = judged("runtime_new.json")
    assert (check.outcome, check.detail) == (Outcome.PASS, "read back 1 of 1 values equal to golden")


def test_an_old_process_that_shows_nothing_cannot_be_verified() -> None:
    check = judged("runtime_unknown.json")
    assert check.outcome is Outcome.UNDECIDED
    assert check.detail.startswith("cannot verify: the process is older than the files")


def test_replicas_in_two_states_are_a_mixture_by_name_and_no_eval_over_them_counts() -> None:
    found = [running(one, one["pod"]) for one in case("replicas.json")]
    expected = Expected("golden", "9f" * 32)
    checks = judge(expected, found)
    assert [(one.name, one.outcome) for one in checks] == [
        ("observe tern-0", Outcome.PASS),
        ("observe tern-1", Outcome.BLOCK),
        ("observe", Outcome.BLOCK),
    ]
    assert "sampling.temperature is 0.9, golden has 0.2" in checks[1].detail
    assert checks[2].detail == "a mixture of servers: tern-0 as released, tern-1 not as released"
    assert is_mixture(found, expected)


def test_what_was_just_written_to_disk_is_never_taken_for_what_runs() -> None:
    """The wrong outcome of the case: the check reads the file it has just written, and reports success."""
    service, expected = restored()
    assert read(service, looked_at(None), lambda path, algorithm: Unknown("")).compared == 0
    (check,) = judge(expected, (running({"effective": {}, "process_started_at": "2025-03-05T10:05:00Z"}),))
    assert (check.outcome, check.detail) == (
        Outcome.UNDECIDED,
        "cannot verify: the server shows nothing that could be compared",
    )
