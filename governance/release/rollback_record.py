"""What a return leaves in the repository: a release that says so, its evidence, and the holds it sets.

- The release is cut from the commit that restored the files (from HEAD, when none had to move). Its layers
  are recomputed there; what nobody captured on this occasion is unknown, never copied from what it restores.
- Its snapshots are those of the release it restores: later runs are compared with golden, not with the night.
- Every fingerprint that was taken away is held.
- Pure but for the object store and the records that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from governance.adapters.files import WorkTree
from governance.adapters.git_forward import ABSENT, Change, blob_of, entries_of
from governance.errors import Unreadable
from governance.evals import evidence as kept
from governance.evals.evaluating import filed
from governance.evals.judging import SMOKE
from governance.fingerprint.layers import LAYERS
from governance.fingerprint.services import fingerprint_of
from governance.records import dataclass
from governance.release import holds
from governance.release import record as records
from governance.release.deploy.target import driver_of, settings_of
from governance.release.record import EvidenceRef, Override, Record
from governance.tiers.naming import TIERS
from governance.values import Unknown

if TYPE_CHECKING:
    from governance.evals.evaluating import Evaluated
    from governance.release.journal import Journal
    from governance.release.rollback_gate import Wanted
    from governance.release.sides import Place

_FILE: Final = "100644"


@dataclass(frozen=True, slots=True)
class Made:
    """A commit to be made: its changes, its message, and the id of the release in it."""

    changes: tuple[Change, ...]
    message: str
    release: str


def recorded(
    place: Place, wanted: Wanted, journal: Journal, found: Evaluated | None, *, at: str, tool: str
) -> Made:
    """The record of the return, the evidence of its smoke run (None: there was none) and the holds.

    Raises `Unreadable` when the commit it would be cut from is not as the release is.
    """
    git = place.git()
    assert git is not None
    held = WorkTree(place.root)
    files: dict[str, bytes] = dict(filed(found, held)) if found is not None else {}
    record = _record(place, wanted, journal, files, at=at, tool=tool)
    files[record.path] = records.dump(record)
    if journal.rejected:
        now = holds.read_holds(held, journal.service)
        for fingerprint, release in journal.rejected:
            now = holds.hold(
                now, holds.Hold(fingerprint, at, journal.by, journal.reason, release, journal.target)
            )
        files[now.path] = holds.dump(now)
    folder, head = place.folder(git), git.resolve("HEAD")
    above = f"{folder}/" if folder else ""
    there = entries_of(git, head, [f"{above}{path}" for path in files])
    changes = tuple(
        Change(f"{above}{path}", there.get(f"{above}{path}", ABSENT), (_FILE, blob_of(git, data)))
        for path, data in files.items()
    )
    changes = tuple(one for one in changes if one.before != one.after)
    message = f"release {journal.service} {record.id}: back to {journal.target}\n\n{journal.reason}\n"
    return Made(changes, message, record.id)


def _record(
    place: Place, wanted: Wanted, journal: Journal, files: Mapping[str, bytes], *, at: str, tool: str
) -> Record:
    git = place.git()
    assert git is not None
    held = WorkTree(place.root)
    commit = journal.restore.commit if journal.restore is not None else git.resolve("HEAD")
    service = place.state(commit, commit).service(journal.service)
    layers = fingerprint_of(service).layers if service is not None and service.complete else {}
    if service is None or any(layers.get(tier) != wanted.record.layers[tier] for tier in TIERS):
        raise Unreadable(
            f"commit {commit[:12]} does not have `{journal.service}` as {journal.target} had it",
            hint=f"somebody committed in between: git log -3, then tierlock rollback {journal.service}",
        )
    parent = records.latest(held, journal.service)
    unseen = Unknown(f"not captured when the service went back to {journal.target}")
    return Record(
        service=journal.service,
        id=records.next_id(held, journal.service),
        created_at=at,
        commit=commit,
        fingerprint=wanted.fingerprint,
        layers={name: layers.get(name, unseen) for name in LAYERS},
        bindings=dict(wanted.record.bindings),
        engine=wanted.record.engine,
        image=wanted.record.image,
        driver=driver_of(settings_of(wanted.service)) if settings_of(wanted.service) else "",
        parent=parent.id if parent is not None else "",
        evidence=tuple(_evidence(files)),
        snapshots=wanted.record.snapshots,
        restores=journal.target,
        rejected=journal.rejected[0][0] if journal.rejected else "",
        reason=journal.reason,
        actor=journal.by,
        overrides=(*journal.overrides, *_without_evidence(journal, files)),
        tool=tool,
    )


def _without_evidence(journal: Journal, files: Mapping[str, bytes]) -> list[Override]:
    """A smoke eval that was set aside before it was run leaves the release without evidence: said as such."""
    if files:
        return []
    return [Override("evidence", one.reason, one.by) for one in journal.overrides if one.check == SMOKE]


def _evidence(files: Mapping[str, bytes]) -> list[EvidenceRef]:
    found = []
    for path, data in files.items():
        if not path.endswith(".json"):
            continue
        one = kept.load(data, path)
        found.append(
            EvidenceRef(
                path=path,
                digest=records.digest_of(data),
                suite=one.suite,
                suite_digest=one.suite_digest,
                kind=SMOKE,
                outcome=one.outcome,
                items=one.items,
                answered=one.answered,
                scored=one.scored,
                passed=one.passed,
            )
        )
    return found
