"""Deploying a release, or a commit that is to become one: check, start, wait, read back.

- What is deployed is rendered from a commit: of a release, or of a revision that no release was cut from yet
  (a candidate, so that it can be asked the evals a release needs). Edits that are not committed are left out.
- Where it runs is what tierlock.yaml says today: hosts and ports are no property of a release.
- A record that does not verify and a fingerprint that a rollback holds back are refused; nothing is started.
- Success is said of what was observed, as after a rollback. Nothing is written into the repository.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from governance.adapters.files import WorkTree
from governance.errors import TierlockError, Unreadable
from governance.evals.asked import look_at
from governance.fingerprint.layers import short
from governance.fingerprint.services import fingerprint_of
from governance.records import dataclass
from governance.release import observation, rollback_live
from governance.release import record as records
from governance.release.deploy import registry
from governance.release.deploy.model import Driver, Target
from governance.release.deploy.ready import wait_ready
from governance.release.deploy.target import driver_of, settings_of, target_of
from governance.release.holds import check_hold
from governance.release.observation import Expected
from governance.release.restore import as_released
from governance.release.rollback_gate import image_digests
from governance.release.rollback_live import Runs
from governance.release.verifying import service_at, verify_at
from governance.tiers.config import TIERS, Service
from governance.values import Unknown
from governance.verdict import Check, Outcome, Report, decide

if TYPE_CHECKING:
    from governance.release.record import Record
    from governance.release.sides import Place

DEPLOY: Final = "deploy"


@dataclass(frozen=True, slots=True)
class World:
    """The neighbours of a deployment: the variables of this process, the drivers, what waits, what looks."""

    environ: Mapping[str, str]
    load: Callable[[str], Driver] = registry.load
    ready: Callable[[Target, Driver], float] = wait_ready
    look_at: rollback_live.LookAt = look_at
    clock: Callable[[], float] = time.time


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What is to run: `label` is the release, or the commit; `record` is None for a commit."""

    label: str
    service: Service
    checks: tuple[Check, ...]
    record: Record | None = None


def deploy(place: Place, name: str, what: str, world: World, *, dry_run: bool = False) -> Report:
    """The report on deploying `name` as `what`: a release id, or a revision of git.

    Raises `Usage` for a service or revision that is not there.
    """
    wanted = _candidate(place, name, what)
    fold = fingerprint_of(wanted.service).only(TIERS).fold()
    folded = "" if isinstance(fold, Unknown) else fold
    checks = [*wanted.checks, check_hold(WorkTree(place.root), name, folded)]
    runs, told = _runs(place, wanted, world)
    checks.append(told)
    title = f"{name}   {wanted.label} {short(fold)}"
    if decide(checks) is not Outcome.PASS or runs is None:
        return _report(title, checks, (), f"{name} is not deployed, and nothing was started", "")
    if dry_run:
        assert runs.driver is not None
        assert runs.target is not None
        notes = ("plan", *(f"  {line}" for line in runs.driver.plan(runs.target)))
        return _report(
            title, checks, notes, f"{name} could be deployed", f"tierlock release deploy {name} {what}"
        )
    checks += _started(place, wanted, runs, folded, world)
    if decide(checks) is Outcome.PASS:
        return _report(title, checks, (), f"{name} runs {wanted.label} {short(fold)}, read back", "")
    return _report(title, checks, (), f"{name} was started, and is not seen to be {wanted.label}",
                   f"tierlock diff {name}@{what} {name}@live")  # fmt: skip


def _candidate(place: Place, name: str, what: str) -> _Candidate:
    held = WorkTree(place.root)
    if records.number_of(what) is not None and what in records.ids(held, name):
        record, verified = verify_at(place, name, what, source=held)
        if record is None:
            raise Unreadable(verified[0].detail, hint=f"tierlock release verify {name} {what}")
        bad = tuple(check for check in verified if check.outcome is not Outcome.PASS)
        checks = bad or (Check("record", Outcome.PASS, "unaltered; fingerprint recomputed = record"),)
        released = service_at(record, place)
        today = place.state("HEAD").bindings().get(name)
        return _Candidate(what, as_released(record, released, today), checks, record)
    git = place.git()
    if git is None:
        raise Unreadable("a deployment needs a git repository", where=place.root, hint="git init")
    oid = git.resolve(what)
    state = place.state(what, oid)
    service = state.service(name)
    if service is None:
        from governance.release.sides import no_service

        raise no_service(name, state)
    label = f"commit {oid[:12]}"
    return _Candidate(label, service, (Check("commit", Outcome.PASS, f"{oid[:12]}, not released yet"),))


def _runs(place: Place, wanted: _Candidate, world: World) -> tuple[Runs | None, Check]:
    """What is started by which driver, and whether that has all it needs."""
    try:
        release = wanted.record.id if wanted.record is not None else "candidate"
        target = target_of(wanted.service, place, release=release)
        driver = world.load(driver_of(settings_of(wanted.service)))
        driver.check(target)
    except TierlockError as err:
        detail = f"{err}; {err.hint}" if err.hint else str(err)
        return None, Check(DEPLOY, Outcome.UNDECIDED, detail)
    told = f"the {driver.NAME} driver has all it needs"
    return Runs(wanted.service, driver, target), Check(DEPLOY, Outcome.PASS, told)


def _started(place: Place, wanted: _Candidate, runs: Runs, folded: str, world: World) -> list[Check]:
    """Started, waited for, read back."""
    assert runs.driver is not None
    assert runs.target is not None
    begun = world.clock()
    try:
        runs.driver.deploy(runs.target)
        seconds = world.ready(runs.target, runs.driver)
        servers = rollback_live.servers(
            runs, look_at=world.look_at, hash_file=place.hash_file, environ=world.environ
        )
    except TierlockError as err:
        detail = f"{err.message}; {err.hint}" if err.hint else err.message
        return [Check("start", Outcome.BLOCK, detail)]
    images = image_digests(wanted.record, wanted.service) if wanted.record is not None else ()
    expected = Expected(wanted.label, folded, images, begun)
    started = Check("start", Outcome.PASS, f"ready in {seconds:.1f} s")
    return [started, *observation.judge(expected, servers)]


def _report(title: str, checks: list[Check], notes: tuple[str, ...], summary: str, then: str) -> Report:
    return Report(
        "release deploy", title=title, checks=tuple(checks), notes=notes, summary=summary, next=then
    )
