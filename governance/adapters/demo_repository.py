"""A git repository of its own for the demo: two people with fresh keys, and a hook that runs this tierlock.

- Nothing of the user is read or touched: no settings of git, no agent, no keys; all lies in the folder given.
- The hook is a plain one of git, so that the demo needs no pre-commit.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from governance.adapters.files import write_all
from governance.adapters.git_hooks import write as write_hook
from governance.adapters.pipes import call
from governance.errors import Unreadable

BRANCH: Final = "main"
_PACKAGE: Final = Path(__file__).parents[2]
_HOOK: Final = """\
#!/bin/sh
PYTHONPATH={package} exec {python} -m governance.cli review gate
"""


class Said(NamedTuple):
    """How a command ended: exit code, and all that it printed."""

    code: int
    text: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.text.splitlines() if line.strip()]


class DemoRepository:
    """The repository in `folder / "reviewed"`, in which `author` works; the people's keys lie beside it."""

    def __init__(self, folder: Path, author: str = "author-a") -> None:
        self.path = folder / "reviewed"
        self.keys = folder / "keys"
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_"))}
        nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(_PACKAGE)}
        named = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", author), ("EMAIL", f"{author}@example.org"))
        }
        self.environment: dict[str, str] = {**plain, **nowhere, **named, "NO_COLOR": "1"}

    def start(self, files: Mapping[str, bytes]) -> None:
        """A first commit with `files`, then the hook."""
        self.path.mkdir(parents=True)
        write_all(self.path, dict(files))
        self.must("init", "-q", "-b", BRANCH)
        self.must("add", "-A")
        self.must("commit", "-q", "-m", "a governed repository and its review policy")
        text = _HOOK.format(package=shlex.quote(str(_PACKAGE)), python=shlex.quote(sys.executable))
        write_hook(self.path / ".git" / "hooks" / "pre-commit", text.encode())

    def key(self, person: str) -> str:
        """The public key of `person`, made when first asked for. Raises `MissingTool`, `Unreadable`."""
        file = self.private_key(person)
        if not file.exists():
            self.keys.mkdir(mode=0o700, exist_ok=True)
            argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", person, "-f", str(file))
            status, _, err = call(argv, environment=self.environment)
            if status != 0:
                raise Unreadable(f"ssh-keygen made no key: {err.decode(errors='replace').strip()}")
        return " ".join(file.with_suffix(".pub").read_text("utf-8").split()[:2])

    def private_key(self, person: str) -> Path:
        """Where the private key of `person` lies."""
        return self.keys / person

    def git(self, *args: str) -> Said:
        """`git args`, as the author."""
        return self._run(("git", "-C", str(self.path), *args))

    def must(self, *args: str) -> str:
        """As `git`, for what has to work. Raises `Unreadable`."""
        said = self.git(*args)
        if said.code != 0:
            raise Unreadable(f"`git {args[0]}` failed in the demo repository: {said.text.strip()}")
        return said.text

    def tierlock(self, *args: str) -> Said:
        """`tierlock args` in the repository, as its users run it."""
        argv = (sys.executable, "-m", "governance.cli", *args, "-C", str(self.path))
        return self._run(argv)

    def _run(self, argv: tuple[str, ...]) -> Said:
        status, out, err = call(argv, environment=self.environment)
        return Said(status, (out + err).decode("utf-8", "replace"))
