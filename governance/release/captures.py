"""Two captures beside each other: layers first, then what differs, long lists folded.

- What differs, and how two ways to know one layer compare, is `fingerprint/compare.py`. Here the list is cut:
  what shapes answers stands first in each layer, the rest is counted unless everything is asked for.
- A layer that one side does not know, or knows otherwise, is undecided, never "changed".
"""

from __future__ import annotations

from itertools import groupby
from typing import Final

from governance.fingerprint.changes import Showing
from governance.fingerprint.compare import capture_changes, compare_captures
from governance.release.found import Found
from governance.release.sides import CaptureSide
from governance.values import Unknown
from governance.verdict import Change

SHOWN: Final = 12  # differences shown of each layer before the rest is counted


def compare_hosts(left: CaptureSide, right: CaptureSide, showing: Showing) -> Found:
    """What differs between two captures."""
    found = Found(title=f"{left.label} → {right.label}")
    found.layers += compare_captures(left.capture, right.capture)
    unknown = [layer for layer in found.layers if layer.state == "unknown"]
    found.undecided += [(layer.name, layer.detail or "it is not known") for layer in unknown]
    told = [change for change in capture_changes(left.capture, right.capture) if _is_known(change)]
    for layer, group in groupby(told, key=lambda change: change.layer):
        changes = list(group)
        limit = len(changes) if showing.everything else SHOWN
        found.changes += changes[:limit]
        if len(changes) > limit:
            found.notes.append(f"{layer}: {len(changes) - limit} more (--all)")
    return found


def _is_known(change: Change) -> bool:
    return not isinstance(change.before, Unknown) and not isinstance(change.after, Unknown)
