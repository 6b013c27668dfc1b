"""What lasts: told once, counted from the first time, across restarts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from governance.monitor.ledger import Ledger, dump, load, told, turned
from governance.monitor.mismatch import Concerns, Doubt, Mismatch, Seen
from governance.verdict import Change

EIGHT_HOURS = 8 * 3600 + 3 * 60
HOT = Mismatch("TL807", Change("effective", "sampling.temperature", 0.1, 0.9, after_from="GET /props"))
EDITED = Mismatch(
    "TL808",
    Change("sampling", "top_p", 1.0, 0.8, path="configs/sampling/factual.yaml", line=5),
    Concerns.NEXT_START,
)
MUTE = Doubt("effective", "no answer within 30 s")


def seen(*things: Mismatch | Doubt) -> Seen:
    return Seen(
        mismatches=tuple(one for one in things if isinstance(one, Mismatch)),
        doubts=tuple(one for one in things if isinstance(one, Doubt)),
    )


def test_a_mismatch_appears_once_and_is_gone_once_with_how_long_it_lasted() -> None:
    first = turned(Ledger(), seen(HOT), 1000.0)
    again = turned(first.ledger, seen(HOT), 2000.0)
    last = turned(again.ledger, seen(), 1000.0 + EIGHT_HOURS)
    assert [one.key for one in first.appeared] == ["sampling.temperature"]
    assert again.appeared == again.gone == ()
    (gone,) = last.gone
    assert gone.line(1000.0 + EIGHT_HOURS, over=True) == (
        "effective sampling.temperature: expected 0.1, found 0.9, by GET /props (this server), "
        "was so for 8 h 3 min"
    )
    assert last.ledger == Ledger()


def test_another_value_of_the_same_field_is_the_same_mismatch_with_what_is_found_now() -> None:
    hotter = replace(HOT, change=replace(HOT.change, after=1.3))
    first = turned(Ledger(), seen(HOT), 1000.0)
    second = turned(first.ledger, seen(hotter), 1600.0)
    assert second.appeared == ()
    (one,) = second.ledger.lasting
    assert (one.found, one.since) == ("1.3", 1000.0)


def test_a_file_tells_since_when_it_is_so() -> None:
    turn = turned(Ledger(), seen(replace(EDITED, since=400.0)), 1000.0)
    assert turn.ledger.lasting[0].line(1000.0) == (
        "sampling top_p: expected 1.0, found 0.8, by configs/sampling/factual.yaml:5 (the next start), "
        "for 10 min"
    )


def test_a_file_from_the_future_began_now() -> None:
    assert turned(Ledger(), seen(replace(EDITED, since=9e9)), 1000.0).ledger.lasting[0].since == 1000.0


def test_what_concerns_the_server_outranks_what_concerns_its_next_start() -> None:
    """One field can be both: what was started, and what would be."""
    later = replace(HOT, concerns=Concerns.NEXT_START)
    (one,) = turned(Ledger(), seen(HOT, later), 1000.0).ledger.lasting
    assert one.concerns == "this server"


def test_what_a_look_cannot_judge_lasts_on() -> None:
    """A start sees no running server: what was read back of the last one is not mended by that."""
    known = turned(Ledger(), seen(HOT, EDITED), 1000.0).ledger
    turn = turned(known, seen(), 2000.0, lambda one: one.code != "TL807")
    assert [one.code for one in turn.gone] == ["TL808"]
    assert [one.code for one in turn.ledger.lasting] == ["TL807"]


def test_a_doubt_is_remembered_under_its_layer() -> None:
    turn = turned(Ledger(), seen(MUTE), 1000.0)
    assert turn.ledger.lasting[0].text == "effective cannot be compared: no answer within 30 s"
    other = turned(turn.ledger, seen(Doubt("effective", "connection refused")), 1100.0)
    assert other.appeared == ()
    assert other.ledger.lasting[0].found == "connection refused"


def test_the_memory_is_what_was_written_down() -> None:
    ledger = told(turned(Ledger(), seen(HOT, EDITED, MUTE), 1000.25).ledger)
    assert load(dump(ledger)) == ledger
    assert all(one.told for one in ledger.lasting)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"schema": "tierlock.gate/2", "lasting": []}',
        b'{"schema": "tierlock.gate/1", "lasting": [{"code": 1}]}',
        dump(turned(Ledger(), seen(HOT), 1.0).ledger).replace(b'"since": 1.0', b'"since": "1"'),
    ],
)
def test_a_file_that_is_no_memory_costs_the_memory_alone(data: bytes) -> None:
    assert load(data) == Ledger()
