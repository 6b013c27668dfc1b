"""Holds: what a rollback took away stays away until a person says otherwise, and that is kept."""

from __future__ import annotations

import json

import pytest

from governance.adapters.files import MemoryTree
from governance.errors import NewerFormat, Unreadable, Usage
from governance.release import holds
from governance.release.holds import Hold, Holds
from governance.verdict import Outcome

DRIFTED, OTHER = "c9" * 32, "41" * 32
NOW = "2026-11-30T09:00:00Z"
HOLD = Hold(DRIFTED, NOW, "reviewer-a", "answers got worse", release="v42", restored="v38")


def tree(found: Holds) -> MemoryTree:
    return MemoryTree({found.path: holds.dump(found)})


def test_nothing_is_held_where_there_is_no_file() -> None:
    assert holds.held(MemoryTree({}), "summarizer", DRIFTED) is None
    assert holds.check_hold(MemoryTree({}), "summarizer", DRIFTED).outcome is Outcome.PASS


def test_a_held_fingerprint_blocks_under_any_release_id_and_another_does_not() -> None:
    source = tree(holds.hold(Holds("summarizer"), HOLD))
    assert holds.held(source, "summarizer", DRIFTED) == HOLD
    blocked = holds.check_hold(source, "summarizer", DRIFTED)
    assert blocked.outcome is Outcome.BLOCK
    assert "tierlock release unhold summarizer c9c9c9c9c9c9" in blocked.detail
    assert "answers got worse" in blocked.detail
    assert holds.held(source, "summarizer", OTHER) is None


def test_a_hold_set_twice_is_one_hold() -> None:
    once = holds.hold(Holds("summarizer"), HOLD)
    assert holds.hold(once, Hold(DRIFTED, "2026-12-01T09:00:00Z", "reviewer-b", "again")) == once


def test_a_lifted_hold_holds_no_more_and_stays_in_the_file() -> None:
    once = holds.hold(Holds("summarizer"), HOLD)
    lifted = holds.lift(once, HOLD, at="2026-12-01T10:00:00Z", by="reviewer-b", reason="engine mended")
    again = holds.load(holds.dump(lifted), lifted.path)
    assert again == lifted
    assert holds.held(tree(lifted), "summarizer", DRIFTED) is None
    (kept,) = again.holds
    assert (kept.reason, kept.lifted_by, kept.lifted_because) == (
        "answers got worse",
        "reviewer-b",
        "engine mended",
    )


def test_a_fingerprint_can_be_held_again_after_it_was_let_go() -> None:
    lifted = holds.lift(holds.hold(Holds("s"), HOLD), HOLD, at=NOW, by="reviewer-b", reason="mended")
    again = holds.hold(lifted, HOLD)
    assert len(again.holds) == 2
    assert again.standing == (HOLD,)


@pytest.mark.parametrize("reason", ["", "  ", "a\x07b"])
def test_a_hold_is_lifted_with_a_reason_only(reason: str) -> None:
    with pytest.raises(Usage, match="reason"):
        holds.lift(holds.hold(Holds("s"), HOLD), HOLD, at=NOW, by="reviewer-b", reason=reason)


def test_a_hold_is_named_by_release_or_by_fingerprint_and_never_guessed() -> None:
    second = Hold(OTHER, NOW, "reviewer-a", "worse still", release="v43")
    both = holds.hold(holds.hold(Holds("s"), HOLD), second)
    assert holds.choose(both, "v43") == second
    assert holds.choose(both, DRIFTED[:12]) == HOLD
    assert holds.choose(holds.hold(Holds("s"), HOLD)) == HOLD
    for named, problem in (("", "more than one"), ("v1", "no standing"), ("c9c9", "no standing")):
        with pytest.raises(Usage, match=problem) as err:
            holds.choose(both, named)
        assert "v42 c9c9c9c9c9c9, v43 414141414141" in err.value.hint
    with pytest.raises(Usage, match="nothing of `s` is held"):
        holds.choose(Holds("s"))


def test_an_edited_file_opens_no_gate() -> None:
    """Deleting the hold from the text by hand leaves other bytes than tierlock writes, or none at all."""
    data = holds.dump(holds.hold(Holds("summarizer"), HOLD))
    path = holds.path_of("summarizer")
    for edited in (data.replace(b"  ", b" ", 1), data + b"\n", b"{}", b"nothing", data.replace(b"v42", b"")):
        with pytest.raises(Unreadable, match="unaltered holds"):
            holds.load(edited, path)
        assert holds.check_hold(MemoryTree({path: edited}), "summarizer", OTHER).outcome is Outcome.UNDECIDED


def test_the_holds_of_one_service_do_not_stand_in_for_those_of_another() -> None:
    with pytest.raises(Unreadable, match="it has the holds of `summarizer`"):
        holds.load(holds.dump(Holds("summarizer")), holds.path_of("qa-bot"))


def test_holds_of_a_newer_format_ask_for_an_upgrade() -> None:
    tree = json.loads(holds.dump(Holds("s"))) | {"schema": "tierlock.holds/2"}
    with pytest.raises(NewerFormat) as err:
        holds.load(json.dumps(tree).encode(), holds.path_of("s"))
    assert err.value.hint == "upgrade tierlock"
