"""Started servers end, whatever happens to us; running ones are found by port, without their secrets."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from governance.adapters.processes import (
    Program,
    behind_port,
    file_of,
    free_port,
    is_local,
    masked,
    program,
    running,
    start,
)
from governance.errors import MissingTool, Unreachable
from governance.values import Unknown

LISTEN = """
import socket, sys, time
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("up", flush=True)
time.sleep(60)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(60)
"""
# An engine with a worker: the worker ignores everything but being killed.
WITH_WORKER = f"""
import subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-c", {STUBBORN!r}], stdout=subprocess.PIPE)
worker.stdout.readline()
print("up", worker.pid, flush=True)
if sys.argv[1:] == ["crash"]:
    raise SystemExit(9)
time.sleep(60)
"""
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def is_up(log: Path) -> bool:
    return log.exists() and "up" in log.read_text()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Whether the process ends within a moment: being killed takes one."""
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(pid)


def test_a_server_runs_for_the_block_and_its_output_is_kept(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with running(python(LISTEN, str(free_port())), {}, log=log, healthy=lambda: is_up(log)) as server:
        assert server.ended is None
    assert server.ended is not None
    assert "up" in log.read_text()


def test_a_server_ends_when_the_block_fails(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with pytest.raises(ZeroDivisionError):  # noqa: SIM117
        with running(python(LISTEN, str(free_port())), {}, log=log, healthy=lambda: is_up(log)) as server:
            raise ZeroDivisionError
    assert server.ended is not None


def test_a_server_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    server = start(python(STUBBORN), {}, log=log)
    server.wait_until(lambda: is_up(log), timeout=10)
    server.stop(grace=0.2)
    assert server.ended == -signal.SIGKILL


@linux
@pytest.mark.parametrize("failing", [False, True])
def test_the_workers_of_a_server_end_with_it(tmp_path: Path, failing: bool) -> None:
    """vLLM computes in processes of its own; one that stays keeps gigabytes and the cores."""
    log = tmp_path / "log"
    with contextlib.suppress(ZeroDivisionError):  # noqa: SIM117
        with running(python(WITH_WORKER), {}, log=log, healthy=lambda: is_up(log)):
            worker = int(log.read_text().split()[1])
            assert alive(worker)
            if failing:
                raise ZeroDivisionError
    assert gone(worker)


@linux
def test_workers_are_asked_before_they_are_killed(tmp_path: Path) -> None:
    """What holds shared memory must have a chance to give it back."""
    log, note = tmp_path / "log", tmp_path / "note"
    tidy = (
        "import signal, sys, time; from pathlib import Path\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (Path({str(note)!r}).write_text('tidied'), sys.exit()))\n"
        "print('up', flush=True); time.sleep(60)"
    )
    with running(
        python(WITH_WORKER.replace(repr(STUBBORN), repr(tidy))), {}, log=log, healthy=lambda: is_up(log)
    ):
        pass
    assert note.read_text() == "tidied"


@linux
def test_the_workers_of_a_server_that_crashed_end_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(Unreachable, match="ended with status 9"):  # noqa: SIM117
        with running(python(WITH_WORKER, "crash"), {}, log=log, healthy=lambda: False):
            pass
    assert gone(int(log.read_text().split()[1]))


@linux
def test_a_server_that_a_signal_ended_is_told_with_its_name(tmp_path: Path) -> None:
    """An engine built for another processor dies without a word."""
    log = tmp_path / "log"
    killed = python("import os; os.kill(os.getpid(), 4)")
    with pytest.raises(Unreachable, match=r"was ended by SIGILL \(it was built for another processor\)"):  # noqa: SIM117
        with running(killed, {}, log=log, healthy=lambda: False):
            pass


def test_a_server_that_dies_at_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(Unreachable) as caught,
        running(
            python("print('no weights'); raise SystemExit(3)"),
            {},
            log=tmp_path / "log",
            healthy=lambda: False,
        ),
    ):
        pass
    assert "ended with status 3" in caught.value.message
    assert "no weights" in caught.value.message


def test_a_server_that_never_becomes_healthy_is_ended(tmp_path: Path) -> None:
    with (
        pytest.raises(Unreachable, match=r"not ready after 0\.2 s"),
        running(
            python("import time; time.sleep(60)"),
            {},
            log=tmp_path / "log",
            healthy=lambda: False,
            timeout=0.2,
        ),
    ):
        pass


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingTool, match="`no-such-server`"):
        start(["no-such-server"], {}, log=tmp_path / "log")


@linux
def test_a_server_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    """A killed test run must leave no server behind: its port and its memory would be taken for ever."""
    log = tmp_path / "log"
    script = (
        "import sys, time; from pathlib import Path; from governance.adapters.processes import start\n"
        f"server = start([sys.executable, '-c', {STUBBORN!r}], {{}}, log=Path({str(log)!r}))\n"
        "print(server.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(python(script), stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."})
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    deadline = time.monotonic() + 10
    while not is_up(log) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert alive(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


@linux
def test_the_workers_of_a_server_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    """The kernel ends the server with us, not what the server started: a watcher does."""
    log = tmp_path / "log"
    script = (
        "import sys, time; from pathlib import Path; from governance.adapters.processes import start\n"
        f"server = start([sys.executable, '-c', {WITH_WORKER!r}], {{}}, log=Path({str(log)!r}))\n"
        "print(server.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen(python(script), stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": "."})
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    deadline = time.monotonic() + 10
    while not is_up(log) and time.monotonic() < deadline:
        time.sleep(0.02)
    worker = int(log.read_text().split()[1])
    assert alive(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone(pid)
    assert gone(worker)


@linux
def test_nothing_of_ours_stays_open_or_running_after_a_server(tmp_path: Path) -> None:
    gc.collect()  # what other tests left to the collector must not be closed in between
    before = len(list(Path("/proc/self/fd").iterdir()))
    others = set(watchers_of_ours())  # the server that the whole session shares has one
    log = tmp_path / "log"
    with running(python(WITH_WORKER), {}, log=log, healthy=lambda: is_up(log)):
        watchers = [pid for pid in watchers_of_ours() if alive(pid) and pid not in others]
        assert len(watchers) == 1
    assert gone(watchers[0])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def watchers_of_ours() -> list[int]:
    """The watchers of servers we started: each keeps the command line of the shim, which names us."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if len(words) > 6 and b"prctl" in words[4] and words[5] == str(os.getpid()).encode():
                found.append(int(folder.name))
    return found


@linux
def test_the_process_behind_a_port_is_found_with_its_own_command_line(tmp_path: Path) -> None:
    log, port = tmp_path / "log", free_port()
    variables = {"LLAMA_ARG_TOP_K": "7", "MY_PASSWORD": "hunter2"}
    with running(python(LISTEN, str(port)), variables, log=log, healthy=lambda: is_up(log)) as server:
        found = behind_port(port, wanted=lambda name: name.startswith("LLAMA_"))
    assert isinstance(found, Program)
    assert found.pid == server.pid
    assert found.argv == tuple(python(LISTEN, str(port)))
    assert found.environment == {"LLAMA_ARG_TOP_K": "7"}
    assert "hunter2" not in repr(found)
    assert isinstance(found.started_at, float)
    assert abs(found.started_at - time.time()) < 60
    assert found.folder == str(Path.cwd())


@linux
def test_a_port_nobody_listens_on_is_unknown_and_so_is_a_connected_one() -> None:
    assert isinstance(behind_port(free_port(), wanted=bool), Unknown)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            assert isinstance(behind_port(client.getsockname()[1], wanted=bool), Unknown)
            assert isinstance(behind_port(port, wanted=bool), Program)


@linux
def test_the_first_of_several_processes_that_share_a_socket_is_meant() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.set_inheritable(True)
        child = subprocess.Popen(python("import time; time.sleep(60)"), close_fds=False)
        try:
            found = behind_port(listener.getsockname()[1], wanted=bool)
        finally:
            child.kill()
            child.wait()
    assert isinstance(found, Program)
    assert found.pid == os.getpid()


def test_another_users_environment_is_unknown_and_the_command_line_still_known(tmp_path: Path) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    (folder / "cmdline").write_bytes(b"/app/llama-server\0--ctx-size\0" + b"512\0")
    (tmp_path / "stat").write_text("btime 1000\n")
    (folder / "stat").write_text("7 (a b) c) S " + " ".join(["0"] * 18) + " 250 0\n")
    found = program(7, wanted=bool, proc=tmp_path)
    assert isinstance(found, Program)
    assert found.argv == ("/app/llama-server", "--ctx-size", "512")
    assert isinstance(found.environment, Unknown)
    assert found.started_at == 1000 + 250 / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("s --api-key sk-1 -c 8", "s --api-key *** -c 8"),
        ("s --api-key=sk-1 -c 8", "s --api-key=*** -c 8"),
        ("s -hft hf_1 --hf-token hf_1", "s -hft *** --hf-token ***"),
        ("s --api_key sk-1 sk-2", "s --api_key *** sk-2"),
        (
            "s --ssl-keyfile-password p --ssl-keyfile k.pem",
            "s --ssl-keyfile-password *** --ssl-keyfile k.pem",
        ),
        ("s --admin-api-key --port 1", "s --admin-api-key --port 1"),
        (
            "s --max-num-batched-tokens 4096 --override-kv a=int:1",
            "s --max-num-batched-tokens 4096 --override-kv a=int:1",
        ),
        ("s --ngrok-authtoken t", "s --ngrok-authtoken ***"),
    ],
)
def test_keys_on_a_command_line_are_masked_and_nothing_else_is(given: str, kept: str) -> None:
    assert " ".join(masked(given.split())) == kept


def test_a_process_that_is_gone_is_unknown(tmp_path: Path) -> None:
    assert isinstance(program(7, wanted=bool, proc=tmp_path), Unknown)
    assert isinstance(behind_port(80, wanted=bool, proc=tmp_path), Unknown)


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("192.0.2.1", False)]
)
def test_only_addresses_of_this_machine_are_local(host: str, own: bool) -> None:
    assert is_local(host) is own


def seen_by(tmp_path: Path, *, started_at: float | Unknown, folder: str = "/srv") -> tuple[Program, Path]:
    """A program with a root of its own, as in a container, and that root."""
    root = tmp_path / "7" / "root"
    (root / "srv").mkdir(parents=True)
    return Program(7, ("vllm",), {}, started_at, folder), root


def test_a_file_is_read_as_the_process_sees_it(tmp_path: Path) -> None:
    """A server in a container has another `/models` than we have."""
    server, root = seen_by(tmp_path, started_at=time.time())
    (root / "srv/model").mkdir()
    (root / "srv/model/config.json").write_bytes(b"{}")
    assert file_of(server, "model/config.json", proc=tmp_path) == b"{}"
    assert file_of(server, "/srv/model/config.json", proc=tmp_path) == b"{}"
    assert file_of(server, "model/other.json", proc=tmp_path) is None
    assert file_of(server, "model/config.json/below", proc=tmp_path) is None
    assert isinstance(file_of(server, "model", proc=tmp_path), Unknown)


def test_a_file_written_after_the_start_is_not_what_the_process_read(tmp_path: Path) -> None:
    server, root = seen_by(tmp_path, started_at=time.time() - 3600)
    (root / "srv/config.json").write_bytes(b"{}")
    found = file_of(server, "config.json", proc=tmp_path)
    assert isinstance(found, Unknown)
    assert "after process 7 started" in found.reason
    os.utime(root / "srv/config.json", (1, 1))
    assert file_of(server, "config.json", proc=tmp_path) == b"{}"
    unsure = Program(7, ("vllm",), {}, Unknown("no clock"), "/srv")
    assert isinstance(file_of(unsure, "config.json", proc=tmp_path), Unknown)


def test_a_link_out_of_a_container_is_not_followed_on_our_side(tmp_path: Path) -> None:
    server, root = seen_by(tmp_path, started_at=time.time())
    (root / "srv/config.json").symlink_to("/etc/hostname")
    (root / "srv/near.json").write_bytes(b"[]")
    (root / "srv/relative.json").symlink_to("near.json")
    assert isinstance(file_of(server, "config.json", proc=tmp_path), Unknown)
    assert file_of(server, "relative.json", proc=tmp_path) == b"[]"


def test_a_file_of_a_process_that_is_gone_is_none_of_ours(tmp_path: Path) -> None:
    assert file_of(Program(8, ("vllm",), {}, 0.0, "/"), "x", proc=tmp_path) is None
