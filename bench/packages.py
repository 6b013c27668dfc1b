"""`python -m bench.packages`: listing 250 packages with RECORD digests, beside `pip freeze`.

The environment is a virtual environment below `.cache/bench-packages` with 250 metadata folders: real
METADATA and RECORD files of the packages that are installed here, under new names. Both sides are whole
processes started by that environment's own interpreter, as a container or a hook would start them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from bench.measure import PYTHON, ROOT, Row, processes, table

COUNT = 250
ROUNDS = 15
GOAL = 0.2
PLACE = ROOT / ".cache" / "bench-packages"
OURS = """
import sys
sys.path[:0] = [{root!r}]
from governance.adapters.packages import distributions, this_interpreter
from governance.fingerprint.packages import from_distributions, layer_digest
found = from_distributions(distributions(this_interpreter().path))
print(len(found.packages), layer_digest(found))
"""


def build() -> Path:
    """The environment, made once; returns its interpreter."""
    python = PLACE / "bin" / "python"
    done = PLACE / "complete"
    if done.is_file() and python.exists():
        return python
    shutil.rmtree(PLACE, ignore_errors=True)
    subprocess.run([PYTHON, "-m", "venv", str(PLACE)], check=True)
    site = next((PLACE / "lib").glob("python3.*/site-packages"))
    sources = sorted(f for s in sys.path for f in Path(s).glob("*.dist-info") if (f / "RECORD").is_file())
    if not sources:
        raise SystemExit("no installed package to copy metadata from")
    for number in range(COUNT - len(list(site.glob("*.dist-info")))):
        _copy(sources[number % len(sources)], site, f"pkg_{number:03}")
    done.write_text("")
    return python


def _copy(source: Path, site: Path, name: str) -> None:
    version = source.name.removesuffix(".dist-info").rpartition("-")[2]
    target = site / f"{name}-{version}.dist-info"
    target.mkdir()
    metadata = (source / "METADATA").read_text("utf-8", "surrogateescape")
    renamed = re.sub(r"^Name: .*$", f"Name: {name}", metadata, count=1, flags=re.MULTILINE)
    (target / "METADATA").write_text(renamed, "utf-8", "surrogateescape")
    record = (source / "RECORD").read_bytes().replace(source.name.encode(), target.name.encode())
    (target / "RECORD").write_bytes(record)
    (target / "INSTALLER").write_text("pip\n")


def main() -> int:
    """Print the table; 1 when the goal is missed."""
    python = str(build())
    commands = {
        "pip freeze": [python, "-m", "pip", "freeze", "--all"],
        "tierlock": [python, "-I", "-c", OURS.format(root=str(ROOT))],
        "bare": [python, "-I", "-c", "pass"],
    }
    listed = subprocess.run(commands["pip freeze"], capture_output=True, check=True).stdout.splitlines()
    counted = int(subprocess.run(commands["tierlock"], capture_output=True, check=True).stdout.split()[0])
    if counted != COUNT or len(listed) != COUNT:
        raise SystemExit(f"the sides list {counted} and {len(listed)} packages, not {COUNT}")
    times = processes(commands, rounds=ROUNDS)
    row = Row(
        f"{COUNT} packages with RECORD digests", times["tierlock"], "pip freeze", times["pip freeze"], GOAL
    )
    print(table("packages, whole process", [row]))
    over = times["tierlock"] - times["bare"]
    print(f"  interpreter start alone {times['bare']:.1f} ms, so {over:.1f} ms over it")
    return 0 if row.met else 1


if __name__ == "__main__":
    sys.exit(main())
