"""How engine versions are read and ordered: `0.8.5.post1`, `v0.10.0`, `0.8.4+cu121`, `b10434`.

- What follows a plus or a dash is a build label (`0.5.5.post3-cu129-amd64`); it does not order.
- A release candidate or development version comes before its release, a post release after it.
- A name that is no version (`latest`, `nightly`) has no place in the order.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

VersionKey: TypeAlias = tuple[tuple[int, ...], int, int, int]

_SHAPE: Final = re.compile(
    r"[vb]?(?P<release>\d+(?:\.\d+)*)(?:[.-]?(?P<pre>a|b|rc|dev)(?P<number>\d+))?(?:[.-]?post(?P<post>\d+))?"
    r"(?P<label>[+-].*)?",
    re.IGNORECASE,
)
_STAGES: Final = {"dev": 0, "a": 1, "b": 2, "rc": 3, "": 4}


def version_key(text: str) -> VersionKey | None:
    """The place of version `text` in the order; None when it is no version."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    stage = _STAGES[(match["pre"] or "").lower()]
    return tuple(release), stage, int(match["number"] or 0), int(match["post"] or 0)
