"""A supervised server outlives its starter, comes back when it dies, and is never mistaken for another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from governance.adapters import supervise, supervisor
from governance.adapters.supervisor import Kept, Spec
from governance.errors import Unreachable
from governance.values import Unknown

PLAIN = "import time; print('up', flush=True); time.sleep(600)"
WITH_WORKER = "import os, time; os.fork(); print('up', flush=True); time.sleep(600)"
DEAF = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of a supervisor; whatever runs in it is ended."""
    path = tmp_path / "process"
    yield path
    supervisor.end(path, grace=1)


def spec(program: str = PLAIN, *, grace: float = 5, **environment: str) -> Spec:
    kept = {name: os.environ[name] for name in ("PATH",)}
    labels = {"service": "summarizer", "release": "v1", "fingerprint": "f" * 64}
    return Spec((sys.executable, "-c", program), {**kept, **environment}, Path("/"), labels, grace)


def until(seen: Callable[[], Any]) -> Any:
    """What `seen` returns, once it is true."""
    for _ in range(3000):
        if found := seen():
            return found
        time.sleep(0.01)
    raise AssertionError("it never came")


def kept(folder: Path) -> Kept | None:
    found = supervisor.find(folder)
    return found if isinstance(found, Kept) else None


def notes(folder: Path) -> Any:
    return json.loads((folder / supervise.STATE).read_bytes())


def test_a_started_server_is_found_with_its_labels_and_start(folder: Path) -> None:
    before = time.time()
    pid = supervisor.start(spec(), folder)
    found = kept(folder)
    assert found is not None
    assert (found.pid, found.restarts, found.supervised) == (pid, 0, True)
    assert found.labels["fingerprint"] == "f" * 64
    assert before <= found.started_at <= time.time()


def test_the_server_outlives_the_command_that_started_it(folder: Path) -> None:
    """The starter is a process of its own, and is gone when the server is looked at."""
    program = (
        "import sys, os\nfrom pathlib import Path\nfrom governance.adapters import supervisor\n"
        f"supervisor.start(supervisor.Spec((sys.executable, '-c', {PLAIN!r}), dict(os.environ), Path('/'),"
        f" {{'service': 's'}}), Path({str(folder)!r}))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    found = kept(folder)
    assert found is not None
    assert os.getsid(found.pid) == found.pid != os.getsid(0)


def test_a_server_that_is_killed_is_started_again_and_counted(folder: Path) -> None:
    first = supervisor.start(spec(), folder)
    os.kill(first, signal.SIGKILL)
    again = until(lambda: (found := kept(folder)) and found.pid != first and found)
    assert again.restarts == 1
    assert again.labels["service"] == "summarizer"


def test_between_two_starts_nothing_runs_and_the_last_status_is_told(folder: Path) -> None:
    supervisor.start(spec("raise SystemExit(7)"), folder)
    assert until(lambda: supervisor.restarting(folder)) == 7
    until(lambda: notes(folder)["restarts"] >= 2)


def test_the_log_says_how_a_server_ended(folder: Path) -> None:
    """An engine that was built for another processor says nothing at all before it dies."""
    supervisor.start(spec("import os; os.kill(os.getpid(), 4)"), folder)
    until(lambda: "was ended by SIGILL: it was built for another processor" in supervisor.tail(folder))


def test_the_workers_of_a_dead_server_do_not_stay_behind(folder: Path) -> None:
    pid = supervisor.start(spec(WITH_WORKER), folder)
    workers = until(lambda: supervise.members(pid))
    os.kill(pid, signal.SIGKILL)
    until(lambda: (found := kept(folder)) and found.pid != pid)
    assert not any(supervise.is_alive(*worker) for worker in workers)


def test_ending_takes_the_server_its_workers_and_the_supervisor(folder: Path) -> None:
    pid = supervisor.start(spec(WITH_WORKER), folder)
    until(lambda: supervise.members(pid))
    processes = [*supervise.members(pid), (pid, notes(folder)["server"]["ticks"])]
    processes.append((notes(folder)["supervisor"]["pid"], notes(folder)["supervisor"]["ticks"]))
    supervisor.end(folder)
    assert not any(supervise.is_alive(*one) for one in processes)
    assert supervisor.find(folder) is None


def test_a_server_that_does_not_listen_to_the_request_is_killed(folder: Path) -> None:
    pid = supervisor.start(spec(DEAF, grace=0.1), folder)
    until(lambda: "up" in supervisor.tail(folder))
    supervisor.end(folder, grace=0.1)
    assert supervise.stat_of(pid) is None or supervise.stat_of(pid)[0] == "Z"  # type: ignore[index]


def test_ending_twice_and_ending_nothing_are_no_errors(folder: Path) -> None:
    supervisor.end(folder)
    supervisor.start(spec(), folder)
    supervisor.end(folder)
    supervisor.end(folder)


def test_a_server_whose_supervisor_was_killed_is_found_and_can_be_ended(folder: Path) -> None:
    """The out-of-memory killer takes whom it likes: the server goes on, and is not forgotten."""
    pid = supervisor.start(spec(WITH_WORKER), folder)
    workers = until(lambda: supervise.members(pid))
    os.kill(notes(folder)["supervisor"]["pid"], signal.SIGKILL)
    orphan = until(lambda: (found := kept(folder)) and not found.supervised and found)
    assert orphan.pid == pid
    supervisor.end(folder)
    assert not supervise.is_alive(orphan.pid, orphan.ticks)
    assert not any(supervise.is_alive(*worker) for worker in workers)


def test_a_second_supervisor_of_the_same_folder_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = supervisor.start(spec(), folder)
    with pytest.raises(Unreachable, match="another supervisor holds this service"):
        supervisor.start(spec(), folder)
    found = kept(folder)
    assert found is not None
    assert found.pid == pid


def test_a_recycled_pid_is_a_stranger_and_is_left_alone(folder: Path) -> None:
    """The notes name a pid that somebody else has now: the start time tells."""
    supervisor.start(spec(), folder)
    record = notes(folder)
    supervisor.end(folder)
    with subprocess.Popen([sys.executable, "-c", PLAIN], stdout=subprocess.PIPE) as stranger:
        try:
            record["server"]["pid"] = record["supervisor"]["pid"] = stranger.pid
            (folder / supervise.STATE).write_text(json.dumps(record))
            assert supervisor.find(folder) is None
            supervisor.end(folder)
            assert stranger.poll() is None
        finally:
            stranger.kill()


def test_notes_of_another_start_of_the_machine_name_nobody(folder: Path) -> None:
    supervisor.start(spec(), folder)
    record = notes(folder)
    try:
        (folder / supervise.STATE).write_text(json.dumps({**record, "boot": "another"}))
        assert supervisor.find(folder) is None
    finally:
        (folder / supervise.STATE).write_text(json.dumps(record))


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "tierlock.process/1"}', '{"schema": "x"}'])
def test_damaged_notes_are_unknown_and_never_nothing_runs(folder: Path, content: str) -> None:
    folder.mkdir()
    (folder / supervise.STATE).write_text(content)
    assert isinstance(supervisor.find(folder), Unknown)


def test_a_program_that_is_not_there_is_told_by_name(folder: Path) -> None:
    missing = Spec(("/no/such/engine",), {}, Path("/"), {"service": "s"})
    with pytest.raises(Unreachable, match="/no/such/engine: No such file or directory"):
        supervisor.start(missing, folder)
    assert supervisor.find(folder) is None


def test_variables_reach_the_server_and_no_file(folder: Path) -> None:
    program = "import os, time; print(len(os.environ['KEY']), flush=True); time.sleep(600)"
    supervisor.start(spec(program, KEY="s3cret-value"), folder)
    until(lambda: supervisor.tail(folder) == "12")
    assert not any(b"s3cret-value" in file.read_bytes() for file in folder.iterdir())


def test_the_log_of_the_former_server_is_kept_beside(folder: Path) -> None:
    supervisor.start(spec(), folder)
    until(lambda: supervisor.tail(folder) == "up")
    supervisor.end(folder)
    supervisor.start(spec("import time; time.sleep(600)"), folder)
    assert supervisor.tail(folder) == "up"
    assert (folder / "server.log").stat().st_mode & 0o777 == 0o600


def test_a_log_that_grows_is_cut_and_keeps_its_end(folder: Path) -> None:
    """An engine that logs each request would fill the disk in a week."""
    program = (
        "import sys, time\n"
        f"for _ in range({supervise.LOG_LIMIT >> 20} + 1): sys.stdout.write(('x' * 1023 + '\\n') * 1024)\n"
        "print('the end', flush=True)\ntime.sleep(600)"
    )
    supervisor.start(spec(program), folder)
    kept_beside = folder / "server.log.1"
    until(lambda: kept_beside.exists() and kept_beside.read_bytes().endswith(b"the end\n"))
    assert (folder / "server.log").stat().st_size == 0
