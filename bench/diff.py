"""Differences: two large configs in one process, and two releases of a large repository as whole processes.

- Two configs of 20,000 leaves with 20 changes, beside a plain DeepDiff of the same trees.
- Two revisions with 450 of 20,000 tier files changed, beside what one would write by hand: GitPython for the
  changed files, ruamel.yaml (its C parser) to read them, DeepDiff to compare them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from bench import corpus
from bench.measure import PYTHON, ROOT, Row, processes, table

ROUNDS = int(os.environ.get("TIERLOCK_BENCH_ROUNDS", "9"))
FILES = int(os.environ.get("TIERLOCK_BENCH_FILES", "20000"))
CHANGED = 450 * FILES // 20_000

EDITS = {
    "base": ("max_num_seqs: ", "max_num_seqs: 1"),
    "sampling": ("max_tokens: ", "max_tokens: 1"),
    "prompts": ("Read the ", "Carefully read the "),
}
OURS = """
import sys
from governance.release.diff import compare
from governance.release.sides import Place, parse_side
from governance.report.text import render
place = Place(".")
report = compare(parse_side("base", place), parse_side("release", place))
sys.stdout.write(render(report))
assert sum(change.layer.count("/") for change in report.changes) >= int(sys.argv[1])
"""
PEER = """
import io, sys
from deepdiff import DeepDiff
from git import Repo
from ruamel.yaml import YAML
yaml = YAML(typ="safe")
repo = Repo(".")
changed = 0
for one in repo.commit("base").diff(repo.commit("release")):
    trees = [yaml.load(blob.data_stream.read()) if blob else None for blob in (one.a_blob, one.b_blob)]
    found = DeepDiff(*trees)
    changed += bool(found)
    sys.stdout.write(f"{one.b_path} {found}\\n")
assert changed >= int(sys.argv[1])
"""


def main() -> int:
    """Run both, print the table."""
    rows = [_trees()]
    with tempfile.TemporaryDirectory() as folder:
        rows.append(_releases(Path(folder)))
    print(table("differences", rows))
    return 0


def _trees() -> Row:
    from deepdiff import DeepDiff

    from governance.tiers.treediff import tree_changes

    before, after = trees(20_000, 20)
    assert len(tree_changes(before, after)) == 20
    times = _in_turn(
        {"ours": lambda: tree_changes(before, after), "peer": lambda: DeepDiff(before, after)}, ROUNDS
    )
    return Row("20,000 leaves, 20 changes", times["ours"], "DeepDiff", times["peer"], 0.02)


def trees(leaves: int, changes: int) -> tuple[Any, Any]:
    """A tree of configs of mixed values, and a copy with so many values changed."""
    random = Random(5)
    tree = {
        f"config-{number:04}": {
            f"group_{group}": {f"key_{key}": _value(random) for key in range(8)}
            | {"list": [random.randrange(1000) for _ in range(2)]}
            for group in range(10)
        }
        for number in range(leaves // 100)
    }
    other = json.loads(json.dumps(tree))
    for number in random.sample(sorted(tree), changes):
        other[number]["group_3"]["key_4"] = "changed"
    return json.loads(json.dumps(tree)), other


def _value(random: Random) -> Any:
    return random.choice([random.random(), random.randrange(10**6), f"text {random.random()}", True, None])


def _in_turn(functions: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median time in ms of each function, called in turn."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            function()
            times[name].append((time.perf_counter() - start) * 1000)
    return {name: median(values) for name, values in times.items()}


def _releases(folder: Path) -> Row:
    top = folder / "repository"
    files = corpus.write(top, FILES)
    _git(top, "init", "-q", "-b", "main")
    _commit(top, "base")
    edit(files)
    _commit(top, "release")
    commands = {
        "ours": [PYTHON, "-c", OURS, str(CHANGED)],
        "peer": [PYTHON, "-c", PEER, str(CHANGED)],
    }
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    times = processes(commands, rounds=ROUNDS, cwd=top, env=env)
    peer = "GitPython + ruamel C + DeepDiff"
    return Row(f"{CHANGED} of {FILES:,} files", times["ours"], peer, times["peer"], 0.15)


def edit(files: list[Path]) -> None:
    """Change one value in `CHANGED` of the files, spread over all tiers."""
    for number in range(CHANGED):
        path = files[number * len(files) // CHANGED]
        old, new = EDITS[path.parent.name]
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")


def _commit(top: Path, tag: str) -> None:
    _git(top, "add", "-A")
    _git(top, "commit", "-q", "-m", tag)
    _git(top, "tag", tag)
    _git(top, "gc", "-q")


def _git(top: Path, *args: str) -> None:
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
    isolated = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *who, *args], cwd=top, env=isolated, check=True)


if __name__ == "__main__":
    sys.exit(main())
