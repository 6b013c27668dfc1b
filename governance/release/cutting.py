"""Cutting a release: everything that must hold is judged at once, then the record is made.

- A release is HEAD as committed. What was staged or edited is no part of it, and stops the cut.
- Nothing is written here: report, record and snapshots are handed back, files only when the report passes.
- A state that the newest release already is, is not released twice: the cut passes and writes nothing.
- Without a review policy the cut is undecided; `unreviewed` says why it is made all the same, and is kept.
- Snapshots are the results of the evidence, byte for byte: what later runs are compared with.
- Time, actor and tool are arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource, WorkTree
from governance.adapters.git import Git
from governance.engines.keys import look
from governance.errors import Unreadable, Usage
from governance.fingerprint.layers import LAYERS
from governance.fingerprint.record import dump as dump_capture
from governance.fingerprint.services import fingerprint_of
from governance.records import dataclass, field, replace
from governance.release import cut_checks as checks
from governance.release import record as records
from governance.release.cut_checks import Proof, Reviewed, Said
from governance.release.record import ApprovalRef, EvidenceRef, Override, Record, SnapshotRef
from governance.release.sides import Place, no_service
from governance.review import strict
from governance.tiers.canonical import SCHEME
from governance.tiers.naming import TIERS
from governance.values import Unknown
from governance.verdict import Check, LayerState, Outcome, Report, decide, sort_findings

if TYPE_CHECKING:
    from governance.fingerprint.record import Capture
    from governance.review.audit import Landed
    from governance.review.gate import Bench
    from governance.tiers.config import Service

SNAPSHOTS: Final = ".tierlock/snapshots/"


@dataclass(frozen=True, slots=True)
class Terms:
    """What is said beside the state itself. `unreviewed` is the reason for a cut without a review policy."""

    actor: str
    created_at: str
    today: date
    tool: str
    reason: str = ""
    unreviewed: str = ""
    capture: Capture | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The report, the record, and the files to write by path, the record last; no files: nothing to write.

    `evidence` are the paths of the evidence and its results, which belong into the same commit.
    """

    report: Report
    record: Record | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    evidence: tuple[str, ...] = ()


def cut(place: Place, name: str, bench: Bench, terms: Terms) -> Done:
    """What cutting a release of the service `name` at HEAD gives.

    Raises `Usage` for an unknown service, `Unreadable` where there is no commit or a record cannot be read.
    """
    git = place.git()
    if git is None:
        raise Unreadable("a release is cut in a git repository", where=place.root, hint="git init")
    if terms.capture is not None and terms.capture.scheme != SCHEME:
        raise Unreadable(
            f"the capture was made under the scheme {terms.capture.scheme}, this tool makes {SCHEME}",
            hint=f"tierlock capture --service {name} -o host.json",
        )
    return _Cutting(place, git, name, bench, terms).run()


class _Cutting:
    """One cut: the state at HEAD, what is held in the work tree, and what is found on the way."""

    def __init__(self, place: Place, git: Git, name: str, bench: Bench, terms: Terms) -> None:
        self.place, self.git, self.bench, self.terms = place, git, bench, terms
        self.head = git.resolve("HEAD")
        self.state = place.state(self.head, self.head)
        self.held: FileSource = WorkTree(place.root)
        self.name = name
        self.parent = records.latest(self.held, name)
        self.said: list[Said] = []

    def run(self) -> Done:
        service = self.state.service(self.name)
        if service is None:
            raise no_service(self.name, self.state)
        folder = self.place.folder(self.git)
        self.said.append(checks.of_tree(self.git, folder))
        if not (service.base and service.sampling and service.prompts):
            return Done(self._broken(service))
        found = fingerprint_of(service, self.terms.capture)
        layers = {name: found.layers.get(name, _not_captured(name, service)) for name in LAYERS}
        fold = found.only(TIERS).fold()
        if isinstance(fold, Unknown):
            raise Unreadable(f"`{self.name}` has no fingerprint: {fold.reason}", hint="tierlock check")
        if self.parent is not None and _is_this(self.parent, service, layers):
            return Done(self._already(service, layers, fold))
        self.said.append(checks.of_configs(self.state.source, service, self.terms.today))
        reviewed = checks.of_review(self.git, self.head, service, self.parent, self.bench, folder=folder)
        review, overrides = self._accepted(reviewed)
        self.said += [review, checks.of_capture(service, self.terms.capture, layers, self._required())]
        proven = checks.of_evidence(self.state.source, self.held, service, layers, fold)
        self.said += [proven.said, checks.of_hold(self.held, service, fold)]
        record = self._record(service, layers, fold, reviewed.landed)
        record = replace(record, overrides=overrides)
        return self._done(record, proven.proofs)

    def _required(self) -> Sequence[str]:
        policy = self.state.settings().get("release")
        wanted = policy.get("require") if isinstance(policy, Mapping) else None
        return [str(one) for one in wanted] if isinstance(wanted, list | tuple) else []

    def _accepted(self, reviewed: Reviewed) -> tuple[Said, tuple[Override, ...]]:
        """The review, an absent policy set aside when that is asked for with a reason."""
        said, reason = reviewed.said, self.terms.unreviewed.strip()
        if not reviewed.unjudged or not reason:
            if reviewed.unjudged:
                command = (
                    f'tierlock release cut {self.name} --unreviewed "…"   (or add `review:` to tierlock.yaml)'
                )
                return replace(said, next=command), ()
            return said, ()
        if fault := strict.reason_fault(reason):
            raise Usage(f"that cannot be the reason: {fault}")
        told = f"not reviewed, accepted by {self.terms.actor}: {reason}"
        accepted = replace(said, checks=(Check("review", Outcome.PASS, told),), next="")
        return accepted, (Override("review", reason, self.terms.actor),)

    def _record(
        self, service: Service, layers: Mapping[str, str | Unknown], fold: str, landed: Sequence[Landed]
    ) -> Record:
        assert service.base is not None
        base, deploy = service.base.tree, service.tree.get("deploy")
        capture = self.terms.capture
        driver = deploy.get("driver") if isinstance(deploy, Mapping) else ""
        return Record(
            service=self.name,
            id=records.next_id(self.held, self.name),
            created_at=self.terms.created_at,
            commit=self.head,
            parent="" if self.parent is None else self.parent.id,
            fingerprint=fold,
            layers=layers,
            bindings={tier: str(service.tree[tier]) for tier in TIERS},
            engine=(_text(look(base, "engine.name")), _text(look(base, "engine.version"))),
            image=_text(look(base, "image.ref")),
            driver=_text(driver),
            capture=None if capture is None else records.tree_of(dump_capture(capture)),
            approvals=tuple(_approvals(landed)),
            reason=self.terms.reason,
            actor=self.terms.actor,
            tool=self.terms.tool,
        )

    def _done(self, record: Record, proofs: Sequence[Proof]) -> Done:
        files: dict[str, bytes] = {}
        snapshots, evidence, kept = [], [], []
        for proof in proofs:
            data = self.held.read(proof.filed.evidence.results)
            if records.digest_of(data) != proof.filed.evidence.results_digest:
                self.said.append(_changed_results(proof))
                continue
            path = f"{SNAPSHOTS}{self.name}/{record.id}/{proof.suite.name}.jsonl"
            files[path] = data
            snapshots.append(SnapshotRef(proof.suite.name, path, records.digest_of(data)))
            evidence.append(_reference(proof))
            kept += [proof.filed.path, proof.filed.evidence.results]
        record = replace(record, snapshots=tuple(snapshots), evidence=tuple(evidence))
        report = self._report(record)
        if report.outcome is not Outcome.PASS:
            return Done(report)
        files[record.path] = records.dump(record)
        return Done(report, record, files, tuple(kept))

    def _report(self, record: Record) -> Report:
        judged = tuple(check for said in self.said for check in said.checks)
        outcome = decide(judged)
        after = f" after {record.parent}" if record.parent else ""
        return Report(
            "release cut",
            title=f"{self.name}   {record.id} {record.fingerprint[:12]}   commit {self.head[:12]}{after}",
            checks=judged,
            findings=sort_findings(one for said in self.said for one in said.findings),
            layers=layer_states(record.layers),
            notes=(*(note for said in self.said for note in said.notes), *_told(record)),
            summary=self._summary(record, judged, outcome),
            next=next((said.next for said in self.said if said.next), ""),
            generated_at=self.terms.created_at,
            run={"service": self.name, "release": record.id, "fingerprint": record.fingerprint,
                 "commit": self.head, "parent": record.parent or None, "record": record.path},
        )  # fmt: skip

    def _summary(self, record: Record, judged: Sequence[Check], outcome: Outcome) -> str:
        if outcome is Outcome.PASS:
            return f"{self.name} {record.id} is {record.fingerprint[:12]}"
        first = next(check for check in judged if check.outcome is outcome)
        return f"{self.name} is not released: {first.detail or first.name}"

    def _already(self, service: Service, layers: Mapping[str, str | Unknown], fold: str) -> Report:
        parent = self.parent
        assert parent is not None
        judged = tuple(check for said in self.said for check in said.checks)
        told = f"{parent.id} is {fold[:12]} already"
        return Report(
            "release cut",
            title=f"{service.name}   {parent.id} {fold[:12]}",
            checks=(*judged, Check("release", Outcome.PASS, f"{told}: nothing to write")),
            findings=sort_findings(one for said in self.said for one in said.findings),
            layers=layer_states(layers),
            summary=told if decide(judged) is Outcome.PASS else judged[0].detail,
            next=f"tierlock release show {service.name} {parent.id}",
            generated_at=self.terms.created_at,
            run={"service": service.name, "release": parent.id, "fingerprint": fold, "commit": self.head,
                 "record": parent.path},
        )  # fmt: skip

    def _broken(self, service: Service) -> Report:
        """A service whose configs do not load has no fingerprint and is not judged any further."""
        judged = tuple(check for said in self.said for check in said.checks)
        return Report(
            "release cut",
            title=f"{service.name}   commit {self.head[:12]}",
            checks=(*judged, Check("configs", Outcome.BLOCK, "a config does not load")),
            findings=sort_findings((*self.state.findings, *(f for said in self.said for f in said.findings))),
            summary=f"{service.name} is not released: a config does not load at {self.head[:12]}",
            next="tierlock check",
            generated_at=self.terms.created_at,
            run={"service": service.name, "commit": self.head},
        )


def layer_states(layers: Mapping[str, str | Unknown]) -> tuple[LayerState, ...]:
    """The layers of one release as a report shows them; of a long reason its head, the record has it all."""
    return tuple(
        LayerState(name, "unknown", Unknown(_brief(value.reason)))
        if isinstance(value, Unknown)
        else LayerState(name, "present", value)
        for name, value in layers.items()
    )


def _not_captured(layer: str, service: Service) -> Unknown:
    base = service.base.tree if service.base is not None else {}
    if layer == "image" and not _text(look(base, "image.ref")):
        return Unknown("the base config names no image")
    return Unknown("not captured")


def _brief(reason: str) -> str:
    return reason if len(reason) <= 80 else reason.partition(": ")[0]


def _is_this(parent: Record, service: Service, layers: Mapping[str, str | Unknown]) -> bool:
    """Whether `parent` is the very same state: the same bindings, every layer equal or unknown on both."""
    bound = {tier: str(service.tree[tier]) for tier in TIERS}
    if parent.scheme != SCHEME or dict(parent.bindings) != bound:
        return False
    pairs = [(parent.layers[name], layers[name]) for name in LAYERS]
    return all((isinstance(one, Unknown) and isinstance(two, Unknown)) or one == two for one, two in pairs)


def _approvals(landed: Sequence[Landed]) -> Iterator[ApprovalRef]:
    """The approvals that the changes of this service landed with, each once."""
    from governance.review.audit import Standing

    seen: set[ApprovalRef] = set()
    for one in landed:
        if one.standing not in (Standing.APPROVED, Standing.LATE):
            continue
        for judged in one.decision.accepted:
            given = judged.evidence
            found = ApprovalRef(
                given.subject_key, given.before, given.after, given.person, given.source, given.where,
                given.emergency, one.standing is Standing.LATE,
            )  # fmt: skip
            if found not in seen:
                seen.add(found)
                yield found


def _reference(proof: Proof) -> EvidenceRef:
    one = proof.filed.evidence
    return EvidenceRef(
        path=proof.filed.path,
        digest=proof.filed.digest,
        suite=one.suite,
        suite_digest=one.suite_digest,
        kind=proof.kind,
        outcome=one.outcome,
        items=one.items,
        answered=one.answered,
        scored=one.scored,
        passed=one.passed,
    )


def _changed_results(proof: Proof) -> Said:
    told = f"`{proof.filed.evidence.results}` is not the file that the evidence was made from"
    return Said((Check(f"evidence {proof.kind}", Outcome.BLOCK, told),))


def _told(record: Record) -> Iterator[str]:
    if record.approvals:
        people = dict.fromkeys(one.person for one in record.approvals)
        late = sum(one.late for one in record.approvals)
        yield f"approvals  {len(record.approvals)} by {', '.join(people)}" + (
            f", {late} late" if late else ""
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
