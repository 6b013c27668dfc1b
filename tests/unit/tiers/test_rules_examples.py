"""Every rule finds its blocking example and passes its passing one, through the real `check`.

The same folders are shown in docs/reference/rules.md, so the documentation cannot promise what is not true.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters.files import WorkTree
from governance.tiers.check import check
from governance.tiers.rules.catalogue import BY_TIER, RULES
from governance.verdict import Outcome, Report, Severity
from tests.support.rules import TODAY, facts

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
RANK = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 2}


def report(kind: str, code: str) -> Report:
    return check(WorkTree(EXAMPLES / kind / code), today=TODAY, engine_facts=facts())


@pytest.mark.parametrize("code", RULES)
def test_the_rule_finds_its_blocking_example(code: str) -> None:
    mine = [finding for finding in report("block", code).findings if finding.code == code]
    assert mine
    assert max(RANK[finding.severity] for finding in mine) >= RANK[RULES[code].severity]
    assert all(finding.path and finding.line and finding.column for finding in mine)


@pytest.mark.parametrize("code", RULES)
def test_the_blocking_example_blocks_when_the_rule_is_an_error(code: str) -> None:
    blocked = report("block", code)
    assert not any(finding.code < "TL200" for finding in blocked.findings)
    if RULES[code].severity is Severity.ERROR:
        assert blocked.outcome is Outcome.BLOCK


@pytest.mark.parametrize("code", RULES)
def test_the_passing_example_has_no_finding_at_all(code: str) -> None:
    passed = report("pass", code)
    assert passed.findings == ()
    assert passed.outcome is Outcome.PASS


def test_no_example_is_left_of_a_rule_that_is_gone() -> None:
    for kind in ("block", "pass"):
        assert {folder.name for folder in (EXAMPLES / kind).iterdir() if folder.is_dir()} == set(RULES)


@pytest.mark.parametrize("code", RULES)
def test_the_rule_is_documented_in_whole_sentences(code: str) -> None:
    rule = RULES[code]
    for text in (rule.what, rule.why, rule.fix):
        assert text[0].isupper() or text[0] in "`“"
        assert text.endswith((".", "”"))
    assert rule.name == rule.name.lower()
    assert " " not in rule.name


def test_names_are_unique_and_codes_are_in_their_families() -> None:
    names = [rule.name for rule in RULES.values()]
    assert len(names) == len(set(names))
    families = {
        "base": "29",
        "sampling": "39",
        "prompts": "49",
        "service": "349",
        "binding": "9",
        "settings": "9",
    }
    for tier, rules in BY_TIER.items():
        assert {rule.code[2] for rule in rules} <= set(families[tier]), tier
