"""The golden pointer: what is golden, what was, and what is no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from governance.adapters.files import MemoryTree
from governance.errors import NewerFormat, Unreadable, Usage
from governance.release import golden
from governance.release.golden import Entry, Golden, Proof, Revocation
from governance.release.record import Override

PROOF = Proof(".tierlock/evidence/s/aa-bb.json", "b" * 64, "smoke", "smoke", "2026-11-30T08:00:00Z")
FIRST = Entry("v37", "a" * 64, "1" * 64, "2026-11-29T09:00:00Z", "reviewer-a", "first", (PROOF,))
SECOND = Entry(
    "v38",
    "b" * 64,
    "2" * 64,
    "2026-11-30T09:00:00Z",
    "reviewer-b",
    "",
    (PROOF, replace(PROOF, kind="full", suite="full", ended_at="2026-11-30T08:30:00Z")),
    (Override("image", "host has no registry", "reviewer-b"),),
)
WHY = Revocation(
    "2026-12-01T09:00:00Z", "reviewer-a", "a run of today fails", evidence=".tierlock/evidence/x"
)
BOTH = golden.pointed(golden.pointed(Golden("s"), FIRST), SECOND)


def test_a_pointer_reads_back_as_it_was_written() -> None:
    for one in (Golden("s"), BOTH, golden.revoked(BOTH, "v38", WHY), golden.revoked(BOTH, "v37", WHY)):
        assert golden.load(golden.dump(one), one.path) == one
        assert golden.read_golden(MemoryTree({one.path: golden.dump(one)}), "s") == one
    assert golden.read_golden(MemoryTree({}), "s") == Golden("s")


def test_what_was_golden_before_stays_within_reach() -> None:
    assert BOTH.current == SECOND
    assert BOTH.earlier == (FIRST,)
    assert BOTH.entry("v37") == FIRST
    assert SECOND.proven_at == "2026-11-30T08:30:00Z"


def test_a_revoked_entry_keeps_its_place_and_nothing_steps_into_it() -> None:
    gone = golden.revoked(BOTH, "v38", WHY)
    assert gone.current is not None
    assert gone.current.release == "v38"
    assert gone.current.revoked == WHY
    assert gone.earlier == (FIRST,)


def test_a_revoked_former_one_is_out_of_reach() -> None:
    assert golden.revoked(BOTH, "v37", WHY).earlier == ()


def test_the_newest_entry_of_a_release_speaks_for_it() -> None:
    """A release that was revoked and set again is within reach, one revoked last is not."""
    again = golden.pointed(golden.pointed(golden.revoked(BOTH, "v38", WHY), SECOND), FIRST)
    assert [one.release for one in again.earlier] == ["v38"]
    assert golden.revoked(again, "v38", WHY).earlier == ()


def test_what_was_never_golden_and_what_is_revoked_already_is_a_mistake() -> None:
    with pytest.raises(Usage, match="`s@v9` was never golden") as err:
        golden.revoked(BOTH, "v9", WHY)
    assert err.value.hint == "there are: v37, v38"
    with pytest.raises(Usage, match="was revoked at 2026-12-01T09:00:00Z by reviewer-a"):
        golden.revoked(golden.revoked(BOTH, "v38", WHY), "v38", WHY)


def test_an_altered_pointer_is_refused_with_its_path() -> None:
    data = golden.dump(BOTH)
    for edited in (
        data.replace(b'"v37"', b'"x37"'),
        data.replace(b"2026-11-29T09", b"2026-11-29 09"),
        data.replace(b'"reason": "first"', b'"reason": "first", "more": 1'),
        data.replace(b"\n", b"\r\n"),
        data[:-2],
    ):
        with pytest.raises(Unreadable, match="unaltered golden pointer") as err:
            golden.load(edited, BOTH.path)
        assert err.value.where == ".tierlock/golden/s.json"
    with pytest.raises(Unreadable, match="it is that of `s`"):
        golden.load(data, golden.path_of("other"))


def test_a_pointer_of_a_newer_format_asks_for_an_upgrade() -> None:
    data = golden.dump(BOTH).replace(b"tierlock.golden/1", b"tierlock.golden/2")
    with pytest.raises(NewerFormat, match="reads up to"):
        golden.load(data, BOTH.path)
