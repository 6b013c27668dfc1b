"""A rollback killed (SIGKILL) before each of its steps in turn, then called again: a program that tells how
each of them ended.

`python -m tests.support.rollback_kills REPO RUNTIME SCRATCH AGAIN`: REPO and RUNTIME are copied for each
step into SCRATCH/N; AGAIN is what is called after the kill: `same`, `abort`, or `refused` (the same, where
the gate no longer passes). One JSON line for each step. It forks, so it is a program of its own, without
threads.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from governance.errors import TierlockError
from governance.release.rollback import abort, rollback
from tests.support.drilled import world as drilled
from tests.support.governed import place
from tests.support.repos import Repo
from tests.support.rollbacks import Events, FakeDriver, audited, terms, world


def call(folder: Path, kill: int, again: str) -> dict[str, object]:
    """One call in the copy at `folder`: how it ended, and its steps."""
    events = Events(kill)
    driver = FakeDriver(folder / "runtime", events)
    at = place(Repo(folder / "repo"))
    more = {}
    if again == "refused":
        more["drilled"] = drilled(hub=_gone, audit=audited)
    try:
        use = abort if again == "abort" else rollback
        report = use(at, terms(), world(driver, **more))
        told = {"outcome": report.outcome.value, "summary": report.summary}
    except TierlockError as err:
        told = {"outcome": "error", "summary": err.message}
    return {**told, "events": events.seen}


def _gone(model: str, revision: str) -> str:
    from governance.errors import Unreachable

    raise Unreachable(f"the hub has no {model} any more")


def forked(work: Callable[[], dict[str, object]]) -> tuple[int, dict[str, object]]:
    """The wait status of a child that does `work`, and what it found; nothing when it was killed."""
    hear, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(hear)
        os.write(say, json.dumps(work()).encode())
        os._exit(0)
    os.close(say)
    with os.fdopen(hear, "rb") as pipe:
        heard = pipe.read()
    _, status = os.waitpid(pid, 0)
    return status, json.loads(heard) if heard else {}


def main() -> None:
    """Count the steps, then kill before each."""
    repo, runtime, scratch = (Path(word) for word in sys.argv[1:4])
    again = sys.argv[4]

    def copy(name: str) -> Path:
        folder = scratch / name
        shutil.copytree(repo, folder / "repo", symlinks=True)
        shutil.copytree(runtime, folder / "runtime")
        return folder

    whole = copy("whole")
    _, told = forked(lambda: call(whole, -1, "same"))
    events = told["events"]
    assert isinstance(events, list)
    assert told["outcome"] == "pass", told
    for number, event in enumerate(events):
        folder = copy(str(number))
        status, _ = forked(lambda folder=folder, number=number: call(folder, number, "same"))
        _, ended = forked(lambda folder=folder: call(folder, -1, again))
        told = {"step": number, "before": event, "killed": os.WIFSIGNALED(status), **ended}
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
