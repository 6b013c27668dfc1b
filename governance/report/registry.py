"""The output formats by name. A format is a module; it is imported when its format is asked for.

- `text` takes a `Style` besides; all others are pure `Report -> str`.
- No format changes the outcome or the exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Final

from governance.verdict import Report

RENDERERS: Final = {
    "text": "for people",
    "json": "one object, `tierlock.report/1`",
    "markdown": "for a job summary or a pull-request comment",
    "github": "workflow annotations",
    "sarif": "SARIF 2.1.0 for code scanning",
    "junit": "JUnit XML for test reports",
}


def renderer(name: str) -> Callable[[Report], str]:
    """The `render` of the format `name`, one of `RENDERERS`; SARIF comes with the help of every rule."""
    module = import_module(f"governance.report.{name}")
    if name == "sarif":
        from governance.report.help import describe

        return partial(module.render, describe=describe)
    render: Callable[[Report], str] = module.render
    return render
