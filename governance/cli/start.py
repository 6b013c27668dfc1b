"""The fast door: what the console command calls first.

- The hooks run on every commit, and most commits touch no governed file. That case is answered
  here, with one `git diff-index` and without importing click, pydantic, dataclasses or pathlib.
- The door opens only when git says that something is staged and that none of it is governed. Nothing
  staged (CI, an amended message), a ref that pre-commit names, an error of git, any other argument: on to
  the full command, which looks for itself. The hook never passes by not looking.
- `tierlock check` of a whole work tree has no arguments to take apart either, and goes on without click.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HOOKS = {
    ("check", "--staged"): "governance.cli.judge",
    ("review", "gate"): "governance.cli.review.judging",
    ("review", "gate", "--staged"): "governance.cli.review.judging",
    ("review", "records"): "governance.cli.review.recording",
}
"""The command lines that run on every commit, and the module whose `hook` answers where more is to do."""

CHECKS = {("check",): True, ("check", "--no-cache"): False}
"""The check of a whole work tree, and whether it may remember: it does without click as well."""

_ROOTS = {"configs", "evals", ".tierlock"}
_SERVICES = "tierlock.yaml"
_ASKED_FOR_A_REF = (
    "PRE_COMMIT_FROM_REF",
    "PRE_COMMIT_TO_REF",
    "PRE_COMMIT_LOCAL_BRANCH",
    "PRE_COMMIT_REMOTE_NAME",
)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `tierlock` called with `argv` (default: the process's own arguments)."""
    args = sys.argv[1:] if argv is None else list(argv)
    line = tuple(args)
    try:
        if line in HOOKS:
            code = _hook(HOOKS[line])
        elif line in CHECKS:
            code = _check(cached=CHECKS[line])
        else:
            code = _command(args)
        if argv is None and (line in HOOKS or args[:1] == ["check"]):
            _leave(code)
    except KeyboardInterrupt:  # while modules were still being imported
        sys.stderr.write("tierlock: interrupted\n")
        return 130
    return code


def _leave(code: int) -> None:
    """End the process of a hook or a check, with all said and written.

    Python would take every module apart first and wait for git to notice: 15 to 25 ms of a commit.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _hook(module: str) -> int:
    others = _ungoverned_only()
    if others:
        files = "file is" if others == 1 else "files are"
        _say(f"PASS  no governed file is staged ({others} other {files})\n")
        return 0
    from importlib import import_module

    from governance.cli.main import guarded

    return guarded(lambda: import_module(module).hook())


def _check(*, cached: bool) -> int:
    from governance.cli.main import guarded

    def checked() -> int:
        from governance.cli.judge import shown

        return shown(cached=cached)

    return guarded(checked)


def _say(line: str) -> None:
    """As `output.write`, without its imports: a closed pipe is nobody listening, not an error."""
    try:
        sys.stdout.write(line)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(args: list[str]) -> int:
    from governance.cli.main import run

    return run(args)


def _ungoverned_only() -> int:
    """How many files are staged, when none of them is governed; 0 whenever that is not certain."""
    if any(name in os.environ for name in _ASKED_FOR_A_REF):
        return 0
    from governance.adapters.git import Git
    from governance.errors import TierlockError

    try:
        moved = Git(".").staged()
    except TierlockError:
        return 0
    return 0 if may_be_governed(change.path for change in moved) else len(moved)


def may_be_governed(paths: Iterable[str]) -> bool:
    """Whether any of `paths` could matter to a hook: in doubt, yes.

    A folder `configs`, `evals` or `.tierlock` or a `tierlock.yaml` counts at any depth and in any spelling,
    so that a repository inside a monorepo and a twin that differs by case are looked at.
    """
    for path in paths:
        lower = path.lower()
        if not _ROOTS.isdisjoint(lower.split("/")) or lower.endswith(_SERVICES):
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
