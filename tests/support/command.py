"""The command as a user has it: through `main(argv)` in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-m", "governance.cli")


class Ran(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


class Tierlock:
    """`tierlock` in one folder. `run` calls `main`, `spawn` starts a process."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def run(self, *args: str, cwd: Path | None = None) -> Ran:
        """The command in this process."""
        from governance.cli.start import main

        with self._monkeypatch.context() as patch:
            patch.chdir(cwd or self.folder)
            self._capsys.readouterr()
            code = main(list(args))
        said = self._capsys.readouterr()
        return Ran(int(code), said.out, said.err)

    def spawn(self, *args: str, env: Mapping[str, str] | None = None, given: bytes = b"") -> Ran:
        """The command as a process."""
        done = subprocess.run(
            [*PROGRAM, *args],
            cwd=self.folder,
            env=environment(env),
            input=given,
            capture_output=True,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def write(self, path: str, text: str | bytes) -> Path:
        """A file in the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def change(self, path: str, before: str, after: str) -> None:
        """Replace one piece of a file; it must be there."""
        file = self.folder / path
        text = file.read_text()
        assert before in text
        file.write_text(text.replace(before, after))


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, so that the process finds this checkout, without what a hook or a user's settings would add."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "PRE_COMMIT", "TIERLOCK"))
    }
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **(more or {}),
    }
