"""The hook as git users feel it: whole processes, from the console script to the exit code.

- A commit that touches no governed file, beside a bare interpreter (`python -I -S -c pass`).
- Three changed files of 1,000, beside check-jsonschema on the same three.
- `pre-commit run` with the hook, beside the same without it: the difference is what the hook adds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import corpus
from bench.check import SCHEMAS
from bench.measure import PYTHON, Row, console_script, processes, table

ROUNDS = int(os.environ.get("TIERLOCK_BENCH_ROUNDS", "15"))
CONFIG = """\
repos:
  - repo: local
    hooks:
      - {{id: tierlock-check, name: tierlock check, entry: {entry}, language: system, always_run: true,
         pass_filenames: false, require_serial: true}}
"""


def main() -> int:
    """Build the repository, run each pair, print the table."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder) / "repository"
        files = corpus.write(top, 1000)
        script = console_script(Path(folder))
        schema = Path(folder) / "schema.json"
        schema.write_text(json.dumps(corpus.combined_schema(SCHEMAS)))
        _git(top, "init", "-q")
        (top / "README.md").write_text("a\n")
        _git(top, "add", "-A")
        _git(top, "commit", "-q", "-m", "first")
        rows = [_untouched(top, script), _three(top, script, files, schema), _added(top, script)]
    print(table("as a hook, 1,000 tier files", rows))
    return 0


def _untouched(top: Path, script: str) -> Row:
    (top / "README.md").write_text("b\n")
    _git(top, "add", "README.md")
    bare = [PYTHON, "-I", "-S", "-c", "pass"]
    times = processes({"ours": [script, "check", "--staged"], "bare": bare}, rounds=ROUNDS, cwd=top)
    return Row("no governed file", times["ours"], "python -I -S -c pass", times["bare"], 3)


def _three(top: Path, script: str, files: list[Path], schema: Path) -> Row:
    changed = [files[0], files[400], files[-1]]
    for file in changed:
        file.write_text(file.read_text() + "# edited\n")
    _git(top, "add", "-A")
    peer = [str(Path(PYTHON).parent / "check-jsonschema"), "--schemafile", str(schema), *map(str, changed)]
    times = processes({"ours": [script, "check", "--staged"], "peer": peer}, rounds=ROUNDS, cwd=top)
    return Row("3 files changed of 1,000", times["ours"], "check-jsonschema, 3 files", times["peer"], 0.5)


def _added(top: Path, script: str) -> Row:
    """What the hook adds to `pre-commit run`, beside the 150 ms we allow."""
    config = top / ".pre-commit-config.yaml"
    config.write_text(CONFIG.format(entry=f"{script} check --staged"))
    _git(top, "add", "-A")
    command = [str(Path(PYTHON).parent / "pre-commit"), "run"]
    without = ["env", "SKIP=tierlock-check", *command]
    home = {**os.environ, "PRE_COMMIT_HOME": str(top.parent / "pre-commit")}
    times = processes({"with": command, "without": without}, rounds=ROUNDS, cwd=top, env=home)
    return Row("added to `pre-commit run`, 3 files", times["with"] - times["without"], "allowed", 150, 1)


def _git(top: Path, *args: str) -> None:
    who = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    subprocess.run(("git", *who, *args), cwd=top, check=True)


if __name__ == "__main__":
    sys.exit(main())
