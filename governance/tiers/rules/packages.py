"""A lock file of packages as lines with positions: which name one version each, and why the others do not.

- Reads requirement files and the output of pip freeze. A lock in another format (uv.lock, poetry.lock,
  conda's explicit lists, JSON) pins by its own rules and yields nothing here.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from governance.records import dataclass

_NAME: Final = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_EXACT: Final = re.compile(r"===?\s*([A-Za-z0-9][^\s,;*]*)\s*\Z")
_COMMIT: Final = re.compile(r"^git\+[^#]*@[0-9a-f]{40}(?:#|\Z)")
_URL_HASH: Final = re.compile(r"#(?:[^#]*&)?sha(?:256|512)=[0-9a-f]{64,128}")
_OTHER_FORMATS: Final = ("[[package]]", "@EXPLICIT", "{", "version = 1")


@dataclass(frozen=True, slots=True)
class Requirement:
    """One package of a lock file: normalised name, version when exact, and why it is not exact otherwise."""

    name: str
    version: str
    line: int
    text: str
    exact: bool
    hashed: bool
    marker: str = ""
    fault: str = ""


@lru_cache(maxsize=1024)
def read_lock(data: bytes) -> tuple[Requirement, ...]:
    """Every requirement in `data`, in the order of the file."""
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if text.lstrip().startswith(_OTHER_FORMATS) or "\n[[package]]" in text or "\n@EXPLICIT" in text:
        return ()
    return tuple(_requirement(line, number) for number, line in _logical_lines(text) if _is_requirement(line))


def normal_name(name: str) -> str:
    """A distribution name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    held, start = "", 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip() if raw.lstrip().startswith("#") else re.sub(r"\s+#.*$", "", raw).strip()
        start = start or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        lines.append((start, (held + line).strip()))
        held, start = "", 0
    if held:
        lines.append((start, held.strip()))
    return lines


def _is_requirement(line: str) -> bool:
    return bool(line) and not line.startswith(("#", "--", "-i", "-f", "-c"))


def _requirement(line: str, number: int) -> Requirement:
    if line.startswith(("-e", "-r")):
        reason = "is editable: its files can change" if line.startswith("-e") else "refers to another file"
        return Requirement("", "", number, line, exact=False, hashed=False, fault=reason)
    spec, _, options = line.partition(" --hash=")
    spec, _, marker = spec.partition(";")
    match = _NAME.match(spec.strip())
    if match is None or spec.strip().startswith((".", "/")):
        return Requirement(
            "", "", number, line, exact=False, hashed=False, fault="is a local path, not a version"
        )
    name, rest = normal_name(match[1]), match[2].strip()
    hashed, marker = bool(options), marker.strip()
    if rest.startswith("@"):
        return _direct(name, rest[1:].strip(), line, number, marker)
    exact = _EXACT.match(rest)
    if exact:
        return Requirement(name, exact[1], number, line.split(" --hash", 1)[0], True, hashed, marker)
    fault = f"takes any version that is {rest}" if rest else "has no version"
    return Requirement(name, "", number, line, exact=False, hashed=hashed, marker=marker, fault=fault)


def _direct(name: str, url: str, line: str, number: int, marker: str) -> Requirement:
    commit, hashed = bool(_COMMIT.match(url)), bool(_URL_HASH.search(url))
    if url.startswith("file:"):
        fault = "is a file of the build machine: its version is unknown"
    elif url.startswith("git+"):
        fault = "is taken from a branch or tag, not from a commit"
    else:
        fault = "is fetched from a URL without a hash"
    pinned = commit or hashed
    return Requirement(name, "", number, line, pinned, pinned, marker, "" if pinned else fault)
