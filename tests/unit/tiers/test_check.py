"""`check` as one verdict: what it judges, what it refuses to pass over, how it sums up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.files import MemoryTree, WorkTree
from governance.tiers.check import check
from governance.tiers.locate import quick_place
from governance.tiers.placing import located
from governance.tiers.reader import finding_at, read_yaml
from governance.tiers.rules.catalogue import RULES
from governance.tiers.writer import dump
from governance.values import Json, KeyPath
from governance.verdict import ExitCode, Outcome, Severity
from tests.support.rules import BASE, PROMPTS, SAMPLING, TODAY, edited, facts, report, repository
from tests.support.rules import GONE as LEFT_OUT

ROOT = Path(__file__).resolve().parents[3]


def test_nothing_governed_is_undecided_and_not_a_pass() -> None:
    for tree in (MemoryTree({}), MemoryTree({"README.md": b"x"})):
        empty = check(tree, today=TODAY, engine_facts=facts())
        assert empty.outcome is Outcome.UNDECIDED
        assert empty.exit_code is ExitCode.UNDECIDED
        assert empty.next == "tierlock init"


def test_paths_that_are_not_governed_are_undecided_too() -> None:
    for tree in (MemoryTree({"README.md": b"x"}), repository()):
        only = ["README.md", "tierlock.yaml.bak"]
        asked = check(tree, today=TODAY, only=only, engine_facts=facts())
        assert asked.outcome is Outcome.UNDECIDED
        assert asked.exit_code is ExitCode.UNDECIDED
    assert "README.md" in asked.summary


def test_a_clean_repository_passes_and_says_what_was_judged() -> None:
    clean = report()
    assert clean.outcome is Outcome.PASS
    assert clean.findings == ()
    assert clean.summary == f"no findings in 3 configs ({len(RULES)} rules)"
    assert [each.name for each in clean.checks] == [
        "reading",
        "schema",
        "base rules",
        "sampling rules",
        "prompts rules",
        "environment rules",
    ]


def test_a_warning_is_shown_and_blocks_nothing() -> None:
    warned = report(base={"precision/dtype": "auto"})
    assert warned.outcome is Outcome.PASS
    assert [finding.severity for finding in warned.findings] == [Severity.WARNING]
    assert warned.summary.startswith("1 finding in 1 of 3 configs")


def test_an_error_blocks_and_the_summary_counts_configs() -> None:
    blocked = report(
        base={"model/revision": "main", "precision/dtype": "auto"}, sampling={"temperature": 0.9}
    )
    assert blocked.exit_code is ExitCode.BLOCK
    assert blocked.summary == f"3 findings, 2 blocking, in 2 of 3 configs ({len(RULES)} rules)"


def test_findings_come_in_the_order_of_the_files() -> None:
    found = report(base={"model/revision": "main"}, sampling={"temperature": 0.9}).findings
    assert list(found) == sorted(found, key=lambda finding: finding.order)


def test_a_refused_config_blocks_and_no_rule_judges_it() -> None:
    tree = {
        "configs/sampling/a.yaml": b"kind: sampling\ntempurature: 9\n",
        "configs/base/b.yaml": b"kind: base\nkind: base\n",
    }
    refused = check(MemoryTree(tree), today=TODAY, engine_facts=facts())
    assert refused.outcome is Outcome.BLOCK
    assert {finding.code[:3] for finding in refused.findings if finding.blocks} <= {"TL0", "TL1"}
    assert "in 2 of 2 configs" in refused.summary


def test_without_engine_tables_what_needs_them_is_undecided() -> None:
    tree = repository(base={"engine/extra": {"disable-cascade-attn": True}})
    blind = check(tree, today=TODAY)
    assert blind.outcome is Outcome.UNDECIDED
    (told,) = [each for each in blind.checks if each.outcome is Outcome.UNDECIDED]
    assert "TL234" in told.detail


def test_what_blocks_blocks_also_without_engine_tables() -> None:
    assert check(repository(sampling={"temperature": 0.9}), today=TODAY).outcome is Outcome.BLOCK


def test_only_the_configs_asked_for_are_judged() -> None:
    tree = {
        "configs/sampling/a.yaml": dump(edited(SAMPLING, {"temperature": 0.9})).encode(),
        "configs/sampling/b.yaml": dump(edited(SAMPLING, {"temperature": 0.9})).encode(),
        "tierlock.yaml": b"version: 1\nservices: {}\n",
    }
    some = check(MemoryTree(tree), today=TODAY, only=["configs/sampling/a.yaml"], engine_facts=facts())
    assert {finding.path for finding in some.findings} == {"configs/sampling/a.yaml"}


def test_a_changed_base_is_judged_with_the_services_that_bind_it() -> None:
    tree = repository(base={"engine/options/max_logprobs": 5}, sampling={"logprobs": True, "top_logprobs": 9})
    some = check(tree, today=TODAY, only=["configs/base/demo.yaml"], engine_facts=facts())
    assert [finding.code for finding in some.findings] == ["TL344"]


def test_odd_characters_are_found_in_the_config_and_in_its_files() -> None:
    found = report(
        prompts={"system": {"file": "system.md"}, "few_shot": {"file": "f.jsonl"}, "stop": ["a\u200bb"]},
        files={
            "prompts/demo/system.md": "one\ntw\u200bo\n",
            "prompts/demo/f.jsonl": '{"input": "a\\u202eb", "output": "x"}\n',
        },
    ).findings
    assert [
        (each.code, each.path.rsplit("/", 1)[-1], each.line) for each in found if each.code < "TL410"
    ] == [
        ("TL402", "demo.yaml", 6),
        ("TL401", "f.jsonl", 1),
        ("TL402", "system.md", 2),
    ]


def test_a_raised_rule_blocks() -> None:
    settings = {"rules": {"settings": {"TL220": {"severity": "error"}}}}
    assert report(base={"precision/dtype": "auto"}, services=settings).outcome is Outcome.BLOCK


def test_the_good_path_loads_neither_pydantic_nor_yaml_nor_jinja_nor_engines() -> None:
    """The hook pays for every import; a clean repository needs none of these."""
    code = (
        "import sys; from datetime import date; from pathlib import Path;"
        "from governance.adapters.files import WorkTree; from governance.tiers.check import check;"
        f"r = check(WorkTree(Path(sys.argv[1])), today=date({TODAY.year}, {TODAY.month}, {TODAY.day}));"
        "assert not r.findings, r.findings;"
        "heavy = ('pydantic', 'ruamel', 'jinja2', 'git', 'click', 'governance.engines');"
        "print([m for m in heavy if m in sys.modules])"
    )
    example = ROOT / "tests/examples/pass/TL301"
    done = subprocess.run(
        [sys.executable, "-c", code, str(example)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


def test_our_own_configs_have_no_finding() -> None:
    own = check(WorkTree(ROOT), today=TODAY, engine_facts=facts())
    assert own.findings == ()
    assert own.outcome is Outcome.PASS


def paths(tree: Json, path: KeyPath = ()) -> list[KeyPath]:
    found = [path] if path else []
    if isinstance(tree, dict):
        found += [each for key, value in tree.items() for each in paths(value, (*path, key))]
    elif isinstance(tree, list):
        found += [each for index, value in enumerate(tree) for each in paths(value, (*path, index))]
    return found


ODD_LAYOUTS = [
    "a:   1\nb: {c: 1, a: 2}\n",
    "a:\n  - x: 1\n    y: 2\nb:\n  x: 3\n",
    "a: |\n  b: 1\n  c: 2\nb: 2\nd:\n  c: 4\n",
    '"a": 1\na2:\n  a: 2\n',
    "a: 'it''s'\nb: \"x \\\" y\" # c\nc: x # y\n",
    "# a: 9\na: 1  # a: 2\n\n\nb:\n\n  # c: 1\n  c: 3\n",
    "a:\n  b:\n    c: 1\n  d:\n    c: 2\ne:\n    c: 3\n",
    "a: x y\n  z\nb: 2\n",
    "a: {b: 1,\n  c: 2}\nc: 3\n",
    "a : 1\nb: 2\n",
    "a: über\nb: 'ä'\n",
    "a: >\n  folded\n  b: 2\nb: 1\n",
]


@pytest.mark.parametrize("text", [*ODD_LAYOUTS, *(dump(tree) for tree in (BASE, SAMPLING, PROMPTS))])
def test_the_quick_place_is_the_exact_place_or_none(text: str) -> None:
    reading = read_yaml(text.encode(), "x.yaml")
    assert reading.tree is not None
    for path in paths(reading.tree):
        for on_key in (False, True):
            quick = quick_place(reading.text, path, on_key=on_key)
            assert quick in (None, reading.marks.nearest(path, on_key=on_key)), path


SCALARS = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.sampled_from(["x", "a b", "a: b", "# c", "", "é", "x #y", "'", '"', "- a", "a\nb\n", "null", "1"]),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["a", "b", "c_1", "d-e", "a b"]), inner, max_size=4),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), TREES, min_size=1, max_size=3))
def test_quick_places_hold_for_any_tree_we_write(tree: dict[str, Json]) -> None:
    reading = read_yaml(dump(tree).encode(), "x.yaml")
    for path in paths(reading.tree):
        for on_key in (False, True):
            quick = quick_place(reading.text, path, on_key=on_key)
            assert quick in (None, reading.marks.nearest(path, on_key=on_key)), path


def test_a_located_finding_is_the_one_the_marks_give() -> None:
    reading = read_yaml(dump(BASE).encode(), "configs/base/x.yaml")
    for path in [("model", "revision"), ("engine", "options", "attention"), ("hardware", "count")]:
        assert located(reading, "TL201", "m", path) == finding_at(reading, "TL201", "m", path)
    assert located(reading, "TL201", "m", ("engine", "options")).line == 18


def test_a_key_that_is_missing_is_reported_where_it_would_stand() -> None:
    (finding,) = report(base={"engine/options/attention": LEFT_OUT}).findings
    assert (finding.code, finding.key, finding.excerpt) == ("TL230", "engine.options", "  options:")
