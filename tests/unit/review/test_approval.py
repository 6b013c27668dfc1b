"""Which approvals count: one case for every rule of `judge`, and the laws that hold for all of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as pace
from hypothesis import strategies as some

from governance.adapters.files import Kind, MemoryTree
from governance.errors import MissingTool
from governance.review import statement
from governance.review.approval import emergencies, judge, open_follow_ups, read_approvals
from governance.review.model import Authors, Decision, Evidence, Judged, Requirement, Subject, Transition
from governance.review.policy import Policy
from governance.review.statement import Record, Withdrawal
from governance.values import Effect
from tests.support.approvals import (
    DAY,
    NOW,
    SUBJECT,
    A,
    B,
    C,
    evidence,
    policy,
    pretended_key,
    record,
    said,
    settings,
    verify,
)
from tests.unit.review.test_statement import subjects

AUTHOR = Authors(frozenset({"author-a"}))


def why(
    one: Evidence, subject: Subject = SUBJECT, by: Policy | None = None, now: datetime = NOW
) -> str | None:
    """Why it does not count; None when it does."""
    seen = judge(one, subject, by or policy(), AUTHOR, now, verify)
    assert not seen.undecided
    return None if seen.accepted else seen.why


def test_an_approval_by_somebody_of_the_role_counts() -> None:
    assert why(evidence()) is None


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (evidence(said("author-a")), "author-a made the change, and nobody approves their own"),
        (evidence(said("stranger")), "stranger is nobody in the policy in force"),
        (evidence(said("outsider-a")), "outsider-a is not in platform"),
        (evidence(said(), "reviewer-b"), "is not reviewer-a's"),
        (evidence(said(issued=NOW + DAY)), "has not come yet"),
        (evidence(said(expires=NOW - timedelta(seconds=1))), "it ran out on"),
        (evidence(said(issued=NOW, expires=NOW - DAY)), "it ran out before it was given"),
        (evidence(withdrawn=True), "it was withdrawn"),
        (evidence(spent=True), "it was used by an earlier landing"),
        (evidence(refused="altered"), "altered"),
        (evidence(said(subject=replace(SUBJECT, before=C))), "it is for cccccccccccc → bbbbbbbbbbbb"),
        (evidence(said(subject=replace(SUBJECT, after=C))), "and this is aaaaaaaaaaaa → bbbbbbbbbbbb"),
        (evidence(said(subject=replace(SUBJECT, name="sampling/other"))), "it is for config:sampling/other"),
        (evidence(signatures=()), "it carries no signature"),
        (evidence(payload=b"{}"), "is not one of this statement"),
        (evidence(said(emergency=True)), "reviewer-a is not in on-call"),
        (evidence(said("reviewer-b", emergency=True)), "has to run out"),
        (evidence(said("reviewer-b", emergency=True, expires=NOW + DAY)), "counts for 4 hours at most"),
        (evidence(said("author-a", emergency=True, expires=NOW + timedelta(hours=1))), "approves their own"),
    ],
)
def test_an_approval_that_breaks_a_rule_does_not_count(one: Evidence, reason: str) -> None:
    said_why = why(one)
    assert said_why is not None
    assert reason in said_why


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        ({"revoked": "2026-11-02"}, "was revoked on 2026-11-02"),
        ({"revoked": "2026-10-01"}, "was revoked on 2026-10-01"),
        ({"revoked": "2026-11-03"}, None),
        ({"expires": "2026-11-01"}, "ran out on 2026-11-01"),
        ({"expires": "2026-11-02"}, None),
        ({"valid_from": "2026-11-03"}, "counts from 2026-11-03 on"),
        ({"valid_from": "2026-11-02"}, None),
    ],
)
def test_a_key_counts_on_its_days_only(days: dict[str, str], reason: str | None) -> None:
    people = {"reviewer-a": {"keys": [{"key": pretended_key("reviewer-a"), **days}]}}
    found = why(evidence(), by=policy(people=people))
    assert (reason in found) if reason and found else found is reason


def test_a_revoked_key_counts_no_more_whatever_date_it_writes() -> None:
    """Whoever stole it can write any date."""
    people = {"reviewer-a": {"keys": [{"key": pretended_key("reviewer-a"), "revoked": "2026-11-01"}]}}
    assert "was revoked" in str(why(evidence(said(issued=NOW - 300 * DAY)), by=policy(people=people)))


def test_one_good_signature_of_several_is_enough() -> None:
    assert why(evidence(said(), "reviewer-b", "reviewer-a")) is None


def test_the_policy_lets_an_approval_count_for_so_many_days() -> None:
    by = policy(sampling={"approvals": 1, "from": ["platform"], "expires_after_days": 10})
    assert why(evidence(said(issued=NOW - 10 * DAY)), by=by) is None
    assert "lets one count for 10 days" in str(why(evidence(said(issued=NOW - 11 * DAY)), by=by))


def test_an_approval_given_under_an_earlier_policy_counts_when_the_one_in_force_accepts_it() -> None:
    one = evidence(said(policy=C))
    seen = judge(one, SUBJECT, policy(), AUTHOR, NOW, verify)
    assert seen.accepted
    assert seen.why.startswith("given under the policy cccccccccccc")
    assert "nobody in the policy" in str(why(one, by=policy(people={"reviewer-b": {}})))


def test_two_keys_of_one_person_count_once() -> None:
    """T3: one person with a laptop key and a token is one person."""
    people = settings()["review"]["people"]
    people["reviewer-a"]["keys"].append(pretended_key("second"))
    by = policy(people=people)
    both = [
        judge(evidence(said(), key), SUBJECT, by, AUTHOR, NOW, verify) for key in ("reviewer-a", "second")
    ]
    assert all(one.accepted for one in both)
    moved = Transition(SUBJECT, (), Effect.OUTPUT)
    assert Decision(moved, Requirement(2), tuple(both)).missing == 1


def test_one_key_under_two_names_counts_for_the_first_alone() -> None:
    people = settings()["review"]["people"]
    people["reviewer-b"]["keys"] = [pretended_key("reviewer-a")]
    by = policy(people=people)
    assert why(evidence(), by=by) is None
    assert "is also reviewer-a's" in str(why(evidence(said("reviewer-b"), "reviewer-a"), by=by))


def test_evidence_of_a_kind_the_policy_does_not_take_does_not_count() -> None:
    assert "does not take evidence from signature" in str(why(evidence(), by=policy(evidence=["github"])))


def test_an_emergency_approval_counts_for_who_may_give_one() -> None:
    one = evidence(said("reviewer-b", emergency=True, expires=NOW + timedelta(hours=3)))
    assert why(one) is None
    assert "allows no emergency" in str(why(one, by=policy(break_glass={})))
    assert "allows no emergency" in str(why(one, by=policy(break_glass={"from": []})))


def test_another_scheme_is_undecided_and_not_called_a_change() -> None:
    one = evidence(said(subject=replace(SUBJECT, scheme="tl0-sha256")))
    seen = judge(one, SUBJECT, policy(), AUTHOR, NOW, verify)
    assert seen.undecided
    assert not seen.accepted


def test_without_ssh_keygen_an_approval_is_undecided() -> None:
    def missing(*_: Any) -> bool:
        raise MissingTool("`ssh-keygen` is not installed")

    seen = judge(evidence(), SUBJECT, policy(), AUTHOR, NOW, missing)
    assert (seen.accepted, seen.undecided) == (False, True)
    assert "ssh-keygen" in seen.why


def test_what_is_wrong_without_its_signature_needs_no_ssh_keygen() -> None:
    def never(*_: Any) -> bool:
        raise AssertionError

    assert not judge(evidence(withdrawn=True), SUBJECT, policy(), AUTHOR, NOW, never).accepted


@pace(deadline=None)
@given(subjects(), subjects())
def test_an_approval_counts_for_its_own_subject_and_pair_alone(one: Subject, other: Subject) -> None:
    found = evidence(said(subject=one))
    assert (why(found, subject=other) is None) == (one == other)
    assert why(found, subject=one) is None


@pace(deadline=None)
@given(some.permutations([A, B, C]))
def test_an_approval_for_a_pair_counts_for_no_other_pair(three: list[str]) -> None:
    one, two, three_ = three
    found = evidence(said(subject=replace(SUBJECT, before=one, after=two)))
    pairs = [(x, y) for x in (one, two, three_, None) for y in (one, two, three_, None) if x != y]
    counts = [pair for pair in pairs if why(found, replace(SUBJECT, before=pair[0], after=pair[1])) is None]
    assert counts == [(one, two)]


@pace(deadline=None)
@given(some.data())
def test_an_approval_with_one_changed_byte_never_counts(data: some.DataObject) -> None:
    raw = statement.dump(record())
    at = data.draw(some.integers(0, len(raw) - 1))
    changed = raw[:at] + bytes([raw[at] ^ data.draw(some.integers(1, 255))]) + raw[at + 1 :]
    (found,) = read_approvals(MemoryTree({record().path: changed}))
    assert not judge(found, SUBJECT, policy(), AUTHOR, NOW, verify).accepted


def tree(*records: Record, **more: bytes) -> MemoryTree:
    return MemoryTree({**{one.path: statement.dump(one) for one in records}, **more})


def test_approvals_are_found_by_the_place_of_their_subject() -> None:
    other = record(said(subject=replace(SUBJECT, name="sampling/other")))
    source = tree(record(), other)
    assert {one.subject_key for one in read_approvals(source)} == {SUBJECT.key, "config:sampling/other"}
    assert [one.where for one in read_approvals(source, [SUBJECT])] == [record().path]


def test_an_approval_moved_to_another_config_is_seen_there_and_refused() -> None:
    place = record().path.replace("factual", "other")
    (found,) = read_approvals(MemoryTree({place: statement.dump(record())}))
    assert found.subject_key == "config:sampling/other"
    assert "belongs in" in found.refused


def test_a_record_that_cannot_be_read_is_kept_and_says_why() -> None:
    (found,) = read_approvals(MemoryTree({record().path: b"{}"}))
    assert found.person == "reviewer-a"
    assert "not a whole, unaltered approval" in found.refused


def test_a_link_in_the_place_of_an_approval_does_not_count() -> None:
    source = MemoryTree({}, kinds={record().path: Kind.SYMLINK})
    (found,) = read_approvals(source)
    assert "symbolic link" in found.refused


def test_a_record_of_a_newer_format_is_undecided() -> None:
    raw = statement.dump(record()).replace(b"approval/1", b"approval/2")
    (found,) = read_approvals(MemoryTree({record().path: raw}))
    assert judge(found, SUBJECT, policy(), AUTHOR, NOW, verify).undecided


@pytest.mark.parametrize("content", [None, b"", b"whatever"])
def test_a_withdrawal_takes_its_approval_back_whole_or_not(content: bytes | None) -> None:
    """In doubt an approval does not count: a withdrawal with one changed byte must not revive it."""
    back = Withdrawal(SUBJECT.key, record().digest, "reviewer-a", "wrong", NOW)
    made = Record(back, statement.payload_of(back), record().signatures)
    raw = statement.dump(made) if content is None else content
    (found,) = read_approvals(MemoryTree({record().path: statement.dump(record()), made.path: raw}))
    assert found.withdrawn


def test_a_withdrawal_takes_back_that_approval_alone() -> None:
    again = record(said(reason="measured again"))
    back = Withdrawal(SUBJECT.key, record().digest, "reviewer-a", "wrong", NOW)
    made = Record(back, statement.payload_of(back), record().signatures)
    found = {one.where: one.withdrawn for one in read_approvals(tree(record(), again, made))}
    assert found == {record().path: True, again.path: False}


GLASS = said("reviewer-b", emergency=True, expires=NOW + timedelta(hours=3), issued=NOW)


def judged(one: Evidence, subject: Subject, by: Policy, authors: Authors, now: datetime) -> Judged:
    return judge(one, subject, by, authors, now, verify)


def owed(*records: Record, by: Policy | None = None) -> list[int]:
    found = open_follow_ups(emergencies(tree(*records)), by or policy(), judged, lambda _: AUTHOR)
    return [one.missing for one in found]


def test_an_emergency_approval_owes_a_regular_one_by_somebody_else() -> None:
    broken = record(GLASS)
    assert broken.path.endswith("-reviewer-b.emergency.json")
    assert owed(broken) == [1]
    assert owed(broken, record(said("reviewer-b"))) == [1]
    assert owed(broken, record(said("author-a"))) == [1]
    assert owed(broken, record(said("reviewer-a", issued=NOW + DAY))) == []


def test_what_is_owed_is_what_the_policy_asks_for_a_change_that_shapes_answers() -> None:
    by = policy(sampling={"approvals": 1, "from": ["platform"], "on_output_change": 2})
    assert owed(record(GLASS), record(said("reviewer-a")), by=by) == [1]


def test_a_follow_up_that_has_run_out_since_was_given_all_the_same() -> None:
    given_then = said("reviewer-a", issued=NOW + DAY, expires=NOW + 2 * DAY)
    assert owed(record(GLASS), record(given_then)) == []


def test_a_follow_up_is_due_when_the_policy_says() -> None:
    (one,) = open_follow_ups(emergencies(tree(record(GLASS))), policy(), judged, lambda _: AUTHOR)
    assert one.due == NOW + 3 * DAY
    assert not one.overdue(NOW + 3 * DAY)
    assert one.overdue(NOW + 4 * DAY)


def test_nothing_is_owed_where_no_glass_was_broken() -> None:
    assert emergencies(tree(record())) == ()
