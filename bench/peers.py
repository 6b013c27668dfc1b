"""The environment of the peers that are no dependency of ours: made once for one `requirements/bench.txt`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess

from bench.measure import PYTHON, ROOT

PLACE = ROOT / ".cache" / "bench-venv"
PACKAGES = ROOT / "requirements" / "bench.txt"


def interpreter() -> str:
    """The interpreter of the environment below `.cache/bench-venv`."""
    python, done = PLACE / "bin" / "python", PLACE / "complete"
    wanted = hashlib.sha256(PACKAGES.read_bytes()).hexdigest()
    if not (python.exists() and done.is_file() and done.read_text() == wanted):
        shutil.rmtree(PLACE, ignore_errors=True)
        subprocess.run([PYTHON, "-m", "venv", str(PLACE)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if subprocess.run([*pip, "--require-hashes", "-r", str(PACKAGES)], check=False).returncode:
            raise SystemExit("the peers could not be installed, so there is nothing to compare with")
        done.write_text(wanted)
    return str(python)
