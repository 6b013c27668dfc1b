"""One call of a rollback: from its gate, or from where a killed call was, to what was observed.

- What is under way is carried on before anything else begins. Until something is deployed its gate must pass
  again, or everything is taken back; after that it only goes on.
- A release that was deployed is looked at first, and started again only where it is not seen to be as it was.
- Servers in different states are not asked the smoke eval: its answers would be nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from governance.adapters.files import WorkTree
from governance.engines.keys import look
from governance.errors import TierlockError, Unreadable
from governance.evals.judging import SMOKE
from governance.evals.running import RunOptions
from governance.records import replace
from governance.release import journal as journals
from governance.release import rollback_live as live
from governance.release import rollback_report as telling
from governance.release.drill import last, overridden, overrides
from governance.release.journal import Journal, Stage, Step
from governance.release.observation import OBSERVE, Expected, Running, is_mixture, judge
from governance.release.rollback_gate import (
    GOLDEN,
    Gate,
    Judging,
    Terms,
    Wanted,
    chosen,
    image_digests,
    rejected,
)
from governance.release.rollback_landing import Landing
from governance.values import Unknown
from governance.verdict import Check, Outcome, Report, decide

if TYPE_CHECKING:
    from governance.evals.evaluating import Evaluated
    from governance.release.record import Override
    from governance.release.rollback_world import World
    from governance.release.sides import Place


class _Refused(Exception):
    """The gate does not pass."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate


class Rollback:
    """One call: what it found, and the journal as it stands."""

    def __init__(self, place: Place, terms: Terms, world: World, folder: Path) -> None:
        self.place, self.terms, self.world, self.folder = place, terms, world, folder
        self.held = WorkTree(place.root)
        self.judging = Judging(place, terms, world.load, world.drilled)
        self.git = self.judging.git
        self.landing = Landing(place, self.git, world, folder)
        self.begun_at = world.clock()
        self.told = telling.Story(terms, drilled=last(folder))

    # What is called from outside

    def dry_run(self) -> Report:
        """The gate and the plan."""
        journal = journals.read(self.folder)
        gate = self._gate(journal)
        plan = telling.plan_of(gate, self.place)
        return telling.dry_run(self.told, gate, plan, journal)

    def run(self) -> Report:
        """Carry on what is under way, or begin."""
        journal = journals.read(self.folder)
        try:
            if journal is None:
                return self._begin(None)
            if not self._is_another(journal):
                return self._resume(journal)
            if not journal.begun(Step.DEPLOY):
                raise telling.another(journal, self.terms)
            # Its record may lie there ready: it lands or goes, before something else begins.
            journal = self.landing.record_landed(journal) or self.landing.record_again(journal)
            return self._begin(journal)
        except _Refused as refused:
            return telling.refused(self.told, refused.gate)

    def take_back(self, journal: Journal) -> None:
        """Everything as it was before `journal`."""
        self.landing.take_back(journal)

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
        self.told.gate, self.told.plan = gate, telling.plan_of(gate, self.place)
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
        return self._go_on(wanted, self.landing.write(journal))

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
        if (finished := self.landing.record_landed(journal)) is not None:
            self._observed(judge(self._expected(wanted, finished), self._servers(wanted)))
            return self._ended(wanted, finished)
        journal = self.landing.restored(wanted, self.landing.record_again(journal))
        servers, journal = self._deployed(wanted, journal)
        if self.told.stopped:
            return telling.stopped(self.told, wanted, journal)
        found, checks, used = self._answers(wanted, journal, servers)
        if decide(checks) is not Outcome.PASS:
            return telling.stopped(self.told, wanted, journal)
        journal = replace(journal, overrides=(*journal.overrides, *used))
        return self._ended(wanted, self.landing.recorded(wanted, journal, found))

    def _ended(self, wanted: Wanted, journal: Journal) -> Report:
        self.landing.end("ended")
        return telling.done(self.told, wanted, journal, self.world.clock() - self.begun_at)

    # Deploy and observe

    def _deployed(self, wanted: Wanted, journal: Journal) -> tuple[Sequence[Running] | Unknown, Journal]:
        """The servers as observed with the release deployed; what was deployed before is looked at first."""
        if journal.stage(Step.DEPLOY) is Stage.DONE:
            servers = self._servers(wanted)
            checks = judge(self._expected(wanted, journal), servers)
            if decide(checks) is Outcome.PASS or wanted.driver is None:
                self._observed(checks)
                return servers, journal
        journal = self.landing.write(journal.at(Step.DEPLOY, Stage.BEGUN))
        try:
            self._deploy(wanted)
        except TierlockError as err:
            why = f"{err.message}; {err.hint}" if err.hint else err.message
            self.told.stopped = True
            self.told.steps.append(Check("deploy", Outcome.BLOCK, f"restored on disk, not live: {why}"))
            return Unknown(err.message), journal
        journal = self.landing.write(journal.at(Step.DEPLOY, Stage.DONE))
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


def _not_asked(why: str) -> tuple[Check, ...]:
    return (Check(SMOKE, Outcome.UNDECIDED, f"not asked: {why}"),)
