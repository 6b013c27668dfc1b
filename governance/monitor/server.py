"""The server that was started, read back and held against the release; and what it has loaded.

- Only the process that was started counts: an answer of another one on the same port is a doubt.
- A value that shapes answers and is not as declared is a mismatch; what shapes none, and what the server does
  not show, is a note.
- A server that does not answer is a doubt, never equal.
"""

from __future__ import annotations

from dataclasses import replace

from governance.adapters import ports, processes
from governance.adapters.processes import Program
from governance.errors import TierlockError
from governance.fingerprint.changes import Showing
from governance.monitor.mismatch import Doubt, Seen, shaping, together
from governance.release.deploy.model import Target
from governance.release.endpoints import compare_live
from governance.release.identity import HashFile
from governance.release.sides import EndpointSide, Place, StateSide, parse_side
from governance.values import Unknown

EFFECTIVE = "effective"


def look(declared: StateSide, target: Target, place: Place, pid: int, *, hash_file: HashFile) -> Seen:
    """The running server of `target`, the process `pid`, beside what `declared` says; `hash_file` hashes the
    weights that the server names.
    """
    stranger = _stranger(target, pid)
    if stranger:
        return Seen(doubts=(Doubt(EFFECTIVE, stranger),))
    side = parse_side(target.url, place)
    assert isinstance(side, EndpointSide)
    try:
        found = compare_live(declared, replace(side, hash_file=hash_file), Showing())
    except TierlockError as err:
        return Seen(doubts=(Doubt(EFFECTIVE, err.message),))
    doubts = tuple(Doubt(what if what in _LAYERS else EFFECTIVE, why) for what, why in found.undecided)
    layers = tuple(replace(layer, before=None, after=None) for layer in found.layers)
    return together((Seen(layers, doubts=doubts, notes=tuple(found.notes)), shaping("TL807", found.changes)))


_LAYERS = ("base", "sampling", "prompts", "effective", "weights")


def _stranger(target: Target, pid: int) -> str:
    """Who answers in place of the server that was started; empty when it does itself, or nobody can tell."""
    found = ports.taken_by(target.host, target.port)
    if found is None or isinstance(found, Unknown) or not isinstance(found, Program):
        return ""
    if processes.descends(found.pid, pid):
        return ""
    name = found.argv[0].rpartition("/")[2]
    return f"process {found.pid} (`{name}`) listens on port {target.port}, and was not started here"
