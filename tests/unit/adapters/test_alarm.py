"""Alert commands as people write them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from governance.adapters.alarm import deliver

BODY = {"event": "mismatch", "text": "höher als 0.3"}


def test_the_command_gets_one_json_object_on_standard_input(tmp_path: Path) -> None:
    target = tmp_path / "got.json"
    assert deliver(["sh", "-c", f"cat > {target}"], BODY) == ""
    assert json.loads(target.read_text(encoding="utf-8")) == BODY


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["sh", "-c", "echo no route >&2; exit 4"], "`sh` ended with 4: no route"),
        (["sh", "-c", "exit 1"], "`sh` ended with 1"),
        (["/nowhere/notify"], "`/nowhere/notify` cannot be run: no such file or directory"),
    ],
)
def test_a_command_that_fails_says_why(command: list[str], why: str) -> None:
    assert deliver(command, BODY) == why


def test_a_command_that_hangs_is_ended() -> None:
    assert deliver([sys.executable, "-c", "import time; time.sleep(60)"], BODY, seconds=0.2) == (
        f"`{sys.executable}` did not end within 0.2 s"
    )


def test_a_command_that_reads_nothing_has_taken_it() -> None:
    assert deliver(["true"], {"text": "x" * 1_000_000}) == ""
