"""Two files: tier files by meaning, other YAML and JSON by value, all else by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.release.diff import compare
from governance.release.sides import Place, parse_side
from governance.values import ABSENT
from governance.verdict import Outcome, Report
from tests.support.governed import FILES, PROMPTS, SAMPLING
from tests.support.repos import isolated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def diff(folder: Path, before: str | bytes, after: str | bytes, name: str = "x.yaml") -> Report:
    """Two files of one name in two folders."""
    for side, content in (("a", before), ("b", after)):
        (folder / side).mkdir(exist_ok=True)
        (folder / side / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    at = Place(folder, here=folder, environ=isolated())
    return compare(parse_side(f"a/{name}", at), parse_side(f"b/{name}", at), fail_on_difference=True)


def test_tier_files_are_compared_by_meaning(folder: Path) -> None:
    report = diff(folder, SAMPLING, SAMPLING.replace("0.2", "0.30 # warmer"))
    (change,) = report.changes
    assert (change.layer, change.key, change.before, change.after) == ("sampling", "temperature", 0.2, 0.3)
    assert (change.path, change.line) == ("b/x.yaml", 3)
    assert [(layer.name, layer.state) for layer in report.layers] == [("sampling", "changed")]
    assert report.outcome is Outcome.BLOCK


def test_layout_alone_is_the_same_meaning(folder: Path) -> None:
    report = diff(
        folder,
        SAMPLING,
        "# comment\n" + SAMPLING.replace("[2, 32007, 32000]", "\n  - 32007\n  - 2\n  - 32000"),
    )
    assert report.outcome is Outcome.PASS
    assert report.summary == "same meaning: the bytes differ in layout, order or comments only"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("system: |\n  One.\n", "system: |-\n  One.\n", False),
        ("system: |-\n  One.\n", 'system: "One."\n', True),
        ("system: |-\n  One.\n", "system: |+\n  One.\n\n", False),
        ("system: >-\n  One\n  two.\n", "system: |-\n  One\n  two.\n", False),
    ],
)
def test_block_styles_differ_by_what_reaches_the_model(
    folder: Path, before: str, after: str, same: bool
) -> None:
    """C10: `|` to `|-` takes the last newline away; strip and quoted are one text."""
    report = diff(folder, f"kind: prompts\n{before}", f"kind: prompts\n{after}")
    assert (report.outcome is Outcome.PASS) is same
    assert bool(report.changes) is not same
    if not same:
        assert report.changes[0].text


def test_a_final_newline_of_a_text_is_said_in_words(folder: Path) -> None:
    report = diff(folder, "kind: prompts\nsystem: |\n  One.\n", "kind: prompts\nsystem: |-\n  One.\n")
    assert report.changes[0].text == ("     1  One.", "- newline removed at end of text")
    assert (report.changes[0].line, report.changes[0].column) == (2, 9)


def test_files_a_config_names_are_read_beside_it(folder: Path) -> None:
    for side, words in (("a", "Short."), ("b", "Long.")):
        (folder / side / "x").mkdir(parents=True)
        (folder / side / "x/system.md").write_text(words)
    (change,) = (
        diff(folder, PROMPTS, PROMPTS).changes if False else diff(folder, PROMPTS, PROMPTS + "\n").changes
    )
    assert (change.key, change.text[0]) == ("system", "-    1  Short.")


def test_a_named_file_that_is_missing_is_undecided(folder: Path) -> None:
    report = diff(folder, PROMPTS, PROMPTS + "stop: [x]\n")
    assert report.outcome is Outcome.UNDECIDED
    assert "system.md" in report.summary


def test_a_file_that_is_refused_is_undecided_with_its_place(folder: Path) -> None:
    report = diff(
        folder, SAMPLING, SAMPLING.replace("temperature: 0.2", "temperature: 0.2\ntemperature: 0.3")
    )
    assert report.outcome is Outcome.UNDECIDED
    assert (report.findings[0].path, report.findings[0].line) == ("b/x.yaml", 4)
    report = diff(folder, SAMPLING, SAMPLING.replace("0.2", "warm"))
    assert report.outcome is Outcome.UNDECIDED
    assert report.findings


def test_configs_of_two_kinds_are_not_compared(folder: Path) -> None:
    report = diff(folder, SAMPLING, "kind: prompts\nsystem: x\n")
    assert report.outcome is Outcome.UNDECIDED
    assert report.summary == "compared: a sampling config is no prompts config"


def test_yaml_without_a_kind_is_compared_by_value(folder: Path) -> None:
    report = diff(folder, "a: 1\nb: {c: old}\n", "b: {c: new}\na: 1.0\n")
    assert [(change.key, change.before, change.after) for change in report.changes] == [("b.c", "old", "new")]
    assert diff(folder, "a: 1\nb: 2\n", "b: 2\na: 1\n").outcome is Outcome.PASS


def test_a_stop_id_that_went_is_named_and_order_means_nothing(folder: Path) -> None:
    """A19: id 32007 disappears and answers run to the limit."""
    before = '{"eos_token_id": [2, 32007, 32000], "top_p": 0.9}'
    report = diff(folder, before, '{"eos_token_id": [2, 32000], "top_p": 0.9}', "generation_config.json")
    (change,) = report.changes
    assert (change.key, change.before, change.after) == ("eos_token_id[1]", 32007, ABSENT)
    same = diff(folder, before, '{"top_p": 0.9, "eos_token_id": [32000, 2, 32007]}', "generation_config.json")
    assert (same.outcome, same.changes) == (Outcome.PASS, ())
    first = diff(folder, '{"eos_token_id": 2}', '{"eos_token_id": [2, 32007]}', "generation_config.json")
    assert first.changes[0].before == 2


def test_other_files_are_compared_by_word_to_the_last_byte(folder: Path) -> None:
    """A04: two templates that differ by their last byte."""
    report = diff(folder, "{% endif %}", "{% endif %}\n", "chat_template.jinja")
    (change,) = report.changes
    assert change.text == ("     1  {% endif %}", "+ newline added at end of file")
    assert diff(folder, "same", "same", "x.txt").outcome is Outcome.PASS
    binary = diff(folder, b"\xff\x00", b"\xff\x01", "x.bin")
    assert binary.changes[0].text[0].startswith("~ not UTF-8 text")


def test_precision_beyond_the_third_digit_is_shown(folder: Path) -> None:
    """C13: prec and prec2 differ in the 17th digit."""
    report = diff(folder, "a: 0.30000000000000004\n", "a: 0.3\n")
    assert (report.changes[0].before, report.changes[0].after) == (0.30000000000000004, 0.3)
