"""`tierlock check` without the command line: which state, which files of it, and the verdict.

- The hook comes through here without click, so nothing heavy is imported at the top.
- `--staged` judges the commit being made. When only files were added or changed, those are judged, with
  the services they belong to; a deletion, a link or a change of `tierlock.yaml` has every file judged, and
  so has an index in which nothing is staged (CI, an amended message): what is committed is looked at then.
- A ref that pre-commit hands over (pre-push, `--to-ref`) is judged whole: the content that is pushed, not
  the work tree.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from governance.adapters.files import FileSource
from governance.cli.repository import GOVERNED, SUITES, below, find, source
from governance.errors import Usage
from governance.verdict import Report

if TYPE_CHECKING:
    from governance.engines.model import OptionTable
    from governance.tiers.check import Beside, Further
    from governance.tiers.config import Repository
    from governance.values import Absent, Tree, Unknown
    from governance.verdict import EffectiveValue

_ASKING = (SUITES, "configs/prompts/")
"""Where a change has the suites judged. A sampling config can make an item unaskable too, by a shorter
`overridable`: that is left to the check of the whole, since sampling is what most commits change."""

PUSHED = ("PRE_COMMIT_TO_REF", "PRE_COMMIT_LOCAL_BRANCH")
"""Where pre-commit says what is pushed; of a push with a root commit it gives the branch alone."""


def hook() -> int:
    """The exit code of `tierlock check --staged`, its report shown."""
    return shown(staged=True)


def shown(*, staged: bool = False, cached: bool = True) -> int:
    """The exit code of `judge`, its report shown."""
    from governance.cli.output import Finished, Output, deliver

    report = judge(staged=staged, cached=cached)
    deliver(Finished(report, Output()))
    return int(report.exit_code)


def judge(
    root: str = "",
    *,
    staged: bool = False,
    rev: str = "",
    paths: Sequence[str] = (),
    cached: bool = True,
) -> Report:
    """The report on one state of the repository: the work tree, the index, or a revision.

    `paths` (from the current folder) narrow it. Raises `Usage` when a path is not in the repository.
    """
    place = find(root)
    pushed = next((os.environ[name] for name in PUSHED if os.environ.get(name)), "")
    if staged and pushed:
        staged, rev = False, pushed
    tree = source(place, staged=staged, rev=rev)
    only = _all_below(tree, inside(place, paths)) if paths else _staged(place) if staged else None
    return _judged(tree, only, cached=cached)


def _judged(tree: FileSource, only: Sequence[str] | None, *, cached: bool) -> Report:
    from governance.adapters import clock

    today = clock.today()

    def judged(seen: FileSource) -> Report:
        with _nothing_collected(), _counted(seen) as source:
            from governance.tiers.check import check

            return check(source, today=today, only=only, engine_facts=_Facts(), further=_suites(only))

    if not cached or only is not None:
        return judged(tree)
    from governance.cli.remembered import remembered

    return remembered(tree, today, judged)


def _suites(only: Sequence[str] | None) -> Further | None:
    """What judges eval suites; None when no path of `only` can have changed one, or how it is asked.

    Most commits touch none: what judges suites is imported for those that do.
    """
    if only is not None and not any(path.startswith(_ASKING) or path == GOVERNED[-1] for path in only):
        return None

    def judged(source: FileSource, repository: Repository) -> Beside | None:
        named = any("evals" in service.tree for service in repository.services.values())
        if not named and not any(path.startswith(SUITES) for path in only or ()):
            return None
        from governance.evals.checking import judge_suites

        return judge_suites(source, repository, only)

    return judged


class _Facts:
    """What the engines know, imported when a rule asks: most commits have no question."""

    def table(self, engine: str, version: str) -> OptionTable | Unknown:
        from governance.engines.facts import Facts

        return Facts().table(engine, version)

    def sampling_defaults(
        self, base: Tree, generation_config: Tree | Unknown | Absent
    ) -> Mapping[str, EffectiveValue] | Unknown:
        from governance.engines.facts import Facts

        return Facts().sampling_defaults(base, generation_config)


@contextmanager
def _counted(tree: FileSource) -> Iterator[FileSource]:
    """`tree` with a bar for somebody who waits at a terminal."""
    if not sys.stderr.isatty():
        yield tree
        return
    from governance.cli.progress import Counted, progress

    with progress("checking") as advance:
        yield Counted(tree, advance)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Ten thousand configs stay alive to the end; a tenth of the time would go into looking for garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def inside(root: str, paths: Sequence[str]) -> list[str]:
    """`paths` relative to `root`, forward slashes."""
    found = []
    for path in paths:
        relative = below(root, path)
        if relative == ".." or relative.startswith("../"):
            raise Usage(
                f"`{path}` is not in the repository", where=path, hint="use -C for another repository"
            )
        found.append(relative)
    return found


def _all_below(tree: FileSource, paths: Sequence[str]) -> list[str]:
    """`paths` with each folder replaced by the files in it. A path that is not there is refused."""
    found = []
    for path in paths:
        below_it = [entry.path for entry in tree.entries("" if path == "." else path)]
        if not below_it:
            message = f"`{path}` is not in the {tree.label}"
            raise Usage(message, where=path, hint="name a file or a folder that is there")
        found += below_it
    return found


def _staged(root: str) -> list[str] | None:
    """The governed paths that the commit adds or changes; None when all files have to be looked at."""
    from governance.adapters.git import Git, find_root

    top = find_root(root)
    folder = below(top, root)
    above = f"{folder}/" if folder else ""
    moved = Git(top).staged(*(f"{above}{part}" for part in (SUITES, *GOVERNED)))
    paths = [change.path.removeprefix(above) for change in moved]
    plain = all(change.status in "AM" and change.after_mode.startswith("100") for change in moved)
    # a module of scorers concerns every suite that names it
    modules = any(path.startswith(SUITES) and not path.endswith(".jsonl") for path in paths)
    return paths if paths and plain and not modules and GOVERNED[-1] not in paths else None
