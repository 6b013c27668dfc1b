"""The bytes of an approval: one form for each statement, and no byte that is free."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from governance.errors import NewerFormat, Unreadable
from governance.review import statement, strict
from governance.review.model import Subject, SubjectKind
from governance.review.statement import Record, Withdrawal
from tests.support.approvals import NOW, SUBJECT, A, B, record, said

DIGESTS = some.text("0123456789abcdef", min_size=64, max_size=64)
NAMES = some.from_regex(r"[a-zäß0-9_][a-zäß0-9_.-]{0,20}", fullmatch=True)
TIMES = some.datetimes(datetime(2020, 1, 1), datetime(2090, 1, 1)).map(
    lambda one: one.replace(microsecond=0, tzinfo=UTC)
)
REASONS = some.text(min_size=1, max_size=200).filter(lambda text: not strict.reason_fault(text))


@some.composite
def subjects(draw: some.DrawFn) -> Subject:
    kind = draw(some.sampled_from(SubjectKind))
    name = {
        SubjectKind.CONFIG: f"{draw(some.sampled_from(('base', 'sampling', 'prompts')))}/{draw(NAMES)}",
        SubjectKind.BINDING: draw(NAMES),
        SubjectKind.POLICY: "policy",
    }[kind]
    before, after = draw(some.none() | DIGESTS), draw(some.none() | DIGESTS)
    if before == after:
        after = "0" * 64 if before is None else None
    return Subject(kind, name, before, after)


@some.composite
def statements(draw: some.DrawFn) -> statement.Statement:
    return statement.Statement(
        draw(subjects()), draw(DIGESTS), draw(NAMES), draw(REASONS), draw(TIMES), draw(some.none() | TIMES),
        draw(some.booleans()),
    )  # fmt: skip


@settings(deadline=None)
@given(statements())
def test_a_statement_read_from_its_own_bytes_is_the_same(one: statement.Statement) -> None:
    assert statement.read_payload(statement.payload_of(one)) == one


@settings(deadline=None)
@given(statements())
def test_a_record_read_from_its_own_bytes_is_the_same_and_lies_at_its_subject(
    one: statement.Statement,
) -> None:
    made = record(one)
    assert statement.load(statement.dump(made), "x") == made
    assert statement.subject_key_of(made.path) == one.subject.key
    assert made.digest[:12] in made.path
    assert one.person in made.path


@settings(deadline=None)
@given(statements(), statements())
def test_two_statements_never_share_their_bytes(one: statement.Statement, other: statement.Statement) -> None:
    assert (statement.payload_of(one) == statement.payload_of(other)) == (one == other)


@settings(deadline=None)
@given(statements(), some.data())
def test_a_record_with_one_changed_byte_is_refused_or_says_something_else(
    one: statement.Statement, data: some.DataObject
) -> None:
    """Nothing in a record is free: what still reads has another payload, under the same signature."""
    raw = statement.dump(record(one))
    at = data.draw(some.integers(0, len(raw) - 1))
    flip = data.draw(some.integers(1, 255))
    changed = raw[:at] + bytes([raw[at] ^ flip]) + raw[at + 1 :]
    try:
        seen = statement.load(changed, "x")
    except (Unreadable, NewerFormat):
        return
    assert (seen.payload, seen.signatures) != (record(one).payload, record(one).signatures)


@settings(deadline=None)
@given(some.binary(max_size=300))
def test_any_bytes_are_refused_and_never_crash(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        statement.load(raw, "x")


def test_the_payload_is_an_in_toto_statement() -> None:
    tree = json.loads(statement.payload_of(said()))
    assert tree["_type"] == "https://in-toto.io/Statement/v1"
    assert tree["predicateType"] == "https://tierlock.dev/review/v1"
    assert tree["subject"] == [{"name": "config:sampling/factual", "digest": {"tl1-sha256": B}}]
    assert tree["predicate"]["before"] == A


def test_what_is_signed_names_type_and_length() -> None:
    """DSSE: without them a payload of one type could be passed off as another."""
    assert statement.signed_bytes(b"{}") == b"DSSEv1 28 application/vnd.in-toto+json 2 {}"


def test_a_deletion_names_what_goes() -> None:
    gone = said(subject=replace(SUBJECT, after=None))
    tree = json.loads(statement.payload_of(gone))
    assert tree["subject"][0]["digest"] == {"tl1-sha256": A}
    assert statement.read_payload(statement.payload_of(gone)) == gone


def test_a_withdrawal_lies_beside_the_approval_it_takes_back() -> None:
    approval = record()
    back = Withdrawal(SUBJECT.key, approval.digest, "reviewer-a", "numbers were wrong", NOW)
    payload = statement.payload_of(back)
    assert statement.read_payload(payload) == back
    assert Record(back, payload, ()).path == approval.path.removesuffix(".json") + ".withdrawn.json"


def edited(**changes: Any) -> bytes:
    """A record whose predicate is edited and whose payload is canonical again."""
    tree = json.loads(statement.payload_of(said()))
    for key, value in changes.items():
        if value is ...:
            del tree["predicate"][key]
        else:
            tree["predicate"][key] = value
    payload = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    whole = json.loads(statement.dump(record()))
    whole["payload"] = base64.b64encode(payload).decode()
    return (json.dumps(whole, indent=2, sort_keys=True) + "\n").encode()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"person": "../../etc"}, "`person` is not a name"),
        ({"name": "sampling/../x"}, "`name` is not a name"),
        ({"before": "A" * 64}, "`before` is not 64 hex digits"),
        ({"before": B}, "`before` and `after` are the same"),
        ({"policy": None}, "`policy` is no digest"),
        ({"emergency": 1}, "`emergency` is neither true nor false"),
        ({"reason": "  "}, "`reason` cannot be one: it is empty"),
        ({"reason": "a\u001b[2J"}, "it contains U+001B"),
        ({"reason": "x" * 2001}, "at most 2000 are kept"),
        ({"issued": "2026-11-30T09:00:00+00:00"}, "`issued` is not a time"),
        ({"issued": "2026-02-30T09:00:00Z"}, "day"),
        ({"tier": "base"}, "not in its canonical form, or its subject"),
        ({"kind": "secret"}, "`kind` is none of config, binding, policy"),
        ({"person": "a/b"}, "`person` is not a name"),
        ({"extra": 1}, "a key that is not known: 'extra'"),
        ({"expires": ...}, "has no `expires`"),
    ],
)
def test_a_statement_that_says_too_much_too_little_or_nonsense_is_refused(
    changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(Unreadable) as caught:
        statement.load(edited(**changes), "here.json")
    assert why in caught.value.message
    assert caught.value.where == "here.json"


def reworded(change: dict[str, Any]) -> bytes:
    whole = {**json.loads(statement.dump(record())), **change}
    return (json.dumps(whole, indent=2, sort_keys=True) + "\n").encode()


@pytest.mark.parametrize(
    "raw",
    [
        statement.dump(record()).replace(b"\n  ", b"\n   ", 1),
        statement.dump(record()) + b"\n",
        statement.dump(record()).rstrip(b"\n"),
        statement.dump(record()).replace(b'"payload":', b'"payload": "", "payload":', 1),
        reworded({"note": "hello"}),
        reworded({"signatures": []}),
        reworded({"payloadType": "text/plain"}),
        reworded({"signatures": [{"keyid": "SHA256:other", "sig": record().signatures[0].value}]}),
        reworded({"payload": json.loads(statement.dump(record()))["payload"] + "\n"}),
        b"[" * 100_000,
        b" " * (statement.MAX_BYTES + 1),
    ],
    ids=lambda raw: str(raw[:12]),
)
def test_a_record_in_another_spelling_is_refused(raw: bytes) -> None:
    with pytest.raises(Unreadable):
        statement.load(raw, "here.json")


@pytest.mark.parametrize("schema", ["tierlock.approval/2", "tierlock.approval/12"])
def test_a_newer_record_is_undecided_and_names_the_remedy(schema: str) -> None:
    with pytest.raises(NewerFormat) as caught:
        statement.load(reworded({"schema": schema}), "here.json")
    assert caught.value.hint == "upgrade tierlock"


def test_a_newer_statement_is_undecided_too() -> None:
    tree = json.loads(statement.payload_of(said()))
    tree["predicateType"] = "https://tierlock.dev/review/v2"
    payload = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(NewerFormat):
        statement.load(reworded({"payload": base64.b64encode(payload).decode()}), "x")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        (".tierlock/approvals/sampling/factual/0-a.json", "config:sampling/factual"),
        (".tierlock/approvals/binding/qa/0-a.json", "binding:qa"),
        (".tierlock/approvals/policy/policy/0-a.json", "policy:policy"),
        (".tierlock/approvals/policy/other/0-a.json", None),
        (".tierlock/approvals/secrets/x/0-a.json", None),
        (".tierlock/approvals/sampling/0-a.json", None),
        (".tierlock/approvals/sampling/factual/deeper/0-a.json", None),
        (".tierlock/approvals/sampling/factual/notes.txt", None),
    ],
)
def test_a_record_belongs_to_a_subject_by_its_place(path: str, key: str | None) -> None:
    assert statement.subject_key_of(path) == key
