"""A drill as a whole: everything is judged, and what a person sets aside is kept with who and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from governance.errors import Unreachable, Usage
from governance.release import drill
from governance.release.drill import Drilled
from governance.release.record import Override
from governance.release.restorable.age import ago, check_age
from governance.values import Unknown
from governance.verdict import Check, Outcome
from tests.support.drilled import service, subject, world

BAD = Check("advisories", Outcome.BLOCK, "ADV-1 (critical) engine vllm 0.6.1")
OPEN = Check("age", Outcome.UNDECIDED, "no smoke run of this release has passed")
GOOD = Check("image", Outcome.PASS, "there")


def test_every_check_is_judged_whatever_the_others_say() -> None:
    checks = drill.drill(subject(service("hardware: {gpu: L40S}\n", "{driver: process}")), world())
    assert [check.name for check in checks] == list(drill.CHECKS)
    assert {check.name: check.outcome for check in checks} == {
        "image": Outcome.PASS,
        "weights": Outcome.UNDECIDED,
        "packages": Outcome.PASS,
        "advisories": Outcome.PASS,
        "hardware": Outcome.BLOCK,
        "age": Outcome.UNDECIDED,
    }


def test_a_neighbour_that_fails_leaves_its_own_check_undecided() -> None:
    def broken() -> None:
        raise Unreachable("the driver does not answer", hint="dmesg")

    checks = drill.drill(subject(service("hardware: {gpu: L40S}\n", "{driver: process}")), world(gpus=broken))
    hardware = next(check for check in checks if check.name == "hardware")
    assert hardware == Check("hardware", Outcome.UNDECIDED, "the driver does not answer; dmesg")


def test_a_check_that_is_set_aside_passes_and_says_who_accepted_what_and_why() -> None:
    found = drill.overridden((GOOD, BAD, OPEN), {"advisories": "behind a proxy"}, by="reviewer-a")
    assert found[1].outcome is Outcome.PASS
    assert found[1].detail == (
        "accepted by reviewer-a: behind a proxy; it is: ADV-1 (critical) engine vllm 0.6.1"
    )
    assert (found[0], found[2]) == (GOOD, OPEN)
    assert drill.overrides((GOOD, BAD, OPEN), {"advisories": "behind a proxy"}, by="reviewer-a") == (
        Override("advisories", "behind a proxy", "reviewer-a"),
    )


def test_an_undecided_check_can_be_set_aside_and_a_passing_one_leaves_no_trace() -> None:
    accepted = {"age": "it is 3 a.m.", "image": "not needed"}
    assert [one.outcome for one in drill.overridden((GOOD, BAD, OPEN), accepted)] == [
        Outcome.PASS,
        Outcome.BLOCK,
        Outcome.PASS,
    ]
    assert drill.overridden((GOOD,), {"image": "not needed"}) == (GOOD,)
    assert drill.overrides((GOOD, OPEN), accepted, by="x") == (Override("age", "it is 3 a.m.", "x"),)


def test_what_is_no_check_and_what_is_no_reason_is_refused() -> None:
    with pytest.raises(Usage, match="no check `images` to accept") as err:
        drill.overridden((GOOD, BAD), {"images": "why"})
    assert err.value.hint == "there are: image, advisories"
    with pytest.raises(Usage, match="the reason to accept `image` cannot be one: it is empty"):
        drill.overridden((GOOD,), {"image": " "})


def test_the_deployment_is_that_of_today_and_the_binding_that_of_the_release() -> None:
    then = service("", "{driver: none}")
    today = {**then.tree, "sampling": "another", "deploy": {"driver": "process"}}
    found = drill.deployed(then, today)
    assert found.tree["sampling"] == "factual"
    assert found.tree["deploy"] == {"driver": "process"}
    assert drill.deployed(then, None) is then


def test_the_last_drill_is_remembered_and_a_broken_note_is_none(tmp_path: Path) -> None:
    done = Drilled("v38", "b" * 64, "2026-11-30T12:00:00Z", Outcome.PASS)
    assert drill.last(tmp_path) is None
    drill.remember(tmp_path / "notes", done)
    assert drill.last(tmp_path / "notes") == done
    drill.remember(tmp_path / "notes", replace(done, at="yesterday"))
    assert drill.last(tmp_path / "notes") is None
    (tmp_path / "notes/drill.json").write_text("[]")
    assert drill.last(tmp_path / "notes") is None


def test_an_age_that_cannot_be_known_is_undecided() -> None:
    assert check_age(subject(spoken=Unknown("altered"))).outcome is Outcome.UNDECIDED
    assert check_age(subject()).detail == "no smoke run of this release has passed"


def test_spans_are_told_as_people_say_them() -> None:
    assert [ago(seconds) for seconds in (0, 90, 7199, 7200, 172799, 172800)] == [
        "0 min",
        "1 min",
        "119 min",
        "2 h",
        "47 h",
        "2 days",
    ]
