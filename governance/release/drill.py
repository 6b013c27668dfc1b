"""Whether a release can still be started: six checks, each with a name by which a person may set it aside.

- `image`, `weights`, `packages`, `advisories`, `hardware`, `age`. All are judged; one that is bad hides none.
- Nothing is started, fetched or written.
- A check that is set aside passes and says who accepted what, and why; a check that is not there, or that
  passes, cannot be set aside.
- `last` and `remember` keep the outcome of the last drill in this clone: it speaks for this host alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

from governance.adapters.files import FileSource, WorkTree, read_file, write_atomic
from governance.engines.keys import look
from governance.errors import TierlockError, Unreadable, Usage
from governance.release.advisories import Advisory, Installed, check_advisories, read_advisories
from governance.release.deploy.model import Driver
from governance.release.deploy.registry import NONE
from governance.release.deploy.target import target_of
from governance.release.record import Override, Record, text_of
from governance.release.restorable.age import check_age
from governance.release.restorable.hardware import check_hardware
from governance.release.restorable.image import check_image
from governance.release.restorable.model import Neighbours, Policy, Subject, policy_of
from governance.release.restorable.packages import check_packages, packages_of
from governance.release.restorable.weights import check_weights
from governance.release.sides import Place
from governance.release.standing import Spoken, spoken_for
from governance.release.verifying import service_at
from governance.review import strict
from governance.tiers.config import Service
from governance.tiers.naming import TIERS
from governance.values import Unknown
from governance.verdict import Check, Outcome

Judge = Callable[[Subject, Neighbours], Check]

CHECKS: Final[Mapping[str, Judge]] = {
    "image": check_image,
    "weights": check_weights,
    "packages": check_packages,
    "advisories": lambda subject, _: check_advisories(subject.advisories, installed(subject)),
    "hardware": check_hardware,
    "age": lambda subject, _: check_age(subject),
}
"""What is judged, in the order it is shown."""


def drill(subject: Subject, world: Neighbours) -> tuple[Check, ...]:
    """One check for each of `CHECKS`; what a neighbour cannot answer is undecided there."""
    return tuple(_judged(name, judge, subject, world) for name, judge in CHECKS.items())


def _judged(name: str, judge: Judge, subject: Subject, world: Neighbours) -> Check:
    try:
        return judge(subject, world)
    except TierlockError as err:
        return Check(name, Outcome.UNDECIDED, f"{err.message}; {err.hint}" if err.hint else err.message)


def subject_of(record: Record, place: Place, *, now: datetime, source: FileSource | None = None) -> Subject:
    """The release as it would be started now: its configs at its commit, deployment and policy of the work
    tree (`source`).

    Raises `IncompleteHistory` or `Unreadable` when its commit is not here or does not hold its configs.
    """
    held = source or WorkTree(place.root)
    state = place.state("worktree")
    policy = policy_of(state.settings())
    return Subject(
        record,
        deployed(service_at(record, place), state.bindings().get(record.service)),
        Path(place.root),
        policy,
        now,
        _spoken(held, record),
        _advisories(held, policy),
    )


def check_deploy(subject: Subject, place: Place, load: Callable[[str], Driver]) -> Check:
    """The check `deploy`: whether the driver of the service has all it needs. Nothing is deployed."""
    if subject.driver == NONE:
        told = "no driver starts this service (deploy.driver): whoever does is not asked"
        return Check("deploy", Outcome.PASS, told)
    try:
        target = target_of(subject.service, place, release=subject.record.id)
        load(subject.driver).check(target)
    except TierlockError as err:
        return Check("deploy", Outcome.UNDECIDED, f"{err.message}; {err.hint}" if err.hint else err.message)
    return Check("deploy", Outcome.PASS, f"the {subject.driver} driver has all it needs")


def deployed(released: Service, today: object) -> Service:
    """The released service with everything of its entry in tierlock.yaml but the binding as it is today."""
    if not isinstance(today, Mapping):
        return released
    return replace(released, tree={**today, **{tier: released.tree[tier] for tier in TIERS}})


def _spoken(held: FileSource, record: Record) -> Spoken | Unknown:
    try:
        return spoken_for(held, record)
    except TierlockError as err:
        return Unknown(err.message)


def _advisories(held: FileSource, policy: Policy) -> Sequence[Advisory] | Unknown | None:
    if not policy.advisories:
        return None
    try:
        return read_advisories(held.read(policy.advisories), policy.advisories)
    except Unreadable as err:
        return Unknown(f"not checked: {err.message}")


def installed(subject: Subject) -> tuple[Installed, ...]:
    """What an advisory may be about: the engine, the model and the packages of the release."""
    engine, version = subject.record.engine
    found = [Installed("engine", engine, version or None)] if engine else []
    model, revision = (look(subject.base, key) for key in ("model.id", "model.revision"))
    if isinstance(model, str):
        found.append(Installed("model", model, revision if isinstance(revision, str) else None))
    listed = packages_of(subject)
    if not isinstance(listed, Unknown) and listed.form != "program":
        found += [Installed("package", one.name, one.version) for one in listed.packages]
    return tuple(found)


def overridden(checks: Sequence[Check], accepted: Mapping[str, str], *, by: str = "") -> tuple[Check, ...]:
    """`checks` with those that `accepted` names (name to reason) set aside.

    Raises `Usage` for a name that is none of them, and for a reason that is none.
    """
    names = [check.name for check in checks]
    for name, reason in accepted.items():
        if name not in names:
            raise Usage(f"there is no check `{name}` to accept", hint=f"there are: {', '.join(names)}")
        if fault := strict.reason_fault(reason):
            raise Usage(
                f"the reason to accept `{name}` cannot be one: {fault}", hint=f'--accept {name}="why"'
            )
    return tuple(_accepted(check, accepted.get(check.name, ""), by) for check in checks)


def overrides(checks: Sequence[Check], accepted: Mapping[str, str], *, by: str) -> tuple[Override, ...]:
    """What has to be recorded of `accepted`: those of `checks` that did not pass and were set aside."""
    open_ = [check for check in checks if check.outcome is not Outcome.PASS and check.name in accepted]
    return tuple(Override(check.name, accepted[check.name], by) for check in open_)


def _accepted(check: Check, reason: str, by: str) -> Check:
    if not reason or check.outcome is Outcome.PASS:
        return check
    told = f"accepted{f' by {by}' if by else ''}: {reason}; it is: {check.detail}"
    return Check(check.name, Outcome.PASS, told)


@dataclass(frozen=True, slots=True)
class Drilled:
    """The last drill of this clone: of which release, when, and with what outcome."""

    release: str
    fingerprint: str
    at: str
    outcome: Outcome


def remember(folder: Path, done: Drilled) -> None:
    """Keep `done` in the folder of this clone's own notes."""
    tree = {
        "release": done.release,
        "fingerprint": done.fingerprint,
        "at": done.at,
        "outcome": done.outcome.value,
    }
    write_atomic(folder / "drill.json", text_of(tree))


def last(folder: Path) -> Drilled | None:
    """The last drill of this clone; None when there was none, or its note cannot be read."""
    try:
        tree = json.loads(read_file(folder / "drill.json"))
        found = Drilled(tree["release"], tree["fingerprint"], tree["at"], Outcome(tree["outcome"]))
        strict.time_of(found.at, "at")
    except (Unreadable, ValueError, KeyError, TypeError):
        return None
    return found
