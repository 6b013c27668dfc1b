"""Two states of one repository: which governed paths differ, and the configs and services of each.

- Between two commits, or a commit and the index, git tells what differs; only what differs is read, by blob
  id. Where a state is on disk, its files are hashed as git would and compared with the ids.
- A config is first loaded from the files that differ alone. Whatever is then missing or refused is loaded
  again from the whole state, so speed never changes an answer.
- What does not load is a finding of that state, never an empty config.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final

from governance.adapters.files import Entry, FileSource, Kind, MemoryTree
from governance.adapters.git import Git, IndexTree, Moved, RevisionTree
from governance.errors import Unreadable
from governance.tiers.config import GOVERNED, SERVICES_FILE, TIERS, Config, ConfigId, Service, load_config
from governance.tiers.naming import config_of, name_fault
from governance.tiers.reader import Reading, read_yaml
from governance.tiers.references import references
from governance.tiers.validate import validate
from governance.values import Tree
from governance.verdict import Finding, Severity

NOT_THERE: Final = "TL060"
FEW: Final = 60  # configs that are listed by name: git compares each name with each path of the tree


class State:
    """One state, read piece by piece; `findings` gathers what did not load."""

    def __init__(self, source: FileSource) -> None:
        self.source = source
        self.label = source.label
        self.findings: list[Finding] = []
        self.refused: set[ConfigId] = set()
        self.services_file: Reading | None = None
        self._configs: dict[ConfigId, Config | None] = {}
        self._settings: Tree | None = None

    def settings(self) -> Tree:
        """The whole of tierlock.yaml; empty when it is not there or refused."""
        if self._settings is None:
            self._settings = self._read_settings()
        return self._settings

    def share_settings(self, other: State) -> None:
        """Take the settings of a state whose tierlock.yaml is the same."""
        self._settings = other.settings()
        self.services_file = other.services_file
        self.findings += [one for one in other.findings if one.path == SERVICES_FILE]

    def bindings(self) -> Mapping[str, Tree]:
        """The entry of each service."""
        return self.settings().get("services", {})  # type: ignore[return-value]

    def service(self, name: str) -> Service | None:
        """The service with its configs, or None when this state has none of that name."""
        tree = self.bindings().get(name)
        if tree is None:
            return None
        base, sampling, prompts = (self.config(ConfigId(tier, str(tree[tier]))) for tier in TIERS)
        return Service(name, base, sampling, prompts, tree)

    def config(self, config_id: ConfigId) -> Config | None:
        """The config, or None when it is not there or refused (`refused` tells, `findings` say why)."""
        if config_id not in self._configs:
            config, findings = load_config(self.source, config_id)
            self._configs[config_id] = config
            faults = [one for one in findings if one.severity is Severity.ERROR and one.code != NOT_THERE]
            self.findings += faults
            if config is None and faults:
                self.refused.add(config_id)
        return self._configs[config_id]

    def need(self, configs: Iterable[ConfigId]) -> None:
        """Say which configs will be asked for, so that a large tree is not listed for a few."""
        wanted = [one for one in configs if one not in self._configs]
        focus = getattr(self.source, "focus", None)
        if focus is not None and 0 < len(wanted) <= FEW:
            focus([prefix for one in wanted for prefix in (one.path, one.folder)])

    def share(self, config_id: ConfigId, other: State) -> None:
        """Take a config from a state in which all its files are the same."""
        if config_id not in self._configs:
            self._configs[config_id] = other.config(config_id)
            if config_id in other.refused:
                self.refused.add(config_id)

    def take(self, config_id: ConfigId, files: Mapping[str, bytes]) -> None:
        """Load a config from these files, if they are all it needs and nothing is wrong with it."""
        if len(files) == 1 and not name_fault(config_id.name):
            reading = read_yaml(files[config_id.path], config_id.path)
            tree, findings = validate(config_id.tier, reading)
            if tree is not None and not (reading.findings or findings):
                if next(references(config_id.tier, tree), None) is None:
                    self._configs[config_id] = Config(config_id, config_id.path, tree, reading, {})
                return
        config, findings = load_config(MemoryTree(files, label=self.label), config_id)
        if config is not None and not findings:
            self._configs[config_id] = config

    def absent(self, config_id: ConfigId) -> None:
        """Note that this state has no such config."""
        self._configs[config_id] = None

    def _read_settings(self) -> Tree:
        focus = getattr(self.source, "focus", None)
        if focus is not None:  # one path, not the listing of everything governed
            focus([SERVICES_FILE])
        if not self.source.entries(SERVICES_FILE):
            return {}
        try:
            data = self.source.read(SERVICES_FILE)
        except Unreadable as err:
            self.findings.append(Finding("TL062", err.message, path=SERVICES_FILE, hint=err.hint))
            return {}
        self.services_file, tree, findings = _services_file(data)
        self.findings += findings
        return tree


@lru_cache(maxsize=4)
def _services_file(data: bytes) -> tuple[Reading, Tree, tuple[Finding, ...]]:
    """A tierlock.yaml read and validated; two states mostly have the same."""
    reading = read_yaml(data, SERVICES_FILE)
    tree, findings = validate("services", reading)
    return reading, tree or {}, (*reading.findings, *findings)


class Differing:
    """The governed paths that differ between two states, and the configs they belong to."""

    def __init__(self, left: State, right: State) -> None:
        self.left, self.right = left, right
        between = _asked_of_git(left.source, right.source)
        if between is None:
            self.paths = _compared(left.source, right.source)
        else:
            git, asked = between
            git.start_reading()
            right.settings()  # needed later; read while git compares
            moved = asked()
            self.paths = sorted(one.path for one in moved)
            self._load(git, moved)
        if SERVICES_FILE not in self.paths:
            left.share_settings(right)
        self._touched = {found for path in self.paths if (found := config_of(path)) is not None}
        self.configs = sorted(self._touched)

    def load(self, configs: Iterable[ConfigId]) -> None:
        """Have these configs ready on both sides; what is the same on both is read once."""
        wanted = list(dict.fromkeys(configs))
        self.right.need(wanted)
        self.left.need(one for one in wanted if one in self._touched)
        for one in wanted:
            if one not in self._touched:
                self.left.share(one, self.right)

    def _load(self, git: Git, moved: list[Moved]) -> None:
        """Read what moved in one exchange with git, and load the configs it makes up."""
        folder = _folder(self.left.source)
        wanted: list[tuple[str, str]] = []
        places: list[tuple[State, ConfigId, str]] = []
        for one in moved:
            config_id = config_of(one.path)
            for state, oid, mode in (
                (self.left, one.before_oid, one.before_mode),
                (self.right, one.after_oid, one.after_mode),
            ):
                if config_id is None:
                    continue
                if not oid and one.path == config_id.path:
                    state.absent(config_id)
                elif oid and mode.startswith("100"):
                    wanted.append((oid, f"{folder}{one.path}"))
                    places.append((state, config_id, one.path))
        files: dict[tuple[State, ConfigId], dict[str, bytes]] = defaultdict(dict)
        left_to_come = Counter((state, config_id) for state, config_id, _ in places)
        for (state, config_id, path), content in zip(places, git.each_blob(wanted), strict=True):
            found = files[state, config_id]
            found[path] = content
            if len(found) == left_to_come[state, config_id] and config_id.path in found:
                state.take(config_id, files.pop((state, config_id)))


def _folder(source: FileSource) -> str:
    folder = source.folder if isinstance(source, RevisionTree | IndexTree) else ""
    return f"{folder}/" if folder else ""


def _asked_of_git(left: FileSource, right: FileSource) -> tuple[Git, Callable[[], list[Moved]]] | None:
    """The question to git what differs, when both states are git's; None otherwise."""
    if not isinstance(left, RevisionTree | IndexTree) or not isinstance(right, RevisionTree | IndexTree):
        return None
    if left.git is not right.git or left.folder != right.folder:
        return None
    git, folder = left.git, _folder(left)
    prefixes = [f"{folder}{part}" for part in GOVERNED]
    later = None
    if isinstance(left, RevisionTree) and isinstance(right, RevisionTree):
        later = git.moved_later(left.oid, right.oid, *prefixes)

    def moved() -> list[Moved]:
        if later is not None:
            found = later()
        elif isinstance(left, RevisionTree):
            found = git.staged_against(left.oid, *prefixes)
        elif isinstance(right, RevisionTree):
            found = [_turned(one) for one in git.staged_against(right.oid, *prefixes)]
        else:
            found = []
        for one in found:
            one.path = one.path.removeprefix(folder)
        return found

    return git, moved


def _turned(one: Moved) -> Moved:
    status = {"A": "D", "D": "A"}.get(one.status, one.status)
    return Moved(one.path, status, (one.after_mode, one.after_oid), (one.before_mode, one.before_oid))


def _compared(left: FileSource, right: FileSource) -> list[str]:
    """The paths whose entries differ, when at least one state is not git's."""
    sides = [
        {entry.path: entry for part in GOVERNED for entry in source.entries(part)} for source in (left, right)
    ]
    return sorted(
        path
        for path in {*sides[0], *sides[1]}
        if _differs((left, sides[0].get(path)), (right, sides[1].get(path)))
    )


def _differs(one: tuple[FileSource, Entry | None], other: tuple[FileSource, Entry | None]) -> bool:
    entries = (one[1], other[1])
    if entries[0] is None or entries[1] is None or entries[0].kind is not entries[1].kind:
        return True
    if entries[0].kind is not Kind.FILE:
        return entries[0].oid != entries[1].oid or entries[0].oid is None
    size = len(entries[0].oid or entries[1].oid or "")
    return _identity(one[0], entries[0], size) != _identity(other[0], entries[1], size)


def _identity(source: FileSource, entry: Entry, size: int) -> str | bytes:
    """The blob id git gives the content (`size` is the length of its ids); the content where git has none."""
    if entry.oid is not None:
        return entry.oid
    data = source.read(entry.path)
    if not size:
        return data
    algorithm = "sha256" if size == 64 else "sha1"
    return hashlib.new(algorithm, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def bound_by(bindings: Mapping[str, Tree], configs: Iterable[ConfigId]) -> list[str]:
    """The names of the services that bind one of `configs`, in their order."""
    wanted = set(configs)
    return [
        name
        for name, tree in bindings.items()
        if any(ConfigId(tier, str(tree[tier])) in wanted for tier in TIERS)
    ]
