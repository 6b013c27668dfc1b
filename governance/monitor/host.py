"""This host beside the capture of a release: packages, platform and variables, before anything is started.

- A layer that the release knows is captured here in the way it was captured there, and must be equal.
- A list (freeze, lock) stands for the packages it names; what is installed besides is a note.
- A program that is no Python is known by its libraries. Those it opens later are in no list before the start:
  they are compared once it runs.
- Variables are those the server will have: what the launch sets counts as recorded where the release's own
  launch sets the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from governance.engines.keys import look as look_at
from governance.errors import TierlockError
from governance.fingerprint.capture import Capture, Wanted, take
from governance.fingerprint.compare import capture_changes, compare_captures
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.platform import Platform, choose_variables
from governance.fingerprint.versions import normal_version
from governance.monitor.mismatch import Concerns, Doubt, Seen, differing, together
from governance.records import dataclass
from governance.values import ABSENT, Tree, Unknown, Value
from governance.verdict import Change, Check, LayerState, Outcome

LISTS: Final = ("freeze", "lock")
PROGRAM: Final = "program"
CODES: Final = {"packages": "TL804", "platform": "TL805"}


@dataclass(frozen=True, slots=True)
class Serving:
    """What is about to serve on this host.

    `python` is its interpreter, unknown when the program is none of Python's. `environment` has every
    variable the server will have, `declared` those that the launch of the release sets. `pid` is the server
    once it runs, `cache` the folder of the digest cache.
    """

    program: Path
    python: Path | Unknown
    environment: Mapping[str, str]
    declared: Mapping[str, str]
    cache: Path | None = None
    pid: int | None = None


def look(
    expected: Capture | None,
    lock: Packages | None,
    serving: Serving,
    *,
    concerns: Concerns = Concerns.SERVER,
) -> Seen:
    """Packages and platform of this host beside those of `expected`.

    Where no packages were captured, a Python server is held against the `lock` of its base config.
    """
    known = expected.packages if expected is not None else None
    if (
        lock is not None
        and isinstance(serving.python, Path)
        and (known is None or isinstance(known, Unknown))
    ):
        bare = Capture("", "") if expected is None else expected
        expected = replace(bare, packages=lock)
    return together(_layer(name, expected, serving, concerns) for name in CODES)


def hardware(base: Tree, check: Check) -> Seen:
    """What `check` says of the hardware that `base` asks for: it stands in for a captured platform."""
    if check.outcome is Outcome.UNDECIDED:
        return Seen(doubts=(Doubt("platform", f"hardware: {check.detail}"),))
    if check.outcome is Outcome.PASS:
        return Seen()
    declared = look_at(base, "hardware")
    change = Change("platform", "hardware", declared, check.detail, "base config", "this host")
    return differing("TL805", (change,))


def loaded(expected: Capture | None, serving: Serving) -> Seen:
    """The program of the running server with all that it loaded, where the release knows a program."""
    packages = expected.packages if expected is not None else None
    if expected is None or not isinstance(packages, Packages) or packages.form != PROGRAM:
        return Seen()
    here = _taken("packages", Wanted(pid=serving.pid, cache=serving.cache))
    if isinstance(here, Unknown) or not isinstance(here.packages, Packages):
        why = here if isinstance(here, Unknown) else here.packages
        return _doubt("packages", why.reason if isinstance(why, Unknown) else "not captured", Concerns.SERVER)
    return differing("TL804", capture_changes(_only("packages", expected), here))


def _layer(name: str, expected: Capture | None, serving: Serving, concerns: Concerns) -> Seen:
    recorded = getattr(expected, name) if expected is not None else None
    if recorded is None or isinstance(recorded, Unknown):
        why = recorded.reason if isinstance(recorded, Unknown) else "the release has no capture of it"
        return Seen(uncovered=((name, why),))
    assert expected is not None
    listed = isinstance(recorded, Packages) and recorded.form in LISTS
    digest = expected.digests()[name]
    if isinstance(digest, Unknown) and not listed:
        return Seen(uncovered=((name, digest.reason),))
    here = _taken(name, _wanted(recorded, serving))
    if isinstance(here, Unknown):
        return _doubt(name, here.reason, concerns)
    value = getattr(here, name)
    if isinstance(value, Unknown):
        return _doubt(name, value.reason, concerns)
    if isinstance(recorded, Packages) and recorded.form in LISTS:
        return _listed(recorded, value, concerns)
    if isinstance(recorded, Packages) and recorded.form == PROGRAM:
        return _program(recorded, value, concerns)
    known = _only(name, expected)
    if isinstance(recorded, Platform):
        known, here = (replace(each, platform=side) for each, side in
                       zip((known, here), _alike(recorded, value, serving), strict=True))  # fmt: skip
    return _compared(name, known, here, concerns)


def _taken(name: str, wanted: Wanted) -> Capture | Unknown:
    try:
        return take((name,), wanted, generated_at="", tool="")
    except TierlockError as err:
        return Unknown(err.message)


def _wanted(recorded: Packages | Platform, serving: Serving) -> Wanted:
    """Where to take a layer from: from the serving interpreter, the program, or, where the release recorded
    the interpreter beside a program that is none, this one.
    """
    if isinstance(serving.python, Path):
        return Wanted(python=serving.python, environment=serving.environment, cache=serving.cache)
    native = (
        recorded.form == PROGRAM if isinstance(recorded, Packages) else "version" not in recorded.interpreter
    )
    program = serving.program if native else None
    return Wanted(program=program, environment=serving.environment, cache=serving.cache)


def _compared(name: str, expected: Capture, here: Capture, concerns: Concerns) -> Seen:
    (state,) = compare_captures(expected, here)
    if state.state == "same":
        return Seen((state,))
    seen = differing(CODES[name], capture_changes(expected, here), concerns=concerns)
    if seen.equal:
        seen = _doubt(name, state.detail or "it cannot be compared", concerns)
    return replace(seen, layers=(replace(state, before=None, after=None),))


def _alike(recorded: Platform, here: Platform, serving: Serving) -> tuple[Platform, Platform]:
    """Both sides reduced to the parts that the release knows."""
    declared, _ = choose_variables(serving.declared)
    variables = None if recorded.variables is None else {**recorded.variables, **declared}
    if recorded.variables is None:
        here = replace(here, variables=None)
    if recorded.os_packages is None:
        here = replace(here, os_packages=None)
    if "version" not in recorded.interpreter:
        here = replace(here, interpreter={k: here.interpreter[k] for k in recorded.interpreter})
    return replace(recorded, variables=variables), here


def _listed(recorded: Packages, here: Packages, concerns: Concerns) -> Seen:
    """A list beside an environment: each package it names for this system, at its version."""
    applying = [package for package in recorded.packages if _applies(package)]
    sides = [(package, here.get(package.name)) for package in applying]
    changes = [
        _change(one, one.version or "any", _version(two)) for one, two in sides if not _as_listed(one, two)
    ]
    seen = differing("TL804", changes, concerns=concerns)
    more = len(here.packages) - sum(two is not None for _, two in sides)
    told = f"{len(applying)} packages of the list compared; {more} more are installed"
    state = "changed" if seen.mismatches else "unknown" if seen.doubts else "same"
    return replace(seen, layers=(LayerState("packages", state, detail=told),))


def _as_listed(listed: Package, here: Package | None) -> bool:
    if here is None or here.version is None or listed.version is None:
        return False
    return normal_version(here.version) == normal_version(listed.version)


def _version(package: Package | None) -> Value:
    if package is None:
        return ABSENT
    return (
        Unknown(package.doubt or "its version is not known") if package.version is None else package.version
    )


def _applies(package: Package) -> bool:
    if not package.marker:
        return True
    from packaging.markers import InvalidMarker, Marker

    try:
        return Marker(package.marker).evaluate()
    except InvalidMarker:
        return True


def _program(recorded: Packages, here: Packages, concerns: Concerns) -> Seen:
    """The libraries that the loader lists, beside all that the program had loaded when it was recorded."""
    known = {package.name: package for package in recorded.packages}
    changes = [
        _change(package, known[package.name].archive if package.name in known else ABSENT, package.archive)
        for package in here.packages
        if package.name not in known or known[package.name].archive != package.archive
    ]
    seen = differing("TL804", changes, concerns=concerns)
    later = len(known.keys() - {package.name for package in here.packages})
    told = f"{len(here.packages)} files" + (f"; {later} more are loaded and compared later" if later else "")
    return replace(seen, layers=(LayerState("packages", "changed" if changes else "same", detail=told),))


def _change(package: Package, before: Value, after: Value) -> Change:
    from governance.fingerprint.affecting import effect_of, why_affecting

    name = package.name
    return Change(
        "packages", name, before, after, "release", "this host", effect_of(name), why_affecting(name)
    )


def _only(name: str, capture: Capture) -> Capture:
    """`capture` with one of its layers."""
    bare = Capture(capture.generated_at, capture.tool, scheme=capture.scheme, recorded=capture.recorded)
    return replace(bare, **{name: getattr(capture, name)})


def _doubt(name: str, reason: str, concerns: Concerns) -> Seen:
    return Seen((LayerState(name, "unknown"),), doubts=(Doubt(name, reason, concerns),))
