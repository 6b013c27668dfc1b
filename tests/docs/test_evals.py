"""What docs/evals.md shows works as it stands there, and the page names every scorer."""

from __future__ import annotations

import re
from pathlib import Path

from governance.adapters.files import MemoryTree
from governance.evals.scorers.model import Context
from governance.evals.scorers.registry import SCORERS, score_item
from governance.evals.suites import read_suite
from governance.tiers.reader import read_yaml
from governance.tiers.validate import validate

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "evals.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_suites_on_the_page_are_suites(tmp_path: Path) -> None:
    (module,) = blocks("python")
    source = MemoryTree({"evals/rules.py": module.encode()})
    shown = blocks("jsonl")
    assert len(shown) == 2
    for text in shown:
        suite, findings = read_suite(text.encode(), "evals/shown.jsonl", source)
        assert (suite is not None, findings) == (True, ())


def test_the_scorer_on_the_page_judges(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "rules.py").write_text(blocks("python")[0])
    suite, _ = read_suite(blocks("jsonl")[1].encode(), "evals/shown.jsonl")
    assert suite is not None
    (item,) = suite.items
    assert score_item(item, ["I am sorry."], Context(str(tmp_path))).passed
    assert score_item(item, ["Whatever."], Context(str(tmp_path))).reason == "says whatever"


def test_the_keys_of_a_service_on_the_page_are_keys() -> None:
    (text,) = blocks("yaml")
    service = "    base: a\n    sampling: b\n    prompts: c\n"
    whole = "version: 1\n" + text.replace("  summarizer:\n", f"  summarizer:\n{service}")
    tree, findings = validate("services", read_yaml(whole.encode(), "tierlock.yaml"))
    assert findings == ()
    assert tree is not None


def test_every_scorer_is_named() -> None:
    assert [name for name in SCORERS if f"`{name}`" not in PAGE] == []
