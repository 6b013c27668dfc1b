"""Holds, `tierlock.holds/1`: fingerprints that automation may not release again, and those that once were.

- A rollback sets one for the fingerprint it took away. It stands until a person lifts it, with a reason.
- A hold that was lifted stays in the file: who held what, who let it go again, and why.
- It names the config fold: the same configs under another release id are held as well, another value is not.
- A file is exact: bytes that tierlock would not write were edited, and are refused. Nothing is held where
  there is no file; a file that cannot be read raises, so that no gate opens on it.
- Pure: bytes and a source in, values out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from governance.errors import Unreadable, Usage
from governance.release.moving import hex_of, moment, open_record, optional, refused
from governance.release.record import text_of
from governance.review import strict
from governance.values import Json, Tree
from governance.verdict import Check, Outcome

if TYPE_CHECKING:
    from governance.adapters.files import FileSource

FOLDER: Final = ".tierlock/holds/"
FORMAT: Final = "tierlock.holds"
VERSION: Final = 1
_KEYS: Final = {"schema", "service", "holds"}


@dataclass(frozen=True, slots=True)
class Hold:
    """One fingerprint that may not be released. `release` is the one that was taken away (empty: none was
    cut), `restored` the one that was gone back to. `lifted_at` is empty while it stands.
    """

    fingerprint: str
    set_at: str
    by: str
    reason: str
    release: str = ""
    restored: str = ""
    lifted_at: str = ""
    lifted_by: str = ""
    lifted_because: str = ""

    @property
    def stands(self) -> bool:
        return not self.lifted_at

    @property
    def label(self) -> str:
        """`v42 c93e11d0475b`, or the fingerprint alone."""
        return f"{self.release} {self.fingerprint[:12]}".strip()


@dataclass(frozen=True, slots=True)
class Holds:
    """All holds of one service, the oldest first."""

    service: str
    holds: tuple[Hold, ...] = ()

    @property
    def path(self) -> str:
        return path_of(self.service)

    @property
    def standing(self) -> tuple[Hold, ...]:
        return tuple(one for one in self.holds if one.stands)


def path_of(service: str) -> str:
    """Where the holds of a service lie."""
    return f"{FOLDER}{service}.json"


def read_holds(source: FileSource, service: str) -> Holds:
    """The holds of `service` in `source`; none where there is no file. Raises as `load`."""
    path = path_of(service)
    return load(source.read(path), path) if source.entries(path) else Holds(service)


def held(source: FileSource, service: str, fingerprint: str) -> Hold | None:
    """The hold that stands on the config fold `fingerprint` (64 hex), or None. Raises as `load`."""
    standing = read_holds(source, service).standing
    return next((one for one in standing if one.fingerprint == fingerprint), None)


def check_hold(source: FileSource, service: str, fingerprint: str) -> Check:
    """The check `hold`: block while one stands on `fingerprint`, undecided when the file cannot be read."""
    try:
        found = held(source, service, fingerprint)
    except Unreadable as err:
        return Check("hold", Outcome.UNDECIDED, f"{err.message}; {err.hint}" if err.hint else err.message)
    if found is None:
        return Check("hold", Outcome.PASS, f"nothing holds {fingerprint[:12]}")
    return Check("hold", Outcome.BLOCK, told(found, service))


def told(hold: Hold, service: str) -> str:
    """One line on a hold that stands, ending with what lifts it."""
    back = f" when {service} went back to {hold.restored}" if hold.restored else ""
    return (
        f"{hold.label} is held since {hold.set_at} by {hold.by}{back}: {hold.reason}; "
        f'tierlock release unhold {service} {hold.fingerprint[:12]} --reason "…"'
    )


def hold(holds: Holds, new: Hold) -> Holds:
    """The holds with `new`; unchanged when one stands on that fingerprint already."""
    if any(one.fingerprint == new.fingerprint for one in holds.standing):
        return holds
    return replace(holds, holds=(*holds.holds, new))


def choose(holds: Holds, named: str = "") -> Hold:
    """The one standing hold that `named` means: a release id, or the start of a fingerprint (12 digits do).
    Without it, the only one there is. Raises `Usage` for none and for several.
    """
    standing = holds.standing
    there = ", ".join(one.label for one in standing) or "none"
    if not standing:
        raise Usage(f"nothing of `{holds.service}` is held", hint=f"tierlock golden show {holds.service}")
    fits = [one for one in standing if not named or _means(named, one)]
    if len(fits) != 1:
        problem = "no standing hold" if not fits else "more than one standing hold"
        fitting = f" fits `{named}`" if named else ""
        raise Usage(f"{problem} of `{holds.service}`{fitting}", hint=f"there are: {there}")
    return fits[0]


def lift(holds: Holds, one: Hold, *, at: str, by: str, reason: str) -> Holds:
    """The holds with `one` lifted at `at` by `by`. Raises `Usage` when it does not stand, or without a
    reason.
    """
    if fault := strict.reason_fault(reason):
        raise Usage(f"the reason cannot be one: {fault}", hint='--reason "what was mended"')
    if one not in holds.standing:
        raise Usage(f"{one.label} is not held", hint=f"tierlock golden show {holds.service}")
    lifted = replace(one, lifted_at=at, lifted_by=by, lifted_because=reason)
    return replace(holds, holds=tuple(lifted if each == one else each for each in holds.holds))


def dump(holds: Holds) -> bytes:
    """The holds as the bytes of their file."""
    return text_of(
        {
            "schema": f"{FORMAT}/{VERSION}",
            "service": holds.service,
            "holds": [_tree(one) for one in holds.holds],
        }
    )


def load(data: bytes, path: str) -> Holds:
    """The holds in a file. Raises `NewerFormat`, or `Unreadable` for anything but a whole, unaltered one."""
    with refused(path, "holds"):
        tree = open_record(data, FORMAT, VERSION, _KEYS)
        holds = Holds(
            strict.name_of(tree["service"], "service"),
            tuple(_hold(one) for one in strict.list_of(tree["holds"], "holds")),
        )
        if dump(holds) != data:
            raise ValueError("its bytes are not those that tierlock writes: it was edited")
        if path.startswith(FOLDER) and path != holds.path:
            raise ValueError(f"it has the holds of `{holds.service}`")
        return holds


def _means(named: str, one: Hold) -> bool:
    return named == one.release or (len(named) >= 6 and one.fingerprint.startswith(named))


def _tree(one: Hold) -> dict[str, Json]:
    lifted: Mapping[str, Json] | None = None
    if one.lifted_at:
        lifted = {"at": one.lifted_at, "by": one.lifted_by, "reason": one.lifted_because}
    return {
        "fingerprint": one.fingerprint,
        "release": one.release or None,
        "restored": one.restored or None,
        "set_at": one.set_at,
        "by": one.by,
        "reason": one.reason,
        "lifted": lifted,
    }


def _hold(value: Json) -> Hold:
    tree: Tree = strict.object_of(value, "a hold")
    strict.exactly(tree, {"fingerprint", "release", "restored", "set_at", "by", "reason", "lifted"}, "a hold")
    lifted = tree["lifted"]
    end = ("", "", "")
    if lifted is not None:
        how = strict.object_of(lifted, "`lifted`")
        strict.exactly(how, {"at", "by", "reason"}, "`lifted`")
        end = (moment(how["at"], "at"), strict.text_of(how["by"], "by"), strict.reason_of(how["reason"]))
    return Hold(
        hex_of(tree["fingerprint"], "fingerprint"),
        moment(tree["set_at"], "set_at"),
        strict.text_of(tree["by"], "by"),
        strict.reason_of(tree["reason"]),
        optional(tree["release"], "release"),
        optional(tree["restored"], "restored"),
        *end,
    )
