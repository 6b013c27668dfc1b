"""What engines have in common when they are asked what they use: JSON paths, Prometheus labels, Python text.

Pure functions over documents: the caller does the HTTP.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from governance.values import ABSENT, Absent, Json

_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def at(document: object, path: str) -> Json | Absent:
    """The value at a dotted path; `ABSENT` when a step is missing."""
    value: object = document
    for step in path.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return ABSENT
        value = value[step]
    return value  # type: ignore[return-value]


def labels(text: str, metric: str) -> dict[str, str]:
    """The labels of the first sample of `metric` in a Prometheus text; empty when there is none."""
    for line in text.splitlines():
        if line.startswith((f"{metric}{{", f"{metric}_total{{")):
            return {name: _unescaped(value) for name, value in _LABEL.findall(line)}
    return {}


def _unescaped(text: str) -> str:
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def from_python(text: str) -> Json:
    """A value that was written with Python's `str`: `True`, `None`, `0.9`, `['a']`; other text is itself."""
    import ast  # a check looks at no server, and its start counts

    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    if isinstance(value, bool | int | float | str | list | dict) or value is None:
        return value
    return text


def dtype_name(value: Json) -> Json:
    """`torch.bfloat16` as `bfloat16`."""
    return value.removeprefix("torch.") if isinstance(value, str) else value
