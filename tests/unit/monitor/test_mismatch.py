"""What a look at a host or a server is sorted into, and how long things are said to last."""

from __future__ import annotations

import pytest

from governance.monitor.mismatch import (
    Concerns,
    Doubt,
    Seen,
    differing,
    duration,
    sentence,
    shaping,
    together,
)
from governance.values import ABSENT, Effect, Unknown
from governance.verdict import Change, LayerState

TEMPERATURE = Change("sampling", "temperature", 0.1, 0.9)
SLOTS = Change("effective", "engine.options.log", 1, 2, risk=Effect.LATENCY)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (61, "1 min 1 s"),
        (3600, "1 h"),
        (8 * 3600 + 3 * 60 + 59, "8 h 3 min"),
        (86400, "1 d"),
        (3 * 86400 + 5 * 3600 + 7 * 60, "3 d 5 h"),
        (86400 + 60, "1 d"),
        (-5, "0 s"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_change_that_shapes_answers_is_a_mismatch_and_another_one_a_note() -> None:
    seen = shaping("TL807", (TEMPERATURE, SLOTS))
    assert [one.change for one in seen.mismatches] == [TEMPERATURE]
    assert seen.notes == ("shapes no answer: effective engine.options.log: expected 1, found 2",)


def test_where_layers_must_be_equal_a_harmless_change_counts_as_well() -> None:
    assert [one.change for one in differing("TL804", (TEMPERATURE, SLOTS)).mismatches] == [TEMPERATURE, SLOTS]


@pytest.mark.parametrize("sides", [(Unknown("no GPU answers"), "535"), ("535", Unknown("no GPU answers"))])
def test_a_side_that_is_not_known_is_a_doubt_and_never_equal(sides: tuple[object, object]) -> None:
    seen = differing("TL805", (Change("platform", "driver", *sides),), concerns=Concerns.NEXT_START)  # type: ignore[arg-type]
    assert seen.mismatches == ()
    assert seen.doubts == (Doubt("platform", "driver: no GPU answers", Concerns.NEXT_START),)
    assert not seen.equal


def test_nothing_that_differs_and_nothing_in_doubt_is_equal_whatever_is_not_covered() -> None:
    assert Seen(uncovered=(("image", "unknown"),), notes=("a note",)).equal
    assert not Seen(doubts=(Doubt("weights", "gone"),)).equal


def test_looks_are_put_together_in_their_order_and_a_note_is_said_once() -> None:
    one = Seen((LayerState("base", "same"),), notes=("n",))
    two = shaping("TL807", (TEMPERATURE,))
    both = together((one, two, one))
    assert [layer.name for layer in both.layers] == ["base", "base"]
    assert both.notes == ("n",)
    assert len(both.mismatches) == 1


def test_what_is_not_there_is_told_as_nothing() -> None:
    change = Change("launch", "GGML_X", ABSENT, "1")
    assert sentence(change) == "launch GGML_X: expected nothing, found 1"
