"""Generated pages are fresh and complete: nobody edits them, nobody forgets one."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from governance.report.help import describe

ROOT = Path(__file__).resolve().parents[2]
GENERATORS = sorted((ROOT / "scripts").glob("generate_*.py"))
REFERENCE = ROOT / "docs" / "reference"


def codes_in_use() -> set[str]:
    """Every rule code that stands in the source as text of its own."""
    sources = (ROOT / "governance").rglob("*.py")
    return {code for source in sources for code in re.findall(r'"(TL\d{3})"', source.read_text())}


@pytest.mark.parametrize("script", GENERATORS, ids=lambda script: script.stem)
def test_what_is_generated_is_what_the_code_generates_now(script: Path) -> None:
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


def test_a_generator_names_what_is_stale_and_writes_it(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "governance").symlink_to(ROOT / "governance")
    script, page = tmp_path / "scripts/generate_scorer_docs.py", tmp_path / "docs/reference/scorers.md"

    def run(*args: str) -> tuple[int, str]:
        done = subprocess.run([sys.executable, script, *args], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert run("--check") == (1, "stale  docs/reference/scorers.md\n")
    assert not page.exists()
    assert run() == (0, "written  docs/reference/scorers.md\n")
    assert page.read_text() == (ROOT / "docs/reference/scorers.md").read_text()
    assert run("--check") == (0, "")


def test_there_are_generators_to_hold() -> None:
    assert {script.stem for script in GENERATORS} >= {
        "generate_schemas",
        "generate_field_docs",
        "generate_rule_docs",
    }


def test_every_code_that_can_be_shown_is_described() -> None:
    assert sorted(code for code in codes_in_use() if describe(code) is None) == []


def test_every_described_code_says_what_why_and_fix() -> None:
    silent = [
        code
        for code in codes_in_use()
        if (known := describe(code)) and not (known.what and known.why and known.fix)
    ]
    assert silent == []


def test_every_code_has_its_place_in_the_reference() -> None:
    pages = "\n".join(page.read_text() for page in REFERENCE.rglob("*.md"))
    assert sorted(code for code in codes_in_use() if code not in pages) == []
