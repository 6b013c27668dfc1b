"""`check` and suites: what a service names is there, is whole, and can be asked of that service."""

from __future__ import annotations

import json
from typing import Any

from governance.adapters.files import Kind, MemoryTree
from governance.evals.checking import judge_suites
from governance.tiers.check import Beside
from governance.tiers.config import load_repository
from governance.verdict import Outcome
from tests.support.governed import FILES

SERVICES = """\
version: 1
services:
  summarizer:
    base: qwen
    sampling: factual
    prompts: summarize
    evals: {smoke: smoke, suites: [extra]}
  twin: {base: qwen, sampling: factual, prompts: summarize, evals: {smoke: smoke}}
"""
ITEM: dict[str, Any] = {
    "id": "one",
    "task": "summarising",
    "variables": {"article": "The bridge is closed."},
    "scorer": "contains",
    "args": {"all": ["bridge"]},
}


def judged(files: dict[str, str], only: list[str] | None = None) -> Beside | None:
    source = tree(files)
    return judge_suites(source, load_repository(source, only), only)


def tree(files: dict[str, str]) -> MemoryTree:
    whole = {**FILES, "tierlock.yaml": SERVICES, **files}
    return MemoryTree({path: text.encode() for path, text in whole.items()})


def suite(**changed: Any) -> str:
    return json.dumps({key: value for key, value in {**ITEM, **changed}.items() if value is not None}) + "\n"


GOOD = {"evals/smoke.jsonl": suite(), "evals/extra.jsonl": suite()}


def test_suites_that_can_be_asked_pass_and_are_counted_once() -> None:
    found = judged(GOOD)
    assert found is not None
    assert (found.check.outcome, found.check.detail) == (Outcome.PASS, "2 suites, 2 items")
    assert (found.findings, found.judged, found.concerned) == ((), 2, 0)


def test_services_without_suites_have_nothing_to_judge() -> None:
    assert judged({"tierlock.yaml": FILES["tierlock.yaml"], "evals/other.jsonl": "no suite"}) is None


def test_a_missing_suite_is_told_at_the_key_that_names_it_with_the_nearest_name() -> None:
    found = judged({"evals/smoke.jsonl": suite(), "evals/extras.jsonl": suite()})
    assert found is not None
    (finding,) = found.findings
    assert (finding.code, finding.path, finding.line) == ("TL701", "tierlock.yaml", 7)
    assert finding.key == "services.summarizer.evals.suites[0]"
    assert finding.hint == "did you mean `extras`?"
    assert (found.check.outcome, found.concerned) == (Outcome.BLOCK, 1)


def test_what_a_service_cannot_be_asked_is_told_with_the_line_of_the_item() -> None:
    for changed, what in (
        ({"variables": {"text": "x"}}, "has no variable `text`"),
        ({"variables": {"article": 3}}, "`article` is no text"),
        ({"overrides": {"seed": 3}}, "sets `seed`"),
    ):
        found = judged({**GOOD, "evals/extra.jsonl": suite() + suite(id="two", **changed)})
        assert found is not None
        (finding,) = found.findings
        assert (finding.code, finding.path, finding.line) == ("TL710", "evals/extra.jsonl", 2)
        assert what in finding.message


def test_a_fault_that_two_services_cause_alike_is_told_once() -> None:
    found = judged({**GOOD, "evals/smoke.jsonl": suite(variables={"text": "x"})})
    assert found is not None
    assert [finding.code for finding in found.findings] == ["TL710"]


def test_a_contract_that_no_service_has_is_told() -> None:
    nested = {"scorers": [{"scorer": "contract"}]}
    for changed in ({"scorer": "contract", "args": None}, {"scorer": "all-of", "args": nested}):
        found = judged({**GOOD, "evals/extra.jsonl": suite(**changed)})
        assert found is not None
        assert [finding.code for finding in found.findings] == ["TL711"]


def test_a_secret_in_a_suite_is_told_and_not_shown() -> None:
    token = "hf_" + "aB3dE5gH7jK9" * 3
    found = judged({**GOOD, "evals/extra.jsonl": suite(variables={"article": f"use {token}"})})
    assert found is not None
    (finding,) = found.findings
    assert finding.code == "TL712"
    assert token not in repr(finding)


def test_a_link_in_the_place_of_a_suite_is_refused() -> None:
    whole = {**FILES, "tierlock.yaml": SERVICES, **GOOD}
    source = MemoryTree(
        {path: text.encode() for path, text in whole.items()}, kinds={"evals/smoke.jsonl": Kind.SYMLINK}
    )
    found = judge_suites(source, load_repository(source))
    assert found is not None
    assert [finding.code for finding in found.findings] == ["TL714"]


def test_a_path_brings_in_the_services_that_name_its_suite() -> None:
    broken = {**GOOD, "evals/extra.jsonl": suite(variables={"text": "x"}), "evals/alone.jsonl": "{}\n"}
    for path, codes in (
        ("evals/extra.jsonl", ["TL710"]),
        ("evals/smoke.jsonl", ["TL710"]),
        ("evals/alone.jsonl", ["TL704"] * 4),
    ):
        found = judged(broken, [path])
        assert found is not None
        assert [finding.code for finding in found.findings] == codes, path


def test_a_config_that_does_not_load_is_told_elsewhere() -> None:
    found = judged({**GOOD, "configs/sampling/factual.yaml": "kind: sampling\ntemprature: 1\n"})
    assert found is not None
    assert found.findings == ()
