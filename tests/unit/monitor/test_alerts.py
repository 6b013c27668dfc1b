"""What people and programs are told."""

from __future__ import annotations

import pytest

from governance.monitor.alerts import MOST, Event, Subject, alert, lines, stamp
from governance.monitor.ledger import Ledger, turned
from governance.monitor.mismatch import Mismatch, Seen
from governance.verdict import Change

SUBJECT = Subject("summarizer", "v41", "5b" * 32, "gpu-7")
NOW = 1_800_000_000.0
LASTING = turned(
    Ledger(),
    Seen(mismatches=(Mismatch("TL807", Change("effective", "sampling.top_k", 40, 20), since=NOW - 28980),)),
    NOW,
).ledger.lasting


def test_an_alert_carries_what_a_program_needs_to_route_and_a_person_to_act() -> None:
    told = alert(Event.MISMATCH, SUBJECT, LASTING, NOW)
    assert told["schema"] == "tierlock.alert/1"
    assert (told["event"], told["service"], told["host"]) == ("mismatch", "summarizer", "gpu-7")
    assert told["expected"] == {"release": "v41", "fingerprint": "5b" * 32}
    assert told["mismatches"] == [
        {
            "code": "TL807",
            "layer": "effective",
            "key": "sampling.top_k",
            "expected": "40",
            "found": "20",
            "concerns": "this server",
            "text": "effective sampling.top_k: expected 40, found 20",
            "since": stamp(NOW - 28980),
            "seconds": 28980.0,
            "for": "8 h 3 min",
        }
    ]


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event.REFUSED, "was not started, it is not what v41 says: effective sampling.top_k: expected 40"),
        (Event.DEGRADED, "was started and is not what v41 says, readiness is down: effective"),
        (Event.MISMATCH, "is not what v41 says: effective sampling.top_k: expected 40, found 20"),
        (Event.MENDED, "is mended: effective sampling.top_k: expected 40, found 20"),
    ],
)
def test_the_sentence_of_an_alert_says_who_what_and_for_how_long(event: Event, said: str) -> None:
    text = str(alert(event, SUBJECT, LASTING, NOW)["text"])
    assert text.startswith(f"summarizer on gpu-7 {said}")
    assert text.endswith("for 8 h 3 min")


def test_two_hundred_packages_are_counted_and_not_all_listed() -> None:
    many = tuple(Mismatch("TL804", Change("packages", f"p{n}", "1", "2")) for n in range(200))
    lasting = turned(Ledger(), Seen(mismatches=many), NOW).ledger.lasting
    told = alert(Event.REFUSED, SUBJECT, lasting, NOW)
    assert told["count"] == 200
    assert len(told["mismatches"]) == MOST  # type: ignore[arg-type]
    assert " and 199 more" in str(told["text"])


def test_the_log_has_one_line_for_each() -> None:
    assert lines(Event.MISMATCH, SUBJECT, LASTING, NOW) == [
        "summarizer is not what v41 says: effective sampling.top_k: expected 40, found 20 (this server), "
        "for 8 h 3 min"
    ]
    assert lines(Event.MENDED, SUBJECT, LASTING, NOW)[0].startswith("summarizer is mended: ")
