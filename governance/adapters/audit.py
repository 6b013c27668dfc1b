"""pip-audit as a process: which of some pinned packages have known vulnerabilities.

- Exit 1 means "found something" and "could not run" alike: only the JSON on its output tells them apart. None
  there, or a package missing in it: nobody knows.
- A package that the service does not know is *skipped*, and pip-audit still says "no known vulnerabilities":
  each skip comes back with its reason, for the caller to count.
- Long lists are asked in parts side by side: one request per package, one after another, takes 20 s for 200.
- It runs isolated (`-I`): nothing of the folder it is started in is imported. Nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from governance.errors import MissingTool
from governance.values import Unknown

PROGRAM: Final = (sys.executable, "-I", "-m", "pip_audit")
SECONDS: Final = 120.0
"""How long one part may take."""
SOCKET_SECONDS: Final = 10
PART: Final = 40
SIDE_BY_SIDE: Final = 4

Pin: TypeAlias = tuple[str, str]
"""Normal name and version of one package."""


@dataclass(frozen=True, slots=True)
class Vulnerability:
    """One known vulnerability: its id, what else it is called, and the versions that mend it."""

    id: str
    aliases: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Audited:
    """What the service says of one package; `skipped` is why it says nothing."""

    name: str
    version: str
    vulnerabilities: tuple[Vulnerability, ...] = ()
    skipped: str = ""


def audit(
    pins: Sequence[Pin],
    *,
    service: str = "pypi",
    url: str = "",
    seconds: float = SECONDS,
    program: Sequence[str] = PROGRAM,
) -> tuple[Audited, ...] | Unknown:
    """What `service` (`pypi` or `osv`) says of each of `pins`, in their order; or why it says nothing.

    `url` is another service of the kind `osv`: pip-audit knows one address of `pypi` only. Raises
    `MissingTool` when pip-audit is not installed.
    """
    if url and service != "osv":
        return Unknown(f"pip-audit asks `{service}` at its own address only; for {url} say `service: osv`")
    if not pins:
        return ()
    ask = ("-s", service, *(("--osv-url", url) if url else ()))
    parts = [pins[start : start + PART] for start in range(0, len(pins), PART)]
    with ThreadPoolExecutor(max_workers=min(SIDE_BY_SIDE, len(parts))) as pool:
        answers = list(pool.map(lambda part: _part(part, [*program, *ask], seconds), parts))
    found: list[Audited] = []
    for answer in answers:
        if isinstance(answer, Unknown):
            return answer
        found += answer
    return tuple(found)


def _part(pins: Sequence[Pin], command: Sequence[str], seconds: float) -> list[Audited] | Unknown:
    with tempfile.TemporaryDirectory(prefix="tierlock-audit-") as folder:
        listed = Path(folder, "requirements.txt")
        listed.write_text("".join(f"{name}=={version}\n" for name, version in pins), "utf-8")
        asked = (
            *(*command, "-f", "json", "--no-deps", "--disable-pip", "--progress-spinner", "off"),
            *("--desc", "off", "--aliases", "on", "--timeout", str(SOCKET_SECONDS), "-r", str(listed)),
        )
        try:
            done = subprocess.run(asked, capture_output=True, timeout=seconds, check=False, cwd=folder)
        except FileNotFoundError as err:
            raise _missing() from err
        except subprocess.TimeoutExpired:
            return Unknown(f"pip-audit had no answer within {seconds:g} s (packages asked: {len(pins)})")
    return _read(done.stdout, done.stderr.decode("utf-8", "replace"), pins)


def _read(out: bytes, said: str, pins: Sequence[Pin]) -> list[Audited] | Unknown:
    try:
        tree = json.loads(out)
        found = {one.name: one for one in map(_audited, tree["dependencies"])}
    except (ValueError, KeyError, TypeError):
        if "No module named pip_audit" in said:
            raise _missing() from None
        return Unknown(f"pip-audit could not run: {_last(said)}")
    missing = [name for name, _ in pins if name not in found]
    if missing:
        return Unknown(f"pip-audit says nothing of {', '.join(missing[:3])}")
    return [found[name] for name, _ in pins]


def _audited(value: Mapping[str, Any]) -> Audited:
    skipped = str(value.get("skip_reason", ""))
    if skipped:
        return Audited(str(value["name"]), str(value.get("version", "")), skipped=skipped)
    vulnerabilities = tuple(
        Vulnerability(str(one["id"]), tuple(map(str, one["aliases"])), tuple(map(str, one["fix_versions"])))
        for one in value["vulns"]
    )
    return Audited(str(value["name"]), str(value["version"]), vulnerabilities)


def _last(said: str) -> str:
    """The last thing it said, without what urllib3 adds about its own objects."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "it said nothing"
    reason = last.rpartition("Caused by ")[2].rstrip(")\"'")
    return re.sub(r"^.*?(?: object at \w+>|port=\d+\)): ", "", reason)[:300]


def _missing() -> MissingTool:
    return MissingTool("pip-audit is not installed beside tierlock", hint="pip install pip-audit")
