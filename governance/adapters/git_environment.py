"""What git may see of our environment: an allow-list with reasons. A stray variable moves git elsewhere.

- `KEPT_ALWAYS` holds for every repository. `KEPT_HERE` binds git to one repository and one index, so it is
  kept only while the process stands inside that repository (hooks do), and dropped for any other.
- All other GIT_* variables are dropped; `FORCED` is set.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

KEPT_ALWAYS = {
    "GIT_EXEC_PATH": "a git that is not installed in its usual place",
    "GIT_CONFIG_GLOBAL": "safe.directory and extensions come from here; tests isolate with it",
    "GIT_CONFIG_SYSTEM": "the same, for the system",
    "GIT_CONFIG_NOSYSTEM": "the same, switched off",
    "GIT_CONFIG_COUNT": "settings given by the caller; CI runners set safe.directory with it",
    "GIT_CONFIG_PARAMETERS": "settings given as `git -c`, carried to hooks",
    "GIT_SSH": "a partial clone may have to fetch a blob",
    "GIT_SSH_COMMAND": "the same",
    "GIT_SSL_CAINFO": "the same",
    "GIT_SSL_NO_VERIFY": "the same",
    "GIT_ASKPASS": "the same",
    "GIT_ALLOW_PROTOCOL": "the same",
    "GIT_AUTHOR_NAME": "who the commit being made will name (`commit --author`, an amended commit)",
    "GIT_AUTHOR_EMAIL": "the same",
    "GIT_COMMITTER_NAME": "the same",
    "GIT_COMMITTER_EMAIL": "the same",
}
KEPT_HERE = {
    "GIT_INDEX_FILE": "the index of the commit being made (pre-commit #1849, lefthook #1265)",
    "GIT_DIR": "a repository whose folder is not `.git`; linked worktrees (MFlowCode/MFC #1776)",
    "GIT_WORK_TREE": "the same",
    "GIT_COMMON_DIR": "the same",
    "GIT_OBJECT_DIRECTORY": "pre-receive: pushed objects wait in quarantine",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES": "the same",
    "GIT_QUARANTINE_PATH": "the same",
}
_LOCATIONS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")
FORCED = {
    "GIT_OPTIONAL_LOCKS": "0",  # never refresh the index behind the user's back
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_LITERAL_PATHSPECS": "1",  # `configs/a*b.yaml` is a name
    "GIT_NO_REPLACE_OBJECTS": "1",  # an id means its own content
    "GIT_PAGER": "cat",
    "LC_ALL": "C",  # git's messages are classified below
}


def child_environment(root: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment git gets: no GIT_* but the listed ones, those of `KEPT_HERE` only inside `root`."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    here = _stands_in(root)
    for name, value in environ.items():
        if name in KEPT_ALWAYS or name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")):
            kept[name] = value
        elif here and name in KEPT_HERE:
            kept[name] = os.path.abspath(value) if name in _LOCATIONS else value
    return kept | FORCED


def _stands_in(root: str) -> bool:
    try:
        here, top = os.getcwd(), os.path.realpath(root)
    except OSError:
        return False
    return here == top or here.startswith(f"{top}{os.sep}")
