"""The neighbours of a rollback, and how one is called."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from governance.evals.asked import look_at
from governance.evals.evaluating import Evaluated, evaluate
from governance.evals.running import Progress, RunOptions
from governance.records import dataclass
from governance.release.deploy import registry
from governance.release.deploy.model import Driver, Target
from governance.release.deploy.ready import wait_ready
from governance.release.rollback_live import LookAt

if TYPE_CHECKING:
    from governance.evals.asked import Asked
    from governance.release.restorable.model import Neighbours

Ask: TypeAlias = "Callable[[Asked, RunOptions, Progress], Evaluated]"


def _ask(asked: Asked, options: RunOptions, progress: Progress) -> Evaluated:
    return evaluate(asked, options=options, progress=progress)


def _unwatched(step: str) -> None:
    """Nobody is told."""


def _uncounted(done: int, total: int) -> None:
    """Nobody is shown."""


@dataclass(frozen=True, slots=True)
class World:
    """The neighbours of a rollback. `watch` is told of every step as it comes; `clock` counts seconds since
    the epoch, `stamp` writes the moment as records do.
    """

    drilled: Neighbours
    environ: Mapping[str, str]
    tool: str
    stamp: Callable[[], str]
    clock: Callable[[], float] = time.time
    load: Callable[[str], Driver] = registry.load
    ready: Callable[[Target, Driver], float] = wait_ready
    look_at: LookAt = look_at
    ask: Ask = _ask
    progress: Progress = _uncounted
    watch: Callable[[str], None] = _unwatched


@dataclass(frozen=True, slots=True)
class How:
    """`dry_run` writes nothing; `wait_s` is how long another actor is waited for; `who` is told to others;
    `push` pushes the branch once the release runs.
    """

    dry_run: bool = False
    push: bool = False
    wait_s: float = 0.0
    who: str = ""
