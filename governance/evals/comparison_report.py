"""The report on two runs compared: layers, scores, what was lost, what moved, the checks.

- Every id that is right on one side only is named; text shows the first hundred of a kind, `run` has all.
- Answers are shown only to who asks for content (`report/content.py`); positions are always told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from governance.evals.comparing import Comparison
from governance.evals.comparison_checks import SIDES, comparison_checks, left_out, points
from governance.evals.model import Run
from governance.evals.moving import Moved
from governance.evals.pairing import Paired, Side, counts
from governance.evals.statistics import wilson
from governance.fingerprint.layers import LAYERS
from governance.tiers.textdiff import text_changes
from governance.values import Effect, Json, Unknown
from governance.verdict import Change, Finding, LayerState, Outcome, Report, Severity, decide

_IDS: Final = 100
_MOVED: Final = 10
_NOT_RECORDED: Final = Unknown("not recorded with the run")
_NO_BUILD: Final = Unknown("the server does not say")


def comparison_report(
    found: Comparison, *, names: tuple[str, str] = SIDES, everything: bool = False
) -> Report:
    """What people are shown of `found`; `names` are the two runs as they were asked for, `everything` shows
    every answer that moved.
    """
    checks = comparison_checks(found)
    outcome = decide(checks)
    shown = found.movement.moved if everything else _first(found.movement.moved)
    return Report(
        "eval compare",
        title=f"{found.suite}   {names[0]} → {names[1]}",
        checks=checks,
        findings=tuple(_findings(found, outcome)),
        layers=tuple(_layers(found.before, found.after, found.sides)),
        changes=tuple(_change(moved) for moved in shown),
        scores=tuple(_scores(found)),
        notes=tuple(_notes(found, len(shown))),
        summary=_summary(found, outcome),
        next=_next(found, outcome, names),
        run=_run(found),
    )


def _findings(found: Comparison, outcome: Outcome) -> Iterator[Finding]:
    """The items that were lost, a finding for each task."""
    fallen = {task.name for task in found.tasks if task.fell}
    groups: dict[str, list[Paired]] = {}
    for item in found.lost:
        groups.setdefault(item.task, []).append(item)
    for task, items in groups.items():
        of = sum(item.task == task for item in found.items)
        what = f"{task}: {len(items)} of {of:,} were right and are wrong now: {ids(items)}"
        severity = Severity.ERROR if outcome is Outcome.BLOCK else Severity.WARNING
        code = "TL731" if task in fallen else "TL730"
        yield Finding(code, what, severity, path=f"evals/{found.suite}.jsonl", key=task)


def ids(items: Sequence[Paired], most: int = _IDS) -> str:
    """The ids of `items`, and how many more there are."""
    shown = ", ".join(f"`{item.item}`" for item in items[:most])
    return f"{shown} and {len(items) - most:,} more (--format json has all)" if len(items) > most else shown


def _layers(before: Run, after: Run, sides: tuple[Side, Side]) -> Iterator[LayerState]:
    """What made the answers, on both sides: the layers that either run knew, and the build that answered."""
    order = [*LAYERS, *sorted((before.layers.keys() | after.layers.keys()) - set(LAYERS))]
    for name in order:
        if name in before.layers or name in after.layers:
            yield _layer(name, before.layers.get(name), after.layers.get(name), _NOT_RECORDED)
    builds = [" + ".join(side.servers) or None for side in sides]
    if any(builds):
        yield _layer("server", builds[0], builds[1], _NO_BUILD)


def _layer(name: str, before: str | None, after: str | None, missing: Unknown) -> LayerState:
    if before is None or after is None:
        return LayerState(name, "unknown", before or missing, after or missing)
    return LayerState(name, "same" if before == after else "changed", before, after)


def _scores(found: Comparison) -> Iterator[Json]:
    pairs = counts(found.items)
    if not found.items:
        return
    for name, right in zip(SIDES, (pairs.both + pairs.lost, pairs.both + pairs.gained), strict=True):
        ends = wilson(right, pairs.items)
        yield {
            "run": name,
            "right": int(right),
            "of": int(pairs.items),
            "rate": right / pairs.items,
            "low": ends.low,
            "high": ends.high,
        }
    for task in found.tasks:
        one = task.verdict.pairs
        yield {
            "task": task.name,
            "of": int(one.items),
            "before": (one.both + one.lost) / one.items,
            "after": (one.both + one.gained) / one.items,
            "lost": int(one.lost),
            "gained": int(one.gained),
            "loss": one.loss,
            "low": task.verdict.interval.low,
            "high": task.verdict.interval.high,
            "p": task.adjusted,
        }


def _notes(found: Comparison, shown: int) -> Iterator[str]:
    if found.gained:
        yield f"gained {len(found.gained)}: {ids(found.gained)}"
    if found.still_wrong:
        yield f"wrong on both sides {len(found.still_wrong)}: {ids(found.still_wrong, 10)}"
    if found.means:
        old, new, ends = found.means.before, found.means.after, found.means.difference
        yield (
            f"mean score {old:.3f} → {new:.3f}, difference {new - old:+.3f} "
            f"(95 % {ends.low:+.3f} to {ends.high:+.3f})"
        )
    yield from _movement(found, shown)
    yield from _apart(found)


def _movement(found: Comparison, shown: int) -> Iterator[str]:
    moved, of = found.movement.moved, found.movement.answers
    if not of:
        return
    ends = wilson(len(moved), of)
    text = f"{len(moved):,} of {of:,} answers moved ({100 * len(moved) / of:.1f} %"
    text += f", 95 % {100 * ends.low:.1f} to {100 * ends.high:.1f})"
    if found.rate is not None:
        per = 1000 * len(moved) / found.movement.tokens
        text += f", {per:.2f} times in 1,000 tokens (95 % {found.rate.low:.2f} to {found.rate.high:.2f})"
    flipped = sum(one.flipped for one in moved)
    text += f"; {flipped:,} of them on items that flipped" if moved else ""
    yield f"{text}; {shown} are shown (--all)" if shown < len(moved) else text


def _apart(found: Comparison) -> Iterator[str]:
    """What had no part in the verdict, or a part that should be known."""
    cut = [item for item in found.lost if item.cut_off]
    if cut:
        yield f"{len(cut)} of {len(found.lost)} lost items were cut off at the limit of tokens: {ids(cut)}"
    for name, side in zip(SIDES, found.sides, strict=True):
        parts = [f"{side.cut_off:,} cut off at the limit of tokens"] if side.cut_off else []
        parts += left_out(side)
        if parts:
            yield f"{name}: {', '.join(parts)} of {side.asked:,}"
    if found.missing:
        named = ", ".join(f"`{item}`" for item in found.missing[:20])
        yield f"not compared, no scored answer on one side: {len(found.missing):,}: {named}"
    if found.retried:
        pairs = counts(found.retried)
        lost = [item for item in found.retried if item.lost]
        yield (
            f"apart, because they were retried: {len(found.retried):,} items, {pairs.lost} lost, "
            f"{pairs.gained} gained" + (f": {ids(lost)}" if lost else "")
        )


def _first(moved: Sequence[Moved]) -> tuple[Moved, ...]:
    """The answers of items that flipped before the others, as many as a reader looks at."""
    return tuple(sorted(moved, key=lambda one: not one.flipped)[:_MOVED])


def _change(moved: Moved) -> Change:
    key = f"{moved.item} (repeat {moved.repeat})" if moved.repeat else moved.item
    of = max(moved.before_of, moved.after_of)
    effect = f"parts at {moved.unit} {moved.at:,} of {of:,}"
    if moved.likely is not None:
        effect += f" (given {moved.likely[0]:.0%} and {moved.likely[1]:.0%})"
    effect += "; the item flipped" if moved.flipped else ""
    return Change(
        "answers",
        key,
        moved.before,
        moved.after,
        risk=Effect.OUTPUT,
        effect=effect,
        text=text_changes(moved.before, moved.after, what="answer"),
    )


def _next(found: Comparison, outcome: Outcome, names: tuple[str, str]) -> str:
    if outcome is Outcome.BLOCK:
        return f"tierlock eval compare {names[0]} {names[1]} --show-content"
    if outcome is Outcome.UNDECIDED and min(side.coverage for side in found.sides) < found.min_coverage:
        side = found.before if found.sides[0].coverage < found.min_coverage else found.after
        return f"tierlock eval run {side.service or 'SERVICE'} --suite {found.suite} --resume"
    return ""


def _summary(found: Comparison, outcome: Outcome) -> str:
    """What a pass means; what stands in the way of one is told by its check."""
    if outcome is not Outcome.PASS:
        return ""
    tasks = f", nor in any of {len(found.tasks)} tasks" if found.tasks else ""
    return f"no worse than before by {points(found.margin)} or more{tasks}"


def _run(found: Comparison) -> dict[str, Json]:
    return {
        "suite": found.suite,
        "suite_digest": found.after.suite_digest,
        "fingerprint_before": found.before.fingerprint,
        "fingerprint_after": found.after.fingerprint,
        "margin": found.margin,
        "alpha": found.alpha,
        "items": len(found.items),
        "loss": found.verdict.pairs.loss,
        "loss_low": found.verdict.interval.low,
        "loss_high": found.verdict.interval.high,
        "loss_at_most": found.verdict.at_most,
        "p": found.verdict.chance,
        "more_items": found.verdict.more,
        "lost": _names(found.lost),
        "gained": _names(found.gained),
        "failed_before": _names(item for item in found.items if not item.was_right),
        "failed_after": _names(item for item in found.items if not item.is_right),
        "retried": _names(found.retried),
        "missing": list(found.missing),
        "moved": [
            {"item": one.item, "repeat": one.repeat, "unit": one.unit, "at": one.at}
            for one in found.movement.moved
        ],
    }


def _names(items: Iterable[Paired]) -> list[Json]:
    return [item.item for item in items]
