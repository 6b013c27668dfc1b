"""What is told of a rollback: the gate, the plan, each step, in which state things are, the one next command.

- Whatever the outcome, the last line says what runs now and what is on disk: the reader was just woken up.
- Pure: what happened in, a report out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from governance.adapters.git_forward import Change as Moved
from governance.errors import TierlockError, Usage
from governance.evals.judging import SMOKE
from governance.fingerprint.changes import Showing
from governance.fingerprint.layers import short
from governance.release.drill import Drilled
from governance.release.holds import Hold
from governance.release.journal import Journal, Step
from governance.release.observation import OBSERVE
from governance.release.restorable.age import since
from governance.release.rollback_gate import Gate, Terms, Wanted
from governance.release.services import compare_service
from governance.release.sides import StateSide
from governance.values import Json
from governance.verdict import Change, Check, Outcome, Report, decide

if TYPE_CHECKING:
    from governance.evals.evaluating import Evaluated
    from governance.release.sides import Place

COMMAND: Final = "rollback"
_TELLING: Final = ("image", "weights", "packages", "advisories", "age")
"""Checks of the gate whose words say more than that they passed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be done, in lines, and what it moves, value by value."""

    lines: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(slots=True)
class Story:
    """What happened so far, gathered until it is told."""

    terms: Terms
    drilled: Drilled | None = None
    gate: Gate | None = None
    plan: Plan = field(default_factory=Plan)
    resumed: Journal | None = None
    taken_back: bool = False
    stopped: bool = False
    steps: list[Check] = field(default_factory=list)
    observed: tuple[Check, ...] = ()
    smoke: tuple[Check, ...] = ()


def message(journal: Journal) -> str:
    """The message of the commit that restores the files."""
    return f"rollback {journal.service} to {journal.target}\n\n{journal.reason}\n\nBy: {journal.by}\n"


def plan_of(gate: Gate, place: Place) -> Plan:
    """What the gate would let happen."""
    if gate.wanted is None or gate.restore is None:
        return Plan()
    wanted, restore = gate.wanted, gate.restore
    name, release = wanted.record.service, wanted.record.id
    lines = [f"  plan       {_files(restore.changes, release)}"]
    lines += [f"             {'-' if not one.after[0] else '+' if not one.before[0] else ' '} {path}"
              for one, path in zip(restore.changes, restore.paths, strict=True)]  # fmt: skip
    if restore.moves_too:
        lines.append(
            f"  moves too  {', '.join(restore.moves_too)}: bound to the same configs; "
            "its server is left alone, and its own approvals are asked for"
        )
    if wanted.driver is not None and wanted.target is not None:
        lines += [f"  {wanted.driver.NAME:<10} {line}" for line in _driver_plan(wanted)]
    changes: tuple[Change, ...] = ()
    if restore.changes and name in place.state(gate.head, gate.head).bindings():
        before = StateSide("HEAD", place.state(gate.head, gate.head), name)
        after = StateSide(release, place.state(wanted.record.commit), name)
        found = compare_service(before, after, Showing())
        changes = tuple(one for one in found.changes if one.layer != "services")
    return Plan(tuple(lines), changes)


def _driver_plan(wanted: Wanted) -> Sequence[str]:
    assert wanted.driver is not None
    assert wanted.target is not None
    try:
        return wanted.driver.plan(wanted.target)
    except TierlockError as err:
        return (f"cannot be planned: {err.message}",)


def _files(changes: Sequence[Moved], release: str) -> str:
    if not changes:
        return f"no file to restore: HEAD has the configs of {release}"
    return f"{len(changes)} file{'s' * (len(changes) != 1)} back to {release}"


def dry_run(story: Story, gate: Gate, plan: Plan, journal: Journal | None) -> Report:
    """The gate and the plan; nothing was written."""
    terms = story.terms
    bad = gate.outcome is not Outcome.PASS
    notes = [*plan.lines]
    if journal is not None:
        since = f"since {journal.begun_at} by {journal.by}"
        notes.append(f"  under way  to {journal.target} {since}: {journal.told}")
    return Report(
        COMMAND,
        title=_title(story, gate),
        checks=gate.checks,
        changes=plan.changes,
        notes=(*notes, "dry run: nothing is written"),
        summary=_refusal(gate) if bad else f"{terms.service} can go back to {gate.release}",
        next=_mend(gate, terms) if bad else _again(terms),
        generated_at=terms.at,
        run=_run(terms, gate.wanted, gate.release, "dry run"),
    )


def refused(story: Story, gate: Gate) -> Report:
    """The gate did not pass; nothing was written, or what was is taken back."""
    back = "; what a broken call had written is taken back" if story.taken_back else "; nothing was written"
    return Report(
        COMMAND,
        title=_title(story, gate),
        checks=gate.checks,
        notes=tuple(_moved_nothing(story)),
        summary=_refusal(gate) + back,
        next=_mend(gate, story.terms),
        generated_at=story.terms.at,
        run=_run(story.terms, gate.wanted, gate.release, "refused"),
    )


def already(story: Story, wanted: Wanted) -> Report:
    """Everything is as the release already."""
    assert story.gate is not None
    told = f"{story.terms.service} runs {wanted.record.id} already: nothing was changed"
    return Report(
        COMMAND,
        title=_title(story, story.gate),
        checks=(_gate_line(story.gate), *story.observed, *story.smoke),
        summary=told,
        generated_at=story.terms.at,
        run=_run(story.terms, wanted, wanted.record.id, "already"),
    )


def stopped(story: Story, wanted: Wanted, journal: Journal) -> Report:
    """Something after the restore did not come out right: where things are, and what to do."""
    checks = [*_gate_lines(story), *_restored(journal), *story.steps, *story.observed, *story.smoke]
    bad = next((one for one in checks if one.outcome is Outcome.BLOCK), None)
    bad = bad or next(one for one in checks if one.outcome is Outcome.UNDECIDED)
    return Report(
        COMMAND,
        title=_title(story, story.gate, wanted),
        checks=tuple(checks),
        changes=story.plan.changes,
        notes=tuple(_state(story, journal)),
        summary=f"{journal.service} is not proven to be back at {journal.target}: {bad.name}: {bad.detail}",
        next=_onward(story, wanted, journal, bad),
        generated_at=story.terms.at,
        run=_run(story.terms, wanted, wanted.record.id, "stopped"),
    )


def done(story: Story, wanted: Wanted, journal: Journal, seconds: float) -> Report:
    """The release runs, and was seen to."""
    checks = [*_gate_lines(story), *_restored(journal), *story.steps, *story.observed, *story.smoke]
    checks.append(Check("record", Outcome.PASS, f"{journal.release} restores {journal.target}"
                        + (f", commit {journal.record.commit[:12]}" if journal.record else "")))  # fmt: skip
    checks += [Check("hold", Outcome.PASS, _held(journal, one)) for one in journal.rejected]
    took = f"{int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"
    what = f"golden {journal.target}" if wanted.entry is not None else journal.target
    return Report(
        COMMAND,
        title=_title(story, story.gate, wanted),
        checks=tuple(checks),
        changes=story.plan.changes,
        notes=tuple(_left(story, journal)),
        summary=f"rolled back: {journal.service} runs {what}, observed {took} after the command",
        next="git push",
        generated_at=story.terms.at,
        run={**_run(story.terms, wanted, journal.target, "rolled back"), "record": journal.release,
             "commit": journal.restore.commit if journal.restore else None,
             "rejected": [one for one, _ in journal.rejected]},
    )  # fmt: skip


def taken_back(journal: Journal) -> Report:
    """A broken rollback was given up."""
    return Report(
        COMMAND,
        title=f"{journal.service}   rollback to {journal.target}, begun {journal.begun_at} by {journal.by}",
        checks=(Check("taken back", Outcome.PASS, "files and branch are as before; nothing was deployed"),),
        summary=f"{journal.service} is as it was before the rollback",
        run={"service": journal.service, "release": journal.target, "state": "taken back"},
    )


def too_late(journal: Journal) -> Report:
    """A rollback that has begun to deploy is not taken back."""
    told = f"{journal.target} was deployed, or may have been: {journal.told}"
    return Report(
        COMMAND,
        title=f"{journal.service}   rollback to {journal.target}, begun {journal.begun_at} by {journal.by}",
        checks=(Check("taken back", Outcome.BLOCK, told),),
        notes=(f"or go to another release: tierlock rollback {journal.service} --to RELEASE",),
        summary=f"the rollback of {journal.service} can only be finished: {told}",
        next=f"tierlock rollback {journal.service}",
        run={"service": journal.service, "release": journal.target, "state": "under way"},
    )


def another(journal: Journal, terms: Terms) -> Usage:
    """A rollback to another release is half done."""
    return Usage(
        f"a rollback of `{journal.service}` to {journal.target} was broken off ({journal.told})",
        hint=f"finish it: tierlock rollback {journal.service} --to {journal.target}, "
        f"or take it back: tierlock rollback {journal.service} --abort; then go to {terms.to}",
    )


def smoke_check(found: Evaluated) -> Check:
    """The smoke run in one line; where it does not pass, the reason first."""
    outcome = decide(found.checks)
    bad = [one for one in found.checks if one.outcome is outcome and outcome is not Outcome.PASS]
    counts = found.counts
    told = "; ".join(one.detail for one in bad)
    if not told:
        items = next((one.detail for one in found.checks if one.name == "items"), "")
        told = f"{counts.items} items, {counts.answered} answered" + (f" · {items}" if items else "")
    return Check(SMOKE, outcome, told)


def _title(story: Story, gate: Gate | None, wanted: Wanted | None = None) -> str:
    service, drilled = story.terms.service, story.drilled
    wanted = wanted or (gate.wanted if gate is not None else None)
    if wanted is None:
        return f"{service}   to {gate.release}" if gate is not None else service
    golden = "golden " if wanted.entry is not None else ""
    title = f"{service}   {golden}{wanted.record.id} · {short(wanted.fingerprint)}"
    if drilled is None or drilled.fingerprint != wanted.fingerprint or drilled.outcome is not Outcome.PASS:
        return title
    return f"{title} · proven restorable {since(drilled.at, story.terms.now)} ago"


def _gate_lines(story: Story) -> list[Check]:
    return [_gate_line(story.gate)] if story.gate is not None else []


def _gate_line(gate: Gate) -> Check:
    """All of a gate that passed, in one line."""
    told = [f"{one.name}: {one.detail}" for one in gate.checks if one.name in _TELLING]
    rest = [one.name for one in gate.checks if one.name not in _TELLING]
    return Check("gate", Outcome.PASS, " · ".join([f"{', '.join(rest)} in order", *told]))


def _refusal(gate: Gate) -> str:
    outcome = gate.outcome
    open_ = [one for one in gate.checks if one.outcome is outcome]
    if not open_:
        return f"it cannot be said whether {gate.release} can be restored"
    more = f" (and {len(open_) - 1} more)" if len(open_) > 1 else ""
    return f"{gate.release} is not restored: {open_[0].name}: {open_[0].detail}{more}"


def _mend(gate: Gate, terms: Terms) -> str:
    """The one command for the first thing in the way."""
    outcome = gate.outcome
    first = next((one for one in gate.checks if one.outcome is outcome), None)
    name, service, release = first.name if first else "", terms.service, gate.release
    commands = {
        "golden": f"tierlock golden show {service}",
        "hold": f"tierlock golden show {service}",
        "repository": first.detail.rpartition("; ")[2] if first and "; " in first.detail else "git status",
        "image": f"tierlock release show {service} {release}   (push the image again by this digest)",
        "weights": f"tierlock release show {service} {release}   (bring the files back to this host)",
        "deploy": first.detail.rpartition("; ")[2] if first else "",
    }
    if name in ("packages", "advisories", "hardware", "age", SMOKE):
        return f'{_again(terms)} --accept {name}="why"   (recorded with who and why)'
    return commands.get(name) or f"tierlock release verify {service} {release}"


def _again(terms: Terms) -> str:
    return f"tierlock rollback {terms.service}" + (f" --to {terms.to}" if terms.to else "")


def _moved_nothing(story: Story) -> Iterator[str]:
    if story.resumed is not None:
        yield f"the rollback that {story.resumed.by} began at {story.resumed.begun_at} is given up"


def _restored(journal: Journal) -> Iterator[Check]:
    if journal.restore is None:
        yield Check("restore", Outcome.PASS, f"no file had to move: HEAD has the configs of {journal.target}")
        return
    count = len(journal.restore.changes)
    told = f'commit {journal.restore.commit[:12]} "rollback {journal.service} to {journal.target}", '
    yield Check("restore", Outcome.PASS, f"{told}{count} file{'s' * (count != 1)}")


def _state(story: Story, journal: Journal) -> Iterator[str]:
    """On disk, live, held: the three things somebody who was just woken up asks for."""
    where = f"commit {journal.restore.commit[:12]}" if journal.restore is not None else "HEAD"
    yield f"  on disk    the configs of {journal.target} ({where}), not pushed"
    outcomes = [one for one in story.observed if one.name == OBSERVE]
    if not journal.begun(Step.DEPLOY) or story.stopped:
        yield "  live       not what was restored: the deployment failed"
    elif any(one.outcome is Outcome.PASS for one in outcomes):
        yield f"  live       {journal.target}, read back equal"
    else:
        yield f"  live       not shown to be {journal.target}"
    yield "  held       nothing yet: no release is recorded before the smoke eval passes"


def _onward(story: Story, wanted: Wanted, journal: Journal, bad: Check) -> str:
    again = f"tierlock rollback {journal.service}" + (f" --to {journal.target}" if story.terms.to else "")
    if bad.name == SMOKE and bad.outcome is Outcome.BLOCK:
        reach = f"(within reach: tierlock golden show {journal.service})"
        return f"tierlock rollback {journal.service} --to RELEASE   {reach}"
    if bad.name.startswith(OBSERVE) and wanted.driver is None:
        return f"deploy {journal.target} by hand, then: {again}"
    return again


def _held(journal: Journal, one: tuple[str, str]) -> str:
    hold = Hold(one[0], "", "", "", one[1])
    what = f"{journal.service} {one[0][:12]}"
    return f'{hold.label} may not be released again until: tierlock release unhold {what} --reason "…"'


def _left(story: Story, journal: Journal) -> Iterator[str]:
    if story.resumed is not None:
        yield f"carried on from a call that {story.resumed.by} began at {story.resumed.begun_at}"
    if journal.moves_too:
        first = journal.moves_too[0]
        yield (
            f"bound to the same configs, and now other than what they run: {', '.join(journal.moves_too)} "
            f"(tierlock diff {first} {first}@live)"
        )
    for one in journal.overrides:
        yield f"accepted without {one.check}, by {one.by}: {one.reason}"
    if not journal.rejected:
        yield "nothing is held: no other release was seen in the repository or on a server"


def _run(terms: Terms, wanted: Wanted | None, release: str, state: str) -> dict[str, Json]:
    return {
        "service": terms.service,
        "release": release,
        "fingerprint": wanted.fingerprint if wanted is not None else None,
        "by": terms.by,
        "state": state,
    }
