"""A lock that goes with its holder: real processes, one of them killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from governance.adapters.locks import held
from governance.errors import Unreadable
from tests.support.command import ROOT

HOLD = """
import sys, time
from pathlib import Path
from governance.adapters.locks import held
with held(Path(sys.argv[1]), who="the other one", busy=AssertionError):
    print("held", flush=True)
    time.sleep(600)
"""


class Busy(Exception):
    pass


def test_another_process_is_told_who_holds_it_and_gets_it_once_that_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLD, path], cwd=ROOT, stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            with pytest.raises(Busy, match="the other one"), held(path, who="me", busy=Busy):
                pytest.fail("it was held")
        finally:
            other.kill()
    with held(path, who="me", busy=Busy):
        assert path.read_text() == "me"
    assert path.read_text() == ""


def test_waiting_ends_with_the_time_that_was_given(tmp_path: Path) -> None:
    path, clock = tmp_path / "lock", [0.0]

    def sleep(seconds: float) -> None:
        assert seconds > 0
        clock[0] += seconds

    with held(path, who="one", busy=Busy):
        with (
            pytest.raises(Busy),
            held(path, who="two", busy=Busy, wait_s=3.0, sleep=sleep, now=lambda: clock[0]),
        ):
            pytest.fail("it was held")
        assert clock[0] == pytest.approx(3.0)


def test_a_child_does_not_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held(path, who="one", busy=Busy):
        child = subprocess.Popen(["sleep", "600"], close_fds=False)
    try:
        with held(path, who="two", busy=Busy):
            pass
    finally:
        child.kill()
        child.wait()


def test_the_holder_is_told_on_one_line_and_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held(path, who="one\nline", busy=Busy):
        assert path.read_text() == "one line"
    (tmp_path / "file").touch()
    with (
        pytest.raises(Unreadable, match="`lock` cannot be locked"),
        held(tmp_path / "file" / "lock", who="x", busy=Busy),
    ):
        pytest.fail("there is no such folder")
