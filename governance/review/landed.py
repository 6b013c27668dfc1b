"""What moved at each step of a line, with the policy and the approvals of that moment.

- A step is compared with the step before it; only configs whose files differ are read.
- The policy of a step is the newest one that can be read before it: a file that was broken or taken away does
  not free what follows from it.
- An approval is of the step when it lies in the step's own tree. It is used up when its subject has moved
  since it came.
- The moment of a step is the latest commit date up to it: a commit that is dated back gains nothing.
- Pure but for the blobs it reads through git; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from governance.adapters.files import MemoryTree
from governance.adapters.git import Git, Moved
from governance.adapters.git_landed import Blobs, Files, Part
from governance.fingerprint.states import State
from governance.records import dataclass, field, replace
from governance.review.approval import read_approvals
from governance.review.authors import authors, authors_of
from governance.review.changeset import between
from governance.review.line import Line, Step
from governance.review.model import Authors, ChangeSet, Evidence, Transition
from governance.review.policy import Policy, has_policy
from governance.review.statement import EMERGENCY, FOLDER, WITHDRAWN
from governance.tiers.config import Config
from governance.tiers.naming import SERVICES_FILE, ConfigId, config_of
from governance.values import Tree
from governance.verdict import Finding

_AHEAD: Final = 500


@dataclass(frozen=True, slots=True)
class Given:
    """An approval and the step of the line at which it came."""

    evidence: Evidence
    at: int


@dataclass(frozen=True, slots=True)
class Moment:
    """One step at which something governed or an approval moved.

    `policy` is None before the first one. `approvals` are those of what moves, from the step's own tree;
    `dropped` are transitions of approved states that a merge leaves out, with the approvals of their side.
    """

    at: int
    step: Step
    when: datetime
    policy: Policy | None
    change_set: ChangeSet = field(default_factory=ChangeSet)
    approvals: Mapping[str, tuple[Evidence, ...]] = field(default_factory=dict)
    brings_policy: bool = False
    dropped: tuple[tuple[Transition, tuple[Evidence, ...]], ...] = ()
    aside: tuple[tuple[str, str], ...] = ()

    def authors(self, transition: Transition) -> Authors:
        """Who made the transition."""
        if self.policy is None:
            return Authors()
        return authors_of(self.policy, transition, self.step.who)

    def authors_of_paths(self, paths: Iterable[str]) -> Authors:
        """Who touched `paths` in what the step brought."""
        if self.policy is None:
            return Authors()
        return authors(self.policy, [one for path in paths for one in self.step.who.get(path, ())])


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What loading one config from these files gave."""

    files: Files
    config: Config | None
    findings: list[Finding]
    refused: bool


class _Known(State):
    """A state whose configs may have been read for the step before: of each config the newest is kept."""

    def __init__(self, source: Part, kept: dict[ConfigId, _Loaded]) -> None:
        super().__init__(source)
        self._files: dict[ConfigId | None, dict[str, tuple[str, str]]] = {}
        for path, entry in source.files.items():
            self._files.setdefault(config_of(path), {})[path] = entry
        self._kept = kept

    def config(self, config_id: ConfigId) -> Config | None:
        """As `State.config`."""
        if config_id in self._configs:
            return self._configs[config_id]
        files = self._files.get(config_id, {})
        kept = self._kept.get(config_id)
        if kept is not None and kept.files == files:
            self._configs[config_id] = kept.config
            self.findings += kept.findings
            self.refused |= {config_id} if kept.refused else set()
            return kept.config
        start = len(self.findings)
        found = super().config(config_id)
        self._kept[config_id] = _Loaded(files, found, self.findings[start:], config_id in self.refused)
        return found


class Walk:
    """Goes along a line once, oldest step first; afterwards it knows every approval that came."""

    def __init__(self, git: Git, line: Line) -> None:
        self.line = line
        self._given: dict[str, dict[str, Given]] = {}
        self._starting: dict[tuple[str, str | None], dict[str, Given]] = {}
        self.policy: Policy | None = None
        self._blobs = Blobs(git)
        self._files: dict[ConfigId | None, dict[str, tuple[str, str]]] = {}
        self._records: dict[str, dict[str, tuple[str, str]]] = {}
        self._read: dict[tuple[object, ...], tuple[Evidence, ...]] = {}
        self._moved_at: dict[str, int] = {}
        self._loaded: dict[ConfigId, _Loaded] = {}
        self._policies: dict[str, Policy | None] = {}
        self._settings: dict[str, Tree] = {}
        for path, entry in line.start.items():
            self._put(path, entry)
        for stem in list(self._records):
            self._came(stem, -1)

    def moments(self) -> Iterator[Moment]:
        """The steps that moved something, oldest first."""
        when = 0
        for at, step in enumerate(self.line.steps):
            if at % _AHEAD == 0:
                self._read_ahead(self.line.steps[at : at + _AHEAD])
            when = max(when, step.commit.time)
            if step.moved or step.ends:
                yield self._moment(at, step, datetime.fromtimestamp(when, UTC))

    @property
    def ends_with(self) -> Policy | None:
        """The policy that judges what comes next."""
        return self._policy() or self.policy

    @property
    def bindings(self) -> Mapping[str, Tree]:
        """The services at the end of the line."""
        entry = self._files.get(None, {}).get(SERVICES_FILE)
        return self._settings_of(entry).get("services", {}) if entry else {}  # type: ignore[return-value]

    def starting(self, key: str, before: str | None) -> list[Given]:
        """The approvals that came for any change of the subject `key` from `before`."""
        return list(self._starting.get((key, before), {}).values())

    def stands(self, path: str, entry: tuple[str, str]) -> bool:
        """Whether `path` is at the end what it was: mode and blob id."""
        return self._files.get(config_of(path), {}).get(path) == entry

    def _read_ahead(self, steps: Sequence[Step]) -> None:
        """Have the blobs of many steps read at once: one by one costs a change of process each."""
        wanted = {
            oid: one.path
            for step in steps
            for one in step.moved
            for oid, mode in ((one.before_oid, one.before_mode), (one.after_oid, one.after_mode))
            if mode[:2] == "10"
        }
        self._blobs.prefetch(wanted.items())

    def _moment(self, at: int, step: Step, when: datetime) -> Moment:
        self.policy = self.ends_with
        policy = self.policy
        governed = [one for one in step.moved if not one.path.startswith(FOLDER)]
        records = [one for one in step.moved if one.path.startswith(FOLDER)]
        before = self._slice(governed)
        kept = self._left(step)
        for one in step.moved:
            self._put(one.path, (one.after_mode, one.after_oid) if one.after_oid else None)
        for stem in dict.fromkeys(_stem(one.path) for one in records):
            self._came(stem, at)
        after = self._slice(governed)
        found = ChangeSet()
        if governed:
            left = self._state(f"state before {step.name}", before) if before else None
            found = between(left, self._state(step.name, after))
        approvals = {one.subject.key: tuple(self._approvals(one)) for one in found.transitions}
        brings = policy is None and self._policy() is not None
        dropped = tuple(self._dropped(step, kept)) if policy is not None else ()
        aside = tuple(self._aside(step, kept, found))
        for each in found.transitions:
            self._moved_at[each.subject.key] = at
        return Moment(at, step, when, policy, found, approvals, brings, dropped, aside)

    def _state(self, label: str, files: Files) -> State:
        return _Known(Part(label, files, self._blobs), self._loaded)

    def _put(self, path: str, entry: tuple[str, str] | None) -> None:
        part: dict[str, tuple[str, str]]
        if path.startswith(FOLDER):
            part = self._records.setdefault(_stem(path), {})
        else:
            part = self._files.setdefault(config_of(path), {})
        if entry is None:
            part.pop(path, None)
        else:
            part[path] = entry

    def _slice(self, moved: Sequence[Moved]) -> dict[str, tuple[str, str]]:
        """The files of the configs that `moved` concerns, as they are now."""
        paths = {one.path for one in moved}
        found: dict[str, tuple[str, str]] = {}
        for config_id in {config_of(path) for path in paths}:
            part = self._files.get(config_id, {})
            found |= part if config_id is not None else {path: part[path] for path in paths if path in part}
        return found

    def _came(self, stem: str, at: int) -> None:
        """Note what the records of one approval say now."""
        files = self._records.get(stem, {})
        for one in self._evidence(files):
            known = self._given.setdefault(one.subject_key, {})
            first = known[one.where].at if one.where in known else at
            known[one.where] = Given(one, first)
            self._starting.setdefault((one.subject_key, one.before), {})[one.where] = known[one.where]

    def _evidence(self, files: Files) -> tuple[Evidence, ...]:
        key = tuple(sorted(files.items()))
        if key not in self._read:
            content = {
                path: self._blobs.read(oid, path) for path, (mode, oid) in files.items() if mode[:2] == "10"
            }
            self._read[key] = read_approvals(MemoryTree(content))
        return self._read[key]

    def _approvals(self, transition: Transition) -> Iterator[Evidence]:
        """The approvals of `transition` that lie in the tree of this step."""
        subject = transition.subject
        moved_at = self._moved_at.get(subject.key, -2)
        for one in self.starting(subject.key, subject.before):
            if one.evidence.is_for(subject) and self._is_there(one.evidence):
                yield replace(one.evidence, spent=one.at <= moved_at)

    def _is_there(self, evidence: Evidence) -> bool:
        return evidence.where in self._records.get(_stem(evidence.where), {})

    def _policy(self) -> Policy | None:
        """The policy in the files as they are now."""
        entry = self._files.get(None, {}).get(SERVICES_FILE)
        if entry is None:
            return None
        if entry[1] not in self._policies:
            settings = self._settings_of(entry)
            self._policies[entry[1]] = Policy.of(settings) if has_policy(settings) else None
        return self._policies[entry[1]]

    def _settings_of(self, entry: tuple[str, str]) -> Tree:
        if entry[1] not in self._settings:
            state = State(Part("history", {SERVICES_FILE: entry}, self._blobs))
            self._settings[entry[1]] = state.settings()
        return self._settings[entry[1]]

    def _left(self, step: Step) -> dict[ConfigId, dict[str, tuple[str, str]]]:
        """The files, before the step, of the configs that its merged branches touched."""
        touched = {config_id for path in step.touched if (config_id := config_of(path)) is not None}
        return {config_id: dict(self._files.get(config_id, {})) for config_id in touched}

    def _dropped(
        self, step: Step, kept: Mapping[ConfigId, Files]
    ) -> Iterator[tuple[Transition, tuple[Evidence, ...]]]:
        """What a merge takes back: states of its other parents that differ from what it has, where the step
        itself moved nothing, with the approvals that lie on that side.
        """
        here = {config_of(one.path) for one in step.moved}
        for end in step.ends:
            moved = step.aside.get(end, ())
            records = {one.path: (one.after_mode, one.after_oid) for one in moved if one.after_oid}
            for config_id in kept.keys() - here:
                there = _patched(kept[config_id], moved, config_id)
                if there == kept[config_id]:
                    continue
                left = Part(f"commit {end[:12]}", there, self._blobs)
                found = between(left, Part(step.name, kept[config_id], self._blobs))
                for one in found.transitions:
                    yield one, tuple(self._on_side(one, records))

    def _on_side(self, transition: Transition, records: Files) -> Iterator[Evidence]:
        """The approvals of what a merge drops: those known here and those that lie on its side alone."""
        subject = transition.subject
        known = [each.evidence for each in self._given.get(subject.key, {}).values()]
        there = {path: entry for path, entry in records.items() if path.startswith(FOLDER)}
        for one in (*known, *(self._evidence(there) if there else ())):
            if one.subject_key == subject.key and one.after == subject.before:
                yield one

    def _aside(
        self, step: Step, kept: Mapping[ConfigId, Files], found: ChangeSet
    ) -> Iterator[tuple[str, str]]:
        """Commit and subject of every state that stood on a merged branch and neither before nor after it."""
        landed = {one.subject.name: one.subject.after for one in found.transitions}
        for commit in step.brought:
            moved = step.aside.get(commit.oid, ())
            for config_id, files in kept.items():
                there = _patched(files, moved, config_id)
                if there in (files, self._files.get(config_id, {})):
                    continue
                sides = [Part(commit.oid[:12], each, self._blobs) for each in (files, there)]
                for one in between(sides[0], sides[1]).transitions:
                    if one.subject.after != landed.get(one.subject.name, one.subject.before):
                        yield commit.oid, one.subject.key


def _patched(files: Files, moved: Iterable[Moved], config_id: ConfigId) -> dict[str, tuple[str, str]]:
    """`files` with what differs of one config."""
    found = dict(files)
    for one in moved:
        if config_of(one.path) == config_id:
            if one.after_oid:
                found[one.path] = (one.after_mode, one.after_oid)
            else:
                found.pop(one.path, None)
    return found


def _stem(path: str) -> str:
    """What an approval and its withdrawal share in their names."""
    for suffix in (WITHDRAWN, EMERGENCY, ".json"):
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path
