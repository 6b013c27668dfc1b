"""The configs of this host beside those of the release: which layers moved, and which fields.

- Compared are meanings, as everywhere: layout and comments of a file are no mismatch.
- An effective value that moved although no config says so is a mismatch of its own.
- A config that does not load here is a doubt with the place of its fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from governance.errors import Unreadable
from governance.fingerprint.changes import Showing, config_changes
from governance.fingerprint.layers import compare
from governance.fingerprint.services import fingerprint_of
from governance.monitor.mismatch import Concerns, Doubt, Mismatch, Seen, differing, together
from governance.release.effective import moves
from governance.tiers.config import TIERS, Service
from governance.verdict import Change, Finding

ChangedAt = Callable[[str], float | None]
"""When a file of this work tree was last changed, in seconds since the epoch; None when that is not known."""

EFFECTIVE: Final = "effective"


def look(
    expected: Service,
    here: Service | None,
    findings: tuple[Finding, ...],
    *,
    concerns: Concerns = Concerns.SERVER,
    changed_at: ChangedAt = lambda _: None,
) -> Seen:
    """The service `here` beside `expected`; `findings` say why it does not load."""
    if here is None or not here.complete:
        return Seen(doubts=(Doubt("config", _why(expected.name, here, findings), concerns),))
    states = compare(fingerprint_of(expected), fingerprint_of(here))
    moved = {state.name for state in states if state.state == "changed"}
    if not moved.intersection(TIERS):
        shown = tuple(state for state in states if state.name in TIERS or state.state == "same")
        return Seen(tuple(replace(state, before=None, after=None) for state in shown))
    try:
        changes = _changes(expected, here, moved)
    except Unreadable as err:
        return Seen(states, doubts=(Doubt("config", err.message, concerns),))
    code = "TL801" if concerns is Concerns.SERVER else "TL808"
    seen = differing(code, changes, concerns=concerns)
    timed = tuple(_since(one, changed_at) for one in seen.mismatches)
    return together((Seen(states), replace(seen, mismatches=timed)))


def _changes(expected: Service, here: Service, moved: set[str]) -> list[Change]:
    pairs = ((expected.base, here.base), (expected.sampling, here.sampling), (expected.prompts, here.prompts))
    changes: list[Change] = []
    for tier, (old, new) in zip(TIERS, pairs, strict=True):
        if tier in moved:
            changes += config_changes(tier, old, new, Showing())
    return changes + list(moves(expected, here).changes)


def _since(one: Mismatch, changed_at: ChangedAt) -> Mismatch:
    return replace(one, since=changed_at(one.change.path)) if one.change.path else one


def _why(name: str, here: Service | None, findings: tuple[Finding, ...]) -> str:
    fault = next((finding for finding in findings if finding.blocks), None)
    if fault is not None:
        place = f"{fault.path}:{fault.line}: " if fault.line else f"{fault.path}: " if fault.path else ""
        return f"{place}{fault.message}"
    return f"there is no service `{name}` here" if here is None else f"a config of `{name}` is not here"
