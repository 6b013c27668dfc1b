"""What the gate found, as a report: which layers are the same, each field in the way, the next command.

- A release that cannot be trusted, and a hold, are told in their own words: nothing else counts then.
- Long lists are cut: of each layer the fields that shape answers come first, the rest is counted.
- Pure: what was judged in, a report out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Final

from governance.adapters.processes import masked
from governance.fingerprint.layers import LAYERS, short
from governance.monitor import launch
from governance.monitor.expected import GOLDEN, THE_WORK_TREE
from governance.monitor.gate import HOLD, RELEASE, Judged, things
from governance.monitor.ledger import Lasting
from governance.monitor.mismatch import Seen, duration
from governance.verdict import Change, Check, LayerState, Outcome, Report

SHOWN: Final = 12  # mismatches of one layer in a report
_ORDER: Final = (RELEASE, HOLD, "config", *LAYERS[:4], launch.LAYER, *LAYERS[4:])


def report(judged: Judged, lasting: Sequence[Lasting], now: float, *, dry_run: bool = False) -> Report:
    """What was judged, as a report: pass, block, or undecided, with each field that is in the way."""
    seen, asked = judged.seen, judged.asked
    wanted, blocked = judged.expected, things(judged)
    label = wanted.label if wanted is not None else asked.expect
    expects = f"expected {label} {short(wanted.fingerprint)}, " if wanted is not None else ""
    return Report(
        "serve",
        title=f"{asked.service}   {expects}this host {short(judged.fingerprint or None)}",
        checks=(*judged.checks, *_checks(seen)),
        layers=_layers(seen),
        changes=tuple(_few(one.change for one in seen.mismatches)),
        notes=(
            *seen.notes,
            *_lasting_notes(lasting, now),
            *_more(seen),
            *(_command(judged) if dry_run else ()),
        ),
        summary=_summary(judged, label, dry_run=dry_run),
        next=_next(judged, label),
        run={
            "service": asked.service,
            "expected": label,
            "fingerprint": wanted.fingerprint if wanted is not None else None,
            "here": judged.fingerprint or None,
            "codes": sorted({one.code for one in (*blocked.mismatches, *blocked.doubts)}),
            "on_mismatch": asked.on_mismatch.value,
            "starts": judged.starts and not dry_run,
        },
    )


def _checks(seen: Seen) -> tuple[Check, ...]:
    """One check per layer that differs or could not be compared; one that passes when all are the same."""
    found: list[Check] = []
    for layer in dict.fromkeys(one.change.layer for one in seen.mismatches):
        fields = [one.change.key for one in seen.mismatches if one.change.layer == layer]
        named = ", ".join(fields[:4]) + (f" and {len(fields) - 4} more" if len(fields) > 4 else "")
        found.append(Check(layer, Outcome.BLOCK, f"not what is expected: {named}"))
    found += [Check(doubt.layer, Outcome.UNDECIDED, doubt.reason) for doubt in seen.doubts]
    same = [layer.name for layer in seen.layers if layer.state == "same"]
    if same and not found:
        found.append(Check("host", Outcome.PASS, f"same: {', '.join(same)}"))
    return tuple(found)


def _layers(seen: Seen) -> tuple[LayerState, ...]:
    found = {layer.name: layer for layer in seen.layers}
    for name, why in seen.uncovered:
        found.setdefault(name, LayerState(name, "unknown", detail=f"not covered: {why}"))
    return tuple(sorted(found.values(), key=lambda layer: _ORDER.index(layer.name)))


def _few(changes: Iterable[Change]) -> Iterable[Change]:
    """At most `SHOWN` of each layer, those that shape answers first."""
    told: dict[str, int] = {}
    for change in sorted(changes, key=lambda one: (_ORDER.index(one.layer), -one.risk.rank)):
        told[change.layer] = told.get(change.layer, 0) + 1
        if told[change.layer] <= SHOWN:
            yield change


def _more(seen: Seen) -> list[str]:
    counts: dict[str, int] = {}
    for one in seen.mismatches:
        counts[one.change.layer] = counts.get(one.change.layer, 0) + 1
    return [f"{layer}: {count - SHOWN} more" for layer, count in counts.items() if count > SHOWN]


def _lasting_notes(lasting: Sequence[Lasting], now: float) -> list[str]:
    """How long what is in the way has been so, where that is longer than this look."""
    old = [one for one in lasting if now - one.since >= 1.0]
    return [f"{one.layer} {one.key}".strip() + f": for {duration(now - one.since)}" for one in old[:SHOWN]]


def _summary(judged: Judged, label: str, *, dry_run: bool) -> str:
    name = judged.asked.service
    if judged.equal:
        known = sum(layer.state == "same" for layer in judged.seen.layers)
        left = f", {len(judged.seen.uncovered)} not covered" if judged.seen.uncovered else ""
        program = judged.plan.program.name if judged.plan is not None else ""
        tail = "would be started" if dry_run else f"starting {program}"
        return f"{name} is on this host what {label} says: {known} layers the same{left}; {tail}"
    started = "started degraded, readiness stays down" if judged.starts else "not started"
    return f"{started}: {_why(judged, label)}"


def _why(judged: Judged, label: str) -> str:
    """The gravest of what is in the way."""
    for outcome in (Outcome.BLOCK, Outcome.UNDECIDED):
        for check in judged.checks:
            if check.outcome is outcome:
                return check.detail
        if outcome is Outcome.BLOCK and (
            layers := _named(one.change.layer for one in judged.seen.mismatches)
        ):
            return f"{layers} not what {label} says"
    return f"{_named(doubt.layer for doubt in judged.seen.doubts)} could not be compared"


def _named(layers: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(layers))


def _command(judged: Judged) -> list[str]:
    if judged.plan is None:
        return []
    words = [judged.plan.program.name, *judged.plan.argv[1:]]
    return ["command", f"  {shlex.join(masked(words))}"]


def _next(judged: Judged, label: str) -> str:
    """The one command to run now."""
    name, record = judged.asked.service, judged.expected.record if judged.expected is not None else None
    if judged.equal:
        return ""
    if any(check.name == HOLD and check.outcome is Outcome.BLOCK for check in judged.checks):
        return f"tierlock rollback {name}"
    if any(check.name.startswith(f"{RELEASE} ") for check in judged.checks):
        known = label not in (GOLDEN, THE_WORK_TREE)
        return f"tierlock release verify {name} {label}" if known else f"tierlock golden show {name}"
    if record is not None and any(one.code == "TL801" for one in judged.seen.mismatches):
        return f"tierlock diff {name}@{record.id} {name}@worktree"
    return _mending(judged)


def _mending(judged: Judged) -> str:
    """What shows or mends the first thing that differs."""
    name = judged.asked.service
    for one in judged.seen.mismatches:
        if one.code == "TL802" and one.change.after_from.startswith("variable "):
            return f"unset {one.change.after_from.split()[1]}"
        if one.code in ("TL803", "TL804", "TL805"):
            return f"tierlock capture --service {name} -o here.json"
    return ""
