"""The watcher beside a server that was started: reads it back, goes on comparing, and tells what moved.

- Once the server answers it is read back; then everything is compared again every so many seconds.
- Each mismatch is told once when it appears and once when it has gone, with how long it lasted. An alert that
  was not delivered is tried again at the next look.
- Ready is: the server answers now, was read back equal, and started as the release says. What concerns the
  next start alone (a file that was edited, a tag that moved) is told and takes no running server away.
- A server that cannot be read back for once stays what it last was, and is asked again soon: it may be
  ending, or busy. The second time in a row is told. One that never was read back is not ready.
- It ends with the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from governance.monitor import alerts
from governance.monitor.alerts import Event, Subject
from governance.monitor.gate import decided
from governance.monitor.ledger import Lasting, Ledger, told, turned
from governance.monitor.mismatch import Seen, together
from governance.records import dataclass, replace
from governance.values import Json

STEP: Final = 0.5  # seconds between two questions whether the server is up
SOON: Final = 5.0  # seconds until a server that could not be read back is asked again


class Process(Protocol):
    """The server's process."""

    def ends_within(self, seconds: float) -> bool:
        """Wait at most so long; true as soon as it has ended."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What the watcher asks and tells. `loaded` is asked once the server is up, `read_back` and `here` at
    each look. `alarm` returns why an alert was not taken, or nothing; `keep` stores the ledger.
    """

    up: Callable[[], bool]
    loaded: Callable[[], Seen]
    read_back: Callable[[], Seen]
    here: Callable[[], Seen]
    alarm: Callable[[Mapping[str, Json]], str]
    say: Callable[[str], None]
    keep: Callable[[Ledger], None]
    now: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of the server. `start` is what the gate saw and what it was started as; `live` the last
    time it could be read back (None: never yet), `silence` the doubts of the last try and `silent` how many
    tries in a row brought nothing else.
    """

    start: Seen
    loaded: Seen | None = None
    live: Seen | None = None
    silence: Seen = Seen()
    silent: int = 0
    here: Seen = Seen()
    looked_at: float | None = None

    @property
    def as_expected(self) -> bool:
        """Whether the running server was seen to be what it should be."""
        known = (self.start, self.loaded, self.live)
        return all(one is not None and one.equal for one in known)

    @property
    def everything(self) -> Seen:
        """All mismatches and doubts there are now."""
        silence = self.silence if self.silent > 1 else None
        found = (self.start, self.loaded, self.live, silence, self.here)
        return together(one for one in found if one is not None)


class Watch:
    """One server under watch. `answer` may be called from any thread: it reads what was last stored."""

    def __init__(self, subject: Subject, start: Seen, ledger: Ledger, neighbours: Neighbours) -> None:
        self._subject = subject
        self._ask = neighbours
        self._ledger = ledger
        self.standing = Standing(start)

    def begin(self) -> None:
        """Tell what the gate saw: the server was started degraded, or what was wrong before is mended."""
        self._turn(Event.DEGRADED, judged=decided)

    def look(self) -> None:
        """Compare everything once, and tell what moved."""
        standing = self.standing
        if standing.loaded is None:
            standing = replace(standing, loaded=self._ask.loaded())
        seen = self._ask.read_back()
        if seen.doubts and not seen.mismatches:
            standing = replace(standing, silence=seen, silent=standing.silent + 1)
        else:
            standing = replace(standing, live=seen, silence=Seen(), silent=0)
        self.standing = replace(standing, here=self._ask.here(), looked_at=self._ask.now())
        self._turn(Event.MISMATCH)

    def answer(self) -> tuple[bool, Json]:
        """Whether the server may be given requests now, and why not."""
        standing, now = self.standing, self._ask.now()
        up = self._ask.up()
        ready = up and standing.as_expected
        lasting = self._ledger.lasting
        return ready, {
            "schema": "tierlock.ready/1",
            "ready": ready,
            "state": _state(standing, up=up),
            "service": self._subject.service,
            "expected": {"release": self._subject.release, "fingerprint": self._subject.fingerprint},
            "mismatches": [alerts.row(one, now) for one in lasting],
            "not_covered": [{"layer": layer, "reason": why} for layer, why in standing.start.uncovered],
            "looked_at": alerts.stamp(standing.looked_at) if standing.looked_at is not None else None,
        }

    def _turn(self, event: Event, judged: Callable[[Lasting], bool] = lambda _: True) -> None:
        now = self._ask.now()
        turn = turned(self._ledger, self.standing.everything, now, judged)
        self._ledger = turn.ledger
        self._log(Event.MENDED, turn.gone, now)
        self._log(event, turn.appeared, now)
        heard = tuple(one for one in turn.gone if one.told)
        if heard:
            self._alarm(Event.MENDED, heard, now)
        untold = tuple(one for one in turn.ledger.lasting if not one.told)
        if untold and self._alarm(event, untold, now):
            self._ledger = told(self._ledger)
        if turn.appeared or turn.gone or untold:
            self._ask.keep(self._ledger)

    def _log(self, event: Event, about: Iterable[Lasting], now: float) -> None:
        for line in alerts.lines(event, self._subject, about, now):
            self._ask.say(line)

    def _alarm(self, event: Event, about: tuple[Lasting, ...], now: float) -> bool:
        """Whether the alert was taken; if not, why is said."""
        problem = self._ask.alarm(alerts.alert(event, self._subject, about, now))
        if problem:
            self._ask.say(
                f"{self._subject.service}: the alert was not delivered, it will be tried again: {problem}"
            )
        return not problem


def watch(watched: Watch, process: Process, up: Callable[[], bool], every: float) -> None:
    """Watch until the server has ended."""
    watched.begin()
    while not up():
        if process.ends_within(STEP):
            return
    watched.look()
    while not process.ends_within(min(every, SOON) if watched.standing.silent else every):
        watched.look()


def _state(standing: Standing, *, up: bool) -> str:
    if not up:
        return "starting" if standing.live is None else "silent"
    if standing.live is None:
        return "not read back"
    return "as expected" if standing.as_expected else "mismatch"
