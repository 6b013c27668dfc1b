"""How every benchmark measures: whole processes, rounds interleaved, medians, a ratio to a peer, a goal.

- The peer runs in the same rounds as we do, so that a busy machine is busy for both.
- A ratio counts more than a time: times are of the machine, ratios of the programs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
PYTHON = sys.executable
_UNUSUAL = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
"""An installed program has its byte code; a shell of a developer may forbid to write it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: ours and the peer's median in ms, and the highest ratio we allow."""

    what: str
    ours: float
    peer_name: str
    peer: float
    goal: float
    unit: str = "ms"

    @property
    def ratio(self) -> float:
        return self.ours / self.peer

    @property
    def met(self) -> bool:
        return self.ratio <= self.goal


def processes(
    commands: Mapping[str, Sequence[str]],
    *,
    rounds: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    ok: Sequence[int] = (0,),
    before: Callable[[str], None] | None = None,
) -> dict[str, float]:
    """The median wall time in ms of each command, run in turn `rounds` times after one round to warm up.

    `before` is called with the name ahead of each run, outside of the measured time.
    """
    plain = {name: value for name, value in (env or os.environ).items() if name not in _UNUSUAL}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, argv in commands.items():
            if before is not None:
                before(name)
            start = time.perf_counter()
            done = subprocess.run(argv, cwd=cwd, env=plain, capture_output=True, check=False)
            spent = (time.perf_counter() - start) * 1000
            if done.returncode not in ok:
                said = (done.stdout + done.stderr).decode(errors="replace")[-2000:]
                raise SystemExit(f"{name} ended with {done.returncode}:\n{said}")
            if turn:
                times[name].append(spent)
    return {name: median(values) for name, values in times.items()}


def console_script(folder: Path) -> str:
    """The console script: the installed one, else the same lines for this checkout."""
    installed = shutil.which("tierlock", path=str(Path(PYTHON).parent))
    if installed:
        return installed
    file = folder / "tierlock"
    file.write_text(
        f"#!{PYTHON}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from governance.cli.start import main\nsys.exit(main())\n"
    )
    file.chmod(0o755)
    return str(file)


def table(title: str, rows: Sequence[Row]) -> str:
    """The rows as plain text, one line each, with ratio, goal and whether it is met."""
    lines = [title]
    head = ("", "ours", "peer", "ratio", "goal", "")
    body = [
        (
            row.what,
            f"{row.ours:,.1f} {row.unit}",
            f"{row.peer:,.1f} {row.unit}  {row.peer_name}",
            f"{row.ratio:.3f}",
            f"<= {row.goal:g}",
            "met" if row.met else "MISSED",
        )
        for row in rows
    ]
    widths = [max(len(line[column]) for line in (head, *body)) for column in range(len(head))]
    lines += [_line(line, widths) for line in (head, *body)]
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return ("  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))).rstrip()
