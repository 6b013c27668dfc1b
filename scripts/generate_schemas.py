"""Write the files that are generated from the schema models; with `--check`, only say which are stale.

Exit codes: 0 written, or nothing stale · 1 stale files under `--check` · 2 usage.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

FOLDER = Path("governance/tiers/schemas")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    options = parser.parse_args(arguments)
    root = Path(__file__).resolve().parents[1]
    sys.path.insert(0, str(root))
    from governance.tiers.schemas.shipped import generated

    stale = 0
    for name, data in generated().items():
        path = root / FOLDER / name
        if path.is_file() and path.read_bytes() == data:
            continue
        stale += 1
        print(f"{'stale' if options.check else 'written'}  {FOLDER / name}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
