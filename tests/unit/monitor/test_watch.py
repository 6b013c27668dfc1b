"""The watcher, with everything it asks and tells played by plain code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from governance.monitor.alerts import Subject
from governance.monitor.ledger import Ledger
from governance.monitor.mismatch import Concerns, Doubt, Mismatch, Seen
from governance.monitor.watch import SOON, Neighbours, Watch, watch
from governance.values import Json
from governance.verdict import Change

EQUAL = Seen()
HOT = Seen(mismatches=(Mismatch("TL807", Change("effective", "sampling.temperature", 0.1, 0.9)),))
EDITED = Seen(mismatches=(Mismatch("TL808", Change("sampling", "top_p", 1.0, 0.8), Concerns.NEXT_START),))
OTHER_GPU = Seen(mismatches=(Mismatch("TL805", Change("platform", "gpu", "H100", "A100")),))
MUTE = Seen(doubts=(Doubt("effective", "no answer within 30 s"),))


class World:
    """A server, a host and people, as a test sets them."""

    def __init__(self) -> None:
        self.is_up = True
        self.live = EQUAL
        self.around = EQUAL
        self.libraries = EQUAL
        self.problem = ""
        self.time = 1000.0
        self.alerts: list[Mapping[str, Any]] = []
        self.said: list[str] = []
        self.kept: list[Ledger] = []

    def watch(self, start: Seen = EQUAL, ledger: Ledger | None = None) -> Watch:
        neighbours = Neighbours(
            up=lambda: self.is_up,
            loaded=lambda: self.libraries,
            read_back=lambda: self.live,
            here=lambda: self.around,
            alarm=self._alarm,
            say=self.said.append,
            keep=self.kept.append,
            now=lambda: self.time,
        )
        return Watch(Subject("summarizer", "v41", "5b" * 32, "gpu-7"), start, ledger or Ledger(), neighbours)

    def _alarm(self, body: Mapping[str, Json]) -> str:
        if not self.problem:
            self.alerts.append(body)
        return self.problem

    @property
    def events(self) -> list[tuple[str, int]]:
        return [(one["event"], one["count"]) for one in self.alerts]


def state(watched: Watch) -> tuple[bool, Any]:
    ready, body = watched.answer()
    assert isinstance(body, dict)
    assert body["ready"] is ready
    return ready, body["state"]


def test_a_server_is_ready_once_it_was_read_back_equal_and_not_before() -> None:
    world = World()
    watched = world.watch()
    watched.begin()
    assert state(watched) == (False, "not read back")
    watched.look()
    assert state(watched) == (True, "as expected")
    assert world.alerts == world.said == []


def test_a_server_that_does_not_answer_now_is_not_ready_however_it_was_read_back() -> None:
    world = World()
    watched = world.watch()
    world.is_up = False
    assert state(watched) == (False, "starting")
    watched.look()
    assert state(watched) == (False, "silent")


def test_a_value_that_the_server_uses_otherwise_takes_readiness_until_it_is_mended() -> None:
    world = World()
    watched = world.watch()
    world.live = HOT
    watched.look()
    world.time += 8 * 3600 + 180
    watched.look()
    assert state(watched) == (False, "mismatch")
    world.live = EQUAL
    watched.look()
    assert state(watched) == (True, "as expected")
    assert world.events == [("mismatch", 1), ("mended", 1)]
    assert "was so for 8 h 3 min" in world.said[-1]


def test_what_concerns_the_next_start_is_told_and_takes_no_running_server_away() -> None:
    world = World()
    watched = world.watch()
    world.around = EDITED
    watched.look()
    assert state(watched) == (True, "as expected")
    assert world.events == [("mismatch", 1)]
    _, body = watched.answer()
    assert body["mismatches"][0]["concerns"] == "the next start"  # type: ignore[call-overload,index]


def test_started_degraded_is_not_ready_as_long_as_it_runs() -> None:
    world = World()
    watched = world.watch(OTHER_GPU)
    watched.begin()
    watched.look()
    assert state(watched) == (False, "mismatch")
    assert world.events == [("degraded", 1)]


def test_a_library_that_is_not_the_recorded_one_takes_readiness() -> None:
    world = World()
    world.libraries = OTHER_GPU
    watched = world.watch()
    watched.look()
    assert state(watched) == (False, "mismatch")


def test_one_failed_look_is_not_told_and_two_in_a_row_are() -> None:
    """A server that is ending, or busy, refuses one look; one that stays mute is worth a call."""
    world = World()
    watched = world.watch()
    watched.look()
    world.live = MUTE
    watched.look()
    assert world.alerts == []
    watched.look()
    assert world.events == [("mismatch", 1)]
    assert "effective cannot be compared: no answer within 30 s" in world.said[-1]
    assert state(watched) == (True, "as expected"), "it was equal when it last could be seen"


def test_a_server_that_could_never_be_read_back_is_not_ready() -> None:
    world = World()
    world.live = MUTE
    watched = world.watch()
    watched.look()
    watched.look()
    assert state(watched) == (False, "not read back")


def test_an_alert_that_was_not_taken_is_tried_again_until_it_is() -> None:
    world = World()
    watched = world.watch()
    world.live, world.problem = HOT, "`notify` ended with 1"
    watched.look()
    assert "will be tried again: `notify` ended with 1" in world.said[-1]
    world.problem = ""
    watched.look()
    watched.look()
    assert world.events == [("mismatch", 1)]


def test_what_was_wrong_before_this_start_and_is_not_any_more_is_told_as_mended() -> None:
    world = World()
    first = world.watch(OTHER_GPU)
    first.begin()
    world.time += 3600
    again = world.watch(EQUAL, world.kept[-1])
    again.begin()
    assert world.events == [("degraded", 1), ("mended", 1)]
    assert "for 1 h" in world.alerts[-1]["text"]


def test_a_start_does_not_mend_what_only_a_running_server_shows() -> None:
    """A server in a crash loop would otherwise page at each of its starts."""
    world = World()
    first = world.watch()
    world.live = HOT
    first.look()
    world.time += 60
    again = world.watch(EQUAL, world.kept[-1])
    again.begin()
    again.look()
    assert world.events == [("mismatch", 1)]


class Ending:
    """A process that ends after some waits; it remembers how long each was."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.waits: list[float] = []

    def ends_within(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.left -= 1
        return self.left < 0


def test_the_watcher_ends_with_a_server_that_never_came_up() -> None:
    world = World()
    world.is_up = False
    process = Ending(3)
    watch(world.watch(), process, lambda: world.is_up, 60.0)
    assert process.waits == [0.5] * 4
    assert world.alerts == []


def test_a_look_that_failed_is_repeated_soon_and_a_good_one_after_its_time() -> None:
    world = World()
    world.live = MUTE
    process = Ending(2)
    watch(world.watch(), process, lambda: True, 60.0)
    assert process.waits == [SOON] * 3
    world.live = EQUAL
    process = Ending(2)
    watch(world.watch(), process, lambda: True, 60.0)
    assert process.waits == [60.0] * 3
