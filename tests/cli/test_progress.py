"""Progress is for people who wait at a terminal, and leaves nothing behind."""

from __future__ import annotations

import io
import os
from pathlib import Path

from governance.adapters.files import MemoryTree
from governance.cli.progress import Counted, progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def clock(*times: float):  # type: ignore[no-untyped-def]
    moments = iter(times)
    return lambda: next(moments)


def test_nothing_is_drawn_where_nobody_watches() -> None:
    stream = io.StringIO()
    with progress("hashing", stream=stream) as advance:
        advance(1, 2)
    assert stream.getvalue() == ""


def test_nothing_is_drawn_for_work_that_is_done_at_once() -> None:
    stream = Terminal()
    with progress("hashing", stream=stream, now=clock(0.0, 0.1)) as advance:
        advance(1, 2)
    assert stream.getvalue() == ""


def test_the_bar_shows_the_share_and_is_wiped_at_the_end() -> None:
    stream = Terminal()
    with progress("hashing", stream=stream, now=clock(0.0, 0.6, 0.6)) as advance:
        advance(1, 2)
        assert "hashing" in stream.getvalue()
        assert "50%" in stream.getvalue()
    assert stream.getvalue().endswith("\r")


def test_it_is_drawn_at_most_ten_times_a_second() -> None:
    stream = Terminal()
    with progress("hashing", stream=stream, now=clock(0.0, 0.6, 0.6, 0.65)) as advance:
        advance(1, 10)
        drawn = stream.getvalue()
        advance(2, 10)
        assert stream.getvalue() == drawn


def test_nothing_to_do_is_no_division_by_zero() -> None:
    stream = Terminal()
    with progress("hashing", stream=stream, now=clock(0.0, 0.6, 0.6)) as advance:
        advance(0, 0)
    assert "0%" in stream.getvalue()


def test_a_counted_source_reads_what_the_source_reads_and_says_how_far_it_is() -> None:
    told: list[tuple[int, int]] = []
    source = Counted(MemoryTree({"a": b"1", "b/c": b"2"}), lambda done, total: told.append((done, total)))
    assert [source.read(entry.path) for entry in source.entries("")] == [b"1", b"2"]
    assert told == [(1, 2), (2, 2)]
    assert source.label == "memory"


def test_a_check_at_a_terminal_says_the_same_as_one_without(tmp_path: Path) -> None:
    """Run under a pseudo-terminal, since progress is shown on one only."""
    import pty
    import subprocess

    from tests.support.command import PROGRAM, environment

    env = environment({"XDG_CACHE_HOME": str(tmp_path / "cache")})
    subprocess.run([*PROGRAM, "init", "."], cwd=tmp_path, env=env, check=True, capture_output=True)
    check = [*PROGRAM, "check", "--no-cache"]
    main_end, terminal = pty.openpty()
    watched = subprocess.run(
        check, cwd=tmp_path, env=env, stderr=terminal, stdout=subprocess.PIPE, check=True
    )
    plain = subprocess.run(check, cwd=tmp_path, env=env, capture_output=True, check=True)
    assert watched.stdout == plain.stdout
    os.close(terminal)
    os.close(main_end)
