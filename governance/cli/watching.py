"""The watcher that `tierlock serve` leaves beside a server, and the moment it is left.

- It looks at what runs through the server and its process, and at what would start next through this checkout
  and this host.
- It hashes a file again only when the state of the file moved, whatever the cache on disk can do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from governance.adapters.files import WorkTree
from governance.cli.repository import cache_folder
from governance.cli.serving import Told, delivered, hasher, keep, memory, subject
from governance.engines.keys import look
from governance.errors import TierlockError
from governance.fingerprint.states import State
from governance.monitor import config, expected, gate, host, server, weights
from governance.monitor.expected import Expected
from governance.monitor.gate import Judged, World
from governance.monitor.mismatch import Concerns, Doubt, Seen, together
from governance.monitor.tags import Tag
from governance.monitor.watch import Neighbours, Watch, watch
from governance.release.deploy.ready import is_ready
from governance.values import Unknown

if TYPE_CHECKING:
    from governance.adapters.handover import Self
    from governance.adapters.ready_port import ReadyPort
    from governance.adapters.weights import File
    from governance.release.sides import Place


def start(
    judged: Judged, here: World, tell: Told, port: ReadyPort | None, say: Callable[[str], None]
) -> NoReturn:
    """Leave a watcher and become the server."""
    from governance.adapters.handover import Self, become, leave
    from governance.cli.main import guarded

    assert judged.plan is not None
    process = Self()
    if tell.every > 0:
        leave(lambda: guarded(lambda: _watch(judged, here, tell, port, process, say)))
    become(judged.plan.program, judged.plan.argv, judged.plan.environment)


def _watch(
    judged: Judged, here: World, tell: Told, port: ReadyPort | None, process: Self, say: Callable[[str], None]
) -> int:
    """The watcher's whole life; its exit code is nobody's."""
    target, name = judged.target, judged.asked.service
    assert target is not None
    neighbours = Neighbours(
        up=lambda: is_ready(target),
        loaded=lambda: _loaded(judged, here, process.pid),
        read_back=_reader(judged, here.place, process.pid),
        here=_around(judged, here),
        alarm=lambda body: delivered(tell.alert, body),
        say=say,
        keep=lambda ledger: keep(here.place, name, ledger),
        now=time.time,
    )
    watched = Watch(subject(judged), gate.things(judged), memory(here.place, name), neighbours)
    if port is not None:
        port.serve(watched.answer)
    watch(watched, process, neighbours.up, tell.every)
    return 0


def _loaded(judged: Judged, here: World, pid: int) -> Seen:
    if judged.expected is None or judged.plan is None:
        return Seen()
    return host.loaded(judged.expected.capture, gate.serving(judged.plan, here, pid))


def _reader(judged: Judged, place: Place, pid: int) -> Callable[[], Seen]:
    """What the running server is read back with."""
    wanted, target = judged.expected, judged.target
    if wanted is None or target is None:
        return lambda: Seen(doubts=(Doubt("effective", "there is nothing to compare the server with"),))
    hash_files = _remembering(hasher(cache_folder("digests"), _silent))

    def hash_file(path: str, algorithm: str) -> str | Unknown:
        from governance.adapters.weights import list_files

        try:
            (file,) = list_files(Path(path)).files
            return hash_files([file], algorithm)[file.name].rpartition(":")[2]
        except (TierlockError, ValueError) as err:
            return Unknown(str(err))

    return lambda: server.look(wanted.side, target, place, pid, hash_file=hash_file)


def _around(judged: Judged, here: World) -> Callable[[], Seen]:
    """What the next start on this host would meet: configs, packages, platform, weights, holds, the tag."""
    wanted, planned = judged.expected, judged.plan
    if wanted is None or planned is None:
        return Seen
    tag = Tag(_image(wanted))
    hash_files = _remembering(hasher(cache_folder("digests"), _silent))

    def look_around() -> Seen:
        state = State(WorkTree(here.place.root))
        now = state.service(judged.asked.service)
        found = config.look(wanted.service, now, tuple(state.findings), concerns=Concerns.NEXT_START,
                            changed_at=here.changed_at)  # fmt: skip
        serving = gate.serving(planned, here)
        hosts = host.look(wanted.capture, wanted.packages, serving, concerns=Concerns.NEXT_START)
        files = weights.look(wanted.manifest, judged.weights, hash_files, concerns=Concerns.NEXT_START)
        return together((found, hosts, files, _held(judged, here), tag.look(time.time())))

    return look_around


def _held(judged: Judged, here: World) -> Seen:
    """A hold that was set while the server runs: it says nothing of the server, and stops the next start."""
    checks = expected.held(here.place, judged.asked.service, [judged.fingerprint])
    return gate.as_seen(checks, Concerns.NEXT_START)


def _image(wanted: Expected) -> str:
    reference = look(wanted.base.tree, "image.ref")
    return reference if isinstance(reference, str) else ""


def _remembering(ask: weights.HashFiles) -> weights.HashFiles:
    """`ask` that hashes a file again when its state moved: a watcher looks every minute, for months, and the
    cache on disk may be one that cannot be written.
    """
    known: dict[tuple[object, ...], str] = {}

    def hash_files(files: Sequence[File], algorithm: str) -> Mapping[str, str]:
        fresh = [file for file in files if (*file.state, algorithm) not in known]
        found = ask(fresh, algorithm) if fresh else {}
        for file in fresh:
            known[(*file.state, algorithm)] = found[file.name]
        return {file.name: known[(*file.state, algorithm)] for file in files}

    return hash_files


def _silent(done: int, total: int) -> None:
    """A watcher draws no progress."""
