"""Whether the packages of a release have known vulnerabilities by now: pip-audit, with its skips counted.

- The list is the captured one, else the lock file of the base config.
- Not audited is not clean: what the service does not know, what has no version or comes from version control,
  and what is no Python package at all is counted and told. Policy says whether it blocks.
- A service that does not answer is undecided as long as its answer could block.
- A build label (`+cu124`) is left out of the question: the services know the version without it.
- An accepted vulnerability (`release.packages.ignore`) is told with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from governance.adapters.audit import Audited, Pin
from governance.engines.keys import look
from governance.errors import MissingTool, TierlockError
from governance.fingerprint.packages import Package, Packages
from governance.records import dataclass
from governance.release.restorable.model import Neighbours, Policy, Subject
from governance.values import Unknown
from governance.verdict import Check, Outcome

NAME: Final = "packages"
SHOWN: Final = 4
MANY: Final = 5


@dataclass(frozen=True, slots=True)
class Known:
    """The packages of a release: pinned ones that can be asked for, and the others with the reason."""

    pins: tuple[Pin, ...]
    unaudited: Mapping[str, str]


def packages_of(subject: Subject) -> Packages | Unknown:
    """The packages that were released, captured or locked; or why nobody knows them."""
    try:
        capture = subject.record.captured()
    except TierlockError as err:
        return Unknown(err.message)
    captured = capture.packages if capture is not None else None
    if captured is not None and not isinstance(captured, Unknown):
        return captured
    name = look(subject.base, "environment.packages")
    base = subject.service.base
    if isinstance(name, str) and base is not None:
        from governance.fingerprint.lockfiles import from_lock

        try:
            return from_lock(base.file(name), name)
        except (TierlockError, KeyError) as err:
            return Unknown(str(err))
    if captured is not None:
        return captured
    return Unknown("the release has no capture and the base config no lock file")


def check_packages(subject: Subject, world: Neighbours) -> Check:
    """The check `packages` of one release."""
    policy, listed = subject.policy, packages_of(subject)
    if isinstance(listed, Unknown):
        return _unaudited(policy, f"not audited: {listed.reason}")
    known = known_of(listed)
    if not known.pins:
        return _unaudited(policy, f"0 audited, {_not_audited(known.unaudited)}")
    try:
        answer = world.audit(known.pins, policy.audit_service, policy.audit_url)
    except MissingTool as err:
        answer = Unknown(f"{err.message}; {err.hint}")
    if isinstance(answer, Unknown):
        open_ = policy.block_vulnerable or policy.block_unaudited
        told = f"not audited ({len(known.pins)} packages): {answer.reason}"
        return Check(NAME, Outcome.UNDECIDED if open_ else Outcome.PASS, told)
    return _judged(policy, known, answer)


def known_of(listed: Packages) -> Known:
    """The packages of a list by whether pip-audit can be asked for them."""
    pins: dict[str, str] = {}
    unaudited: dict[str, str] = {}
    for one in listed.packages:
        if why := _unaskable(one, listed.form):
            unaudited[one.name] = why
        else:
            pins[one.name] = str(one.version).partition("+")[0]
    for other in listed.conda:
        if other.name not in pins:
            unaudited.setdefault(other.name, "a conda package")
    return Known(tuple(pins.items()), unaudited)


def _unaskable(one: Package, form: str) -> str:
    from packaging.version import InvalidVersion, Version

    if form == "program":
        return "no Python package"
    if one.vcs:
        return "from version control"
    if one.editable or not one.version:
        return "no version"
    try:
        Version(one.version)
    except InvalidVersion:
        return "no version"
    return ""


def _judged(policy: Policy, known: Known, answer: Sequence[Audited]) -> Check:
    skipped = {one.name: one.skipped for one in answer if one.skipped}
    unaudited = {**known.unaudited, **skipped}
    found, accepted = _vulnerable(answer, policy.ignore)
    told = f"{len(answer) - len(skipped)} audited, {_not_audited(unaudited)}"
    if accepted:
        told += f"; accepted: {'; '.join(accepted)}"
    if not found:
        return _unaudited(policy, told) if unaudited else Check(NAME, Outcome.PASS, told)
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    told = f"{'; '.join(found[:SHOWN])}{more}; {told}"
    if policy.block_vulnerable:
        return Check(NAME, Outcome.BLOCK, told)
    told += "; the vulnerable ones block nothing by release.packages.vulnerable"
    return _unaudited(policy, told) if unaudited else Check(NAME, Outcome.PASS, told)


def _vulnerable(answer: Sequence[Audited], ignore: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """What is vulnerable, in words; and what of it was accepted, with the reason."""
    found, accepted = [], []
    for one in answer:
        for each in one.vulnerabilities:
            reason = next((ignore[name] for name in (each.id, *each.aliases) if name in ignore), None)
            label = f"{one.name} {one.version} {each.id}"
            mended = f", mended in {', '.join(each.fixed)}" if each.fixed else ", not mended"
            if reason is not None:
                accepted.append(f"{label} ({reason})")
            else:
                found.append(label + mended)
    return found, accepted


def _not_audited(unaudited: Mapping[str, str]) -> str:
    names = sorted(unaudited)
    if not names:
        return "none left out"
    more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
    reasons = ", ".join(dict.fromkeys(_brief(unaudited[name]) for name in names))
    return f"{len(names)} not audited: {', '.join(names[:MANY])}{more} ({reasons})"


def _brief(reason: str) -> str:
    """pip-audit names the package in its reason; the list names it already."""
    return reason.partition(": ")[0].lower() if "not found" in reason else reason


def _unaudited(policy: Policy, told: str) -> Check:
    return Check(NAME, Outcome.BLOCK if policy.block_unaudited else Outcome.PASS, told)
