"""The line a branch went along, commit by commit, and what moved at each step: the ground of the audit.

- A branch is its first parents: what a merge brings has landed where the merge stands. Within a range the
  line runs to the older end, so that a merge made the wrong way round cannot lead past it.
- Every commit of the stretch belongs to one step: the one that brought it to the line.
- The state at a step is the state before it with what git says differs; nothing is listed twice.
- Reads trees and raw commits through git; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from governance.adapters import git_landed
from governance.adapters.git import Git, Moved
from governance.adapters.git_history import raw_commits
from governance.adapters.git_landed import Passed
from governance.records import dataclass, field
from governance.review.authors import identities
from governance.review.model import Identity
from governance.review.statement import FOLDER
from governance.tiers.naming import GOVERNED


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of the line. `moved` is what differs from the step before it, approvals included.

    `brought` are the commits that a merge brings, oldest first, each with how it differs from the step before
    (`aside`); `who` has the people by path. `ends` are the other parents of a merge.
    """

    commit: Passed
    moved: tuple[Moved, ...]
    brought: tuple[Passed, ...] = ()
    ends: tuple[str, ...] = ()
    aside: Mapping[str, tuple[Moved, ...]] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    who: Mapping[str, tuple[Identity, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """`commit 1a2b3c4d5e6f`."""
        return f"commit {self.commit.oid[:12]}"


@dataclass(frozen=True, slots=True)
class Line:
    """The steps, oldest first, the files at the start, and whether the range's older end lies on the line."""

    steps: tuple[Step, ...]
    start: git_landed.Files
    commits: int
    straight: bool = True


def read_line(git: Git, before: str | None, after: str, folder: str = "") -> Line:
    """The line from `before` (None: from the first commit) to `after`, both full ids."""
    found = git_landed.commits(git, after, *([] if before is None else [before]))
    by_id = {one.oid: one for one in found}
    line, straight = _line(found, by_id, before, after)
    brought = _assign(line, by_id)
    outside = {parent for one in found for parent in one.parents if parent not in by_id}
    trees = {oid: one.tree for oid, one in by_id.items()} | git_landed.trees(git, sorted(outside))
    trees[""] = git.empty_tree()
    return _Reader(git, folder, trees).line(line, brought, found, straight=straight)


def _line(
    found: Sequence[Passed], by_id: Mapping[str, Passed], before: str | None, after: str
) -> tuple[list[tuple[Passed, str]], bool]:
    """The commits of the line, oldest first, each with the parent it is compared with (empty: none).

    Where the older end is an ancestor, a step goes to the first of its parents that still has it.
    """
    has = {before} if before is not None else set()
    for one in found:
        if any(parent in has for parent in one.parents):
            has.add(one.oid)
    straight, line, at = True, [], after
    while (step := by_id.get(at)) is not None:
        parents = step.parents
        parent = next((each for each in parents if each in has), parents[0] if parents else "")
        straight &= not parents or parent == parents[0]
        line.append((step, parent))
        at = parent
    return line[::-1], straight


def _assign(line: Iterable[tuple[Passed, str]], by_id: Mapping[str, Passed]) -> dict[str, list[str]]:
    """The commits that each step brought, by the step's id."""
    steps = [one for one, _ in line]
    seen = {one.oid for one in steps}
    found: dict[str, list[str]] = {}
    for one in steps:
        waiting = list(one.parents)
        mine = found.setdefault(one.oid, [])
        while waiting:
            oid = waiting.pop()
            if oid in by_id and oid not in seen:
                seen.add(oid)
                mine.append(oid)
                waiting.extend(by_id[oid].parents)
    return found


class _Reader:
    """Asks git for everything that differs along a line, in three calls."""

    def __init__(self, git: Git, folder: str, trees: Mapping[str, str]) -> None:
        self.git = git
        self.trees = trees
        self.above = f"{folder}/" if folder else ""
        self.prefixes = [f"{self.above}{part}" for part in (*GOVERNED, FOLDER)]
        self.known: dict[tuple[str, str], list[Moved]] = {}

    def line(
        self,
        line: Sequence[tuple[Passed, str]],
        brought: Mapping[str, Sequence[str]],
        found: Sequence[Passed],
        *,
        straight: bool,
    ) -> Line:
        order = {one.oid: at for at, one in enumerate(found)}
        self._compare((parent, one.oid) for one in found for parent in one.parents or ("",))
        self._compare((parent, one.oid) for one, parent in line)
        touched = {one.oid: paths for one in found if (paths := self._touched(one))}
        people = self._people(touched)
        self._compare(
            (parent, each)
            for one, parent in line
            for side in brought[one.oid]
            if side in touched
            for each in (side, *found[order[side]].parents)
        )
        self._compare((parent, end) for one, parent in line for end in one.parents if len(one.parents) > 1)
        steps = [
            self._step(one, parent, [found[at] for at in sorted(order[oid] for oid in brought[one.oid])],
                       touched, people)
            for one, parent in line
        ]  # fmt: skip
        start = self.trees[line[0][1]] if line else ""
        files = git_landed.listed(self.git, start, self.prefixes) if start else {}
        inner = {self._inner(path): entry for path, entry in files.items()}
        return Line(tuple(steps), inner, len(found), straight)

    def _compare(self, pairs: Iterable[tuple[str, str]]) -> None:
        by_tree = {(self.trees[left], self.trees[right]) for left, right in pairs} - self.known.keys()
        moved = git_landed.moves(self.git, sorted(by_tree), self.prefixes)
        for each in moved.values():
            for one in each:
                one.path = self._inner(one.path)
        self.known |= moved

    def _moved(self, left: str, right: str) -> tuple[Moved, ...]:
        return tuple(self.known[self.trees[left], self.trees[right]])

    def _inner(self, path: str) -> str:
        return path.removeprefix(self.above)

    def _touched(self, one: Passed) -> frozenset[str]:
        """The paths that a commit has as none of its parents has them."""
        sides = [{each.path for each in self._moved(parent, one.oid)} for parent in one.parents or ("",)]
        return frozenset(set.intersection(*sides))

    def _people(self, touched: Mapping[str, object]) -> dict[str, tuple[Identity, ...]]:
        oids = list(touched)
        return {oid: identities(raw) for oid, raw in zip(oids, raw_commits(self.git, oids), strict=True)}

    def _step(
        self,
        one: Passed,
        parent: str,
        brought: Sequence[Passed],
        touched: Mapping[str, frozenset[str]],
        people: Mapping[str, tuple[Identity, ...]],
    ) -> Step:
        who: dict[str, tuple[Identity, ...]] = {}
        for each in (*brought, one):
            for path in touched.get(each.oid, ()):
                who[path] = (*who.get(path, ()), *people[each.oid])
        ends = tuple(end for end in one.parents if end != parent)
        sides = [each for each in brought if each.oid in touched]
        aside = {each: self._moved(parent, each) for each in self._asked(sides, ends, one)}
        by_others = frozenset(path for each in sides for path in touched[each.oid])
        return Step(one, self._moved(parent, one.oid), tuple(sides), ends, aside, by_others, who)

    def _asked(self, sides: Sequence[Passed], ends: Sequence[str], one: Passed) -> Iterator[str]:
        for each in sides:
            yield each.oid
            yield from each.parents
        if len(one.parents) > 1:
            yield from ends
