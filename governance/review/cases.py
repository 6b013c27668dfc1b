"""Unit tests of a review policy: cases of a change, its authors and its approvals, each with what must come
out.

- A case names people of the policy; its approvals are valid ones by them. So what is tested is the policy:
  numbers, roles, who is left out. Signatures, digests and dates are tested by tierlock itself.
- Every case is decided by the same function as a real change (`gate.judge_change`).
- No case is undecided, not a pass. A case that names nobody of the policy is a mistake in the case.
- Pure: bytes in, report out.

```yaml
cases:
  - name: nobody approves their own change
    change: sampling/factual      # or service/summarizer, or policy
    effect: output                # output (default), latency, none
    authors: [reviewer-a]
    approvals: [reviewer-a]
    expect: block                 # pass or block
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from governance.records import dataclass
from governance.review.gate import judge_change
from governance.review.model import (
    POLICY_NAME,
    Authors,
    ChangeSet,
    Decision,
    Evidence,
    Judged,
    Subject,
    SubjectKind,
    Transition,
)
from governance.review.policy import Policy
from governance.tiers.naming import TIERS
from governance.tiers.reader import Reading, finding_at, read_yaml
from governance.values import Effect, Json, KeyPath
from governance.verdict import Check, Finding, Outcome, Report

KEYS: Final = ("name", "change", "effect", "authors", "approvals", "expect", "missing")
NEEDED: Final = ("name", "change", "expect")
EXPECTED: Final = {"pass": Outcome.PASS, "block": Outcome.BLOCK}
NAME: Final = "review-tests.yaml"
_BEFORE, _AFTER = "0" * 64, "1" * 64


@dataclass(frozen=True, slots=True)
class Case:
    """One case; `missing` is how many approvals must still be needed, None when that does not matter."""

    name: str
    transition: Transition
    authors: tuple[str, ...]
    approvals: tuple[str, ...]
    expect: Outcome
    missing: int | None = None
    index: int = 0


def run(data: bytes, path: str, policy: Policy, *, now: datetime) -> Report:
    """The report on every case of the file `data`."""
    reading = read_yaml(data, path)
    cases, faults = _cases(reading, policy)
    findings = [*reading.findings, *faults]
    checks = [Check("cases", Outcome.UNDECIDED, f"{len(findings)} mistakes in {path}")] if findings else []
    failing = 0
    for case in cases if not findings else ():
        decision = _decide(case, policy, now)
        why = _difference(case, decision)
        failing += bool(why)
        checks.append(Check(case.name, Outcome.BLOCK if why else Outcome.PASS, why or _told(decision)))
        if why:
            key: KeyPath = ("cases", case.index, "expect")
            message = f"`{case.name}` does not come out as expected: {why}"
            findings.append(finding_at(reading, "TL510", message, key))
    if findings and not failing:
        summary = f"{path} cannot be run as it is"
    elif not cases:
        summary = f"{path} has no case"
    else:
        summary = f"{len(cases) - failing} of {len(cases)} cases come out as expected"
    facts: dict[str, Json] = {"policy": policy.digest, "cases": len(cases), "failing": failing}
    return Report("review test", checks=tuple(checks), findings=tuple(findings), summary=summary, run=facts)


def _decide(case: Case, policy: Policy, now: datetime) -> Decision:
    subject = case.transition.subject
    given = [
        Evidence(
            "signature", person, subject.key, subject.before, subject.after, subject.scheme,
            policy.digest, "a case", now,
        )
        for person in case.approvals
    ]  # fmt: skip
    authors = Authors(frozenset(case.authors))
    return judge_change(ChangeSet((case.transition,)), policy, given, authors, now, _by_person)[0]


def _by_person(
    evidence: Evidence,
    subject: Subject,
    policy: Policy,
    authors: Authors,
    now: datetime,  # noqa: ARG001
) -> Judged:
    """As `approval.judge` of a whole, signed and current approval: what is left is the person."""
    able = policy.members(policy.asked[subject.tier].roles)
    if evidence.person in authors.people:
        return Judged(evidence, accepted=False, why=f"{evidence.person} made the change")
    if evidence.person not in able:
        return Judged(
            evidence, accepted=False, why=f"{evidence.person} is not in the roles that approve this"
        )
    return Judged(evidence, accepted=True)


def _difference(case: Case, decision: Decision) -> str:
    if decision.outcome is not case.expect:
        return f"expected {case.expect.value}, and it is {decision.outcome.value} ({_told(decision)})"
    if case.missing is not None and decision.missing != case.missing:
        return f"expected {case.missing} missing, and it is {decision.missing} ({_told(decision)})"
    return ""


def _told(decision: Decision) -> str:
    counted = ", ".join(decision.approvers) or "nobody"
    refused = "; ".join(one.why for one in decision.refused)
    needed = decision.requirement.approvals
    return f"needs {needed}, counts {counted}" + (f"; {refused}" if refused else "")


def _cases(reading: Reading, policy: Policy) -> tuple[list[Case], list[Finding]]:
    findings: list[Finding] = []
    if reading.tree is None:
        return [], findings
    tree = reading.tree if isinstance(reading.tree, Mapping) else {}
    listed = tree.get("cases")
    unknown = [key for key in tree if key not in ("version", "cases")]
    findings += [_mistake(reading, f"unknown key `{key}`", (key,), on_key=True) for key in unknown]
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        findings.append(_mistake(reading, "`cases` is not a list", ("cases",)))
        return [], findings
    found = [_case(reading, entry, index, policy, findings) for index, entry in enumerate(listed)]
    return [one for one in found if one is not None], findings


def _case(reading: Reading, entry: Json, index: int, policy: Policy, findings: list[Finding]) -> Case | None:
    at: KeyPath = ("cases", index)
    before = len(findings)
    if not isinstance(entry, Mapping):
        findings.append(_mistake(reading, "a case is a mapping", at))
        return None
    for key in entry:
        if key not in KEYS:
            message = f"unknown key `{key}`; a case has {', '.join(KEYS)}"
            findings.append(_mistake(reading, message, (*at, key), on_key=True))
    findings += [_mistake(reading, f"`{key}` is missing", at) for key in NEEDED if key not in entry]
    people = [_people(reading, entry, index, key, policy, findings) for key in ("authors", "approvals")]
    transition = _transition(reading, entry, index, findings)
    expect = EXPECTED.get(str(entry.get("expect")))
    if "expect" in entry and expect is None:
        findings.append(_mistake(reading, "`expect` is pass or block", (*at, "expect")))
    missing = entry.get("missing")
    if missing is not None and (not isinstance(missing, int) or isinstance(missing, bool)):
        findings.append(_mistake(reading, "`missing` is a number", (*at, "missing")))
        missing = None
    if len(findings) > before or transition is None or expect is None:
        return None
    return Case(str(entry["name"]), transition, people[0], people[1], expect, missing, index)


def _people(
    reading: Reading, entry: Mapping[str, Json], index: int, key: str, policy: Policy, findings: list[Finding]
) -> tuple[str, ...]:
    given = entry.get(key, ())
    if not isinstance(given, Sequence) or isinstance(given, str):
        findings.append(_mistake(reading, f"`{key}` is not a list", ("cases", index, key)))
        return ()
    for at, name in enumerate(given):
        if name not in policy.people:
            message = f"`{name}` is nobody in the policy; it has {', '.join(policy.people) or 'nobody'}"
            findings.append(_mistake(reading, message, ("cases", index, key, at)))
    return tuple(map(str, given))


def _transition(
    reading: Reading, entry: Mapping[str, Json], index: int, findings: list[Finding]
) -> Transition | None:
    text, effect = str(entry.get("change", "")), str(entry.get("effect", "output"))
    if effect not in [one.value for one in Effect]:
        findings.append(_mistake(reading, "`effect` is output, latency or none", ("cases", index, "effect")))
        return None
    head, _, name = text.partition("/")
    if text == POLICY_NAME:
        kind = SubjectKind.POLICY
    elif head == "service" and name:
        kind, text = SubjectKind.BINDING, name
    elif head in TIERS and name:
        kind = SubjectKind.CONFIG
    else:
        if "change" in entry:
            message = f"`{text}` is no change: write sampling/factual, service/summarizer or policy"
            findings.append(_mistake(reading, message, ("cases", index, "change")))
        return None
    return Transition(Subject(kind, text, _BEFORE, _AFTER), (), Effect(effect))


def _mistake(reading: Reading, message: str, path: KeyPath, *, on_key: bool = False) -> Finding:
    return finding_at(reading, "TL511", message, path, on_key=on_key)
