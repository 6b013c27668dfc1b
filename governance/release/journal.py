"""What a rollback has begun and done, `tierlock.rollback/1`: kept in this clone until it has ended.

- It is written before each step that changes something and again after it, whole or not at all, and is on the
  disk before the step begins. A call that finds one carries on where it says.
- It names every path with what it was and shall be, so that going back needs nothing but the journal and git.
- When a rollback has ended there is no journal; what happened is the release record in the repository.
- A journal of a newer tierlock is not carried on by an older one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Final

from governance.adapters.files import read_file, write_atomic
from governance.adapters.git_forward import Change, Forward
from governance.errors import NewerFormat, Unreadable
from governance.records import dataclass, field, replace
from governance.release.record import Override, text_of
from governance.values import Json

FORMAT: Final = "tierlock.rollback"
VERSION: Final = 1
FILE: Final = "rollback.json"
LOCK: Final = "rollback.lock"


class Step(Enum):
    """What changes something, in its order."""

    RESTORE = "restore"
    DEPLOY = "deploy"
    RECORD = "record"


class Stage(Enum):
    """How far a step is."""

    NOT_BEGUN = ""
    BEGUN = "begun"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Journal:
    """One rollback under way.

    `rejected` are the config folds that are taken away, each with the release it was cut as (empty: none).
    `restore` and `record` are commits: ready when begun, landed when done; None where there is nothing to
    write. `restored_at` counts seconds since the epoch: when the files began to move. `release` is the id
    of the record that ends it.
    """

    service: str
    target: str
    fingerprint: str
    begun_at: str
    by: str
    reason: str
    rejected: tuple[tuple[str, str], ...] = ()
    overrides: tuple[Override, ...] = ()
    moves_too: tuple[str, ...] = ()
    restored_at: float | None = None
    restore: Forward | None = None
    record: Forward | None = None
    release: str = ""
    stages: Mapping[Step, Stage] = field(default_factory=dict)

    def stage(self, step: Step) -> Stage:
        """How far that step is."""
        return self.stages.get(step, Stage.NOT_BEGUN)

    def begun(self, step: Step) -> bool:
        """Whether that step may have changed something."""
        return self.stage(step) is not Stage.NOT_BEGUN

    def at(self, step: Step, stage: Stage) -> Journal:
        """The journal with that step so far."""
        return replace(self, stages={**self.stages, step: stage})

    @property
    def told(self) -> str:
        """How far it is, in words."""
        said = [f"{step.value} {self.stage(step).value}" for step in Step if self.begun(step)]
        return ", ".join(said) or "nothing changed yet"


def read(folder: Path) -> Journal | None:
    """The rollback under way by the folder of a service's notes, or None. Raises as `load`."""
    path = folder / FILE
    if not path.exists():
        return None
    return load(read_file(path), str(path))


def write(folder: Path, journal: Journal) -> None:
    """Keep `journal`; it is on the disk when this returns."""
    write_atomic(folder / FILE, dump(journal))


def end(folder: Path) -> None:
    """Take the journal away: the rollback has ended."""
    (folder / FILE).unlink(missing_ok=True)


def dump(journal: Journal) -> bytes:
    """The journal as the bytes of its file."""
    tree: dict[str, Json] = {
        "schema": f"{FORMAT}/{VERSION}",
        "service": journal.service,
        "target": journal.target,
        "fingerprint": journal.fingerprint,
        "begun_at": journal.begun_at,
        "by": journal.by,
        "reason": journal.reason,
        "rejected": [list(one) for one in journal.rejected],
        "overrides": [{"check": one.check, "reason": one.reason, "by": one.by} for one in journal.overrides],
        "moves_too": list(journal.moves_too),
        "restored_at": journal.restored_at,
        "restore": _forward_tree(journal.restore),
        "record": _forward_tree(journal.record),
        "release": journal.release,
        "stages": {step.value: stage.value for step, stage in journal.stages.items()},
    }
    return text_of(tree)


def load(data: bytes, path: str) -> Journal:
    """The journal in a file. Raises `NewerFormat`, or `Unreadable` for anything but a whole one."""
    try:
        tree = json.loads(data)
        name, _, version = str(tree["schema"]).partition("/")
        if name == FORMAT and version.isdigit() and int(version) > VERSION:
            raise NewerFormat(
                f"a newer tierlock has begun a rollback here ({tree['schema']})",
                where=path,
                hint="finish it with that one: upgrade tierlock",
            )
        journal = _journal(tree)
        if dump(journal) != data:
            raise ValueError("its bytes are not those that were written")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as err:
        raise Unreadable(
            f"the journal of a rollback is damaged: {err}",
            where=path,
            hint="look at `git log` and `git status` for how far it came; then remove the file, call again",
        ) from err
    return journal


def _journal(tree: Mapping[str, Any]) -> Journal:
    return Journal(
        service=tree["service"],
        target=tree["target"],
        fingerprint=tree["fingerprint"],
        begun_at=tree["begun_at"],
        by=tree["by"],
        reason=tree["reason"],
        rejected=tuple((one[0], one[1]) for one in tree["rejected"]),
        overrides=tuple(Override(one["check"], one["reason"], one["by"]) for one in tree["overrides"]),
        moves_too=tuple(tree["moves_too"]),
        restored_at=tree["restored_at"],
        restore=_forward(tree["restore"]),
        record=_forward(tree["record"]),
        release=tree["release"],
        stages={Step(step): Stage(stage) for step, stage in tree["stages"].items()},
    )


def _forward_tree(one: Forward | None) -> Json:
    if one is None:
        return None
    return {
        "branch": one.branch,
        "head": one.head,
        "commit": one.commit,
        "changes": [{"path": each.path, "before": list(each.before), "after": list(each.after)}
                    for each in one.changes],
    }  # fmt: skip


def _forward(tree: Any) -> Forward | None:
    if tree is None:
        return None
    changes = tuple(
        Change(each["path"], (each["before"][0], each["before"][1]), (each["after"][0], each["after"][1]))
        for each in tree["changes"]
    )
    return Forward(tree["branch"], tree["head"], tree["commit"], changes)
