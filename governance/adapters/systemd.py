"""systemd, of the system or of the user: units on disk, and what its manager says that runs.

- A unit is written whole; `systemctl` does the rest. Without a manager to talk to, everything is
  `Unreachable`, and nothing is taken for stopped.
- Words are quoted for unit files, where `%` and `$` have a meaning of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from governance.adapters import programs
from governance.adapters.programs import Said
from governance.errors import Unreachable

_SYSTEM: Final = Path("/etc/systemd/system")
_PROPERTIES: Final = "ActiveState,MainPID,NRestarts,FragmentPath,Result"


@dataclass(frozen=True, slots=True)
class Shown:
    """What the manager says about a unit; `path` is the file it was loaded from, empty for no file."""

    active: str
    pid: int
    restarts: int
    path: str
    result: str


class Manager:
    """One manager: of the system, or of this user."""

    def __init__(self, *, user: bool) -> None:
        self.user = user
        self._words = ("systemctl", "--user") if user else ("systemctl",)

    @property
    def folder(self) -> Path:
        """Where unit files of an administrator, or of this user, lie."""
        if not self.user:
            return _SYSTEM
        home = os.environ.get("XDG_CONFIG_HOME") or str(Path(os.environ.get("HOME", "/"), ".config"))
        return Path(home, "systemd", "user")

    def call(self, *args: str) -> bytes:
        """What `systemctl` prints. Raises `Unreachable` with its reason when it fails."""
        said = programs.run([*self._words, "--no-ask-password", *args])
        if said.status != 0:
            raise Unreachable(f"`{' '.join(self._words)} {args[0]}` failed: {_reason(said)}")
        return said.out

    def show(self, unit: str) -> Shown:
        """What the manager says about `unit`; one that is not there is inactive, without a file."""
        lines = self.call("show", f"--property={_PROPERTIES}", unit).decode("utf-8", "replace").splitlines()
        found = {name: value for name, _, value in (line.partition("=") for line in lines)}
        return Shown(
            active=found.get("ActiveState", ""),
            pid=int(found.get("MainPID") or 0),
            restarts=int(found.get("NRestarts") or 0),
            path=found.get("FragmentPath", ""),
            result=found.get("Result", ""),
        )

    def journal(self, unit: str, *, lines: int) -> str:
        """The last lines of the unit in the journal; empty when there is none to be had."""
        unit_flag = f"--user-unit={unit}" if self.user else f"--unit={unit}"
        said = programs.run(["journalctl", "--quiet", "--no-pager", "-o", "cat", "-n", str(lines), unit_flag])
        return said.out.decode("utf-8", "replace").strip() if said.status == 0 else ""

    def command(self, *args: str) -> str:
        """A call as one line for a shell."""
        return " ".join([*self._words, *args])


def _reason(said: Said) -> str:
    """What `systemctl` complains of, without its advice to run `systemctl status`."""
    lines = said.err.decode("utf-8", "replace").splitlines()
    reasons = [line.strip() for line in lines if line.strip() and not line.startswith("See ")]
    return reasons[-1] if reasons else said.last_line


def is_root() -> bool:
    """Whether the system's own manager is ours to command."""
    return os.geteuid() == 0


def quoted(word: str) -> str:
    """`word` as one word of a setting that takes several (`Environment=`)."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def quoted_command(word: str) -> str:
    """`word` as one word of `ExecStart=`, where `$` names a variable."""
    return quoted(word).replace("$", "$$")


def unit(sections: Mapping[str, tuple[tuple[str, str], ...]]) -> bytes:
    """A unit file of these sections."""
    parts = [
        f"[{section}]\n" + "".join(f"{name}={value}\n" for name, value in settings)
        for section, settings in sections.items()
    ]
    return "\n".join(parts).encode()
