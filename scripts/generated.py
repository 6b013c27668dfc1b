"""Files that the code generates: written where they are stale; with `--check`, only named.

What the scripts `generate_*.py` share. Exit codes: 0 written, or nothing stale · 1 stale files under
`--check` · 2 usage · 3 nothing is generated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # this tree is what is described, whatever is installed


def run(files: Callable[[], Mapping[str, bytes]], about: str | None, arguments: list[str] | None) -> int:
    """The exit code of one script. `files` gives what each path, from the top of the project, shall hold."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = parser.parse_args(arguments).check
    wanted = files()
    if not wanted:
        print("nothing is generated")
        return 3
    stale = 0
    for name, data in wanted.items():
        path = ROOT / name
        if path.is_file() and path.read_bytes() == data:
            continue
        stale += 1
        print(f"{'stale' if check else 'written'}  {name}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return 1 if check and stale else 0
