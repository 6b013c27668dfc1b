"""What can be compared, and what a word on the command line means.

- A side is a file, a state of the repository (work tree, index, a revision) or one service of it, a
  release, a capture, or a running endpoint.
- A word with several readings is refused with all of them and how to write each; nothing is guessed.
- Reading a side touches the disk and git; an endpoint is asked only when it is compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

from governance.adapters.files import WorkTree, read_file
from governance.adapters.git import Git, IndexTree, RevisionTree, find_root
from governance.errors import IncompleteHistory, TierlockError, Unreadable, Usage
from governance.fingerprint.states import State
from governance.records import dataclass
from governance.values import Unknown

if TYPE_CHECKING:
    from pathlib import Path

    from governance.engines.observe import Observation
    from governance.evals.endpoint import Endpoint
    from governance.fingerprint.record import Capture
    from governance.release.record import Record

WORK_TREE: Final = ("worktree", "work-tree")
INDEX: Final = ("index", "staged")
LIVE: Final = "live"
_LISTS: Final = ("requirements", "freeze", "pylock", "uv.lock")


@dataclass(frozen=True, slots=True)
class FileSide:
    """One file: a tier file, a prompt, a JSON file of a model. `path` is as it was written.

    `beside` reads a file by its path relative to the folder of this one. Raises `Unreadable`.
    """

    label: str
    path: str
    data: bytes
    beside: Callable[[str], bytes]


@dataclass(frozen=True, slots=True)
class StateSide:
    """A state of the repository; `service` when one is meant; `revision` as it was written, if any."""

    label: str
    state: State
    service: str = ""
    revision: str = ""


@dataclass(frozen=True, slots=True)
class ReleaseSide:
    """A release: its record, and the state of the repository at the commit it was cut from."""

    label: str
    record: Record
    state: State


@dataclass(frozen=True, slots=True)
class CaptureSide:
    """The observed layers of one host or image."""

    label: str
    capture: Capture


@dataclass(frozen=True, slots=True)
class EndpointSide:
    """A running server. `look` observes it, given the declared engine and version, empty to detect them.

    `hash_file` hashes a file of this host by `(path, algorithm)`: the weights a local server names.
    """

    label: str
    url: str
    look: Callable[[str, str], Observation]
    hash_file: Callable[[str, str], str | Unknown]


Side: TypeAlias = FileSide | StateSide | ReleaseSide | CaptureSide | EndpointSide


class Place:
    """Where words get their meaning: a folder of the governed repository, and git around it, if any.

    `here` is the folder that file names are relative to; `cache` the folder of the cache of file digests.
    """

    def __init__(
        self,
        root: Path | str,
        *,
        here: Path | str = ".",
        environ: Mapping[str, str] | None = None,
        cache: Path | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self.here = os.fspath(here)
        self._environ = environ
        self._cache = cache
        self._git: Git | None = None
        self._states: dict[str, State] = {}

    def git(self) -> Git | None:
        """The repository around the root; None outside of one."""
        if self._git is None:
            try:
                self._git = Git(find_root(self.root), self._environ)
            except Unreadable:
                return None
        return self._git

    def state(self, name: str, oid: str = "") -> State:
        """`worktree`, `index` or a revision (`oid` where it is known), opened once."""
        if name not in self._states:
            self._states[name] = self._open(name, oid)
        return self._states[name]

    def _open(self, name: str, oid: str) -> State:
        if name in WORK_TREE:
            return State(WorkTree(self.root))
        git = self.git()
        if git is None:
            raise Unreadable(f"`{name}` needs a git repository", where=self.root, hint="git init")
        folder = self.folder(git)
        if name in INDEX:
            return State(IndexTree(git, folder=folder))
        return State(RevisionTree(git, name, folder=folder, oid=oid))

    def hash_file(self, path: str, algorithm: str) -> str | Unknown:
        """The hex digest of a file of this host, from the cache where it is known; or why there is none."""
        from pathlib import Path

        from governance.adapters.digest_cache import DigestCache
        from governance.adapters.weights import digests, list_files

        cache = DigestCache(self._cache) if self._cache is not None else None
        try:
            (file,) = list_files(Path(path)).files
            found = digests([file], ("sha256" if algorithm == "sha256" else "blake3",), cache=cache)
            return found[file.name][algorithm].rpartition(":")[2]
        except (TierlockError, ValueError) as err:
            return Unknown(str(err))
        finally:
            if cache is not None:
                cache.close()

    def folder(self, git: Git) -> str:
        """The governed root below the top level of the repository; empty when they are one."""
        inner = os.path.relpath(self.root, os.path.realpath(git.root)).replace(os.sep, "/")
        return "" if inner == "." else inner


def parse_side(text: str, place: Place) -> Side:
    """The side that `text` means. Raises `Usage` when it means nothing or several things.

    Written: a path; `worktree`, `index` or a revision; a service, `service@v41` or `service@golden` (a
    release), `service@revision`, `service@live` (its own endpoint); `revision:path`; an http(s) address.
    """
    if text.startswith(("http://", "https://")):
        from governance.evals.endpoint import Endpoint

        return _endpoint(Endpoint(text), place)
    readings: dict[str, Side | TierlockError] = {}
    if (file := _file(text, place)) is not None:
        readings[f"the file ./{text.removeprefix('./')}"] = file
    asked = _state_later(text, place)
    service = _service(text, place)  # looked up while git looks for a revision
    if (state := asked()) is not None:
        readings[f"the revision {text}^0"] = state
    if service is not None:
        readings[f"the service {text}@worktree"] = service
    if not readings and "@" in text:
        readings["at"] = _service_at(text, place)
    if not readings and ":" in text:
        readings["in"] = _file_at(text, place)
    if len(readings) > 1:
        named = ", ".join(readings)
        raise Usage(f"`{text}` is ambiguous: {named}", hint="write it as one of them")
    if not readings:
        raise _nothing(text, place)
    found = next(iter(readings.values()))
    if isinstance(found, TierlockError):
        raise found
    return found


def _file(text: str, place: Place) -> Side | None:
    path = os.path.join(place.here, text)
    if "\0" in text or not os.path.isfile(path):
        return None
    folder = os.path.dirname(path)
    return _side_of(
        text, text, read_file(path, shown=text), lambda name: read_file(os.path.join(folder, name)), place
    )


def _side_of(label: str, path: str, data: bytes, beside: Callable[[str], bytes], place: Place) -> Side:
    """A release or capture record, a list of packages, or any other file."""
    from governance.fingerprint.record import is_capture, load

    name = path.replace("\\", "/").rpartition("/")[2]
    if name.endswith(".json") and (found := _record(label, path, data, place)) is not None:
        return found
    if name.endswith(".json") and is_capture(data):
        return CaptureSide(label, load(data, path))
    if name.startswith(_LISTS) and name.endswith((".txt", ".lock", ".toml")):
        from governance.fingerprint.capture import from_list

        return CaptureSide(label, from_list(data, path, generated_at="", tool=""))
    return FileSide(label, path, data, beside)


def _state_later(text: str, place: Place) -> Callable[[], Side | TierlockError | None]:
    """The state that `text` names, to be asked for once; git is asked at once."""
    git = place.git()
    if text in WORK_TREE or (text in INDEX and git is not None):
        side = StateSide("work tree" if text in WORK_TREE else "index", place.state(text))
        return lambda: side
    if git is None or text.startswith("-"):
        return lambda: None
    found = git.find_later(text)

    def state() -> Side | TierlockError | None:
        try:
            oid = found()
        except Usage as err:
            return err
        return None if oid is None else StateSide(text, place.state(text, oid), revision=text)

    return state


def _service(text: str, place: Place) -> Side | None:
    state = place.state(WORK_TREE[0])
    return StateSide(text, state, text) if text in state.bindings() else None


def _service_at(text: str, place: Place) -> Side | TierlockError:
    name, _, revision = text.partition("@")
    if revision == LIVE:
        return _live(name, place)
    try:
        if (release := _release(name, revision, place)) is not None:
            return release
        state = place.state(revision)
    except TierlockError as err:
        return err
    if name not in state.bindings():
        return no_service(name, state)
    return StateSide(revision if revision not in WORK_TREE else "work tree", state, name, revision)


def _record(label: str, path: str, data: bytes, place: Place) -> Side | None:
    """The release whose record this is; None for another file. Raises as `record.load`."""
    if b'"tierlock.release/' not in data[-4096:]:
        return None
    from governance.release.record import load

    record = load(data, path)
    return ReleaseSide(label, record, place.state(record.commit))


def _release(name: str, release: str, place: Place) -> Side | None:
    """The release of that id; None when there is none. Raises `Usage` when a tag of that name differs."""
    from governance.release import record as records
    from governance.release.golden import WORD, golden_release, read_golden

    held = WorkTree(place.root)
    if release == WORD and read_golden(held, name).current is not None:
        release = golden_release(held, name)
    if records.number_of(release) is None or release not in records.ids(held, name):
        return None
    record = records.load_at(held, name, release)
    git = place.git()
    oid = git.find(release) if git is not None else None
    if oid is not None and oid != record.commit and _fold_at(name, release, oid, place) != record.fingerprint:
        raise Usage(
            f"`{name}@{release}` is ambiguous: the release, and a tag or branch with another fingerprint",
            hint=f"write ./{record.path} for the release, {name}@{release}^0 for the other",
        )
    return ReleaseSide(release, record, place.state(record.commit))


def _fold_at(name: str, revision: str, oid: str, place: Place) -> str | Unknown:
    """The config fold of a service at a revision."""
    from governance.fingerprint.services import fingerprint_of
    from governance.tiers.naming import TIERS

    service = place.state(revision, oid).service(name)
    if service is None:
        return Unknown(f"there is no service `{name}`")
    return fingerprint_of(service).only(TIERS).fold()


def _live(name: str, place: Place) -> Side | TierlockError:
    state = place.state(WORK_TREE[0])
    tree = state.bindings().get(name)
    if tree is None:
        return no_service(name, state)
    from governance.evals.endpoint import endpoint_of
    from governance.tiers.config import Service

    try:
        endpoint = endpoint_of(Service(name, None, None, None, tree), os.environ)
    except TierlockError as err:
        return err
    return _endpoint(endpoint, place)


def _endpoint(endpoint: Endpoint, place: Place) -> EndpointSide:
    from governance.evals.asked import look_at

    return EndpointSide(endpoint.url, endpoint.url, look_at(endpoint), place.hash_file)


def no_service(name: str, state: State) -> Usage:
    """The refusal of a service that `state` does not have."""
    from difflib import get_close_matches

    names = list(state.bindings())
    near = get_close_matches(name, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"there are: {', '.join(names) or 'none'}"
    return Usage(f"there is no service `{name}` in the {state.label}", hint=hint)


def _file_at(text: str, place: Place) -> Side | TierlockError:
    """git's own way to write a file at a revision; the path is relative to the governed root."""
    revision, _, path = text.partition(":")
    folder = path.rpartition("/")[0]
    try:
        source = place.state(revision or INDEX[0]).source
        return _side_of(
            text,
            path,
            source.read(path),
            lambda name: source.read(f"{folder}/{name}" if folder else name),
            place,
        )
    except TierlockError as err:
        return err


def _nothing(text: str, place: Place) -> TierlockError:
    git = place.git()
    names = list(place.state(WORK_TREE[0]).bindings())
    from difflib import get_close_matches

    if near := get_close_matches(text, names, n=1):
        return Usage(f"`{text}` is no file, revision or service", hint=f"did you mean `{near[0]}`?")
    if git is not None and "/" not in text and "." not in text:
        try:
            git.resolve(text)
        except (IncompleteHistory, Usage) as err:
            return err
        except Unreadable as err:
            return Usage(f"`{text}` is no file, revision or service", hint=err.hint)
    return Usage(
        f"`{text}` is no file, revision or service",
        hint=f"services: {', '.join(names) or 'none'}; states: worktree, index, or a revision of git; "
        "releases: SERVICE@v1, SERVICE@golden",
    )
