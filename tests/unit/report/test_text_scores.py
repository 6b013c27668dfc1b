"""Scores as tables: rates in percent with their interval and count, and nothing else taken for one."""

from __future__ import annotations

from governance.report.text_scores import scores_text, tables
from governance.values import Json

RATE: dict[str, Json] = {"run": "before", "right": 1470, "of": 1980, "rate": 0.7424, "low": 0.7, "high": 0.78}


def test_rows_with_the_same_keys_are_one_table_and_the_ends_one_column() -> None:
    lines = list(scores_text([RATE, {**RATE, "run": "after", "right": 9}]))
    assert lines == [
        "run     right     of    rate          interval",
        "before  1,470  1,980  74.2 %  70.0 % to 78.0 %",
        "after       9  1,980  74.2 %  70.0 % to 78.0 %",
    ]


def test_other_keys_begin_another_table() -> None:
    lines = list(scores_text([RATE, {"task": "maths", "p": 0.0000123, "loss": None}]))
    assert lines[2:] == ["", "task         p  loss", "maths  1.2e-05     -"]


def test_what_is_no_flat_object_is_shown_as_it_is() -> None:
    assert list(scores_text([{"a": {"b": 1}}, "plain", 3])) == ['{"a": {"b": 1}}', "plain", "3"]


def test_a_user_s_text_cannot_move_the_cursor() -> None:
    ((head, rows),) = tables([{"task": "a\x1b[2J", "of": 1}])
    assert (head, rows) == (("task", "of"), [("a\\x1b[2J", "1")])
