"""What must hold before a release is cut: one check for each thing, all of them judged, none passed over.

- The governed tree and the suites are committed: a release is a commit, not a work tree.
- The configs load and no rule finds an error in them.
- What moved this service since its last release was approved by the policy of its time. What moved other
  services is told, and stops nothing.
- A capture that contradicts the base config blocks; a layer that the release policy asks for and nobody
  captured is undecided.
- Evidence counts for this fingerprint and this digest of the suite, the newest one alone, and only where no
  layer that both sides know differs.
- A held fingerprint is not released again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Final

from governance.adapters.files import FileSource
from governance.adapters.git import Git
from governance.errors import TierlockError, Unreadable
from governance.evals.evidence import Filed, filed_for
from governance.fingerprint.layers import LAYERS, OBSERVED, short
from governance.records import dataclass
from governance.release.contradictions import contradictions
from governance.release.record import Record
from governance.tiers.naming import GOVERNED, TIERS, config_of
from governance.values import Unknown
from governance.verdict import Check, Finding, Outcome, decide

if TYPE_CHECKING:
    from governance.evals.model import Suite
    from governance.fingerprint.record import Capture
    from governance.review.audit import Audited, Landed
    from governance.review.gate import Bench
    from governance.tiers.config import Service

SUITES: Final = "evals/"
SMOKE: Final = "smoke"
FULL: Final = "full"


@dataclass(frozen=True, slots=True)
class Said:
    """What one part of the cut says: checks, findings, notes, and the command that makes good."""

    checks: tuple[Check, ...]
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    next: str = ""


def of_tree(git: Git, folder: str) -> Said:
    """Whether what is released is committed; `folder` is the governed root inside of the repository."""
    from governance.adapters.git_commits import uncommitted

    above = f"{folder}/" if folder else ""
    dirty = uncommitted(git, [f"{above}{part}" for part in (*GOVERNED, SUITES)])
    if not dirty:
        return Said((Check("tree", Outcome.PASS, "governed files and suites are committed"),))
    inner = [path.removeprefix(above) for path in dirty]
    found = [Finding("TL601", f"`{path}` is not committed", path=path) for path in inner]
    number = f"{len(dirty)} file{'s' * (len(dirty) != 1)} not committed"
    return Said(
        (Check("tree", Outcome.BLOCK, number),), tuple(found), next=f"git add {dirty[0]} && git commit"
    )


def of_configs(source: FileSource, service: Service, today: date) -> Said:
    """Whether no rule finds an error in the configs of `service`."""
    from governance.engines.facts import Facts
    from governance.tiers.check import check

    paths = [config.path for config in (service.base, service.sampling, service.prompts) if config]
    report = check(source, today=today, only=paths, engine_facts=Facts())
    errors = tuple(one for one in report.findings if one.blocks)
    if errors:
        return Said((Check("configs", Outcome.BLOCK, "rules find errors"),), errors, next="tierlock check")
    return Said((Check("configs", Outcome.PASS, f"{len(paths)} configs pass every rule"),))


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What the review says, and the transitions of this service with what they landed on."""

    said: Said
    landed: tuple[Landed, ...] = ()
    unjudged: bool = False


def of_review(
    git: Git, head: str, service: Service, parent: Record | None, bench: Bench, folder: str
) -> Reviewed:
    """The audit of what moved `service` since `parent`, by the policies of that time.

    All of history is looked at for a first release, and when the service binds other configs than then.
    """
    from governance.review.audit import audit_history
    from governance.review.audit_report import audit_report

    since, label = _since(git, service, parent)
    if since == head:
        assert parent is not None
        return Reviewed(Said((Check("review", Outcome.PASS, f"nothing moved since {parent.id}"),)))
    found = audit_history(git, since, head, bench, folder=folder)
    aside = sum(_is_bad(one) for one in found.landed)
    _keep_own(found, service)
    aside -= sum(_is_bad(one) for one in found.landed)
    report = audit_report(found, label)
    outcome = decide(report.checks)
    notes = [f"{aside} change{'s' * (aside != 1)} of other services landed without approval: "
             f"tierlock review audit {label}"] if aside else []  # fmt: skip
    said = Said(
        (Check("review", outcome, f"{label}: {report.summary}"),), report.findings, tuple(notes),
        "" if outcome is Outcome.PASS else report.next,
    )  # fmt: skip
    return Reviewed(said, tuple(found.landed), unjudged=found.policy is None and outcome is Outcome.UNDECIDED)


def _since(git: Git, service: Service, parent: Record | None) -> tuple[str | None, str]:
    bound = {tier: str(service.tree[tier]) for tier in TIERS}
    if parent is None or dict(parent.bindings) != bound:
        return None, "HEAD"
    since = git.resolve(parent.commit)
    return since, f"{since[:12]}..HEAD"


def _is_bad(one: Landed) -> bool:
    from governance.review.audit import Standing

    return one.standing in (Standing.UNAPPROVED, Standing.UNDECIDED)


def _keep_own(found: Audited, service: Service) -> None:
    """Leave in `found` what shapes `service`: its configs, its binding, the policy."""
    mine = {f"config:{tier}/{service.tree[tier]}" for tier in TIERS} | {f"binding:{service.name}"}
    found.landed = [one for one in found.landed if one.subject.key in mine or one.subject.tier == "policy"]
    found.owed = [one for one in found.owed if one.landed.subject.key in mine]
    found.faults = [
        one for one in found.faults
        if (config := config_of(one[1].path)) is None or f"config:{config}" in mine
    ]  # fmt: skip


def of_capture(
    service: Service, capture: Capture | None, layers: Mapping[str, str | Unknown], required: Iterable[str]
) -> Said:
    """Whether the observed layers that are asked for are known, and none contradicts the base config."""
    checks: list[Check] = []
    found = contradictions(service, capture) if capture is not None else ()
    if found:
        checks.append(Check("capture", Outcome.BLOCK, "the host is not what the base config declares"))
    open_ = [name for name in OBSERVED if isinstance(layers[name], Unknown)]
    missing = [name for name in OBSERVED if name in open_ and name in set(required)]
    if missing:
        first = layers[missing[0]]
        why = first.reason if isinstance(first, Unknown) else ""
        told = f"the release policy asks for {', '.join(missing)}: {why}"
        checks.append(Check("layers", Outcome.UNDECIDED, told))
    else:
        known = [name for name in LAYERS if not isinstance(layers[name], Unknown)]
        told = f"{len(known)} of {len(LAYERS)} known"
        checks.append(
            Check("layers", Outcome.PASS, told + (f"; not covered: {', '.join(open_)}" if open_ else ""))
        )
    command = f"tierlock capture --service {service.name} -o host.json"
    return Said(tuple(checks), found, next=command if missing else "")


@dataclass(frozen=True, slots=True)
class Proof:
    """The evidence that speaks for one suite of a release."""

    kind: str
    suite: Suite
    filed: Filed


@dataclass(frozen=True, slots=True)
class Proven:
    """What evals say of a release, suite by suite."""

    said: Said
    proofs: tuple[Proof, ...] = ()


def of_evidence(
    source: FileSource,
    held: FileSource,
    service: Service,
    layers: Mapping[str, str | Unknown],
    fingerprint: str,
) -> Proven:
    """Whether the newest evidence for each suite that speaks for `service` passes.

    `source` has the suites as released, `held` the evidence.
    """
    suites = suites_of(service)
    if SMOKE not in suites:
        told = "the service names no smoke suite, so nothing says whether it answers as it should"
        hint = f"add `evals: {{smoke: smoke}}` to {service.name} in tierlock.yaml"
        return Proven(Said((Check("evidence", Outcome.UNDECIDED, told),), next=hint))
    checks: list[Check] = []
    proofs: list[Proof] = []
    commands: list[str] = []
    for kind, name in suites.items():
        check, proof = _proof(source, held, service, kind, name, layers, fingerprint)
        checks.append(check)
        if proof is not None:
            proofs.append(proof)
        if check.outcome is not Outcome.PASS:
            commands.append(f"tierlock eval run {service.name} --suite {name} --record")
    return Proven(Said(tuple(checks), next=commands[0] if commands else ""), tuple(proofs))


def suites_of(service: Service) -> dict[str, str]:
    """The suites that a release of `service` is judged by: kind to name."""
    evals = service.tree.get("evals")
    named = evals if isinstance(evals, Mapping) else {}
    return {kind: str(named[kind]) for kind in (SMOKE, FULL) if isinstance(named.get(kind), str)}


def _proof(
    source: FileSource, held: FileSource, service: Service, kind: str, name: str,
    layers: Mapping[str, str | Unknown], fingerprint: str,
) -> tuple[Check, Proof | None]:  # fmt: skip
    from governance.evals.suites import load_suite

    label = f"evidence {kind}"
    try:
        suite = load_suite(source, name)
        filed = filed_for(held, service.name, fingerprint, suite.digest)
    except TierlockError as err:
        return Check(
            label, Outcome.UNDECIDED, f"{err.where}: {err.message}" if err.where else err.message
        ), None
    if not filed:
        told = f"none for {fingerprint[:12]} and suite {name} {suite.digest[:12]}"
        return Check(label, Outcome.UNDECIDED, told), None
    newest = filed[-1]
    one = newest.evidence
    told = f"{one.passed} of {one.scored} right, {one.answered} of {one.items} answered, {one.ended_at}"
    if one.outcome is not Outcome.PASS:
        why = next((check.detail for check in one.checks if check.outcome is one.outcome), "")
        return Check(label, one.outcome, f"{newest.path}: {why or told}"), None
    if moved := _moved(one.layers, layers):
        return Check(label, Outcome.BLOCK, f"{newest.path} was made with another {moved}"), None
    try:
        held.read(one.results)
    except Unreadable as err:
        return Check(label, Outcome.UNDECIDED, f"the results of {newest.path} are gone: {err.message}"), None
    return Check(label, Outcome.PASS, told), Proof(kind, suite, newest)


def _moved(evidence: Mapping[str, str], layers: Mapping[str, str | Unknown]) -> str:
    """The layers that both sides know and that differ, with their digests; empty when none does."""
    pairs = [(name, evidence[name], layers[name]) for name in LAYERS if name in evidence and name in layers]
    differing = [
        f"{name} ({short(one)}, released is {short(two)})"
        for name, one, two in pairs
        if not isinstance(two, Unknown) and one != two
    ]
    return ", ".join(differing)


def of_hold(held: FileSource, service: Service, fingerprint: str) -> Said:
    """Whether a rollback holds this fingerprint back."""
    from governance.release.holds import check_hold

    check = check_hold(held, service.name, fingerprint)
    command = f'tierlock release unhold {service.name} {fingerprint[:12]} --reason "…"'
    return Said((check,), next=command if check.outcome is Outcome.BLOCK else "")
