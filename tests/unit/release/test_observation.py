"""What counts as running, judged from what was seen of each server."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.release.observation import Expected, Running, is_mixture, judge
from governance.values import ABSENT, Effect, Unknown
from governance.verdict import Change, Outcome, decide

FOLD, OTHER = "9f" * 32, "c9" * 32
IMAGE, MOVED = f"sha256:{'c1' * 32}", f"sha256:{'c2' * 32}"
EXPECTED = Expected("v38", FOLD, (IMAGE,), 1000.0)
GOOD = Running("one", 1010.0, IMAGE, FOLD, compared=31)
HIDDEN = Unknown("no access")
HOT = Change("effective", "sampling.temperature", 0.2, 0.9)
SLOW = Change("effective", "engine.options.threads", 4, 2, risk=Effect.LATENCY)


def judged(one: Running, expected: Expected = EXPECTED) -> tuple[Outcome, str]:
    (check,) = judge(expected, (one,))
    return check.outcome, check.detail


def test_what_is_as_released_passes_with_how_much_was_seen() -> None:
    assert judged(GOOD) == (
        Outcome.PASS,
        "read back 31 of 31 values equal to v38; image sha256:c1c1c1c1c1c1",
    )


@pytest.mark.parametrize(
    ("one", "outcome", "said"),
    [
        (replace(GOOD, image=MOVED), Outcome.BLOCK, "files restored, image not: it runs sha256:c2c2c2c2c2c2"),
        (replace(GOOD, image=HIDDEN), Outcome.UNDECIDED, "which image it runs is not known: no access"),
        (replace(GOOD, image=ABSENT), Outcome.UNDECIDED, "it runs in none"),
        (replace(GOOD, moved=(HOT,)), Outcome.BLOCK, "sampling.temperature is 0.9, v38 has 0.2"),
        (replace(GOOD, moved=(SLOW,)), Outcome.PASS, "speed only: engine.options.threads"),
        (replace(GOOD, label=OTHER), Outcome.BLOCK, "it was started as c9c9c9c9c9c9, v38 is 9f9f9f9f9f9f"),
        (replace(GOOD, compared=0, missing="it does not answer"), Outcome.UNDECIDED, "it does not answer"),
        (replace(GOOD, label="", started_at=990.0), Outcome.UNDECIDED, "the process is older than the files"),
        (replace(GOOD, label="", started_at=HIDDEN), Outcome.UNDECIDED, "when it started is not known"),
        (replace(GOOD, label="", started_at=999.5), Outcome.PASS, "read back"),
        (replace(GOOD, started_at=10.0), Outcome.PASS, "read back"),
        (
            replace(GOOD, label=OTHER, started_at=10.0, moved=(HOT,)),
            Outcome.BLOCK,
            "restored on disk, not live: sampling.temperature is 0.9",
        ),
    ],
)  # fmt: skip
def test_one_server_is_judged_by_what_it_shows(one: Running, outcome: Outcome, said: str) -> None:
    found = judged(one)
    assert (found[0], said in found[1]) == (outcome, True), found


def test_where_no_file_had_to_move_the_age_of_the_process_says_nothing() -> None:
    unmoved = replace(EXPECTED, restored_at=None)
    assert judged(replace(GOOD, label="", started_at=1.0), unmoved)[0] is Outcome.PASS


def test_an_image_may_go_by_the_digest_of_its_index_or_of_its_manifest() -> None:
    both = replace(EXPECTED, images=(IMAGE, MOVED))
    assert judged(replace(GOOD, image=MOVED), both)[0] is Outcome.PASS


def test_no_server_blocks_and_a_runtime_that_cannot_be_asked_is_undecided() -> None:
    assert [one.outcome for one in judge(EXPECTED, ())] == [Outcome.BLOCK]
    (check,) = judge(EXPECTED, Unknown("the runtime does not answer"))
    assert (check.outcome, check.detail) == (
        Outcome.UNDECIDED,
        "cannot verify what runs: the runtime does not answer",
    )


def test_several_servers_in_one_bad_state_are_no_mixture_and_no_success() -> None:
    both = [replace(GOOD, name=name, moved=(HOT,)) for name in ("one", "two")]
    assert not is_mixture(both, EXPECTED)
    assert judge(EXPECTED, both)[-1].detail == "none of 2 servers is seen to be as released"


RUNNING = st.builds(
    Running,
    name=st.sampled_from(["one", "two", "three"]),
    started_at=st.sampled_from([10.0, 1010.0]),
    image=st.sampled_from([IMAGE, MOVED]),
    label=st.sampled_from(["", FOLD, OTHER]),
    compared=st.sampled_from([0, 31]),
    moved=st.sampled_from([(), (HOT,), (SLOW,)]),
)


@given(st.lists(RUNNING, min_size=2, max_size=3))
def test_all_pass_only_where_each_passes_alone(found: list[Running]) -> None:
    alone = {judged(one)[0] for one in found}
    together = judge(EXPECTED, found)
    assert (decide(together) is Outcome.PASS) == (alone == {Outcome.PASS})
    assert is_mixture(found, EXPECTED) or len(alone) == 1
