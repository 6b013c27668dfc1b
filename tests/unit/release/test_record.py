"""The release record: one spelling, one place, no byte that can change."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.adapters.files import MemoryTree
from governance.errors import NewerFormat, Unreadable, Usage
from governance.fingerprint.layers import LAYERS
from governance.release import record as records
from governance.release.record import ApprovalRef, EvidenceRef, Override, Record, SnapshotRef
from governance.values import Unknown
from governance.verdict import Outcome

RECORD = Record(
    service="summarizer",
    id="v41",
    created_at="2026-11-30T09:00:00Z",
    commit="c" * 40,
    fingerprint="f" * 64,
    layers={name: "a" * 64 if name != "image" else Unknown("not captured") for name in LAYERS},
    bindings={"base": "qwen", "sampling": "factual", "prompts": "summarize"},
    engine=("vllm", "0.7.3"),
    image="registry.example/vllm@sha256:" + "d" * 64,
    driver="container",
    parent="v40",
    approvals=(ApprovalRef("config:sampling/factual", "1" * 64, None, "reviewer-a", late=True),),
    evidence=(
        EvidenceRef(
            ".tierlock/evidence/summarizer/a.json",
            "e" * 64,
            "smoke",
            "2" * 64,
            "smoke",
            Outcome.PASS,
            9,
            9,
            9,
            8,
        ),
    ),
    snapshots=(SnapshotRef("smoke", ".tierlock/snapshots/summarizer/v41/smoke.jsonl", "3" * 64),),
    restores="v38",
    rejected="4" * 64,
    reason="zurück — ins Grüne",
    actor="reviewer-a",
    overrides=(Override("image", "the registry is down", "reviewer-a"),),
    tool="tierlock 0.1.0",
)


def tree(**more: Any) -> bytes:
    """The record with other values, and a digest that fits them: an edit by somebody who knows the format."""
    plain = {**json.loads(records.dump(RECORD)), **more}
    said = {name: value for name, value in plain.items() if name != "digest"}
    return records.text_of({**said, "digest": records.digest_of(records.text_of(said))})


def test_a_record_reads_back_as_it_was_written() -> None:
    data = records.dump(RECORD)
    again = records.load(data, RECORD.path)
    assert records.dump(again) == data
    assert replace(again, layers=RECORD.layers) == RECORD


def test_no_byte_of_a_record_can_change() -> None:
    data = records.dump(RECORD)
    for at in range(len(data)):
        for flip in (1, 32):
            changed = data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
            with pytest.raises((Unreadable, NewerFormat)):
                records.load(changed, RECORD.path)


@given(st.integers(0, len(records.dump(RECORD)) - 1), st.binary(max_size=3))
def test_nothing_can_be_put_into_a_record(at: int, more: bytes) -> None:
    data = records.dump(RECORD)
    changed = data[:at] + more + data[at:]
    if changed != data:
        with pytest.raises((Unreadable, NewerFormat)):
            records.load(changed, RECORD.path)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"layers": {"base": "a" * 64}}, "`layers` has no"),
        ({"fingerprint": "F" * 64}, "`fingerprint` is not 64 hex digits"),
        ({"commit": "main"}, "`commit` is not the full id"),
        ({"id": "v041"}, "`id` is not one of a release"),
        ({"created_at": "yesterday"}, "`created_at` is not a time"),
        ({"parent": ""}, "`parent` is empty"),
        ({"service": "../other"}, "`service` is not a name"),
        ({"surprise": 1}, "its bytes are not the ones"),
        ({"snapshots": [{"suite": "s", "path": "/etc/passwd", "digest": "a" * 64}]}, "not below .tierlock/"),
        (
            {"snapshots": [{"suite": "s", "path": ".tierlock/../x", "digest": "a" * 64}]},
            "`path` is not a name",
        ),
    ],
)
def test_a_record_with_a_fitting_digest_still_has_to_be_one(more: dict[str, Any], why: str) -> None:
    with pytest.raises(Unreadable, match=why) as err:
        records.load(tree(**more), RECORD.path)
    assert err.value.where == RECORD.path


def test_an_edit_is_told_from_damage() -> None:
    edited = records.dump(RECORD).replace(b'"v40"', b'"v39"')
    with pytest.raises(Unreadable, match="it was edited"):
        records.load(edited, RECORD.path)


def test_a_record_in_the_place_of_another_is_refused() -> None:
    with pytest.raises(Unreadable, match=r"which belongs in \.tierlock/releases/summarizer/v41\.json"):
        records.load(records.dump(RECORD), records.path_of("summarizer", "v42"))


def test_a_record_of_a_newer_format_asks_for_a_newer_tool() -> None:
    with pytest.raises(NewerFormat) as err:
        records.load(tree(schema="tierlock.release/2"), RECORD.path)
    assert err.value.hint == "upgrade tierlock"


def test_releases_are_ordered_by_number_not_by_name() -> None:
    made = [replace(RECORD, id=name) for name in ("v10", "v9", "v1")]
    source = MemoryTree({one.path: records.dump(one) for one in made} | {f"{RECORD.path}.sig": b"x"})
    assert [one.id for one in records.list_records(source, "summarizer")] == ["v1", "v9", "v10"]
    assert records.next_id(source, "summarizer") == "v11"
    assert records.next_id(source, "other") == "v1"
    assert records.services_in(source) == ("summarizer",)


def test_a_release_that_is_not_there_is_answered_with_those_that_are() -> None:
    source = MemoryTree({RECORD.path: records.dump(RECORD)})
    with pytest.raises(Usage) as err:
        records.load_at(source, "summarizer", "v4l")
    assert "there are v41 to v41" in err.value.hint
    with pytest.raises(Usage) as none:
        records.load_at(source, "other", "v1")
    assert none.value.hint == "tierlock release cut other"
