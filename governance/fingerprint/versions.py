"""Package names and versions in the one form in which equal ones are equal text.

- Names by PEP 503: case, `-`, `_` and `.` mean the same.
- Versions by PEP 440: `6.2` is `6.2.0`, `1.0-RC1` is `1.0rc1`, `+CU124` is `+cu124`. The local label is never
  cut off: it tells the CUDA build from the CPU build.
- A version outside PEP 440 stays as it is, in lower case: it equals only itself.
- `packaging` agrees (a law in the tests) and is not imported: it costs more than reading all the folders.
"""

from __future__ import annotations

import re
from typing import Final

_NAME_RUN: Final = re.compile(r"[-_.]+")
_PLAIN: Final = re.compile(r"[1-9]\d*(?:\.(?:0|[1-9]\d*))*\Z|0(?:\.(?:0|[1-9]\d*))*\Z", re.ASCII)
_VERSION_TEXT: Final = r"""
    v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)
    (?P<pre>[-_.]?(?P<pre_l>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d+)?)?
    (?P<post>-(?P<post_n1>\d+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>\d+)?)?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_n>\d+)?)?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\Z
"""
_PRE: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_full: re.Pattern[str] | None = None


def normal_name(name: str) -> str:
    """`Typing_Extensions` as `typing-extensions` (PEP 503)."""
    if "_" not in name and "." not in name and "--" not in name:
        return name.lower()
    return _NAME_RUN.sub("-", name).lower()


def normal_version(version: str) -> str:
    """The shortest spelling of `version` under PEP 440; trailing zeros of the release are dropped."""
    text = version.strip().lower()
    if _PLAIN.match(text):
        return _drop_zeros(text)
    match = _version_pattern().match(text)
    if match is None:
        return text
    part = match.groupdict()
    result = f"{int(part['epoch'])}!" if part["epoch"] and int(part["epoch"]) else ""
    result += _drop_zeros(".".join(str(int(n)) for n in part["release"].split(".")))
    if part["pre"]:
        result += f"{_PRE.get(part['pre_l'], part['pre_l'])}{int(part['pre_n'] or 0)}"
    if part["post"]:
        result += f".post{int(part['post_n1'] or part['post_n2'] or 0)}"
    if part["dev"]:
        result += f".dev{int(part['dev_n'] or 0)}"
    return result + _local(part["local"])


def local_label(version: str) -> str:
    """The build label of a version, without the plus: `cu124` of `2.6.0+cu124`, empty when there is none."""
    return normal_version(version).partition("+")[2]


def _drop_zeros(release: str) -> str:
    while release.endswith(".0"):
        release = release[:-2]
    return release


def _local(label: str | None) -> str:
    if not label:
        return ""
    parts = re.split(r"[-_.]", label)
    return "+" + ".".join(str(int(p)) if p.isdigit() else p for p in parts)


def _version_pattern() -> re.Pattern[str]:
    global _full
    if _full is None:
        _full = re.compile(_VERSION_TEXT, re.VERBOSE | re.ASCII)
    return _full
