"""What a return to a release must show before anything is written, and what it would do.

- The record verifies and its fingerprint comes out of its commit again; golden is still golden; the drill
  passes; nothing holds it; its smoke suite can be asked; a driver can deploy it; the commit can be made
  without losing anybody's edit. All of it is judged: one call tells everything that stands in the way.
- A check may be set aside by name, with a reason that is recorded. What says whether the release is true (its
  record, commit, layers, whether it is golden) cannot be.
- Nothing is written but objects of git that nobody refers to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource, WorkTree
from governance.adapters.git_commits import uncommitted
from governance.adapters.git_forward import refusal
from governance.engines.keys import look
from governance.errors import TierlockError, Unreadable, Usage
from governance.fingerprint.services import fingerprint_of
from governance.records import dataclass, field
from governance.release import holds
from governance.release import record as records
from governance.release.deploy.model import Driver, Target
from governance.release.deploy.registry import NONE
from governance.release.deploy.target import CONTAINED, driver_of, settings_of, target_of
from governance.release.drill import CHECKS, drill, overridden, overrides, subject_of
from governance.release.golden import Entry, read_golden
from governance.release.golden_report import current, judge_entry
from governance.release.holds import check_hold
from governance.release.observation import OBSERVE
from governance.release.record import Override, Record
from governance.release.restore import Restore, as_released, configs_of, restore_of
from governance.release.rollback_live import Runs
from governance.release.standing import SMOKE, spoken_for
from governance.release.verifying import service_at, verify_at
from governance.review import strict
from governance.tiers.naming import SERVICES_FILE, TIERS
from governance.verdict import Check, Outcome, decide

if TYPE_CHECKING:
    from collections.abc import Callable

    from governance.release.restorable.model import Neighbours
    from governance.release.sides import Place
    from governance.tiers.config import Service

ACCEPTABLE: Final = (*CHECKS, "effective", OBSERVE, SMOKE)
"""Checks that a person may set aside. `observe` only where something could not be seen."""
GOLDEN: Final = "golden"


@dataclass(frozen=True, slots=True)
class Terms:
    """Who goes back to what, why and when. `to` is empty for golden; `accepted` is check to reason."""

    service: str
    by: str
    now: datetime
    to: str = ""
    reason: str = ""
    accepted: Mapping[str, str] = field(default_factory=dict)

    @property
    def at(self) -> str:
        """The moment as records write it."""
        return self.now.isoformat().replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A release to go back to: its record, its configs at its commit, and the service as it shall run.

    `entry` is None for a release that was never golden.
    """

    record: Record
    entry: Entry | None
    released: Service
    runs: Runs

    @property
    def service(self) -> Service:
        return self.runs.service

    @property
    def driver(self) -> Driver | None:
        return self.runs.driver

    @property
    def target(self) -> Target | None:
        return self.runs.target

    @property
    def fingerprint(self) -> str:
        return self.record.fingerprint


@dataclass(frozen=True, slots=True)
class Gate:
    """What the gate found. `wanted` and `restore` are None when it could not even be said what they are."""

    release: str
    checks: tuple[Check, ...]
    overrides: tuple[Override, ...] = ()
    wanted: Wanted | None = None
    restore: Restore | None = None
    head: str = ""

    @property
    def outcome(self) -> Outcome:
        return decide(self.checks)


def refuse_terms(terms: Terms) -> None:
    """Return when the checks that are set aside can be. Raises `Usage`."""
    for name, reason in terms.accepted.items():
        if name not in ACCEPTABLE:
            hint = f"these can be: {', '.join(ACCEPTABLE)}, each with a reason"
            raise Usage(f"`{name}` cannot be accepted", hint=hint)
        if fault := strict.reason_fault(reason):
            raise Usage(
                f"the reason to accept `{name}` cannot be one: {fault}", hint=f'--accept {name}="why"'
            )
    if terms.reason and (fault := strict.reason_fault(terms.reason)):
        raise Usage(f"the reason cannot be one: {fault}", hint='--reason "what is wrong"')


def chosen(held: FileSource, service: str, to: str) -> tuple[str, Entry | None]:
    """The release that is meant, and its entry in the golden pointer, if any.

    Raises `Unreadable` when golden is meant and there is none.
    """
    if to in ("", GOLDEN):
        entry = current(held, service)
        return entry.release, entry
    return to, read_golden(held, service).entry(to)


class Judging:
    """One look at everything a return to `release` needs."""

    def __init__(
        self, place: Place, terms: Terms, load: Callable[[str], Driver], drilled: Neighbours
    ) -> None:
        self.place, self.terms, self.load, self.world = place, terms, load, drilled
        self.held = WorkTree(place.root)
        git = place.git()
        if git is None:
            raise Unreadable("a rollback needs a git repository", where=place.root, hint="git init")
        self.git = git

    def gate(self, release: str, entry: Entry | None, *, under_way: bool = False) -> Gate:
        """The gate. `under_way`: the files of this rollback lie there half-restored, and are no edits."""
        record, verified = verify_at(self.place, self.terms.service, release, source=self.held)
        if record is None:
            return Gate(release, verified)
        checks = [*_brief(verified), self._golden(entry, record)]
        faults: list[Check] = []
        wanted = self.wanted(record, entry, faults)
        head = self.git.resolve("HEAD")
        restore = self._restore(wanted, head, faults) if wanted is not None else None
        checks += self._drilled(record)
        checks += faults
        if wanted is not None:
            checks += [self._suite(wanted)]
        checks += self._tree(record, restore, under_way=under_way)
        names = {check.name for check in checks}
        set_aside = {name: why for name, why in self.terms.accepted.items() if name in names}
        judged = overridden(checks, set_aside, by=self.terms.by)
        kept = overrides(checks, set_aside, by=self.terms.by)
        return Gate(release, judged, kept, wanted, restore, head)

    def wanted(self, record: Record, entry: Entry | None, faults: list[Check]) -> Wanted | None:
        """What goes with `record`; what cannot be had is told in `faults`."""
        try:
            released = service_at(record, self.place)
        except TierlockError as err:
            faults.append(_undecided("configs", err))
            return None
        head = self.git.resolve("HEAD")
        today = self.place.state(head, head).bindings().get(record.service)
        service = as_released(record, released, today)
        name = driver_of(settings_of(service))
        if name == NONE:
            told = "no driver starts this service (`deploy.driver`): deploy it yourself once it is restored"
            faults.append(Check("deploy", Outcome.PASS, told))
            return Wanted(record, entry, released, Runs(service))
        try:
            target = target_of(service, self.place, release=record.id)
            driver = self.load(name)
            driver.check(target)
        except TierlockError as err:
            faults.append(_undecided("deploy", err))
            return Wanted(record, entry, released, Runs(service))
        faults.append(Check("deploy", Outcome.PASS, f"the {name} driver has all it needs"))
        return Wanted(record, entry, released, Runs(service, driver, target))

    def _golden(self, entry: Entry | None, record: Record) -> Check:
        if entry is not None:
            return judge_entry(self.held, record.service, entry, record)
        held = check_hold(self.held, record.service, record.fingerprint)
        if held.outcome is not Outcome.PASS:
            return held
        try:
            newest = spoken_for(self.held, record).newest(SMOKE)
        except TierlockError as err:
            return _undecided(GOLDEN, err)
        if newest is None or newest.evidence.outcome is not Outcome.PASS:
            why = "no smoke run speaks for it" if newest is None else "its newest smoke run does not pass"
            return Check(GOLDEN, Outcome.BLOCK, f"{record.id} was never golden, and {why}")
        return Check(GOLDEN, Outcome.PASS, f"{record.id} was never golden; its newest smoke run passes")

    def _restore(self, wanted: Wanted, head: str, faults: list[Check]) -> Restore | None:
        try:
            return restore_of(wanted.record, wanted.released, self.place, head)
        except TierlockError as err:
            faults.append(_undecided("restore", err))
            return None

    def _drilled(self, record: Record) -> Sequence[Check]:
        try:
            return drill(subject_of(record, self.place, now=self.terms.now), self.world)
        except TierlockError as err:
            return (_undecided("drill", err),)

    def _suite(self, wanted: Wanted) -> Check:
        """Whether there is a smoke suite that can be asked, as the release had it."""
        from governance.evals.suites import load_suite

        name = look(wanted.service.tree, "evals.smoke")
        if not isinstance(name, str):
            told = "the release names no smoke suite, so nothing would say whether it answers as it did"
            return Check(SMOKE, Outcome.UNDECIDED, told)
        state = self.place.state(wanted.record.commit)
        try:
            suite = load_suite(state.source, name)
            kept = wanted.record.snapshot(name)
            if kept is not None and records.digest_of(self.held.read(kept.path)) != kept.digest:
                return Check(SMOKE, Outcome.BLOCK, f"`{kept.path}` is not the snapshot that was recorded")
        except TierlockError as err:
            return _undecided(SMOKE, err)
        beside = "golden's snapshot beside it" if kept is not None else "no snapshot to hold it against"
        return Check(SMOKE, Outcome.PASS, f"{len(suite.items)} items of `{name}`, {beside}")

    def _tree(self, record: Record, restore: Restore | None, *, under_way: bool) -> Iterator[Check]:
        """Whether the commit can be made, and nobody's edit is lost by it."""
        fault = refusal(self.git)
        if fault is not None:
            yield _undecided("repository", fault)
            return
        folder = self.place.folder(self.git)
        above = f"{folder}/" if folder else ""
        paths = [f"{above}{path}" for one in configs_of(record) for path in (one.path, one.folder)]
        paths.append(f"{above}{holds.path_of(record.service)}")
        if restore is not None and SERVICES_FILE in restore.paths:
            paths.append(f"{above}{SERVICES_FILE}")
        dirty = () if under_way else uncommitted(self.git, paths)
        if dirty:
            named = ", ".join(dirty[:3]) + (f" and {len(dirty) - 3} more" if len(dirty) > 3 else "")
            save = f'git stash push --include-untracked -m "before the rollback" -- {" ".join(dirty)}'
            yield Check("repository", Outcome.BLOCK, f"not committed, and would be lost: {named}; {save}")
            return
        yield Check("repository", Outcome.PASS, "nothing uncommitted in what is restored")


def rejected(place: Place, wanted: Wanted, head: str, running: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The config folds that the return takes away, each with the release it was cut as, if any.

    `running` are the fingerprints that servers of the service were started under. What was golden before and
    is still within reach is not taken away for good.
    """
    held = WorkTree(place.root)
    name = wanted.record.service
    now = place.state(head, head).service(name)
    fold = fingerprint_of(now).only(TIERS).fold() if now is not None and now.complete else None
    reach = {one.fingerprint for one in read_golden(held, name).earlier}
    found = dict.fromkeys([*running, *([fold] if isinstance(fold, str) else [])])
    return tuple(
        (one, _cut_as(held, name, one))
        for one in found
        if one and one != wanted.fingerprint and one not in reach
    )


def image_digests(record: Record, service: Service) -> tuple[str, ...]:
    """The digests by which the image of a release goes, where the driver of `service` starts one."""
    if driver_of(settings_of(service)) not in CONTAINED:
        return ()
    found = [record.image.rpartition("@")[2]] if "@" in record.image else []
    capture = record.captured()
    for part in ("manifest", "index"):
        value = getattr(capture.image, part, "") if capture is not None else ""
        digest = value.rpartition("@")[2] if isinstance(value, str) else ""
        if digest:
            found.append(digest)
    return tuple(dict.fromkeys(found))


def _cut_as(held: FileSource, service: str, fingerprint: str) -> str:
    for release in reversed(records.ids(held, service)):
        try:
            if records.load_at(held, service, release).fingerprint == fingerprint:
                return release
        except TierlockError:
            continue
    return ""


def _brief(verified: Sequence[Check]) -> Sequence[Check]:
    open_ = [check for check in verified if check.outcome is not Outcome.PASS]
    return open_ or [Check("record", Outcome.PASS, "unaltered; fingerprint recomputed = record")]


def _undecided(name: str, err: TierlockError) -> Check:
    return Check(name, Outcome.UNDECIDED, f"{err.message}; {err.hint}" if err.hint else err.message)
