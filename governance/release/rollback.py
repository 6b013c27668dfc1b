"""Going back to a release: gate, restore, deploy, observe, smoke eval, record and hold, in that order.

- Nothing is written before the gate has passed. What is then written is in the journal first: called again
  after a kill at any point, the same command ends with the release running, or with everything as it was.
- Before anything is deployed a return that can no longer pass its gate is taken back; after that it only
  goes on. A release that turns out bad is left for another one (`--to`), never for the one that was rejected.
- Success is said of what was observed: read back from the running servers, then asked by the smoke eval.
  Where either fails, the report says in which state things are, and what to do.
- One actor at a time. A return to what runs already changes nothing and records nothing.
- Neighbours are handed in (`World`); time and person are arguments.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from governance.adapters import git_forward
from governance.adapters.files import WorkTree
from governance.adapters.locks import held
from governance.errors import TierlockError, Unreadable, Usage
from governance.records import replace
from governance.release import journal as journals
from governance.release import rollback_report as telling
from governance.release.deploy.target import state_folder
from governance.release.journal import Step
from governance.release.rollback_gate import Terms, chosen, refuse_terms
from governance.release.rollback_run import Rollback
from governance.release.rollback_world import How, World
from governance.tiers.naming import name_fault
from governance.verdict import Check, Outcome, Report

if TYPE_CHECKING:
    from governance.release.sides import Place

__all__ = ["How", "Terms", "World", "abort", "rollback"]


def rollback(place: Place, terms: Terms, world: World, how: How | None = None) -> Report:
    """The report on returning a service to a release.

    Raises `Usage` for a service or release that is not there, `Unreadable` when golden cannot be read, the
    journal is damaged, or another actor holds the service.
    """
    how = how or How()
    refuse_terms(terms)
    _refuse_name(terms.service)
    folder = state_folder(place, terms.service)
    if how.dry_run:
        return Rollback(place, terms, world, folder).dry_run()
    chosen(WorkTree(place.root), terms.service, terms.to)  # before a lock is made under that name
    with _alone(folder, terms, how):
        report = Rollback(place, terms, world, folder).run()
        return _pushed(place, report) if how.push and report.outcome is Outcome.PASS else report


def abort(place: Place, terms: Terms, world: World, how: How | None = None) -> Report:
    """The report on taking back a rollback that was broken off before it deployed anything.

    Raises `Usage` when none is under way.
    """
    _refuse_name(terms.service)
    folder = state_folder(place, terms.service)
    if not folder.exists():
        raise _none(terms)
    with _alone(folder, terms, how or How()):
        found = journals.read(folder)
        if found is None:
            raise _none(terms)
        if found.begun(Step.DEPLOY):
            return telling.too_late(found)
        Rollback(place, terms, world, folder).take_back(found)
        return telling.taken_back(found)


def _none(terms: Terms) -> Usage:
    return Usage(f"no rollback of `{terms.service}` is under way", hint="git log --oneline -3")


def _refuse_name(service: str) -> None:
    if fault := name_fault(service):
        raise Usage(f"`{service}` is no name of a service: {fault}", hint="tierlock release list")


def _pushed(place: Place, report: Report) -> Report:
    """The report with what became of the push: one that fails takes nothing back."""
    git = place.git()
    assert git is not None
    try:
        check = Check("push", Outcome.PASS, git_forward.push(git))
    except TierlockError as err:
        check = Check("push", Outcome.UNDECIDED, err.message)
        told = f"{report.summary}; not pushed: {err.message}"
        return replace(report, checks=(*report.checks, check), summary=told, next=err.hint)
    return replace(report, checks=(*report.checks, check), next="")


def _alone(folder: Path, terms: Terms, how: How) -> AbstractContextManager[None]:
    def busy(holder: str) -> Unreadable:
        named = f": {holder}" if holder else ""
        return Unreadable(
            f"another rollback of `{terms.service}` is under way{named}",
            hint=f"tierlock rollback {terms.service} --wait 300",
        )

    return held(folder / journals.LOCK, who=how.who, busy=busy, wait_s=how.wait_s)
