"""Where the governed repository is, and which state of it is meant: work tree, index or a revision.

- The root is the folder that holds `tierlock.yaml` (or `configs/`), here or above, never above the top
  level of the git repository; `-C` names it outright. It may be a folder inside a monorepo.
- The index and revisions are read by way of git from the top level, shown relative to the root.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from governance.adapters.files import FileSource, WorkTree
from governance.errors import TierlockError, Unreadable

if TYPE_CHECKING:
    from pathlib import Path

SERVICES = "tierlock.yaml"
GOVERNED = ("configs/base/", "configs/sampling/", "configs/prompts/", SERVICES)
SUITES = "evals/"
_CONFIGS = "configs"


def find(given: str = "", *, here: str | None = None) -> str:
    """The root: `given`, or the nearest folder at or above `here` with something to govern.

    Outside of every such folder the top level of the git repository is meant (its index may hold what the
    work tree lacks). Raises `Unreadable` when there is nothing at all.
    """
    if given:
        return os.path.realpath(given)
    start = at = os.path.realpath(here or ".")
    while True:
        if os.path.lexists(f"{at}/{SERVICES}") or os.path.isdir(f"{at}/{_CONFIGS}"):  # noqa: PTH112
            return at
        above = os.path.dirname(at)  # noqa: PTH120  (no pathlib: the hook comes through here)
        if above == at or os.path.lexists(f"{at}/.git"):
            break
        at = above
    return _top(start)


def _top(start: str) -> str:
    from governance.adapters.git import find_root

    try:
        return find_root(start)
    except TierlockError as err:
        raise Unreadable(
            f"no `{SERVICES}` and no `{_CONFIGS}/` here or above", where=start, hint="tierlock init"
        ) from err


def source(root: str, *, staged: bool = False, rev: str = "") -> FileSource:
    """The files of the repository at `root`: on disk, as staged, or at the revision `rev`."""
    if not staged and not rev:
        return WorkTree(root)
    from governance.adapters.git import Git, IndexTree, RevisionTree, find_root

    top = find_root(root)
    folder = below(top, root)
    git = Git(top)
    return RevisionTree(git, rev, GOVERNED, folder=folder) if rev else IndexTree(git, GOVERNED, folder=folder)


def below(top: str, root: str) -> str:
    """`root` relative to `top` with forward slashes; empty when they are one folder."""
    relative = os.path.relpath(os.path.realpath(root), os.path.realpath(top)).replace(os.sep, "/")
    return "" if relative == "." else relative


def cache_folder(name: str) -> Path:
    """The folder of the user's cache for `name`; never in a repository, which could bring its own along."""
    from pathlib import Path

    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "tierlock" / name


def names(given: str = "") -> list[str]:
    """The names of the services in the work tree; none when they cannot be read."""
    from governance.tiers.reader import read_yaml

    try:
        data = WorkTree(find(given)).read(SERVICES)
    except TierlockError:
        return []
    tree = read_yaml(data, SERVICES).tree
    services = tree.get("services") if isinstance(tree, dict) else None
    return sorted(services) if isinstance(services, dict) else []
