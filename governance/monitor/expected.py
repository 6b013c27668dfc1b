"""What this host is held against: a release, golden, or the work tree as it was when the server started.

- A release counts when its record verifies; its configs are read from its commit, what was observed of its
  host from the capture it embeds.
- What `release verify` says of evidence and approvals is the concern of whoever releases: here it is told
  only when it blocks. An effective layer that this tierlock computes otherwise is no doubt of the host.
- Golden is the release it points to, and none once it was revoked, or once a later run of its evals fails.
- The work tree is frozen by reading it once. It knows nothing of packages, weights or platform but what the
  base config declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource, WorkTree
from governance.engines.keys import look
from governance.errors import TierlockError, Unreadable, Usage
from governance.fingerprint.lockfiles import from_lock
from governance.fingerprint.record import Capture
from governance.fingerprint.services import fingerprint_of
from governance.fingerprint.weights import Weights
from governance.monitor.weights import Manifest
from governance.records import dataclass
from governance.release.golden import Entry, path_of, read_golden
from governance.release.golden_report import judge_entry
from governance.release.holds import check_hold
from governance.release.record import Record
from governance.release.sides import Place, StateSide
from governance.release.verifying import service_at, verify_at
from governance.tiers.config import TIERS, Config, Service
from governance.values import Unknown
from governance.verdict import Check, Outcome

if TYPE_CHECKING:
    from governance.fingerprint.packages import Packages

GOLDEN: Final = "golden"
WORKTREE: Final = "worktree"
THE_WORK_TREE: Final = "the work tree"
_OTHERS: Final = frozenset({"evidence", "snapshots", "approvals", "effective"})
"""Checks of a record that say nothing on whether this host is what it says."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What shall run. `label` is the id of the release, or `work tree`; `side` is what the running server is
    compared with; `fingerprint` the fold of the three configs (64 hex). `packages` are those of the lock that
    the base config names; `checks` say whether the release itself may be trusted.
    """

    label: str
    service: Service
    side: StateSide
    fingerprint: str
    manifest: Manifest
    capture: Capture | None = None
    packages: Packages | None = None
    record: Record | None = None
    checks: tuple[Check, ...] = ()

    @property
    def base(self) -> Config:
        """The base config; an expected service always has one."""
        assert self.service.base is not None
        return self.service.base


def expect(place: Place, service: str, word: str) -> Expected | tuple[Check, ...]:
    """What `word` (a release id, `golden` or `worktree`) says of `service`; checks when it says nothing that
    could be trusted. Raises `Usage` for a service or release that does not exist.
    """
    if word == WORKTREE:
        return _frozen(place, service)
    source = WorkTree(place.root)
    entry = _golden(source, service) if word == GOLDEN else None
    if isinstance(entry, Check):
        return (entry,)
    release = word if entry is None else entry.release
    record, verified = verify_at(place, service, release, source=source)
    said = tuple(check for check in verified if _counts(check))
    if record is None:
        return said
    if entry is not None and check_hold(source, service, record.fingerprint).outcome is Outcome.PASS:
        said = (*said, judge_entry(source, service, entry, record))
    try:
        return _released(place, record, said)
    except TierlockError as err:
        return (*said, Check("release", Outcome.UNDECIDED, err.message))


def held(place: Place, service: str, fingerprints: Sequence[str]) -> tuple[Check, ...]:
    """One check per fingerprint that a hold may stand on."""
    source = WorkTree(place.root)
    return tuple(check_hold(source, service, one) for one in dict.fromkeys(fingerprints))


def _counts(check: Check) -> bool:
    return check.outcome is Outcome.BLOCK or check.name not in _OTHERS


def _golden(source: FileSource, service: str) -> Entry | Check:
    """The entry that the pointer is at; a check when it cannot be read. Raises `Unreadable` for none."""
    try:
        entry = read_golden(source, service).current
    except TierlockError as err:
        return Check(GOLDEN, Outcome.UNDECIDED, err.message)
    if entry is None:
        raise Unreadable(
            f"`{service}` has no golden release: nothing says what to expect",
            where=path_of(service),
            hint=f"tierlock serve {service} --expect worktree   (or a release)",
        )
    return entry


def _released(place: Place, record: Record, checks: tuple[Check, ...]) -> Expected:
    service = service_at(record, place)
    state = place.state(record.commit)
    capture = record.captured()
    return Expected(
        label=record.id,
        service=service,
        side=StateSide(record.id, state, record.service, record.commit),
        fingerprint=record.fingerprint,
        manifest=_manifest(service, capture),
        capture=capture,
        packages=_lock(service),
        record=record,
        checks=checks,
    )


def _frozen(place: Place, name: str) -> Expected:
    state = place.state(WORKTREE)
    service = state.service(name)
    if service is None:
        there = ", ".join(state.bindings()) or "none"
        raise Usage(f"there is no service `{name}` in the {state.label}", hint=f"there are: {there}")
    folded = fingerprint_of(service).only(TIERS).fold()
    if service.base is None or isinstance(folded, Unknown):
        fault = next((finding for finding in state.findings if finding.blocks), None)
        told = f": {fault.path}:{fault.line}: {fault.message}" if fault else ""
        raise Unreadable(f"a config of `{name}` does not load{told}", hint="tierlock check")
    return Expected(
        label=THE_WORK_TREE,
        service=service,
        side=StateSide("work tree", state, name),
        fingerprint=folded,
        manifest=_manifest(service, None),
        packages=_lock(service),
    )


def _manifest(service: Service, capture: Capture | None) -> Manifest:
    files = look(service.base.tree, "model.weights.files") if service.base is not None else None
    declared = {str(k): str(v) for k, v in files.items()} if isinstance(files, Mapping) else {}
    weights = capture.weights if capture is not None else None
    return Manifest(declared, weights.files if isinstance(weights, Weights) else ())


def _lock(service: Service) -> Packages | None:
    """The packages of the lock file that the base config keeps; None when it keeps none that can be read."""
    name = look(service.base.tree, "environment.packages") if service.base is not None else None
    if not isinstance(name, str) or service.base is None:
        return None
    try:
        return from_lock(service.base.file(name), name)
    except (KeyError, TierlockError):
        return None
