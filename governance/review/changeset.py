"""What moves between two states of a repository, as subjects with the digest before and after.

- Only governed paths that differ are read, by blob id. A config moves when the digest of its meaning does:
  comments, key order and layout move nothing, one byte of a prompt does.
- Every way a file can change has its rule. Added, deleted: from or to "nothing". Renamed: one deleted and
  one added. A mode that stays a regular file: nothing. A link, a submodule, a name that is no config's, a
  file that does not load: a finding, whoever approves.
- A config that did not load *before* is compared by the bytes of its files, so that mending it is possible.
- Binding a service to other configs is a change of its own; so is the policy.
- Pure but for the sources it reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from governance.adapters.files import Entry, FileSource, Kind, MemoryTree
from governance.errors import Unreadable
from governance.fingerprint.changes import WHOLE, Showing, config_changes, services_changes
from governance.fingerprint.layers import config_digest
from governance.fingerprint.states import Differing, State
from governance.records import replace
from governance.review.model import POLICY_NAME, ChangeSet, Subject, SubjectKind, Transition
from governance.review.policy import PARTS, policy_digest
from governance.tiers.canonical import digest, text_digest
from governance.tiers.config import SERVICES_FILE, TIERS, ConfigId
from governance.tiers.naming import ROOT, config_of
from governance.tiers.structure import layout, shown
from governance.values import ABSENT, Effect, Json, Tree
from governance.verdict import Change, Finding, Severity, sort_findings

NOTHING: Final = MemoryTree({}, label="nothing")


def between(
    before: FileSource | State | None, after: FileSource | State, *, showing: Showing | None = None
) -> ChangeSet:
    """What moves from `before` (None: there was nothing yet) to `after`; a `State` brings what it has loaded.

    Raises `Unreadable` or `IncompleteHistory` when a state cannot be read.
    """
    left, right = (one if isinstance(one, State) else State(one) for one in (before or NOTHING, after))
    differing = Differing(left, right)
    moved = _Moved(left, right, differing, showing or Showing())
    return moved.change_set()


class _Moved:
    """One comparison, piece by piece."""

    def __init__(self, left: State, right: State, differing: Differing, showing: Showing) -> None:
        self.left, self.right = left, right
        self.paths: Sequence[str] = differing.paths
        self.configs: Sequence[ConfigId] = differing.configs
        self.by_config: dict[ConfigId | None, list[str]] = defaultdict(list)
        for path in self.paths:
            self.by_config[config_of(path)].append(path)
        self.showing = showing
        self.findings: list[Finding] = []
        self.unread: set[tuple[int, ConfigId]] = set()
        differing.load(self.configs)

    def change_set(self) -> ChangeSet:
        found = [one for config_id in self.configs if (one := self._config(config_id)) is not None]
        if SERVICES_FILE in self.paths:
            found += self._services()
        self._look_at_strays()
        faults = [one for one in self.right.findings if one.severity is Severity.ERROR]
        findings = sort_findings(dict.fromkeys((*faults, *self.findings)))
        return ChangeSet(tuple(found), findings, len(self.paths))

    def _config(self, config_id: ConfigId) -> Transition | None:
        before, after = (self._digest(state, config_id) for state in (self.left, self.right))
        if before == after:
            return None
        subject = Subject(SubjectKind.CONFIG, shown(str(config_id)), before, after)
        changes = self._changes(config_id)
        paths = tuple(self.by_config[config_id])
        return Transition(
            subject,
            changes,
            _risk(changes),
            self._used_by([config_id]),
            config_id.path,
            paths,
        )

    def _digest(self, state: State, config_id: ConfigId) -> str | None:
        config = state.config(config_id)
        if config is not None:
            try:
                return config_digest(config)
            except Unreadable:  # it names a file that is not there; the state's findings say so
                pass
        entries = _entries(state.source, config_id)
        if not entries:
            return None
        self.unread.add((id(state), config_id))
        return digest({"tl:unread": {shown(one.path): _bytes_of(state.source, one) for one in entries}})

    def _changes(self, config_id: ConfigId) -> tuple[Change, ...]:
        layer = shown(str(config_id))
        before, after = self.left.config(config_id), self.right.config(config_id)
        unread = [(id(state), config_id) in self.unread for state in (self.left, self.right)]
        if not any(unread):
            return config_changes(layer, before, after, self.showing)
        said = [
            "a config that does not load" if bad else ABSENT if config is None else "a config"
            for bad, config in zip(unread, (before, after), strict=True)
        ]
        effect = "everything in it is new to whoever reads it"
        return (Change(layer, WHOLE, said[0], said[1], effect=effect, path=config_id.path),)

    def _services(self) -> list[Transition]:
        before, after = self.left.bindings(), self.right.bindings()
        found = [self._binding(name) for name in sorted({*before, *after})]
        return [one for one in (*found, self._policy()) if one is not None]

    def _binding(self, name: str) -> Transition | None:
        entries = [state.bindings().get(name) for state in (self.left, self.right)]
        before, after = (binding_digest(entry) for entry in entries)
        if before == after:
            return None
        subject = Subject(SubjectKind.BINDING, name, before, after)
        changes = self._of_services(subject, [_bound(entry) for entry in entries], name)
        return Transition(subject, changes, _risk(changes), (name,), SERVICES_FILE, (SERVICES_FILE,))

    def _policy(self) -> Transition | None:
        trees = [state.settings() for state in (self.left, self.right)]
        before, after = (policy_digest(tree) for tree in trees)
        if before == after:
            return None
        subject = Subject(SubjectKind.POLICY, POLICY_NAME, before, after)
        parts = [{part: tree[part] for part in PARTS if part in tree} for tree in trees]
        changes = self._of_services(subject, parts)
        return Transition(subject, changes, Effect.OUTPUT, (), SERVICES_FILE, (SERVICES_FILE,))

    def _of_services(self, subject: Subject, trees: Sequence[Tree], only: str = "") -> tuple[Change, ...]:
        sides = [{"services": {only: tree}} for tree in trees] if only else trees
        found = services_changes(sides[0], sides[1], self.right.services_file)
        return tuple(_in_layer(one, subject.shown) for one in found)

    def _used_by(self, configs: Collection[ConfigId]) -> tuple[str, ...]:
        names = {
            name
            for state in (self.left, self.right)
            for name, tree in state.bindings().items()
            if any(ConfigId(tier, str(tree[tier])) in configs for tier in TIERS)
        }
        return tuple(sorted(names))

    def _look_at_strays(self) -> None:
        """Differing paths that belong to no config by their place: whatever is there now is out of place.

        Where a config is gone, a link may stand in the place of a folder above it.
        """
        strays = [path for path in self.paths if config_of(path) is None]
        entries = {entry for path in strays for entry in self.right.source.entries(path)}
        if any(self.right.config(one) is None for one in self.configs):
            focus = getattr(self.right.source, "focus", None)
            if focus is not None:  # what was listed so far lies below
                focus([ROOT])
            entries |= {entry for entry in self.right.source.entries(ROOT) if entry.path == ROOT}
        self.findings += layout(sorted(entries)).findings


def binding_digest(entry: Tree | None) -> str | None:
    """The digest of what a service binds; where it answers and how it is started is not part of it."""
    return None if entry is None else digest(_bound(entry))


def _bound(entry: Tree | None) -> dict[str, Json]:
    return {} if entry is None else {tier: entry[tier] for tier in TIERS}


def _entries(source: FileSource, config_id: ConfigId) -> list[Entry]:
    return [*source.entries(config_id.path), *source.entries(config_id.folder)]


def _bytes_of(source: FileSource, entry: Entry) -> str:
    if entry.kind is not Kind.FILE:
        return f"{entry.kind.value} {entry.oid or ''}"
    try:
        return text_digest(source.read(entry.path))
    except Unreadable as err:
        raise Unreadable(f"`{shown(entry.path)}` cannot be compared: {err.message}", hint=err.hint) from err


def _risk(changes: Iterable[Change]) -> Effect:
    return max((one.risk for one in changes), key=lambda effect: effect.rank, default=Effect.OUTPUT)


def _in_layer(change: Change, layer: str) -> Change:
    return replace(change, layer=layer)
