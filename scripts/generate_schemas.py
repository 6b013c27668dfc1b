"""Write the files that are generated from the schema models; with `--check`, only say which are stale.

Exit codes: 0 written, or nothing stale · 1 stale files under `--check` · 2 usage.
"""

from __future__ import annotations

import sys

from generated import run

FOLDER = "governance/tiers/schemas"


def main(arguments: list[str] | None = None) -> int:
    return run(files, __doc__, arguments)


def files() -> dict[str, bytes]:
    """Every generated file of the schemas."""
    from governance.tiers.schemas.shipped import generated

    return {f"{FOLDER}/{name}": data for name, data in generated().items()}


if __name__ == "__main__":
    sys.exit(main())
