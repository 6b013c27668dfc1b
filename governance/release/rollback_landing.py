"""The two commits of a rollback: what restores the files, and what records it. Each in the journal first.

- A commit is ready before the journal names it, and named before anything of it is written: a call that finds
  the journal can finish it or take it back.
- A branch that moved meanwhile is built upon: the commit is made anew, a few times.
- A restore that landed and was changed over by somebody is made again on top.
- A record that landed is done, whatever came after it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.adapters import git_forward
from governance.adapters.git_forward import Moved
from governance.errors import Unreadable
from governance.records import replace
from governance.release import journal as journals
from governance.release.journal import Journal, Stage, Step
from governance.release.restore import Restore, restore_of
from governance.release.rollback_record import recorded
from governance.release.rollback_report import message

if TYPE_CHECKING:
    from governance.adapters.git import Git
    from governance.evals.evaluating import Evaluated
    from governance.release.rollback_gate import Wanted
    from governance.release.rollback_world import World
    from governance.release.sides import Place

_TRIES: Final = 5


class Landing:
    """The journal of one service, and the commits that it names."""

    def __init__(self, place: Place, git: Git, world: World, folder: Path) -> None:
        self.place, self.git, self.world, self.folder = place, git, world, folder

    def write(self, journal: Journal) -> Journal:
        """`journal`, on the disk."""
        journals.write(self.folder, journal)
        self.world.watch(f"journal {journal.told}")
        return journal

    def end(self, what: str) -> None:
        """The rollback has ended: there is no journal any more."""
        journals.end(self.folder)
        self.world.watch(what)

    def take_back(self, journal: Journal) -> None:
        """Everything as it was before `journal`."""
        for forward in (journal.record, journal.restore):
            if forward is not None:
                git_forward.undo(self.git, forward, self.world.watch)
        self.end("taken back")

    def restored(self, wanted: Wanted, journal: Journal) -> Journal:
        """The journal once files, index and branch are as the release has them."""
        for _ in range(_TRIES):
            try:
                if journal.stage(Step.RESTORE) is Stage.DONE:
                    if not self._plan(wanted).changes:
                        return journal
                    raise Moved
                if not journal.begun(Step.RESTORE):
                    journal = self._ready(wanted, journal)
                if journal.restore is not None:
                    git_forward.settle(self.git, journal.restore, self.world.watch)
                return self.write(journal.at(Step.RESTORE, Stage.DONE))
            except Moved:
                journal = self._restore_again(journal)
        raise _too_fast()

    def _plan(self, wanted: Wanted) -> Restore:
        return restore_of(wanted.record, wanted.released, self.place, self.git.resolve("HEAD"))

    def _ready(self, wanted: Wanted, journal: Journal) -> Journal:
        plan = self._plan(wanted)
        ready = replace(journal, restore=None, restored_at=None, moves_too=plan.moves_too)
        if plan.changes:
            forward = git_forward.prepare(self.git, plan.changes, message(journal))
            ready = replace(ready, restore=forward, restored_at=self.world.clock())
        return self.write(ready.at(Step.RESTORE, Stage.BEGUN))

    def _restore_again(self, journal: Journal) -> Journal:
        if journal.restore is not None and not git_forward.is_landed(self.git, journal.restore):
            git_forward.undo(self.git, journal.restore, self.world.watch)
        return self.write(replace(journal, restore=None, restored_at=None).at(Step.RESTORE, Stage.NOT_BEGUN))

    def record_landed(self, journal: Journal) -> Journal | None:
        """The journal once the record it names has landed; None when it names none, or it cannot land."""
        if journal.record is None:
            return None
        try:
            git_forward.settle(self.git, journal.record, self.world.watch)
        except Moved:
            if not git_forward.is_landed(self.git, journal.record):
                return None
        return self.write(journal.at(Step.RECORD, Stage.DONE))

    def record_again(self, journal: Journal) -> Journal:
        """The journal with a record that did not land taken back, to be made anew upon today's branch."""
        if journal.record is None:
            return journal
        git_forward.undo(self.git, journal.record, self.world.watch)
        return self.write(replace(journal, record=None, release="").at(Step.RECORD, Stage.NOT_BEGUN))

    def recorded(self, wanted: Wanted, journal: Journal, found: Evaluated | None) -> Journal:
        """The journal once release record, evidence and holds are committed."""
        for _ in range(_TRIES):
            made = recorded(self.place, wanted, journal, found, at=self.world.stamp(), tool=self.world.tool)
            try:
                forward = git_forward.prepare(self.git, made.changes, made.message)
            except Moved:
                continue
            ready = replace(journal, record=forward, release=made.release)
            ready = self.write(ready.at(Step.RECORD, Stage.BEGUN))
            if (landed := self.record_landed(ready)) is not None:
                return landed
            journal = self.record_again(ready)
        raise _too_fast()


def _too_fast() -> Unreadable:
    return Unreadable("the branch moves faster than a commit can be made", hint="call again")
