"""Programs nobody trusts stay within their bounds: what a model wrote must not reach the machine."""

from __future__ import annotations

import socket
import sys
import textwrap
from pathlib import Path

import pytest

from governance.adapters.sandbox import Bounds, Ended, run


def python(code: str, *, seconds: float = 10.0, stdin: bytes = b"", **bounds: int) -> Ended:
    argv = [sys.executable, "-s", "-S", "-P", "-c", textwrap.dedent(code)]
    return run(argv, stdin=stdin, bounds=Bounds(seconds, **bounds))


def test_what_a_program_prints_and_how_it_ends_is_told() -> None:
    ended = python("import sys; print(sys.stdin.read().upper()); sys.exit(3)", stdin=b"hello")
    assert (ended.status, ended.stdout, ended.reason) == (3, "HELLO\n", "")


def test_a_program_that_does_not_end_is_ended() -> None:
    for forever in ("while True: pass", "import time; time.sleep(600)"):
        ended = python(forever, seconds=0.5)
        assert ended.status != 0
        assert ended.reason == "it ran longer than 0.5 s"


def test_memory_and_file_size_are_bounded() -> None:
    assert "MemoryError" in python("bytearray(1 << 30)", memory=256 << 20).stderr
    ended = python("open('x', 'wb').write(bytes(1 << 20))", file_size=1 << 16)
    assert "File too large" in ended.stderr
    endless = python("while True: print('x' * 1000)", file_size=1 << 16)
    assert endless.status != 0
    assert len(endless.stdout) <= 1 << 16


def test_a_crash_is_a_signal_and_not_an_end() -> None:
    assert python("import ctypes; ctypes.string_at(0)").status == -11


def test_the_environment_is_empty_and_the_folder_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "not-for-you")
    ended = python("import os; print(sorted(os.environ)); print(os.listdir()); print(os.getcwd())")
    names, content, folder = ended.stdout.splitlines()
    assert "API_KEY" not in names
    assert content == "[]"
    assert not Path(folder).exists()


def test_sets_have_one_order_so_that_no_verdict_is_drawn_by_lot() -> None:
    printed = {python("print(list({'a', 'b', 'c', 'd', 'e', 'f'}))").stdout for _ in range(3)}
    assert len(printed) == 1


def closed(what: str) -> None:
    """Skip where the system does not let us close `what`."""
    if what in python("").open:
        pytest.skip(f"this system does not let an unprivileged program close its {what}")


def test_there_is_no_network() -> None:
    closed("network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = python(f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)")
    assert ended.status == 1
    assert "unreachable" in ended.stderr.lower()


def test_nothing_is_written_or_removed_outside_of_its_folder(tmp_path: Path) -> None:
    closed("files")
    kept = tmp_path / "kept"
    kept.write_text("here")
    written = python(f"open({str(tmp_path / 'new')!r}, 'w')")
    removed = python(f"import os; os.remove({str(kept)!r})")
    changed = python(f"open({str(kept)!r}, 'a')")
    assert [ended.status for ended in (written, removed, changed)] == [1, 1, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert python("open('own', 'w').write('x'); print(open('own').read())").stdout == "x\n"


def test_no_process_can_be_made_and_threads_can() -> None:
    closed("processes")
    assert "not permitted" in python("import os; os.fork()").stderr
    assert "not permitted" in python("import subprocess; subprocess.run(['true'])").stderr
    threaded = "import threading; t = threading.Thread(target=print, args=('x',)); t.start(); t.join()"
    assert python(threaded).stdout == "x\n"


def test_a_program_that_is_not_there_says_so() -> None:
    ended = run(["/no/such/program"])
    assert ended.status != 0
    assert "No such file" in ended.stderr
