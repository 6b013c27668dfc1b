"""Which mismatches and doubts last, since when, and which of them somebody was told.

- Each is told once when it appears and once when it has gone; between the two its duration grows.
- The memory outlives a restart: a server that is started again and again counts from the first time.
- It is kept in the state folder of this clone (`tierlock.gate/1`). A file that cannot be read or written
  costs the memory and nothing else.
- Pure: time is an argument, bytes in and out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeAlias

from governance.monitor.mismatch import Doubt, Mismatch, Seen, duration, sentence, shown
from governance.records import dataclass, replace
from governance.values import Json

FORMAT: Final = "tierlock.gate"
VERSION: Final = 1

Thing: TypeAlias = Mismatch | Doubt


@dataclass(frozen=True, slots=True)
class Lasting:
    """One mismatch or doubt. `since` counts seconds since the epoch; `told` when the alert about it went out.

    `expected` and `found` are texts; a doubt has its reason in `found`.
    """

    code: str
    layer: str
    key: str
    expected: str
    found: str
    concerns: str
    text: str
    since: float
    told: bool = False

    def line(self, now: float, *, over: bool = False) -> str:
        """`sampling temperature: expected 0.1, found 0.9 (this server), for 8 h 3 min`; `over`: it was so."""
        lasted = now - self.since
        tail = f", {'was so ' if over else ''}for {duration(lasted)}" if lasted >= 1.0 else ""
        return f"{self.text} ({self.concerns}){tail}"

    @property
    def name(self) -> tuple[str, str]:
        """What makes it the same one at the next look, whatever is found then. A doubt has no key."""
        return (self.layer, self.key)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Everything that lasts, the oldest first."""

    lasting: tuple[Lasting, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """The ledger after one look, what appeared in it, and what has gone."""

    ledger: Ledger
    appeared: tuple[Lasting, ...]
    gone: tuple[Lasting, ...]


def turned(
    ledger: Ledger, seen: Seen, now: float, judged: Callable[[Lasting], bool] = lambda _: True
) -> Turn:
    """`ledger` after a look that brought `seen`; what that look does not judge lasts on."""
    known = {one.name: one for one in ledger.lasting}
    found = {one.name: one for one in ledger.lasting if not judged(one)}
    things: tuple[Thing, ...] = (*seen.mismatches, *seen.doubts)
    fresh: dict[tuple[str, str], Lasting] = {}
    for one in (_lasting(thing, now) for thing in things):
        fresh.setdefault(one.name, one)  # what concerns the server itself comes first
    found |= {name: _merged(known.get(name), one) for name, one in fresh.items()}
    lasting = tuple(sorted(found.values(), key=lambda one: (one.since, one.name)))
    appeared = tuple(one for one in lasting if one.name not in known)
    gone = tuple(one for one in ledger.lasting if one.name not in found)
    return Turn(Ledger(lasting), appeared, gone)


def told(ledger: Ledger) -> Ledger:
    """The ledger with everything in it told."""
    return Ledger(tuple(replace(one, told=True) for one in ledger.lasting))


def dump(ledger: Ledger) -> bytes:
    """The ledger as the bytes of its file."""
    rows = [{name: getattr(one, name) for name in Lasting.__slots__} for one in ledger.lasting]
    tree = {"schema": f"{FORMAT}/{VERSION}", "lasting": rows}
    return (json.dumps(tree, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def load(data: bytes) -> Ledger:
    """The ledger in a file; empty for anything that is none."""
    try:
        tree = json.loads(data)
        if tree["schema"] != f"{FORMAT}/{VERSION}":
            return Ledger()
        return Ledger(tuple(_read(row) for row in tree["lasting"]))
    except (ValueError, KeyError, TypeError):
        return Ledger()


def _read(row: dict[str, Json]) -> Lasting:
    texts = {name: row[name] for name in ("code", "layer", "key", "expected", "found", "concerns", "text")}
    since, was_told = row["since"], row["told"]
    if not all(isinstance(value, str) for value in texts.values()):
        raise TypeError("not a text")
    if not isinstance(since, int | float) or not isinstance(was_told, bool):
        raise TypeError("not a time")
    return Lasting(**{name: str(value) for name, value in texts.items()}, since=float(since), told=was_told)


def _merged(known: Lasting | None, fresh: Lasting) -> Lasting:
    """The one that lasts, with what is found of it now."""
    if known is None:
        return fresh
    return replace(fresh, since=min(known.since, fresh.since), told=known.told)


def _lasting(thing: Thing, now: float) -> Lasting:
    concerns = thing.concerns.value
    if isinstance(thing, Doubt):
        text = f"{thing.layer} cannot be compared: {thing.reason}"
        return Lasting(thing.code, thing.layer, "", "", thing.reason, concerns, text, now)
    change = thing.change
    since = now if thing.since is None else min(thing.since, now)
    text = f"{sentence(change)}{_read_from(change.after_from, change.path, change.line)}"
    expected, found = (shown(side) for side in (change.before, change.after))
    return Lasting(thing.code, change.layer, change.key, expected, found, concerns, text, since)


def _read_from(source: str, path: str, line: int) -> str:
    place = source or (f"{path}:{line}" if line else path)
    return f", by {place}" if place else ""
