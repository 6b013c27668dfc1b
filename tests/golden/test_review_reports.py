"""Whole reports of the gate, byte for byte, in every format; nothing in a change can break out of one.

Renew them with `TIERLOCK_RENEW=1 pytest tests/golden`, then read the difference.
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft7Validator
from xmlschema import XMLSchema

from governance.report.registry import RENDERERS, renderer
from governance.verdict import Outcome
from tests.golden.test_reports import SUFFIX
from tests.support.reports import NAMED
from tests.support.review_reports import HOSTILE, REVIEWS

WHOLE = Path(__file__).parent / "review"
SCHEMAS = Path(__file__).parents[1] / "support" / "schemas"
ALL = {**{f"review {name}": report for name, report in REVIEWS.items()}, **NAMED}


@pytest.mark.parametrize("name", REVIEWS)
@pytest.mark.parametrize("form", RENDERERS)
def test_the_output_is_the_one_that_was_read_and_accepted(name: str, form: str) -> None:
    file = WHOLE / f"{name}.{SUFFIX[form]}"
    shown = renderer(form)(REVIEWS[name])
    if os.environ.get("TIERLOCK_RENEW"):
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_report_and_a_format() -> None:
    assert {file.name for file in WHOLE.iterdir()} == {f"{n}.{s}" for n in REVIEWS for s in SUFFIX.values()}


def test_the_outcomes_are_those_of_the_story() -> None:
    passing = {name for name, report in REVIEWS.items() if report.outcome is Outcome.PASS}
    assert passing == {"approved", "elsewhere", "layout"}
    assert REVIEWS["no_policy"].outcome is Outcome.UNDECIDED


@pytest.mark.parametrize("name", REVIEWS)
def test_sarif_follows_its_schema_and_every_result_has_a_place(name: str) -> None:
    log = json.loads(renderer("sarif")(REVIEWS[name]))
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text())
    assert [error.message for error in Draft7Validator(schema).iter_errors(log)] == []
    for result in log["runs"][0]["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1


def test_a_deletion_points_at_what_is_gone() -> None:
    """Code scanning shows a result only where it has a place, and rejects a whole upload for one without."""
    results = json.loads(renderer("sarif")(REVIEWS["gone"]))["runs"][0]["results"]
    places = {
        (one["ruleId"], one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for one in results
    }
    assert ("TL501", "configs/prompts/summarize.yaml") in places


@cache
def junit_schema() -> XMLSchema:
    return XMLSchema(SCHEMAS / "junit-10.xsd")


@pytest.mark.parametrize("name", ALL)
def test_junit_follows_its_schema(name: str) -> None:
    errors = junit_schema().iter_errors(renderer("junit")(ALL[name]))
    assert [(error.path, error.reason) for error in errors] == []


def test_hostile_text_stays_one_annotation_each() -> None:
    """A file name or a reason must not become a command of the runner."""
    report = REVIEWS["hostile"]
    lines = renderer("github")(report).splitlines()
    assert len(lines) == len(report.findings) + len(report.changes) + 1
    assert all(re.match(r"::(error|warning|notice) [^:]*::[^\r\n]*$", line) for line in lines)
    assert any("%25" in line for line in lines)


def test_hostile_text_is_nothing_to_markdown() -> None:
    whole = renderer("markdown")(REVIEWS["hostile"])
    shown = re.sub(r"(?ms)^(`{3,})diff$.*?^\1$", "", whole)  # inside of a block everything is text
    assert shown != whole
    assert "<img" not in shown
    assert "@all" not in shown
    assert "\x1b" not in shown
    rows = [line for line in shown.splitlines() if line.startswith("| TL")]
    assert rows
    assert all(line.count(" | ") == 2 and line.endswith(" |") for line in rows)
    assert HOSTILE not in shown
