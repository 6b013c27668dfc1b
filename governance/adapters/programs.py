"""Runs a program of the user in a folder, with an input, and collects what it says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from governance.errors import MissingTool


@dataclass(frozen=True, slots=True)
class Said:
    """How a program ended and what it wrote. A negative status is the signal that ended it."""

    status: int
    out: bytes
    err: bytes

    @property
    def last_line(self) -> str:
        """The last line of its complaint, else of its output, else how it ended."""
        for text in (self.err, self.out):
            lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines() if line.strip()]
            if lines:
                return lines[-1]
        return f"it ended with status {self.status} and said nothing"


def run(
    argv: Sequence[str],
    *,
    cwd: Path | str = ".",
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Said:
    """What `argv` said; `environment` is added to ours. Raises `MissingTool` when it cannot be run.

    One that takes longer than `timeout` seconds is killed, and has status -9.
    """
    try:
        done = subprocess.run(
            list(argv),
            cwd=cwd,
            input=given,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as err:
        return Said(-9, err.stdout or b"", err.stderr or b"")
    except (FileNotFoundError, PermissionError, NotADirectoryError) as err:
        raise MissingTool(f"the program `{argv[0]}` cannot be run: {(err.strerror or '').lower()}") from err
    return Said(done.returncode, done.stdout, done.stderr)
