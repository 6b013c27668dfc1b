"""Whether a release record is true: recomputed from its commit, and from what it names.

- Source layers (base, sampling, prompts) must come out of the commit as recorded: anything else blocks.
- The effective layer comes from this tool's tables of engines as well: where they moved since, it is
  undecided, never "changed". A layer that was unknown when the release was made is told, and proves nothing.
- Evidence, snapshots and approvals are held against their recorded digests where they lie.
- A commit that is not here leaves the layers undecided. One that no branch or tag holds is undecided: git may
  drop it any day.
- A signature is not asked for; one that is there must be by a key of the policy at that commit.
- Returns checks; raises only what the repository itself cannot answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource, WorkTree
from governance.errors import IncompleteHistory, MissingTool, NewerFormat, TierlockError, Unreadable
from governance.fingerprint.layers import OBSERVED, Fingerprint, short
from governance.fingerprint.services import fingerprint_of
from governance.release import record as records
from governance.release.record import Record
from governance.release.sides import Place
from governance.tiers.canonical import SCHEME
from governance.tiers.naming import TIERS
from governance.values import Unknown
from governance.verdict import Check, Outcome

if TYPE_CHECKING:
    from governance.tiers.config import Service

SIGNATURE_NAMESPACE: Final = "tierlock-release"
"""Another namespace than that of approvals: a signature of one is never one of the other."""


def verify(record: Record, place: Place, *, source: FileSource | None = None) -> tuple[Check, ...]:
    """One check per part of `record`, recomputed; `source` is where records lie (default: the work tree).

    Names: record, commit, bindings, base, sampling, prompts, fingerprint, effective, capture, approvals,
    evidence, snapshots, signature.
    """
    held = source or WorkTree(place.root)
    return (
        _file(record, held),
        *_recomputed(record, place),
        *_captured(record),
        *_approved(record, held),
        *_named(record, held),
        *_signed(record, place, held),
    )


def verify_at(
    place: Place, service: str, release: str, *, source: FileSource | None = None
) -> tuple[Record | None, tuple[Check, ...]]:
    """The record of one release with its checks; no record and one check when it cannot be read: an altered
    one blocks, one of a newer format is undecided. Raises `Usage` when there is no such release.
    """
    held = source or WorkTree(place.root)
    try:
        record = records.load_at(held, service, release)
    except NewerFormat as err:
        return None, (Check("record", Outcome.UNDECIDED, err.message),)
    except Unreadable as err:
        return None, (Check("record", Outcome.BLOCK, err.message),)
    return record, verify(record, place, source=held)


def service_at(record: Record, place: Place) -> Service:
    """The service with its configs as the commit of `record` has them.

    Raises `IncompleteHistory` or `Unreadable` when that commit is not here, or does not hold it whole.
    """
    state = place.state(record.commit, _commit(record, place))
    service = state.service(record.service)
    if service is None:
        raise Unreadable(f"commit {record.commit[:12]} has no service `{record.service}`", where=record.path)
    if not (service.base and service.sampling and service.prompts):
        fault = next(iter(state.findings), None)
        told = f": {fault.path}:{fault.line}: {fault.message}" if fault else ""
        raise Unreadable(
            f"a config of `{record.service}` does not load at {record.commit[:12]}{told}",
            where=record.path,
            hint=f"tierlock check --rev {record.commit[:12]}",
        )
    return service


def _commit(record: Record, place: Place) -> str:
    git = place.git()
    if git is None:
        raise Unreadable(f"`{record.label}` is verified in its git repository", where=place.root)
    oid = git.find(record.commit)
    if oid is None:
        raise IncompleteHistory(
            f"commit {record.commit[:12]} of {record.label} is not in this clone",
            hint="git fetch --unshallow" if git.is_shallow() else f"git fetch origin {record.commit}",
        )
    return oid


def _file(record: Record, held: FileSource) -> Check:
    """The bytes that lie in the repository are those of `record`."""
    try:
        data = held.read(record.path)
    except Unreadable as err:
        return Check("record", Outcome.BLOCK, f"{err.message}; git restore -- {record.path}")
    if data != records.dump(record):
        return Check("record", Outcome.BLOCK, f"`{record.path}` is another record than the one given")
    return Check("record", Outcome.PASS, "whole and unaltered")


def _recomputed(record: Record, place: Place) -> Iterator[Check]:
    try:
        oid = _commit(record, place)
        yield _reachable(record, place, oid)
        service = service_at(record, place)
    except TierlockError as err:
        yield Check("commit", Outcome.UNDECIDED, f"{err.message}; {err.hint}" if err.hint else err.message)
        return
    if record.scheme != SCHEME:
        told = f"made under the scheme {record.scheme}, which cannot be compared with {SCHEME}"
        yield Check("fingerprint", Outcome.UNDECIDED, told)
        return
    bound = {tier: str(service.tree[tier]) for tier in TIERS}
    if bound != dict(record.bindings):
        told = f"the commit binds {_listed(bound)}, the record {_listed(dict(record.bindings))}"
        yield Check("bindings", Outcome.BLOCK, told)
    found = fingerprint_of(service)
    for tier in TIERS:
        yield _layer(tier, record.layers[tier], found.layers[tier])
    yield _fold(record)
    yield _effective(record, found.layers["effective"])


def _reachable(record: Record, place: Place, oid: str) -> Check:
    git = place.git()
    assert git is not None
    name = record.commit[:12]
    if git.ask("merge-base", "--is-ancestor", oid, "HEAD")[0] == 0:
        return Check("commit", Outcome.PASS, f"{name} is part of this branch")
    out = (
        git.run("for-each-ref", "--count=1", "--format=%(refname:short)", "--contains", oid).decode().strip()
    )
    if out:
        return Check("commit", Outcome.PASS, f"{name} is not part of this branch; `{out}` holds it")
    told = f"no branch or tag holds {name}: git may drop it; git tag {record.service}-{record.id} {name}"
    return Check("commit", Outcome.UNDECIDED, told)


def _listed(bound: dict[str, str]) -> str:
    return ", ".join(f"{tier} {name}" for tier, name in bound.items())


def _layer(name: str, recorded: str | Unknown, found: str | Unknown) -> Check:
    if isinstance(recorded, Unknown):
        return Check(name, Outcome.UNDECIDED, f"the record does not know it: {recorded.reason}")
    if isinstance(found, Unknown):
        return Check(name, Outcome.UNDECIDED, f"it cannot be recomputed: {found.reason}")
    if recorded != found:
        told = f"recorded {short(recorded)}, and the commit gives {short(found)}"
        return Check(name, Outcome.BLOCK, told)
    return Check(name, Outcome.PASS, f"recomputed = recorded, {short(found)}")


def _fold(record: Record) -> Check:
    fold = Fingerprint(record.layers, record.scheme).only(TIERS).fold()
    if fold != record.fingerprint:
        told = f"recorded {short(record.fingerprint)}, and the layers fold to {short(fold)}"
        return Check("fingerprint", Outcome.BLOCK, told)
    return Check("fingerprint", Outcome.PASS, record.fingerprint[:12])


def _effective(record: Record, found: str | Unknown) -> Check:
    recorded = record.layers["effective"]
    if isinstance(recorded, Unknown):
        return Check("effective", Outcome.PASS, f"not covered: {recorded.reason.partition(': ')[0]}")
    if recorded == found:
        return Check("effective", Outcome.PASS, f"recomputed = recorded, {short(found)}")
    why = f"({found.reason})" if isinstance(found, Unknown) else f"gives {short(found)}"
    told = f"recorded {short(recorded)} by {record.tool}; what this tool knows of the engine now {why}"
    return Check("effective", Outcome.UNDECIDED, told)


def _captured(record: Record) -> Iterator[Check]:
    """The embedded capture has the digests that the layers say."""
    try:
        capture = record.captured()
    except NewerFormat as err:
        yield Check("capture", Outcome.UNDECIDED, err.message)
        return
    except Unreadable as err:
        yield Check("capture", Outcome.BLOCK, err.message)
        return
    digests = capture.digests() if capture is not None else {}
    wrong = [name for name in OBSERVED if not _says(record.layers[name], digests.get(name))]
    if wrong:
        told = f"the capture in the record has other digests for {', '.join(wrong)}"
        yield Check("capture", Outcome.BLOCK, told)
        return
    open_ = [name for name in OBSERVED if isinstance(record.layers[name], Unknown)]
    known = len(OBSERVED) - len(open_)
    told = f"{known} of {len(OBSERVED)} observed layers known"
    yield Check("capture", Outcome.PASS, told + (f"; not covered: {', '.join(open_)}" if open_ else ""))


def _says(recorded: str | Unknown, found: str | Unknown | None) -> bool:
    """Whether a layer of the record is what the capture gives: the same digest, or unknown on both sides."""
    if isinstance(recorded, Unknown):
        return found is None or isinstance(found, Unknown)
    return recorded == found


def _approved(record: Record, held: FileSource) -> Iterator[Check]:
    """The approvals that lie in the repository say what the record says of them."""
    from governance.review.statement import Statement, load

    mine = [one for one in record.approvals if one.source == "signature"]
    for one in mine:
        try:
            said = load(held.read(one.path), one.path).said
        except NewerFormat as err:
            yield Check("approvals", Outcome.UNDECIDED, err.message)
            return
        except Unreadable as err:
            yield Check("approvals", Outcome.BLOCK, err.message)
            return
        told = (
            (said.subject.key, said.subject.before, said.subject.after, said.person)
            if isinstance(said, Statement)
            else ()
        )
        if told != (one.subject, one.before, one.after, one.person):
            yield Check("approvals", Outcome.BLOCK, f"`{one.path}` is another approval than the one recorded")
            return
    if mine:
        yield Check("approvals", Outcome.PASS, f"{len(mine)} file{'s' * (len(mine) != 1)} as recorded")


def _named(record: Record, held: FileSource) -> Iterator[Check]:
    """The files that a record names are there as recorded."""
    if record.evidence:
        yield _files("evidence", [(one.path, one.digest) for one in record.evidence], held)
    else:
        given = next((one for one in record.overrides if one.check == "evidence"), None)
        outcome = Outcome.UNDECIDED if given is None else Outcome.PASS
        told = "the release has none" if given is None else f"none; accepted by {given.by}: {given.reason}"
        yield Check("evidence", outcome, told)
    if record.snapshots:
        yield _files("snapshots", [(one.path, one.digest) for one in record.snapshots], held)


def _files(name: str, wanted: list[tuple[str, str]], held: FileSource) -> Check:
    for path, digest in wanted:
        try:
            data = held.read(path)
        except Unreadable as err:
            return Check(name, Outcome.BLOCK, f"{err.message}; git restore -- {path}")
        if records.digest_of(data) != digest:
            return Check(name, Outcome.BLOCK, f"`{path}` is not the file that was recorded")
    return Check(name, Outcome.PASS, f"{len(wanted)} file{'s' * (len(wanted) != 1)} as recorded")


def _signed(record: Record, place: Place, held: FileSource) -> Iterator[Check]:
    """The detached signature, where there is one."""
    path = records.signature_path(record.path)
    if not any(entry.path == path for entry in held.entries(path)):
        return
    try:
        armoured = held.read(path).decode("ascii", "replace")
        yield signature(record, armoured, place)
    except MissingTool as err:
        yield Check("signature", Outcome.UNDECIDED, f"it cannot be verified: {err.message}")
    except TierlockError as err:
        yield Check("signature", Outcome.UNDECIDED, err.message)


def signature(record: Record, armoured: str, place: Place) -> Check:
    """Whether `armoured` is a signature of `record` by a key that counts in the policy at its commit.

    Raises `MissingTool` without ssh-keygen, and as `service_at` when the commit is not here.
    """
    from governance.adapters import ssh, sshsig
    from governance.review.policy import Policy, has_policy

    parts = sshsig.parse(armoured)
    if parts is None:
        return _unsigned("it is not an SSH signature as ssh-keygen writes it")
    settings = place.state(record.commit, _commit(record, place)).settings()
    if not has_policy(settings):
        told = "the commit has no review policy that says whose keys count"
        return Check("signature", Outcome.UNDECIDED, told)
    policy = Policy.of(settings)
    person = policy.person_of_key(parts.key)
    if person is None:
        return _unsigned(f"the key {parts.key} is nobody's in the policy of the commit")
    key = next(one for one in policy.people[person].keys if one.fingerprint == parts.key)
    day = date.fromisoformat(record.created_at[:10])
    if key.revoked is not None:
        return _unsigned(f"the key {parts.key} of {person} was revoked on {key.revoked}")
    if (key.valid_from and day < key.valid_from) or (key.expires and day > key.expires):
        return _unsigned(f"the key {parts.key} of {person} did not count on {day}")
    if not ssh.verify(records.dump(record), armoured, key.key, SIGNATURE_NAMESPACE):
        return _unsigned(f"it is not one of this record by {parts.key}")
    return Check("signature", Outcome.PASS, f"by {person}")


def _unsigned(why: str) -> Check:
    return Check("signature", Outcome.BLOCK, why)
