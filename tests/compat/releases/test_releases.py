"""Release records made once, by the tierlock that first wrote each format: every later one must read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from governance.errors import Unreadable
from governance.fingerprint.layers import OBSERVED
from governance.release import record as records
from governance.tiers.naming import TIERS
from governance.values import Unknown

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("v*/*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_every_record_ever_written_is_read_and_says_what_it_said(file: Path) -> None:
    data = file.read_bytes()
    tree = json.loads(data)
    record = records.load(data, records.path_of("summarizer", file.stem))
    assert records.dump(record) == data
    assert (record.id, record.commit, record.fingerprint) == (tree["id"], tree["commit"], tree["fingerprint"])
    assert record.all_layers.only(TIERS).fold() == record.fingerprint
    capture = record.captured()
    for name in OBSERVED if capture is not None else ():
        found, kept = capture.digests().get(name), record.layers[name]  # type: ignore[union-attr]
        assert found == kept or (isinstance(kept, Unknown) and not isinstance(found, str))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_an_altered_record_of_any_release_is_refused(file: Path) -> None:
    data = file.read_bytes()
    for at in range(0, len(data), 7):
        with pytest.raises(Unreadable):
            records.load(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :], "record.json")


def test_every_format_that_this_tool_writes_is_kept_here() -> None:
    assert {file.parent.name for file in FILES} == {f"v{number + 1}" for number in range(records.VERSION)}
