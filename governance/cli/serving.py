"""What `tierlock serve` needs of the world: the neighbours of the gate, its memory, and its reports."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from governance.adapters.files import read_file, write_atomic
from governance.cli.repository import cache_folder
from governance.errors import TierlockError
from governance.monitor import alerts, gate, gate_report, weights
from governance.monitor.alerts import Event, Subject
from governance.monitor.gate import Judged, World
from governance.monitor.ledger import Ledger, dump, load, told, turned
from governance.records import dataclass
from governance.release.deploy.target import state_folder
from governance.values import Json, Tree
from governance.verdict import Check, Report

if TYPE_CHECKING:
    from governance.adapters.weights import File
    from governance.cli.progress import Advance
    from governance.release.sides import Place

_FILE = "gate.json"


@dataclass(frozen=True, slots=True)
class Told:
    """How mismatches are told: the alert command (none when empty) and how often is looked."""

    alert: tuple[str, ...] = ()
    every: float = 60.0


def world(place: Place, *, cached: bool, advance: Advance) -> World:
    """The neighbours of the gate on this host."""
    cache = cache_folder("digests") if cached else None
    return World(place, dict(os.environ), cache, hasher(cache, advance), _clock_of(place), _hardware)


def _hardware(base: Tree) -> Check:
    from governance.release.restorable.hardware import hardware_here
    from governance.release.restorable.host import this_host

    world = this_host()
    return hardware_here(base, gpus=world.gpus, cpu_info=world.cpu_info)


def hasher(cache: Path | None, advance: Advance) -> weights.HashFiles:
    """Hashes all files at once, from the cache where it knows them."""

    def hash_files(files: Sequence[File], algorithm: str) -> Mapping[str, str]:
        from governance.adapters.digest_cache import DigestCache
        from governance.adapters.weights import digests

        total, done, lock = sum(file.size for file in files), 0, threading.Lock()

        def step(count: int) -> None:
            nonlocal done
            with lock:
                done += count
                advance(done, total)

        known = DigestCache(cache) if cache is not None else None
        try:
            found = digests(
                files, ("sha256" if algorithm == "sha256" else "blake3",), cache=known, progress=step
            )
        finally:
            if known is not None:
                known.close()
        return {name: each[algorithm] for name, each in found.items()}

    return hash_files


def _clock_of(place: Place) -> Callable[[str], float | None]:
    def changed_at(path: str) -> float | None:
        try:
            return Path(place.root, path).lstat().st_mtime
        except OSError:
            return None

    return changed_at


def memory(place: Place, service: str) -> Ledger:
    """What lasts since earlier starts; nothing where this clone keeps no state."""
    try:
        return load(read_file(state_folder(place, service) / _FILE))
    except TierlockError:
        return Ledger()


def keep(place: Place, service: str, ledger: Ledger) -> None:
    """Store what lasts; a folder that cannot be written costs the memory alone."""
    try:
        write_atomic(state_folder(place, service) / _FILE, dump(ledger))
    except TierlockError:
        return


def refused(judged: Judged, place: Place, alert: Sequence[str], say: Callable[[str], None]) -> Report:
    """The report of a start that is refused, after the alert about it."""
    now, name = time.time(), judged.asked.service
    turn = turned(memory(place, name), gate.things(judged), now, gate.decided)
    ledger = turn.ledger
    current = tuple(one for one in ledger.lasting if gate.decided(one))
    untold = tuple(one for one in current if not one.told)
    if untold and not _alarm(alert, alerts.alert(Event.REFUSED, subject(judged), current, now), say):
        ledger = told(ledger)
    keep(place, name, ledger)
    return gate_report.report(judged, current, now)


def previewed(judged: Judged, place: Place) -> Report:
    """The report of a dry run: nothing is told, started or remembered."""
    return _reported(judged, place, dry_run=True)


def starting(judged: Judged, place: Place) -> Report:
    """The report of a start; what is wrong with it is told by the watcher."""
    return _reported(judged, place, dry_run=False)


def _reported(judged: Judged, place: Place, *, dry_run: bool) -> Report:
    now = time.time()
    turn = turned(memory(place, judged.asked.service), gate.things(judged), now, gate.decided)
    current = tuple(one for one in turn.ledger.lasting if gate.decided(one))
    return gate_report.report(judged, current, now, dry_run=dry_run)


def subject(judged: Judged) -> Subject:
    """Who alerts are about."""
    wanted = judged.expected
    label, fold = (wanted.label, wanted.fingerprint) if wanted is not None else (judged.asked.expect, "")
    return Subject(judged.asked.service, label, fold, socket.gethostname())


def _alarm(command: Sequence[str], body: Mapping[str, Json], say: Callable[[str], None]) -> str:
    problem = delivered(command, body)
    if problem:
        say(f"the alert was not delivered: {problem}")
    return problem


def delivered(command: Sequence[str], body: Mapping[str, Json]) -> str:
    """Why the alert command did not take `body`; empty when it did, and when there is none."""
    from governance.adapters.alarm import deliver

    return deliver(command, body) if command else ""


def asked_words(command: str) -> tuple[str, ...]:
    """The alert command as words, as a shell would split it. Raises `Usage`."""
    import shlex

    from governance.errors import Usage

    try:
        return tuple(shlex.split(command))
    except ValueError as err:
        raise Usage(f"`{command}` is no command: {str(err).lower()}", hint="quote it as in a shell") from err
