"""The journal is exact: what is written is read again, and anything else stops the call."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.git_forward import ABSENT, Change, Forward
from governance.errors import NewerFormat, Unreadable
from governance.release import journal as journals
from governance.release.journal import Journal, Stage, Step, dump, load
from governance.release.record import Override

HEX = st.text("0123456789abcdef", min_size=40, max_size=40)
SIDES = st.one_of(st.just(ABSENT), st.tuples(st.sampled_from(["100644", "100755"]), HEX))
CHANGES = st.lists(st.builds(Change, st.text(min_size=1), SIDES, SIDES), max_size=3).map(tuple)
FORWARDS = st.one_of(st.none(), st.builds(Forward, st.text(min_size=1), HEX, HEX, CHANGES))
JOURNALS = st.builds(
    Journal,
    service=st.text(min_size=1),
    target=st.just("v38"),
    fingerprint=HEX,
    begun_at=st.text(),
    by=st.text(),
    reason=st.text(),
    rejected=st.lists(st.tuples(HEX, st.sampled_from(["", "v42"])), max_size=2).map(tuple),
    overrides=st.lists(st.builds(Override, st.text(), st.text(), st.text()), max_size=2).map(tuple),
    moves_too=st.lists(st.text(), max_size=2).map(tuple),
    restored_at=st.one_of(st.none(), st.floats(0, 2e9)),
    restore=FORWARDS,
    record=FORWARDS,
    release=st.sampled_from(["", "v43"]),
    stages=st.dictionaries(st.sampled_from(Step), st.sampled_from(Stage)),
)


@given(JOURNALS)
def test_what_is_written_is_read_again(journal: Journal) -> None:
    assert load(dump(journal), "rollback.json") == journal


@given(JOURNALS, st.data())
def test_a_journal_that_was_cut_or_edited_is_damaged(journal: Journal, data: st.DataObject) -> None:
    whole = dump(journal)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(Unreadable, match="the journal of a rollback is damaged"):
        load(whole[:cut], "rollback.json")
    with pytest.raises(Unreadable):
        load(whole.replace(b'"v38"', b'"v37",\n  "more": 1'), "rollback.json")


def test_a_newer_one_is_not_carried_on(tmp_path: Path) -> None:
    journal = Journal("summarizer", "v38", "9f" * 32, "2026-11-30T18:00:00Z", "on-call-a", "worse")
    assert journals.read(tmp_path) is None
    journals.write(tmp_path, journal)
    assert journals.read(tmp_path) == journal
    file = tmp_path / journals.FILE
    file.write_bytes(file.read_bytes().replace(b"rollback/1", b"rollback/2"))
    with pytest.raises(NewerFormat):
        journals.read(tmp_path)
    journals.end(tmp_path)
    journals.end(tmp_path)
    assert journals.read(tmp_path) is None


def test_how_far_it_is_is_told_in_words() -> None:
    journal = Journal("summarizer", "v38", "9f" * 32, "", "", "")
    assert journal.told == "nothing changed yet"
    journal = journal.at(Step.RESTORE, Stage.DONE).at(Step.DEPLOY, Stage.BEGUN)
    assert journal.told == "restore done, deploy begun"
    assert (journal.begun(Step.DEPLOY), journal.begun(Step.RECORD)) == (True, False)
