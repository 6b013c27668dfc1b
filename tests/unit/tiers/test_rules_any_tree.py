"""Whatever the schemas accept, the rules judge: no exception, and no place that is not in the file."""

from __future__ import annotations

import random

import pytest

from governance.adapters.files import MemoryTree
from governance.tiers.check import check
from governance.tiers.naming import TIERS
from governance.tiers.references import references
from governance.tiers.rules.catalogue import RULES
from governance.tiers.writer import dump
from tests.support.rules import TODAY, facts
from tests.support.trees import random_tree

CONTENT = {
    "json": b'{"a": [1, "x"], "type": "object"}\n',
    "jsonl": b'{"input": "q", "output": "a"}\n',
    "text": b"{{ x }}\n",
}
SERVICES = b"version: 1\nservices:\n  demo: {base: demo, sampling: demo, prompts: demo}\n"


def repository(seed: int) -> MemoryTree:
    """Random configs of all tiers, every file they name, and a service that binds them."""
    rng = random.Random(seed)
    files: dict[str, bytes] = {"tierlock.yaml": SERVICES}
    for tier in TIERS:
        tree = random_tree(tier, rng, density=rng.choice((0.1, 0.3, 0.6)))
        files[f"configs/{tier}/demo.yaml"] = dump(tree).encode()
        for _, name, content in references(tier, tree):
            files[f"configs/{tier}/demo/{name}"] = CONTENT[content]
    return MemoryTree(files)


@pytest.mark.parametrize("seed", range(60))
def test_any_valid_config_is_judged(seed: int) -> None:
    tree = repository(seed)
    report = check(tree, today=TODAY, engine_facts=facts())
    for finding in report.findings:
        if finding.code not in RULES:
            continue
        lines = tree.read(finding.path).decode().split("\n")
        assert 1 <= finding.line <= len(lines), finding
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1, finding
        assert finding.message
        assert finding.message[0] not in " ."


def test_the_same_input_gives_the_same_report() -> None:
    first, second = (check(repository(7), today=TODAY, engine_facts=facts()) for _ in range(2))
    assert first == second
