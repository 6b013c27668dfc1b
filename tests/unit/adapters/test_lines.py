"""A file of lines survives a kill: a line is there whole, or it is not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from governance.adapters.lines import Lines
from governance.errors import Unreadable, Usage


def test_lines_are_there_as_soon_as_they_are_added(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.jsonl"
    with Lines(path) as lines:
        lines.add([b"1\n", b"2\n"])
        assert path.read_bytes() == b"1\n2\n"


def test_a_new_file_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"mine\n")
    with pytest.raises(Usage, match="is there already"):
        Lines(path)
    assert path.read_bytes() == b"mine\n"


@pytest.mark.parametrize("before", [b"", b"1\n", b"1\n2", b"no newline", b"1\n" + b"x" * 200_000])
def test_going_on_cuts_off_only_a_half_written_line(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(before)
    with Lines(path, go_on=True) as lines:
        lines.add([b"3\n"])
    assert path.read_bytes() == before[: before.rfind(b"\n") + 1] + b"3\n"


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unreadable, match=r"rows.jsonl"):
        Lines(tmp_path / "file" / "rows.jsonl")


def test_a_killed_writer_leaves_every_line_it_handed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    code = (
        "import sys, time; from governance.adapters.lines import Lines\n"
        "with Lines(sys.argv[1]) as lines:\n"
        "    for number in range(3): lines.add([b'%d\\n' % number])\n"
        "    print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert path.read_bytes() == b"0\n1\n2\n"


def test_the_disk_is_asked_at_most_once_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An fsync for every row would make the client wait for the disk."""
    synced: list[float] = []
    moment = [0.0]
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(moment[0]))
    with Lines(tmp_path / "rows.jsonl", now=lambda: moment[0]) as lines:
        for tenth in range(25):
            moment[0] = tenth / 10
            lines.add([b"row\n"])
    assert synced == [1.0, 2.0, 2.4]
