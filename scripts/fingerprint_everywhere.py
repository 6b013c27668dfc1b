"""Compute the fingerprint of this repository on several Pythons, and say whether it is the same on all.

    python scripts/fingerprint_everywhere.py python3.11 python3.12 python3.13

Each interpreter gets a temporary environment from `requirements/runtime.txt`, and computes it twice: under
two hash seeds, locales and time zones. Beside this repository's configs and services, the digests of 300
generated configs and of 20,000 numbers are compared.

Exit codes: 0 the same everywhere · 1 it differs · 2 usage · 3 an interpreter could not be tried.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements/runtime.txt"
SURROUNDINGS = (
    {"PYTHONHASHSEED": "0", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "4711", "LC_ALL": "C.UTF-8", "TZ": "Asia/Shanghai", "PYTHONUTF8": "1"},
)
PROGRAM = """
import json, platform, struct
from pathlib import Path
from random import Random
from bench import corpus
from governance.adapters.files import MemoryTree, WorkTree
from governance.fingerprint.layers import config_digest
from governance.fingerprint.services import fingerprint_of
from governance.tiers.canonical import digest
from governance.tiers.config import load_repository

def digests(source):
    repository = load_repository(source)
    found = {str(each): config_digest(config) for each, config in repository.configs.items()}
    for name, service in repository.services.items():
        print_of = fingerprint_of(service)
        found |= {f"{name}: {layer}": str(value) for layer, value in print_of.layers.items()}
        found[name] = str(print_of.fold())
    return found

random = Random(1)
makers = {"base": corpus.base, "sampling": corpus.sampling, "prompts": corpus.prompts}
files = {
    f"configs/{tier}/c{number}.yaml": make(random).encode()
    for tier, make in makers.items() for number in range(100)
}
numbers = [x for x in (struct.unpack(">d", random.randbytes(8))[0] for _ in range(20_000)) if x - x == 0]
found = digests(WorkTree(Path.cwd()))
found["300 generated configs"] = digest(digests(MemoryTree(files)))
found["20,000 numbers"] = digest(numbers)
print(json.dumps([platform.python_version(), found]))
"""


def main() -> int:
    """Try every interpreter named; print a line for each and what differs."""
    options = argparse.ArgumentParser(description="Compute our fingerprint on several Pythons.")
    options.add_argument("python", nargs="+", help="interpreters, by name or path")
    seen: dict[str, dict[str, str]] = {}
    failed = False
    for python in options.parse_args().python:
        with tempfile.TemporaryDirectory() as folder:
            try:
                inside = environment(python, Path(folder))
                for number, surroundings in enumerate(SURROUNDINGS, 1):
                    version, found = computed(inside, surroundings)
                    seen[f"{version}, surroundings {number}"] = found
            except (OSError, subprocess.CalledProcessError) as err:
                said = getattr(err, "stderr", b"") or str(err).encode()
                print(f"{python}: {said.decode(errors='replace').strip()[-600:]}", file=sys.stderr)
                failed = True
    differing = bool(seen) and report(seen)
    return 3 if failed else int(differing)


def environment(python: str, folder: Path) -> Path:
    """The interpreter of a new environment in `folder` that has the pinned packages."""
    subprocess.run([python, "-m", "venv", folder], check=True, capture_output=True)
    inside = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    install = [str(inside), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*install, "-r", str(REQUIREMENTS)], check=True, capture_output=True)
    return inside


def computed(python: Path, surroundings: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The version of `python` and every digest it computes."""
    done = subprocess.run(
        [python, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, **surroundings, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        capture_output=True,
    )
    version, found = json.loads(done.stdout)
    return version, found


def report(seen: Mapping[str, Mapping[str, str]]) -> bool:
    """Print every digest and where it differs; whether any does."""
    names = sorted({name for found in seen.values() for name in found})
    differing = False
    for name in names:
        values = {found.get(name, "missing") for found in seen.values()}
        print(f"{name:32} {' | '.join(sorted(value[:16] for value in values))}")
        differing |= len(values) > 1
    verdict = "differs" if differing else "the same"
    print(f"{verdict} on {len(seen)} runs: {'; '.join(seen)}")
    return differing


if __name__ == "__main__":
    sys.exit(main())
