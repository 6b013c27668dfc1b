"""Our own hooks in a repository: put in place beside what is there, renewed, looked for, taken away.

- A work tree gets `pre-push`, a bare repository `pre-receive`. pre-commit's own pre-push stage does not see
  every ref of a push, so it cannot stand in for ours.
- A hook that is there stays: it keeps its name with `.before-tierlock` added and is run first by ours, with
  the same input. One that already calls ours (pre-commit moves it to `.legacy`) is left alone.
- Doing it twice is doing it once. A folder of hooks that other repositories share is not written to.
- Hooks are feedback; the report says what judges when they are skipped.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Final

from governance.adapters import git_hooks
from governance.adapters.git import Git
from governance.errors import Unreadable
from governance.verdict import Check, Outcome, Report

HOOKS: Final = ("pre-push", "pre-receive")
KEPT: Final = ".before-tierlock"
LEGACY: Final = ".legacy"
_MARK: Final = "# tierlock review hook: {name}"
_COMMIT_HOOKS: Final = ("pre-commit", "pre-merge-commit")
COMMITS: Final = "pre-commit install --hook-type pre-commit --hook-type pre-merge-commit"


class Standing(Enum):
    """Whether our hook runs."""

    OURS = "runs"
    BEHIND = "runs behind another hook"
    OLD = "is of another version or place"
    OFF = "may not be executed, so git passes over it"
    OTHERS = "is another hook, which does not run ours"
    MISSING = "is not there"


def names_for(git: Git) -> tuple[str, ...]:
    """The hooks that belong in this repository."""
    return ("pre-receive",) if git_hooks.is_bare(git) else ("pre-push",)


def script(name: str, program: str, folder: str) -> bytes:
    """Our hook `name`, which calls `program` for the governed files in `folder`."""
    text = (files("governance.review") / "scripts" / name).read_text("utf-8")
    return text.replace("@TIERLOCK@", shlex.quote(program)).replace("@FOLDER@", shlex.quote(folder)).encode()


def standing(path: Path, wanted: bytes | None = None) -> Standing:
    """How the hook at `path` stands; with `wanted`, one of ours that differs from it is old."""
    mark = _MARK.format(name=path.name).encode()
    found = git_hooks.read(path)
    if found is None:
        return Standing.MISSING
    if mark in found:
        if not git_hooks.is_run(path):
            return Standing.OFF
        return Standing.OLD if wanted is not None and found != wanted else Standing.OURS
    legacy = path.with_name(path.name + LEGACY)
    behind = git_hooks.read(legacy)
    if behind is not None and mark in behind and git_hooks.is_run(legacy) and b"pre-commit" in found:
        return Standing.BEHIND
    return Standing.OTHERS


def install(git: Git, names: Sequence[str], program: str, folder: str = "") -> Report:
    """Put our hooks in place; the report says what was done. Raises `Unreadable` where that may not be."""
    where = _own_folder(git)
    checks = [_put(where / name, script(name, program, folder)) for name in names]
    judged = "pre-push" not in names or all(state is Standing.OURS for _, state in _at_commit(where))
    return Report(
        "review install",
        checks=tuple(checks),
        notes=("hooks are feedback: CI and `tierlock review audit` judge what was pushed without them",),
        summary=_listed(names),
        next="" if judged else COMMITS,
    )


def look(git: Git, names: Sequence[str]) -> Report:
    """Whether our hooks would run in this clone; one that would not blocks."""
    where = git_hooks.folder(git).path
    checks = []
    for name in names:
        found = standing(where / name)
        good = found in (Standing.OURS, Standing.BEHIND)
        checks.append(Check(name, Outcome.PASS if good else Outcome.BLOCK, found.value))
    notes = [
        f"{name} {state.value}: {COMMITS}" for name, state in _at_commit(where) if state is not Standing.OURS
    ]
    bad = [check for check in checks if check.outcome is Outcome.BLOCK]
    return Report(
        "review install",
        checks=tuple(checks),
        notes=tuple(notes) if "pre-push" in names else (),
        summary=f"{_listed([one.name for one in bad])} of tierlock does not run here" if bad else "hooks run",
        next="tierlock review install" if bad else "",
    )


def remove(git: Git, names: Sequence[str]) -> Report:
    """Take our hooks away and give those before them their names back."""
    where = _own_folder(git)
    return Report(
        "review install", checks=tuple(_take(where / name) for name in names), summary=_listed(names)
    )


def missing(git: Git) -> str:
    """One sentence when the hook that belongs here would not run, for other reports; empty when it would."""
    where = git_hooks.folder(git).path
    for name in names_for(git):
        found = standing(where / name)
        if found not in (Standing.OURS, Standing.BEHIND):
            return f"{name} {found.value}: tierlock review install"
    return ""


def _own_folder(git: Git) -> Path:
    where = git_hooks.folder(git)
    if where.shared:
        raise Unreadable(
            f"`core.hooksPath` puts the hooks of every repository into one folder (set in {where.shared})",
            where=str(where.path),
            hint="give this repository its own: git config --local core.hooksPath .git/hooks",
        )
    return where.path


def _put(path: Path, wanted: bytes) -> Check:
    found = standing(path, wanted)
    if found in (Standing.OURS, Standing.BEHIND):
        return Check(path.name, Outcome.PASS, f"was there already, and {found.value}")
    said = "put in place"
    if found is Standing.OTHERS:
        kept = path.with_name(path.name + KEPT)
        if git_hooks.read(kept) is not None:
            raise Unreadable(
                f"`{path.name}` is another hook, and `{kept.name}` keeps an older one already",
                where=str(path.parent),
                hint=f"join the two into {kept.name}, delete {path.name}, and call again",
            )
        git_hooks.move(path, kept)
        said = f"put in place; the hook that was there is now {kept.name} and runs first"
    elif found is not Standing.MISSING:
        said = "renewed"
    git_hooks.write(path, wanted)
    return Check(path.name, Outcome.PASS, said)


def _take(path: Path) -> Check:
    found = standing(path)
    if found in (Standing.MISSING, Standing.OTHERS):
        return Check(path.name, Outcome.PASS, f"nothing to do: it {found.value}")
    if found is Standing.BEHIND:
        git_hooks.remove(path.with_name(path.name + LEGACY))
        return Check(path.name, Outcome.PASS, "taken away from behind the other hook")
    git_hooks.remove(path)
    kept = path.with_name(path.name + KEPT)
    if git_hooks.read(kept) is None:
        return Check(path.name, Outcome.PASS, "taken away")
    git_hooks.move(kept, path)
    return Check(path.name, Outcome.PASS, "taken away; the hook from before has its name back")


def _at_commit(where: Path) -> list[tuple[str, Standing]]:
    """How the hooks at commit time stand: run by pre-commit, or by anything that calls tierlock."""
    found = []
    for name in _COMMIT_HOOKS:
        content = git_hooks.read(where / name)
        if content is None:
            found.append((name, Standing.MISSING))
        else:
            ours = any(word in content for word in (b"pre-commit", b"prek", b"tierlock"))
            state = Standing.OURS if ours and git_hooks.is_run(where / name) else Standing.OTHERS
            found.append((name, state))
    return found


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
