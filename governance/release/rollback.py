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

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.adapters import git_forward
from governance.adapters.files import WorkTree
from governance.adapters.git_forward import Moved
from governance.adapters.locks import held
from governance.engines.keys import look
from governance.errors import TierlockError, Unreadable, Usage
from governance.evals.asked import look_at
from governance.evals.evaluating import Evaluated, evaluate
from governance.evals.judging import SMOKE
from governance.evals.running import Progress, RunOptions
from governance.records import dataclass, field, replace
from governance.release import journal as journals
from governance.release import rollback_live as live
from governance.release import rollback_report as telling
from governance.release.deploy import registry
from governance.release.deploy.model import Driver, Target
from governance.release.deploy.ready import wait_ready
from governance.release.deploy.target import state_folder
from governance.release.drill import overridden, overrides
from governance.release.journal import Journal, Stage, Step
from governance.release.observation import OBSERVE, Expected, Running, is_mixture, judge
from governance.release.restore import restore_of
from governance.release.rollback_gate import (
    GOLDEN,
    Gate,
    Judging,
    Terms,
    Wanted,
    chosen,
    image_digests,
    refuse_terms,
    rejected,
)
from governance.release.rollback_record import recorded
from governance.tiers.naming import name_fault
from governance.values import Unknown
from governance.verdict import Check, Outcome, Report, decide

if TYPE_CHECKING:
    from governance.evals.asked import Asked
    from governance.release.record import Override
    from governance.release.restorable.model import Neighbours
    from governance.release.sides import Place

_TRIES: Final = 5
"""How often a commit is made anew because the branch moved under it."""


@dataclass(frozen=True, slots=True)
class World:
    """The neighbours of a rollback. `watch` is told of every step as it comes; `clock` counts seconds since
    the epoch, `stamp` writes the moment as records do.
    """

    drilled: Neighbours
    environ: Mapping[str, str]
    tool: str
    stamp: Callable[[], str]
    clock: Callable[[], float] = time.time
    load: Callable[[str], Driver] = registry.load
    ready: Callable[[Target, Driver], float] = wait_ready
    look_at: live.LookAt = look_at
    ask: Callable[[Asked, RunOptions, Progress], Evaluated] = field(
        default_factory=lambda: (
            lambda asked, options, progress: evaluate(asked, options=options, progress=progress)
        )
    )
    progress: Progress = lambda done, total: None  # noqa: ARG005
    watch: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class How:
    """`dry_run` writes nothing; `wait_s` is how long another actor is waited for; `who` is told to others;
    `push` pushes the branch once the release runs.
    """

    dry_run: bool = False
    push: bool = False
    wait_s: float = 0.0
    who: str = ""


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
        return _Rollback(place, terms, world, folder).dry_run()
    chosen(WorkTree(place.root), terms.service, terms.to)  # before a lock is made under that name
    with _alone(folder, terms, how):
        report = _Rollback(place, terms, world, folder).run()
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
        _Rollback(place, terms, world, folder).take_back(found)
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


class _Refused(Exception):
    """The gate does not pass."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate


class _Rollback:
    """One call: what it found, and the journal as it stands."""

    def __init__(self, place: Place, terms: Terms, world: World, folder: Path) -> None:
        self.place, self.terms, self.world, self.folder = place, terms, world, folder
        self.held = WorkTree(place.root)
        self.judging = Judging(place, terms, world.load, world.drilled)
        self.git = self.judging.git
        self.begun_at = world.clock()
        self.told = telling.Story(terms)

    # What is called from outside

    def dry_run(self) -> Report:
        """The gate and the plan."""
        journal = journals.read(self.folder)
        gate = self._gate(journal)
        plan = self._plan(gate)
        return telling.dry_run(self.told, gate, plan, journal)

    def run(self) -> Report:
        """Carry on what is under way, or begin."""
        journal = journals.read(self.folder)
        if journal is not None and self._is_another(journal):
            if not journal.begun(Step.DEPLOY):
                raise telling.another(journal, self.terms)
            return self._begin(journal)
        try:
            return self._begin(None) if journal is None else self._resume(journal)
        except _Refused as refused:
            return telling.refused(self.told, refused.gate)

    def take_back(self, journal: Journal) -> None:
        """Everything as it was before `journal`."""
        for forward in (journal.record, journal.restore):
            if forward is not None:
                git_forward.undo(self.git, forward, self.world.watch)
        journals.end(self.folder)
        self.world.watch("taken back")

    # The way there

    def _is_another(self, journal: Journal) -> bool:
        return self.terms.to not in ("", GOLDEN) and self.terms.to != journal.target

    def _gate(self, journal: Journal | None) -> Gate:
        if journal is not None and not self._is_another(journal):
            _, entry = chosen(self.held, self.terms.service, journal.target)
            return self.judging.gate(journal.target, entry, under_way=True)
        release, entry = chosen(self.held, self.terms.service, self.terms.to)
        return self.judging.gate(release, entry)

    def _begin(self, former: Journal | None) -> Report:
        """A return from its gate on; `former` is one that deployed something else and is left for this."""
        release, entry = chosen(self.held, self.terms.service, self.terms.to)
        self.world.watch("gate")
        gate = self.judging.gate(release, entry)
        if gate.outcome is not Outcome.PASS or gate.wanted is None or gate.restore is None:
            raise _Refused(gate)
        wanted = gate.wanted
        self.told.gate, self.told.plan = gate, self._plan(gate)
        if former is None and not gate.restore.changes and self._runs_already(wanted):
            return telling.already(self.told, wanted)
        taken = rejected(self.place, wanted, gate.head, live.labels(wanted.runs))
        journal = Journal(
            service=self.terms.service,
            target=wanted.record.id,
            fingerprint=wanted.fingerprint,
            begun_at=self.terms.at,
            by=self.terms.by,
            reason=self.terms.reason or f"rolled back to {wanted.record.id}",
            rejected=tuple(dict((*(former.rejected if former else ()), *taken)).items()),
            overrides=gate.overrides,
            moves_too=gate.restore.moves_too,
        )
        return self._go_on(wanted, self._write(journal))

    def _resume(self, journal: Journal) -> Report:
        """From where a killed call was."""
        self.told.resumed = journal
        if journal.begun(Step.DEPLOY):
            return self._go_on(self._found(journal), journal)
        gate = self._gate(journal)
        self.told.gate = gate
        if gate.outcome is not Outcome.PASS or gate.wanted is None:
            self.take_back(journal)
            self.told.taken_back = True
            raise _Refused(gate)
        return self._go_on(gate.wanted, journal)

    def _found(self, journal: Journal) -> Wanted:
        """What goes with a release whose gate has passed already. Raises `Unreadable` when it is gone."""
        from governance.release.verifying import verify_at

        record, verified = verify_at(self.place, journal.service, journal.target, source=self.held)
        faults: list[Check] = []
        _, entry = chosen(self.held, journal.service, journal.target)
        wanted = self.judging.wanted(record, entry, faults) if record is not None else None
        bad = next((one for one in (*faults, *verified) if one.outcome is not Outcome.PASS), None)
        same = wanted is not None and wanted.fingerprint == journal.fingerprint
        if wanted is None or not same or any(one.outcome is not Outcome.PASS for one in faults):
            why = bad.detail if bad is not None else "it is another release than it was"
            raise Unreadable(
                f"the rollback to {journal.target} cannot go on ({journal.told}): {why}",
                hint=f"mend that, then: tierlock rollback {journal.service}",
            )
        return wanted

    def _go_on(self, wanted: Wanted, journal: Journal) -> Report:
        journal = self._restored(wanted, journal)
        if (finished := self._record_landed(journal)) is not None:
            self._observed(judge(self._expected(wanted, finished), self._servers(wanted)))
            return self._ended(wanted, finished)
        journal = self._record_again(journal)
        servers, journal = self._deployed(wanted, journal)
        if self.told.stopped:
            return telling.stopped(self.told, wanted, journal)
        found, checks, used = self._answers(wanted, journal, servers)
        if decide(checks) is not Outcome.PASS:
            return telling.stopped(self.told, wanted, journal)
        return self._ended(wanted, self._recorded(wanted, journal, found, used))

    def _ended(self, wanted: Wanted, journal: Journal) -> Report:
        journals.end(self.folder)
        self.world.watch("ended")
        return telling.done(self.told, wanted, journal, self.world.clock() - self.begun_at)

    # Restore

    def _restored(self, wanted: Wanted, journal: Journal) -> Journal:
        """Files, index and branch as the release has them."""
        for _ in range(_TRIES):
            if journal.stage(Step.RESTORE) is Stage.DONE:
                break
            try:
                return self._settled(
                    journal if journal.begun(Step.RESTORE) else self._ready_to_restore(wanted, journal)
                )
            except Moved:
                journal = self._again(journal)
        else:
            raise Unreadable("the branch moves faster than a commit can be made", hint="call again")
        return journal

    def _ready_to_restore(self, wanted: Wanted, journal: Journal) -> Journal:
        plan = restore_of(wanted.record, wanted.released, self.place, self.git.resolve("HEAD"))
        at = self.world.clock()
        forward = None
        if plan.changes:
            message = telling.message(journal)
            forward = git_forward.prepare(self.git, plan.changes, message)
        ready = replace(
            journal, restore=forward, restored_at=at if forward else None, moves_too=plan.moves_too
        )
        return self._write(ready.at(Step.RESTORE, Stage.BEGUN))

    def _settled(self, journal: Journal) -> Journal:
        if journal.restore is not None:
            git_forward.settle(self.git, journal.restore, self.world.watch)
        return self._write(journal.at(Step.RESTORE, Stage.DONE))

    def _again(self, journal: Journal) -> Journal:
        """The step taken back to its beginning, because the branch moved."""
        if journal.restore is not None and not git_forward.is_landed(self.git, journal.restore):
            git_forward.undo(self.git, journal.restore, self.world.watch)
        return self._write(replace(journal, restore=None, restored_at=None).at(Step.RESTORE, Stage.NOT_BEGUN))

    # Deploy and observe

    def _deployed(self, wanted: Wanted, journal: Journal) -> tuple[Sequence[Running] | Unknown, Journal]:
        """The servers as observed with the release deployed; what was deployed before is looked at first."""
        if journal.stage(Step.DEPLOY) is Stage.DONE:
            servers = self._servers(wanted)
            checks = judge(self._expected(wanted, journal), servers)
            if decide(checks) is Outcome.PASS or wanted.driver is None:
                self._observed(checks)
                return servers, journal
        journal = self._write(journal.at(Step.DEPLOY, Stage.BEGUN))
        try:
            self._deploy(wanted)
        except TierlockError as err:
            why = f"{err.message}; {err.hint}" if err.hint else err.message
            self.told.stopped = True
            self.told.steps.append(Check("deploy", Outcome.BLOCK, f"restored on disk, not live: {why}"))
            return Unknown(err.message), journal
        journal = self._write(journal.at(Step.DEPLOY, Stage.DONE))
        servers = self._servers(wanted)
        self._observed(judge(self._expected(wanted, journal), servers))
        return servers, journal

    def _deploy(self, wanted: Wanted) -> None:
        if wanted.driver is None or wanted.target is None:
            return
        self.world.watch("deploy")
        wanted.driver.deploy(wanted.target)
        self.world.watch("ready")
        seconds = self.world.ready(wanted.target, wanted.driver)
        told = f"ready in {seconds:.1f} s, by the {wanted.driver.NAME} driver"
        self.told.steps.append(Check("deploy", Outcome.PASS, told))

    def _servers(self, wanted: Wanted) -> Sequence[Running] | Unknown:
        try:
            return live.servers(
                wanted.runs,
                look_at=self.world.look_at,
                hash_file=self.place.hash_file,
                environ=self.world.environ,
            )
        except TierlockError as err:
            return Unknown(f"{err.message}; {err.hint}" if err.hint else err.message)

    def _expected(self, wanted: Wanted, journal: Journal) -> Expected:
        return Expected(
            wanted.record.id,
            wanted.fingerprint,
            image_digests(wanted.record, wanted.service),
            journal.restored_at,
        )

    def _observed(self, checks: Sequence[Check]) -> None:
        self.world.watch("observed")
        self.told.observed = tuple(checks)

    def _runs_already(self, wanted: Wanted) -> bool:
        """Whether the driver's own servers of this very release run, are as released, and answer so."""
        if wanted.driver is None:
            return False
        servers = self._servers(wanted)
        if isinstance(servers, Unknown) or not servers:
            return False
        expected = Expected(
            wanted.record.id, wanted.fingerprint, image_digests(wanted.record, wanted.service)
        )
        checks = judge(expected, servers)
        if decide(checks) is not Outcome.PASS or any(one.label != wanted.fingerprint for one in servers):
            return False
        _, smoke = self._smoke(wanted)
        self.told.observed, self.told.smoke = checks, smoke
        return decide(smoke) is Outcome.PASS

    # Smoke eval

    def _answers(
        self, wanted: Wanted, journal: Journal, servers: Sequence[Running] | Unknown
    ) -> tuple[Evaluated | None, tuple[Check, ...], tuple[Override, ...]]:
        """The smoke run, everything judged of what runs with what a person set aside, and what that was."""
        found: Evaluated | None = None
        if is_mixture(servers, self._expected(wanted, journal)):
            smoke = _not_asked("the servers are a mixture, an eval over them is invalid")
        elif any(check.outcome is Outcome.BLOCK for check in self.told.observed):
            smoke = _not_asked("it is not what was restored that runs")
        else:
            found, smoke = self._smoke(wanted)
        self.told.smoke = smoke
        checks, used = self._set_aside((*self.told.observed, *smoke))
        self.told.observed = tuple(one for one in checks if one.name.startswith(OBSERVE))
        self.told.smoke = tuple(one for one in checks if not one.name.startswith(OBSERVE))
        return found, checks, used

    def _smoke(self, wanted: Wanted) -> tuple[Evaluated | None, tuple[Check, ...]]:
        """The smoke run and what it says."""
        if not isinstance(look(wanted.service.tree, "evals.smoke"), str):
            return None, (Check(SMOKE, Outcome.UNDECIDED, "the release names no smoke suite"),)
        self.world.watch("smoke")
        options = RunOptions(now=self.world.stamp, tool=self.world.tool)
        try:
            asked = live.smoke_asked(
                wanted.runs,
                wanted.record,
                self.place,
                held=self.held,
                environ=self.world.environ,
                look_at=self.world.look_at,
            )
            found = self.world.ask(asked, options, self.world.progress)
        except TierlockError as err:
            why = f"{err.message}; {err.hint}" if err.hint else err.message
            return None, (Check(SMOKE, Outcome.UNDECIDED, why),)
        return found, (telling.smoke_check(found),)

    def _set_aside(self, checks: tuple[Check, ...]) -> tuple[tuple[Check, ...], tuple[Override, ...]]:
        """A smoke eval is set aside whatever it says; an observation where something could not be seen."""
        names = {one.name for one in checks if one.name == SMOKE or one.outcome is not Outcome.BLOCK}
        accepted = {
            name: why for name, why in self.terms.accepted.items() if name in names & {SMOKE, OBSERVE}
        }
        return (
            overridden(checks, accepted, by=self.terms.by),
            overrides(checks, accepted, by=self.terms.by),
        )

    # Record and hold

    def _record_landed(self, journal: Journal) -> Journal | None:
        """The journal once a record that a killed call had made ready has landed; None when it cannot."""
        if journal.record is None:
            return None
        try:
            git_forward.settle(self.git, journal.record, self.world.watch)
        except Moved:
            if not git_forward.is_landed(self.git, journal.record):
                return None
        return self._write(journal.at(Step.RECORD, Stage.DONE))

    def _record_again(self, journal: Journal) -> Journal:
        """A record that did not land is taken back, to be made anew upon the branch as it is now."""
        if journal.record is None:
            return journal
        git_forward.undo(self.git, journal.record, self.world.watch)
        return self._write(replace(journal, record=None, release="").at(Step.RECORD, Stage.NOT_BEGUN))

    def _recorded(
        self, wanted: Wanted, journal: Journal, found: Evaluated | None, used: tuple[Override, ...]
    ) -> Journal:
        """The release record, the evidence and the holds, committed."""
        journal = replace(journal, overrides=(*journal.overrides, *used))
        for _ in range(_TRIES):
            made = recorded(self.place, wanted, journal, found, at=self.world.stamp(), tool=self.world.tool)
            try:
                forward = git_forward.prepare(self.git, made.changes, made.message)
                ready = replace(journal, record=forward, release=made.release)
                landed = self._record_landed(self._write(ready.at(Step.RECORD, Stage.BEGUN)))
            except Moved:
                landed = None
            if landed is not None:
                return landed
            journal = self._record_again(journals.read(self.folder) or journal)
        raise Unreadable("the branch moves faster than a commit can be made", hint="call again")

    def _write(self, journal: Journal) -> Journal:
        journals.write(self.folder, journal)
        self.world.watch(f"journal {journal.told}")
        return journal

    def _plan(self, gate: Gate) -> telling.Plan:
        return telling.plan_of(gate, self.place)


def _not_asked(why: str) -> tuple[Check, ...]:
    return (Check(SMOKE, Outcome.UNDECIDED, f"not asked: {why}"),)
