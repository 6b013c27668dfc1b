"""Whether an approval was used up: the change it is for has landed before, and was taken back since.

- From a to b, back to a, and to b again has the same two digests both times. What tells them apart is
  history: the state before the second change holds the approval, and the subject has moved since it came.
- An approval that came before its change, and whose subject has not moved since, is not used up.
- Outside of git there is no history to ask: what the state before already holds is used up.
"""

from __future__ import annotations

from governance.adapters.files import FileSource
from governance.adapters.git import Git, RevisionTree
from governance.adapters.git_trouble import shallow
from governance.review.model import Subject, SubjectKind
from governance.tiers.config import SERVICES_FILE, ConfigId


def is_spent(base: FileSource, record: str, subject: Subject) -> bool:
    """Whether `subject` has moved in the history of `base` since the file `record`, which `base` holds, came.

    Raises `IncompleteHistory` where a shallow clone cannot tell.
    """
    if not isinstance(base, RevisionTree):
        return True
    above = f"{base.folder}/" if base.folder else ""
    paths = paths_of(subject, base.folder)
    came = _came(base.git, base.oid, f"{above}{record}")
    if came is None:
        return True
    if _touches(base.git, came, paths):
        return True
    later = base.git.run("rev-list", "--full-history", "--max-count=1", f"{came}..{base.oid}", "--", *paths)
    return bool(later.strip())


def paths_of(subject: Subject, folder: str = "") -> list[str]:
    """Where the subject is written, as git knows it, in a repository governed below `folder`."""
    above = f"{folder}/" if folder else ""
    if subject.kind is not SubjectKind.CONFIG:
        return [f"{above}{SERVICES_FILE}"]
    tier, _, name = subject.name.partition("/")
    config = ConfigId(tier, name)
    return [f"{above}{config.path}", f"{above}{config.folder}".rstrip("/")]


def _came(git: Git, tip: str, path: str) -> str | None:
    """The first commit of the history of `tip` that added `path`."""
    out = git.run(
        "log", "--format=%H", "--diff-filter=A", "--no-renames", "--full-history", "--root",
        "--no-show-signature", "--no-color", "--end-of-options", tip, "--", path,
    )  # fmt: skip
    found = out.decode().split()
    return found[-1] if found else None


def _touches(git: Git, commit: str, paths: list[str]) -> bool:
    """Whether a commit moves one of `paths` against any of its parents."""
    cut_off = git.ask("rev-parse", "--verify", "--quiet", f"{commit}^@")[0] != 0 and git.is_shallow()
    if cut_off:
        raise shallow("the history of an approval")
    out = git.run("diff-tree", "-r", "-m", "--root", "--no-commit-id", "--name-only", "-z", "--no-renames",
                  "--end-of-options", commit, "--", *paths)  # fmt: skip
    return bool(out)
