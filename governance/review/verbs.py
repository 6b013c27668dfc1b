"""The verbs of review that judge: the gate over index, commit, range and push; status; simulate.

- Each takes its neighbours as arguments and returns a report; nothing here prints or exits.
- A push is judged ref by ref, all of them, and one that is bad does not hide another.
- `status` is the gate's answer for the branch as it stands; `simulate` asks who would have to approve and
  needs no approvals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from governance.adapters import git_history as history
from governance.adapters.files import FileSource
from governance.errors import TierlockError, Unreadable
from governance.records import replace
from governance.review import landings
from governance.review.gate import Bench, Enforced, Landing, Verdict, judge_change, judge_landing
from governance.review.landings import HEADS, PushedRef, Where
from governance.review.model import Authors, Evidence, Judged
from governance.review.policy import protected
from governance.review.telling import LOCAL, report
from governance.tiers.config import GOVERNED, SERVICES_FILE
from governance.verdict import Check, Finding, Outcome, Report, Severity, sort_findings

RECORDS = ".tierlock/approvals"
EMERGENCY = ".emergency.json"
TARGETS = ("refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/heads/main", "refs/heads/master")


def gate_index(where: Where, bench: Bench, *, bootstrap: bool = False) -> Report:
    """The report on the commit being made, or on the last one when nothing is staged."""
    verdict = judged(where, landings.of_index(where, bootstrap=bootstrap), bench)
    told = report("review gate", [verdict])
    return replace(told, notes=(*told.notes, LOCAL)) if told.findings else told


def gate_commit(where: Where, bench: Bench, revision: str, *, bootstrap: bool = False) -> Report:
    """The report on one commit against its first parent."""
    landing = landings.of_commit(where, revision, bootstrap=bootstrap)
    return report("review gate", [judged(where, landing, bench)])


def gate_range(where: Where, bench: Bench, text: str, *, bootstrap: bool = False, ref: str = "") -> Report:
    """The report on `BASE..HEAD`; with `ref`, on landing there: enforced only where that is protected."""
    with landings.of_range(where, text, bootstrap=bootstrap, ref=ref) as landing:
        if ref:
            landing = replace(landing, enforced=Enforced.BY_BRANCH)
        return report("review gate", [judged(where, landing, bench)])


def gate_push(where: Where, bench: Bench, given: bytes, *, remote: str = "") -> Report:
    """The report on the lines of a push; one ref that cannot be judged leaves the others judged."""
    refs = landings.parse_push(given)
    checks: list[Check] = []
    findings: list[Finding] = []
    verdicts: list[Verdict] = []
    hints: list[str] = []
    if not refs and (where.environ or {}).get("PRE_COMMIT"):  # it reads the lines itself and drops them
        checks.append(Check("pushed refs", Outcome.UNDECIDED, "pre-commit does not hand on what is pushed"))
        hints.append("tierlock review install     (a pre-push hook of git's own)")
    elif not refs:
        checks.append(Check("pushed refs", Outcome.PASS, "git names no ref to update: nothing is pushed"))
    for one in refs:
        try:
            findings += _of_history(where, one, remote)
            found = [judged(where, each, bench) for each in landings.of_push(where, [one], remote=remote)]
            _refuse_elsewhere(where, one, found)
            verdicts += found
        except TierlockError as err:
            checks.append(Check(one.ref.removeprefix(HEADS), Outcome.UNDECIDED, err.message))
            hints.append(err.hint)
    checks += [
        Check(one.message.split("`")[1], Outcome.BLOCK) for one in findings if one.severity is Severity.ERROR
    ]
    if refs and not (verdicts or checks):
        checks.append(Check("pushed refs", Outcome.PASS, "only unprotected refs are deleted"))
    told = report("review gate", verdicts, extra=checks)
    undecided = next((hint for hint in hints if hint), "")
    summary = findings[0].message if findings and not told.summary else told.summary
    return replace(
        told,
        findings=sort_findings((*told.findings, *findings)),
        summary=summary,
        next=told.next or undecided or (findings[0].hint if findings else ""),
    )


def _refuse_elsewhere(where: Where, pushed: PushedRef, verdicts: Sequence[Verdict]) -> None:
    """Raise `Unreadable` when nothing is governed where the gate looks and something is in a folder below.

    A server has no folder to stand in: without `--folder` a larger repository would pass unseen.
    """
    looked = any(
        state.entries(part)
        for verdict in verdicts
        for state in (verdict.landing.before, verdict.landing.after)
        if state is not None
        for part in GOVERNED
    )
    if looked or not verdicts or pushed.new is None:
        return
    out = where.git.run("ls-tree", "-r", "-z", "--full-tree", "--name-only", pushed.new)
    names = out.decode("utf-8", "surrogateescape").split("\0")
    below = sorted(name.rpartition("/")[0] for name in names if name.endswith(f"/{SERVICES_FILE}"))
    if below:
        at = f"in `{where.folder}`" if where.folder else "at the top"
        raise Unreadable(
            f"nothing is governed {at}, but in `{below[0]}`",
            where=pushed.ref,
            hint=f"tierlock review install --hook pre-receive --folder {below[0]}",
        )


def status(where: Where, bench: Bench, *, base: str = "") -> Report:
    """What the branch, with what is staged, still needs before it may land on `base`."""
    landing = of_branch(where, base or target_of(where))
    return report("review status", [judged(where, landing, bench)])


def judged(where: Where, landing: Landing, bench: Bench) -> Verdict:
    """The verdict on one landing, with what emergency approvals in it still owe."""
    verdict = judge_landing(landing, bench)
    if verdict.ground is None or not any(
        entry.path.endswith(EMERGENCY) for entry in landing.after.entries(RECORDS)
    ):
        return verdict
    from governance.review import owed

    found = owed.still_open(where, landing.after, verdict.ground.policy, bench.judge)
    return replace(verdict, owed=found)


def simulate(
    where: Where, bench: Bench, after: FileSource, *, author: str = "", base: str = "HEAD"
) -> Report:
    """Who would have to approve what `after` changes, under the policy at `base`, or the new one when there
    is none. `author` is a person of the policy who would make the change.
    """
    before = where.tree(base) if base != "HEAD" or where.git.has_commits() else None
    landing = Landing("this change", after, before, enforced=Enforced.ALWAYS, bootstrap=True)
    told = judge_landing(landing, replace(bench, judge=_nobody))
    if told.ground is None:
        return report("review simulate", [told])
    policy = told.ground.policy
    if author and author not in policy.people:
        raise Unreadable(
            f"`{author}` is nobody in the policy", hint=f"choose from: {', '.join(policy.people) or 'nobody'}"
        )
    made_by = Authors(frozenset({author} if author else ()))
    decisions = judge_change(told.change_set, policy, (), made_by, bench.now, _nobody)
    why = "this is a simulation"
    return report("review simulate", [replace(told, decisions=decisions, enforced=False, why=why)])


def _nobody(evidence: Evidence, *_: object) -> Judged:
    return Judged(evidence, accepted=False, why="a simulation counts no approvals")


def _of_history(where: Where, one: PushedRef, remote: str) -> Iterator[Finding]:
    """What a push does to the ref itself, where the ref is protected."""
    if one.old is None:
        return
    policy = landings.policy_of_ref(where, one, remote)
    name = one.ref.removeprefix(HEADS)
    if policy is None or not protected(policy, one.ref):
        return
    if one.new is None:
        message = f"`{name}` is protected, and the push deletes it"
        yield Finding("TL505", message, hint="keep the branch, or take it out of `review.protected` first")
    elif where.git.find(one.old) and not history.is_ancestor(where.git, one.old, one.new):
        message = f"`{name}` is protected, and the push replaces its history"
        hint = f"git pull --rebase {remote or 'origin'} {name}"
        yield Finding("TL509", message, hint=hint)


def of_branch(where: Where, target: str) -> Landing:
    """What this branch, with what is staged, brings to `target`."""
    git = where.git
    tip = git.resolve(target)
    start = git.merge_base(tip, "HEAD")
    after, before, now = where.index(), where.tree(start, oid=start), where.tree(target, oid=tip)
    who = where.made(tip, "HEAD")
    for path, people in landings.committing(where).items():
        who.setdefault(path, []).extend(people)
    label = f"this branch into {_short(target)}"
    return Landing(label, after, before, now, who=who, approvals=(after, now))


def target_of(where: Where) -> str:
    """The branch that others land on here."""
    for name in TARGETS:
        if where.git.find(name) is not None:
            return name
    raise Unreadable("no base branch is known", hint="tierlock review status --base BRANCH")


def _short(ref: str) -> str:
    for prefix in (HEADS, "refs/remotes/"):
        ref = ref.removeprefix(prefix)
    return ref
