"""The differences of two captures: weights, packages, platform and image, as changes.

- Packages that shape answers come first, by what they shape (`fingerprint/affecting.py`); the rest is folded
  into one note unless everything is asked for. Nothing is left out of the comparison.
- A layer that one side did not capture, or could not, is no change: its state says so.
- Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from governance.fingerprint.affecting import effect_of, why_affecting
from governance.fingerprint.capture import Capture
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.versions import normal_version
from governance.release.changes import Showing
from governance.tiers.treediff import leaves, tree_changes
from governance.values import ABSENT, Absent, Effect, Json, Tree, Unknown, Value, key_text
from governance.verdict import Change

SHOWN: Final = 12  # packages and files shown of each kind before the rest is counted


def capture_changes(
    before: Capture, after: Capture, showing: Showing
) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The changes in every layer both sides know, and notes on what is folded."""
    old, new = before.values(), after.values()
    changes: list[Change] = []
    notes: list[str] = []
    for layer in (name for name in old if name in new):
        one, two = old[layer], new[layer]
        if isinstance(one, Unknown) or isinstance(two, Unknown):
            continue
        found = _packages(before.packages, after.packages) if layer == "packages" else _layer(layer, one, two)
        shown, folded = _folded(list(found), showing)
        changes += shown
        if folded:
            notes.append(f"{layer}: {folded} more (--all)")
    return tuple(changes), tuple(notes)


def _folded(found: list[Change], showing: Showing) -> tuple[list[Change], int]:
    """What shapes answers first; the rest counted."""
    ranked = sorted(found, key=lambda change: -change.risk.rank)
    if showing.everything or len(ranked) <= SHOWN:
        return ranked, 0
    return ranked[:SHOWN], len(ranked) - SHOWN


def _packages(before: Packages | Unknown | None, after: Packages | Unknown | None) -> Iterator[Change]:
    if not isinstance(before, Packages) or not isinstance(after, Packages):
        return
    if before.form != after.form:
        yield Change(
            "packages", "form", before.form, after.form, risk=Effect.NONE, effect="how the list was made"
        )
    sides = [_by_name(side) for side in (before, after)]
    for name in sorted({*sides[0], *sides[1]}):
        old, new = sides[0].get(name, ()), sides[1].get(name, ())
        if old != new:
            at = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), 0)
            yield Change(
                "packages",
                name,
                _shown(old, at),
                _shown(new, at),
                risk=effect_of(name.partition(" ")[0]),
                effect=why_affecting(name.partition(" ")[0]),
            )


def _by_name(side: Packages) -> dict[str, tuple[str, ...]]:
    """Version first, then what pins it: all that tells two installs of one package apart."""
    found: dict[str, tuple[str, ...]] = {}
    for package in side.packages:
        key = f"{package.name} ({package.marker})" if package.marker else package.name
        found[key] = (_version(package), package.vcs, package.archive, package.url, package.record or "",
                      *package.hashes)  # fmt: skip
    for conda in side.conda:
        found[f"{conda.name} (conda)"] = (conda.version, conda.build, conda.channel, conda.digest)
    return found


def _version(package: Package) -> str:
    if package.version is None:
        return f"unknown ({package.doubt})"
    return normal_version(package.version)


def _shown(install: tuple[str, ...], at: int) -> Value:
    """The version, and the pin in which two installs of one version differ."""
    if not install:
        return ABSENT
    return f"{install[0]} ({_short(install[at]) or 'no pin'})" if at else install[0]


def _short(pin: str) -> str:
    recipe, sign, digits = pin.rpartition("+" if pin.startswith("git+") else ":")
    return f"{recipe}{sign}{digits[:12]}" if len(digits) >= 40 else pin


def _layer(layer: str, before: Tree, after: Tree) -> Iterator[Change]:
    """The values of a layer that differ, lists of named things by name."""
    for one in tree_changes(_named(before), _named(after), by_value=True):
        apart = list(_apart(one.path, one.before, one.after))
        for path, old, new in apart:
            yield Change(layer, key_text(path), old, new)


def _named(value: Json) -> Json:
    """Lists of mappings with a `name` as mappings by that name: a path then names the thing."""
    if isinstance(value, Mapping):
        return {key: _named(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, Mapping) and isinstance(item.get("name"), str) for item in value):
            return {
                str(item["name"]): {key: inner for key, inner in item.items() if key != "name"}
                for item in value
                if isinstance(item, Mapping)
            }
        return list(value)
    return value


def _apart(
    path: tuple[str | int, ...], before: Value, after: Value
) -> Iterator[tuple[tuple[str | int, ...], Value, Value]]:
    if isinstance(before, Mapping) and isinstance(after, Absent):
        yield from ((inner, value, ABSENT) for inner, value in leaves(before, path))
    elif isinstance(after, Mapping) and isinstance(before, Absent):
        yield from ((inner, ABSENT, value) for inner, value in leaves(after, path))
    else:
        yield path, before, after
