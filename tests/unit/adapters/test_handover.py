"""Becoming another program: one process id, clean signals, and a watcher that ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from governance.adapters.handover import Self

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looked up in /proc")

ROOT = Path(__file__).resolve().parents[3]
# Says its number, leaves a watcher that says when we have ended, and becomes the rest of the command line.
PROGRAM = """
import os, sys
from pathlib import Path
from governance.adapters.handover import Self, become, leave
print(os.getpid(), flush=True)
me = Self()

def work():
    print(f"watching {me.pid} from {os.getpid()}", flush=True)
    while not me.ends_within(0.05):
        pass
    print("it has ended", flush=True)
    return 0

leave(work)
become(Path(sys.argv[1]), sys.argv[1:], {**os.environ, "GIVEN": "yes"})
"""


def run(*argv: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The program and its watcher, both ended: each holds a pipe that is read to its end."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv],
        input=given,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )


def test_the_server_has_the_process_id_the_environment_and_the_exit_code() -> None:
    done = run("/bin/sh", "-c", "echo $$ $GIVEN; exit 7")
    before, after = done.stdout.decode().split("\n")[:2]
    assert after == f"{before} yes"
    assert done.returncode == 7


def test_the_watcher_writes_to_standard_error_and_ends_with_the_server() -> None:
    done = run("/bin/sh", "-c", "sleep 0.2; echo served")
    assert done.stdout.decode().split("\n")[1:] == ["served", ""]
    said = done.stderr.decode().splitlines()
    assert said[0].startswith("watching ")
    assert said[-1] == "it has ended"


def test_the_watcher_is_no_child_of_the_server() -> None:
    """An engine that waits for all its children would wait for the watcher, and that for the engine."""
    script = 'read children < /proc/$$/task/$$/children; echo "[$children]"'
    assert run("/bin/sh", "-c", script).stdout.decode().split("\n")[1] == "[]"


def test_the_server_hears_the_signals_a_fresh_program_hears() -> None:
    """Python ignores SIGPIPE, and what is ignored stays so across exec."""
    done = run("/bin/sh", "-c", "grep SigIgn /proc/$$/status")
    ignored = int(done.stdout.decode().split("SigIgn:")[1], 16)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM):
        assert not ignored & 1 << (number - 1), signal.Signals(number).name


def test_no_descriptor_of_ours_is_left_to_the_server() -> None:
    done = run("/bin/sh", "-c", "ls /proc/$$/fd")
    assert done.stdout.decode().split()[1:] == ["0", "1", "2"]


def test_what_is_no_program_is_told_and_the_watcher_is_not_left_behind(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_text("neither a script nor a program\n")
    odd.chmod(0o755)
    done = run(str(odd))
    assert b"/odd: `odd` cannot be run: exec format error" in done.stderr
    assert b"it has ended" in done.stderr


@pytest.mark.parametrize("handle", [True, False])
def test_a_process_is_alive_until_it_has_ended_with_or_without_a_handle_of_the_kernel(handle: bool) -> None:
    with _started(["/bin/cat"]) as child:
        seen = Self()
        seen.pid = child.pid
        seen._handle = os.pidfd_open(child.pid) if handle else None
        assert not seen.ends_within(0.01)
        child.stdin.close()  # type: ignore[union-attr]
        if not handle:
            child.wait()
        assert seen.ends_within(30)
        if seen._handle is not None:
            os.close(seen._handle)


def _started(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=subprocess.PIPE)
