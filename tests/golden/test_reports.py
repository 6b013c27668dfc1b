"""Whole outputs, byte for byte, of every format. Renew them with `TIERLOCK_RENEW=1 pytest tests/golden`,
then read the difference: these files are what users and their scripts see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from governance.report.registry import RENDERERS, renderer
from tests.support.reports import NAMED

WHOLE = Path(__file__).parent / "whole"
SUFFIX = {"text": "txt", "json": "json", "markdown": "md", "github": "log", "sarif": "sarif", "junit": "xml"}


@pytest.mark.parametrize("name", [name for name in NAMED if name != "hostile"])
@pytest.mark.parametrize("form", RENDERERS)
def test_the_output_is_the_one_that_was_read_and_accepted(name: str, form: str) -> None:
    file = WHOLE / f"{name}.{SUFFIX[form]}"
    shown = renderer(form)(NAMED[name])
    if os.environ.get("TIERLOCK_RENEW"):
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_report_and_a_format() -> None:
    wanted = {f"{name}.{suffix}" for name in NAMED if name != "hostile" for suffix in SUFFIX.values()}
    assert {file.name for file in WHOLE.iterdir()} == wanted
