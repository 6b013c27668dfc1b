"""Golden pointers and holds made once, by the tierlock that first wrote each format: read for ever."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from governance.errors import Unreadable
from governance.release import golden, holds

HERE = Path(__file__).parent
FORMATS = {"golden": golden, "holds": holds}
FILES = sorted(HERE.glob("v*/*.json"))


def name(file: Path) -> str:
    return f"{file.parent.name}-{file.stem}"


@pytest.mark.parametrize("file", FILES, ids=name)
def test_every_file_ever_written_is_read_and_says_what_it_said(file: Path) -> None:
    module, data = FORMATS[file.stem], file.read_bytes()
    assert module.dump(module.load(data, module.path_of("summarizer"))) == data  # type: ignore[attr-defined]


def test_what_they_say_is_still_understood() -> None:
    pointer = golden.load((HERE / "v1/golden.json").read_bytes(), "golden.json")
    assert [one.release for one in pointer.entries] == ["v37", "v38"]
    assert pointer.current is not None
    assert pointer.current.revoked is not None
    assert pointer.current.overrides[0].check == "image"
    assert pointer.earlier == ()
    held = holds.load((HERE / "v1/holds.json").read_bytes(), "holds.json")
    assert [one.label for one in held.standing] == ["v42 c9c9c9c9c9c9", "777777777777"]
    assert held.holds[0].lifted_because == "engine mended"


@pytest.mark.parametrize("file", FILES, ids=name)
def test_a_file_that_lost_its_shape_is_refused(file: Path) -> None:
    module, data = FORMATS[file.stem], file.read_bytes()
    tree = json.loads(data)
    broken = [data[: len(data) // 2], data[:-1], data + b" ", data.replace(b'": ', b'":', 1)]
    broken += [json.dumps({**tree, key: 7}, indent=2, sort_keys=True).encode() + b"\n" for key in tree]
    for each in broken:
        with pytest.raises(Unreadable):
            module.load(each, "x.json")  # type: ignore[attr-defined]


def test_every_format_that_this_tool_writes_is_kept_here() -> None:
    for stem, module in FORMATS.items():
        kept = {file.parent.name for file in FILES if file.stem == stem}
        assert kept == {f"v{number + 1}" for number in range(module.VERSION)}  # type: ignore[attr-defined]
