"""An alert command of the user's: it gets one JSON object on standard input, and has a bounded time.

What it says is not ours to judge: an exit code of 0 means that the alert was delivered.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from governance.values import Json

SECONDS: Final = 30.0
_TAIL: Final = 300


def deliver(command: Sequence[str], body: Mapping[str, Json], *, seconds: float = SECONDS) -> str:
    """Why `command` did not take `body`; empty when it did."""
    data = (json.dumps(body, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"`{command[0]}` did not end within {seconds:g} s"
    except OSError as err:
        return f"`{command[0]}` cannot be run: {(err.strerror or str(err)).lower()}"
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-_TAIL:]
    return f"`{command[0]}` ended with {done.returncode}" + (f": {said}" if said else "")
