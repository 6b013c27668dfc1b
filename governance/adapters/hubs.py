"""Model hubs: the local Hugging Face cache on disk, and what a revision stands for on a hub over HTTP.

- Cache layout: `models--<owner>--<name>/{refs/<revision>, snapshots/<commit>/…, blobs/<id>}`; snapshots hold
  links to blobs, and a blob is named by its SHA-256 (large files) or its git id.
- Nothing is fetched into the cache. A token goes to the hub it is for and is never part of a message.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from governance.errors import Unreachable, Unreadable
from governance.values import Unknown

COMMIT: Final = re.compile(r"[0-9a-f]{40}")
TIMEOUT: Final = 20.0
MAX_BODY: Final = 16 << 20
PUBLIC_HUB: Final = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A model in the local cache: the folder of its files and the commit they are of."""

    folder: Path
    commit: str


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where the Hugging Face cache lies: `HF_HUB_CACHE`, `HF_HOME/hub`, or below the user's cache folder."""
    env = os.environ if environment is None else environment
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if env.get(name):
            return Path(env[name])
    if env.get("HF_HOME"):
        return Path(env["HF_HOME"]) / "hub"
    base = env.get("XDG_CACHE_HOME") or str(Path(env.get("HOME", "/")) / ".cache")
    return Path(base) / "huggingface" / "hub"


def model_folder(cache: Path, model: str) -> Path:
    """The folder of `owner/name` in a cache."""
    return cache / ("models--" + model.replace("/", "--"))


def snapshot(cache: Path, model: str, revision: str) -> Snapshot | Unknown:
    """The files of `model` at `revision` (a commit or a name) in the cache, or why they are not there."""
    folder = model_folder(cache, model)
    if not folder.is_dir():
        return Unknown(f"`{model}` is not in the cache")
    commit = revision if COMMIT.fullmatch(revision) else _ref(folder, revision)
    if isinstance(commit, Unknown):
        return commit
    files = folder / "snapshots" / commit
    if not files.is_dir():
        return Unknown(f"commit {commit[:12]} of `{model}` is not in the cache")
    return Snapshot(files, commit)


def _ref(folder: Path, revision: str) -> str | Unknown:
    if ".." in revision.split("/"):
        return Unknown(f"`{revision}` is not the name of a revision")
    try:
        commit = (folder / "refs" / revision).read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return Unknown(f"the cache does not know which commit `{revision}` is")
    return commit if COMMIT.fullmatch(commit) else Unknown(f"refs/{revision} of the cache holds no commit")


def commit_of(folder: Path) -> str:
    """The commit of a folder inside a cache (`…/snapshots/<commit>`), empty for any other folder."""
    name = folder.absolute().name
    return name if folder.absolute().parent.name == "snapshots" and COMMIT.fullmatch(name) else ""


def resolve(
    model: str, revision: str, *, hub: str = PUBLIC_HUB, token: str = "", kind: str = "models"
) -> str | Unknown:
    """The commit that `revision` of `model` is on the hub now; `Unknown` when the hub has no such revision.

    Raises `Unreachable` when the hub does not answer.
    """
    import urllib.error
    import urllib.parse
    import urllib.request

    if not hub.startswith(("https://", "http://")):
        raise Unreadable(f"`{hub}` is not the address of a hub", hint="HF_ENDPOINT=https://…")
    url = f"{hub.rstrip('/')}/api/{kind}/{model}/revision/{urllib.parse.quote(revision, safe='')}"
    request = urllib.request.Request(url)  # noqa: S310  the scheme is checked above
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # noqa: S310
            commit = json.loads(response.read(MAX_BODY)).get("sha", "")
    except urllib.error.HTTPError as err:
        err.close()
        if err.code == 404:
            return Unknown(f"the hub has no `{revision}` of `{model}`")
        raise Unreachable(f"the hub answered {err.code} for `{model}`", where=url) from err
    except (urllib.error.URLError, OSError, ValueError, AttributeError) as err:
        raise Unreachable(f"the hub does not answer for `{model}`", where=url) from err
    return commit if COMMIT.fullmatch(str(commit)) else Unknown(f"the hub names no commit for `{model}`")
