"""`python -m bench [NAME…]`: every benchmark of this folder, each beside its peer, in its own process.

A benchmark is a module with `main()`; it prints its table. One that cannot run here (a peer that is not
installed, a resource that is missing) says so and the others go on. The exit code is 1 when one failed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HELPERS = {"__init__", "__main__", "measure", "corpus", "peers"}


def main() -> int:
    """Run the named benchmarks, or all."""
    here = Path(__file__).resolve().parent
    names = sorted(
        file.stem for file in here.glob("*.py") if file.stem not in HELPERS and file.stem[0] != "_"
    )
    wanted = sys.argv[1:] or names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        print(f"no benchmark `{unknown[0]}`: there are {', '.join(names)}", file=sys.stderr)
        return 2
    failed = []
    for name in wanted:
        print(f"== {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=here.parent, check=False)
        if done.returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
