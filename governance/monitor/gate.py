"""The start-up gate: whether a server may be started on this host as what a release says.

- Judged before the weights load: the release itself, a hold on what would be started, the configs of this
  checkout, the launch with its arguments and variables, packages, platform, weights.
- Each layer that the release knows must be the same here. One that cannot be looked at is undecided, and one
  that the release does not know is told: neither opens the gate as if it were equal.
- `refuse` starts nothing then. `degrade` starts all the same, with readiness down and an alert; a held
  fingerprint it does not start either.
- Nothing is written but the memory of what lasts (`ledger.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from governance.adapters.files import WorkTree
from governance.fingerprint.platform import Platform
from governance.fingerprint.services import fingerprint_of
from governance.fingerprint.states import State
from governance.monitor import config, expected, host, launch, weights
from governance.monitor.expected import Expected
from governance.monitor.host import Serving
from governance.monitor.ledger import Lasting
from governance.monitor.mismatch import Concerns, Doubt, Mismatch, Seen, together
from governance.monitor.weights import HashFiles
from governance.records import dataclass
from governance.release.deploy.target import CONTAINED, driver_of, target_of, weights_of
from governance.tiers.config import TIERS, Service
from governance.values import ABSENT, Tree, Unknown, Value
from governance.verdict import Change, Check, Outcome

if TYPE_CHECKING:
    from governance.release.deploy.model import Target
    from governance.release.sides import Place

RELEASE: Final = "release"
HOLD: Final = "hold"
_SEEN_WHILE_SERVING: Final = frozenset({"TL807", "TL808", "TL809"})


class OnMismatch(Enum):
    """What is done when this host is not what the release says."""

    REFUSE = "refuse"
    DEGRADE = "degrade"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for. `python` is the serving interpreter where it cannot be told from the
    program; `extra` are the arguments after `--`.
    """

    service: str
    expect: str
    on_mismatch: OnMismatch = OnMismatch.REFUSE
    extra: tuple[str, ...] = ()
    python: Path | None = None


@dataclass(frozen=True, slots=True)
class World:
    """The neighbours of the gate: where the repository is, the variables of this process, the digest cache,
    what hashes files, when a file of the work tree was last changed, and whether this host is of the class of
    hardware that a base config asks for.
    """

    place: Place
    environ: dict[str, str]
    cache: Path | None
    hash_files: HashFiles
    changed_at: Callable[[str], float | None]
    hardware: Callable[[Tree], Check]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the gate found. `expected` and `plan` are None when there is nothing to compare with, or nothing
    that could be started; `weights` is where the weights lie on this host.
    """

    asked: Asked
    seen: Seen
    checks: tuple[Check, ...]
    fingerprint: str
    expected: Expected | None = None
    target: Target | None = None
    plan: launch.Plan | None = None
    weights: Path | None = None

    @property
    def equal(self) -> bool:
        """Whether the server may be started as what the release says."""
        return self.seen.equal and all(check.outcome is Outcome.PASS for check in self.checks)

    @property
    def starts(self) -> bool:
        """Whether it is started at all."""
        if self.plan is None or any(check.name == HOLD and check.outcome is not Outcome.PASS
                                    for check in self.checks):  # fmt: skip
            return False
        return self.equal or self.asked.on_mismatch is OnMismatch.DEGRADE


def judge(asked: Asked, world: World) -> Judged:
    """This host beside what is expected of it, before anything is started.

    Raises `Usage` for a service or release that does not exist, `MissingTool` when the program is not here.
    """
    state = State(WorkTree(world.place.root))
    here = state.service(asked.service)
    wanted = expected.expect(world.place, asked.service, asked.expect)
    if not isinstance(wanted, Expected):
        return _without_release(asked, wanted, here, world)
    fold = _fold(here)
    holds = expected.held(world.place, asked.service, [one for one in (fold, wanted.fingerprint) if one])
    checks = (*_trusted(wanted.checks), *holds)
    looks = [config.look(wanted.service, here, tuple(state.findings), changed_at=world.changed_at)]
    if here is None or not here.complete:
        return Judged(asked, together(looks), checks, fold, wanted)
    target = target_of(here, world.place, release=wanted.label)
    planned = launch.plan(target, asked.extra, world.environ, asked.python)
    place = weights_here(here, Path(world.place.root))
    looks += look_at_host(wanted, here, planned, world, target)
    looks.append(weights.look(wanted.manifest, place, world.hash_files))
    return Judged(asked, together(looks), checks, fold, wanted, target, planned, place)


def look_at_host(
    wanted: Expected, here: Service, planned: launch.Plan, world: World, target: Target
) -> list[Seen]:
    """Everything about this host but its configs and the weights: launch, packages, platform, image."""
    known = wanted.capture.platform if wanted.capture is not None else None
    recorded = isinstance(known, Platform) and known.variables is not None
    base = wanted.base.tree
    return [
        Seen() if isinstance(known, Platform) else host.hardware(base, world.hardware(base)),
        launch.look(here, target, planned, variables=not recorded),
        host.look(wanted.capture, wanted.packages, serving(planned, world)),
        _image(wanted),
    ]


def serving(planned: launch.Plan, world: World, pid: int | None = None) -> Serving:
    """What serves on this host, in the words of `host.py`."""
    return Serving(planned.program, planned.python, planned.environment, planned.declared, world.cache, pid)


def weights_here(service: Service, root: Path) -> Path | None:
    """Where the weights lie as this process sees them; inside a container, where the server is to look."""
    found = weights_of(service, root)
    contained = driver_of(service.tree.get("deploy") or {}) in CONTAINED  # type: ignore[arg-type]
    if contained and found.told is not None and Path(found.told).exists():
        return Path(found.told)
    return found.host


def _image(wanted: Expected) -> Seen:
    """Which image a process runs in cannot be seen from inside; its packages and weights are compared."""
    layer = wanted.record.layers["image"] if wanted.record is not None else Unknown("")
    if isinstance(layer, Unknown):
        return Seen()
    return Seen(uncovered=(("image", "from inside a server does not see its image; the driver compares it"),))


def _fold(here: Service | None) -> str:
    found = fingerprint_of(here).only(TIERS).fold() if here is not None else Unknown("not here")
    return "" if isinstance(found, Unknown) else found


def _without_release(asked: Asked, checks: tuple[Check, ...], here: Service | None, world: World) -> Judged:
    """Nothing to compare with: what is here may be started under `degrade` alone."""
    fold = _fold(here)
    holds = expected.held(world.place, asked.service, [fold] if fold else [])
    if here is None or not here.complete or asked.on_mismatch is OnMismatch.REFUSE:
        return Judged(asked, Seen(), (*_trusted(checks), *holds), fold)
    target = target_of(here, world.place, release=asked.expect)
    planned = launch.plan(target, asked.extra, world.environ, asked.python)
    return Judged(asked, Seen(), (*_trusted(checks), *holds), fold, None, target, planned)


def _trusted(checks: Iterable[Check]) -> tuple[Check, ...]:
    """What keeps a release from being trusted; one line when nothing does."""
    listed = tuple(checks)
    bad = tuple(check for check in listed if check.outcome is not Outcome.PASS)
    if bad or not listed:
        return tuple(replace(check, name=f"{RELEASE} {check.name}") for check in bad)
    return (Check(RELEASE, Outcome.PASS, f"{len(listed)} parts of its record verified"),)


def decided(one: Lasting) -> bool:
    """Whether the gate sees this one: what only a running server shows lasts until the next look at one."""
    return one.code not in _SEEN_WHILE_SERVING and one.layer != "effective"


def things(judged: Judged) -> Seen:
    """Everything that keeps the gate shut, the release and the hold among it, as mismatches and doubts."""
    return together((as_seen(judged.checks), judged.seen))


def as_seen(checks: Iterable[Check], concerns: Concerns = Concerns.SERVER) -> Seen:
    """What checks of a release and of holds say, as mismatches and doubts."""
    mismatches: list[Mismatch] = []
    doubts: list[Doubt] = []
    for check in checks:
        code, layer = ("TL806", HOLD) if check.name == HOLD else ("TL811", RELEASE)
        key = check.name.removeprefix(f"{RELEASE} ")
        if check.outcome is Outcome.BLOCK:
            wanted: Value = ABSENT if layer == HOLD else "trusted"
            mismatches.append(Mismatch(code, Change(layer, key, wanted, check.detail), concerns))
        elif check.outcome is Outcome.UNDECIDED:
            doubts.append(Doubt(layer, f"{key}: {check.detail}", concerns))
    return Seen(mismatches=tuple(mismatches), doubts=tuple(doubts))
