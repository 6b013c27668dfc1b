"""docs/golden.md: every check that it names, and the files that it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

from governance.release.advisories import read_advisories
from governance.release.drill import CHECKS
from governance.release.pointing import ACCEPTABLE, Terms, set_golden
from governance.release.restorable.model import policy_of
from governance.tiers.reader import read_yaml
from governance.tiers.validate import validate
from tests.support.governed import governed, place
from tests.support.released import WITH_SUITE, released

PAGE = (Path(__file__).resolve().parents[2] / "docs/golden.md").read_text("utf-8")


def section(head: str) -> str:
    return re.split(r"^#+ ", PAGE.partition(f"# {head}\n")[2], flags=re.MULTILINE)[0]


def rows(text: str) -> set[str]:
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_page_names_every_check_of_a_drill() -> None:
    assert rows(section("The drill")) == {*CHECKS, "deploy"}


def test_the_page_names_every_check_of_setting_golden(tmp_path: Path) -> None:
    repo = governed(tmp_path, WITH_SUITE)
    released(repo)
    done = set_golden(place(repo), "summarizer", "v1", Terms("a", "2026-11-30T18:00:00Z"))
    named = rows(section("What must hold when it is set"))
    assert {one.name for one in done.report.checks} <= named
    listed = re.search(r"sets (.+?) aside", section("What must hold when it is set"))
    assert listed is not None
    assert set(re.findall(r"`(\w+)`", listed[1])) == set(ACCEPTABLE)


def test_the_advisories_and_the_policy_of_the_page_can_be_read() -> None:
    (block,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert [one.id for one in read_advisories(block.encode(), "a")] == [
        one["id"] for one in json.loads(block)
    ]
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    whole = f"version: 1\nservices: {{s: {{base: a, sampling: b, prompts: c}}}}\n{text}"
    reading = read_yaml(whole.encode(), "tierlock.yaml")
    tree, findings = validate("services", reading)
    assert tree is not None, (reading.findings, findings)
    policy = policy_of(tree)
    assert (policy.audit_service, policy.max_age_days, policy.advisories) == ("osv", 90, "advisories.json")
