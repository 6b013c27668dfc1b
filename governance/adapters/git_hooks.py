"""The hooks of a repository as files: where git looks for them, what is there, and putting one in place.

- The folder is the one git itself names: linked worktrees share one, `core.hooksPath` may move it.
- A hook is written whole or not at all, and may be run by everybody who may read it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from governance.adapters.files import write_atomic
from governance.adapters.git import Git
from governance.adapters.git_trees import text_of
from governance.errors import Unreadable

_MODE = 0o755
_LOCAL = ("local", "worktree", "command")


class Folder(NamedTuple):
    """Where hooks lie; `shared` names the file whose setting puts those of other repositories there too."""

    path: Path
    shared: str = ""


def folder(git: Git) -> Folder:
    """The folder git runs hooks from."""
    path = Path(git.root) / text_of(git.run("rev-parse", "--git-path", "hooks").removesuffix(b"\n"))
    status, out, _ = git.ask("config", "--show-scope", "--show-origin", "--get", "core.hooksPath")
    if status != 0:
        return Folder(path)
    scope, origin, *_ = text_of(out).rstrip("\n").split("\t")
    return Folder(path, "" if scope in _LOCAL else origin.removeprefix("file:"))


def is_bare(git: Git) -> bool:
    """Whether the repository has no work tree: one on a server."""
    return git.run("rev-parse", "--is-bare-repository").strip() == b"true"


def read(path: Path) -> bytes | None:
    """The bytes of a hook; None when there is none. Raises `Unreadable` for a folder or a dangling link."""
    if not os.path.lexists(path):
        return None
    try:
        return path.read_bytes()
    except OSError as err:
        raise Unreadable(f"the hook `{path.name}` cannot be read: {err.strerror}", where=path.name) from err


def write(path: Path, content: bytes) -> None:
    """Put a hook in place. Raises `Unreadable` when the folder does not let us."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
        path.chmod(_MODE)
    except OSError as err:
        raise Unreadable(f"`{path.name}` cannot be written: {err.strerror}", where=str(path.parent)) from err


def is_run(path: Path) -> bool:
    """Whether git would run it: a hook that may not be executed is passed over."""
    return os.access(path, os.X_OK)


def move(path: Path, target: Path) -> None:
    """Give a hook another name in its folder."""
    path.rename(target)


def remove(path: Path) -> None:
    """Take a hook away."""
    path.unlink()
