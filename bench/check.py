"""`tierlock check` on 10,000 tier files beside check-jsonschema on the same files, each one process.

Cold judges every file and every rule. Warm finds the verdict it kept for the same content. After one edit
the whole is judged again. check-jsonschema has one schema made of the shipped ones; it checks shape only.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from bench import corpus
from bench.measure import PYTHON, ROOT, Row, console_script, processes, table

COUNT = int(os.environ.get("TIERLOCK_BENCH_FILES", "10000"))
SCHEMAS = ROOT / "governance/tiers/schemas/json"


def main() -> int:
    """Write the files, run both, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "repository"
        files = corpus.write(top, COUNT)
        sizes = [file.stat().st_size for file in files]
        schema = Path(folder) / "schema.json"
        schema.write_text(json.dumps(corpus.combined_schema(SCHEMAS)))
        names = Path(folder) / "names"
        names.write_text("\n".join(str(file.relative_to(top)) for file in files))
        env = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache", "PYTHONPATH": str(ROOT)}
        tierlock = [console_script(Path(folder)), "check"]
        ours = processes({"cold": [*tierlock, "--no-cache"], "warm": tierlock}, rounds=3, cwd=top, env=env)
        peer = processes({"peer": _peer(schema, names)}, rounds=1, cwd=top, env=env)["peer"]
    print(
        f"{len(files):,} tier files, {sum(sizes) / len(sizes):,.0f} bytes on average, largest {max(sizes):,}"
    )
    rows = [
        Row("check, cold", ours["cold"], "check-jsonschema", peer, 0.10),
        Row("check, warm", ours["warm"], "check-jsonschema", peer, 0.04),
    ]
    print(table("one process, whole repository", rows))
    return 0


def _peer(schema: Path, names: Path) -> list[str]:
    """check-jsonschema over every name in a file, in one process whatever the length of a command line."""
    code = (
        "import sys; from check_jsonschema import main; "
        f"main(['--schemafile', {str(schema)!r}, *open({str(names)!r}).read().split()])"
    )
    return [PYTHON, "-c", code]


if __name__ == "__main__":
    sys.exit(main())
