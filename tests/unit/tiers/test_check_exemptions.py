"""Exemptions: still evaluated, still shown, over on the day after their last, no way around a refusal."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from governance.tiers.check import check
from governance.verdict import Outcome, Report, Severity
from tests.support.rules import TODAY, facts, repository

HOT = {"temperature": 0.9}


def exemption(**changes: str) -> dict[str, str]:
    return {
        "rule": "TL301",
        "config": "sampling/demo",
        "reason": "measured on the summary set",
        "expires": "2026-12-24",
        **changes,
    }


def judged(*exemptions: dict[str, str], today: date = TODAY, **edits: Any) -> Report:
    services = {"rules": {"exemptions": list(exemptions), **edits.pop("rules", {})}}
    tree = repository(services=services, **edits)
    return check(tree, today=today, engine_facts=facts())


def test_an_excepted_rule_is_still_evaluated_and_shown() -> None:
    report = judged(exemption(), sampling=HOT)
    (finding,) = report.findings
    assert finding.code == "TL301"
    assert finding.severity is Severity.ERROR
    assert not finding.blocks
    assert "measured on the summary set" in finding.exempted
    assert "2026-12-24" in finding.exempted
    assert report.outcome is Outcome.PASS
    assert "1 exemption shown with --exempted" in report.summary


@pytest.mark.parametrize(("days", "counts"), [(-1, True), (0, True), (1, False)])
def test_the_last_day_counts_and_the_next_does_not(days: int, counts: bool) -> None:
    last = date(2026, 12, 24)
    report = judged(exemption(), sampling=HOT, today=last + timedelta(days=days))
    assert (report.outcome is Outcome.PASS) is counts
    assert ("TL990" in [finding.code for finding in report.findings]) is not counts


def test_an_exemption_that_excuses_nothing_is_told() -> None:
    report = judged(exemption())
    (finding,) = report.findings
    assert finding.code == "TL991"
    assert finding.path == "tierlock.yaml"
    assert finding.line
    assert report.outcome is Outcome.PASS


def test_an_exemption_is_for_its_config_only() -> None:
    report = judged(exemption(config="sampling/other"), sampling=HOT)
    assert report.outcome is Outcome.BLOCK
    assert {finding.code for finding in report.findings} == {"TL301", "TL992"}


@pytest.mark.parametrize(
    ("key", "excused"),
    [
        ("model.revision", 1),
        ("model", 2),
        ("model.rev", 0),
        ("model.tokenizer", 1),
        ("model.tokenizer.revision", 1),
    ],
)
def test_a_key_narrows_an_exemption_to_it_and_what_lies_below(key: str, excused: int) -> None:
    base = {"model/revision": "main", "model/tokenizer/revision": "main"}
    report = judged(exemption(rule="TL201", config="base/demo", key=key), base=base)
    assert sum(bool(finding.exempted) for finding in report.findings) == excused


@pytest.mark.parametrize("rule", ["TL103", "TL004", "TL991", "TL888"])
def test_a_refusal_cannot_be_excused(rule: str) -> None:
    (finding,) = [each for each in judged(exemption(rule=rule)).findings if each.code == "TL992"]
    assert finding.blocks
    assert rule in finding.message


def test_a_day_that_is_no_day_excuses_nothing() -> None:
    report = judged(exemption(expires="2026-02-31"), sampling=HOT)
    assert {finding.code for finding in report.findings if finding.blocks} == {"TL301", "TL992"}


def test_an_exemption_for_years_is_told() -> None:
    codes = [finding.code for finding in judged(exemption(expires="2030-01-01"), sampling=HOT).findings]
    assert "TL993" in codes


def test_odd_characters_can_be_excused() -> None:
    entry = exemption(rule="TL402", config="prompts/demo")
    report = judged(entry, prompts={"system": "a\u200bb\n"})
    assert [finding.code for finding in report.findings if finding.exempted] == ["TL402"]


def test_a_finding_about_a_service_is_excused_by_its_name() -> None:
    endpoint = {"url": "http://127.0.0.1:1/v1", "headers": {"Cookie": "n0t-a-real-c00kie"}}
    tree = repository(
        services={
            "services/demo/endpoint": endpoint,
            "rules": {"exemptions": [exemption(rule="TL907", config="service/demo")]},
        }
    )
    report = check(tree, today=TODAY, engine_facts=facts())
    assert report.outcome is Outcome.PASS
    assert [finding.code for finding in report.findings if finding.exempted] == ["TL907"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"TL222": {"max_model_len": 8192}}, None),
        ({"TL220": {"severity": "error"}}, None),
        ({"TL222": {"max_length": 8192}}, "no setting `max_length`"),
        ({"TL301": {"severity": "warning"}}, "does not raise"),
        ({"TL220": {"severity": "off"}}, "does not raise"),
        ({"TL888": {"severity": "error"}}, "is no rule"),
    ],
)
def test_a_setting_that_would_do_nothing_or_less_blocks(settings: dict[str, Any], told: str | None) -> None:
    findings = judged(rules={"settings": settings}).findings
    assert [finding.code for finding in findings] == (["TL994"] if told else [])
    if told:
        assert told in findings[0].message
        assert findings[0].blocks


def test_when_some_configs_are_judged_exemptions_for_others_say_nothing() -> None:
    tree = repository(services={"rules": {"exemptions": [exemption(config="sampling/other")]}})
    some = check(tree, today=TODAY, only=["configs/prompts/demo.yaml"], engine_facts=facts())
    assert some.findings == ()
