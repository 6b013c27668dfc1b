"""Two captures: the packages that shape answers first, nothing left out of the comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.errors import Unreadable
from governance.fingerprint.capture import Capture, dump
from governance.fingerprint.changes import Showing
from governance.fingerprint.freeze import from_list
from governance.fingerprint.image import Image
from governance.fingerprint.packages import Package, Packages
from governance.fingerprint.weights import WeightFile, Weights
from governance.release.captures import SHOWN
from governance.release.diff import compare
from governance.release.sides import CaptureSide, Place, parse_side
from governance.values import ABSENT, Effect, Unknown
from governance.verdict import Outcome, Report
from tests.support.repos import isolated


def packages(**versions: str) -> Packages:
    listed = "".join(f"{name}=={version}\n" for name, version in versions.items())
    return from_list(listed.encode(), "requirements.txt")


def diff(before: Capture, after: Capture, *, everything: bool = False) -> Report:
    sides = CaptureSide("old.json", before), CaptureSide("new.json", after)
    return compare(*sides, fail_on_difference=True, showing=Showing(everything=everything))


def capture(**layers: object) -> Capture:
    return Capture("2026-11-02T00:00:00Z", "tierlock 0", **layers)  # type: ignore[arg-type]


def test_packages_that_shape_answers_come_first() -> None:
    before = capture(packages=packages(click="8.1.0", torch="2.5.1", vllm="0.7.3", same="1"))
    after = capture(packages=packages(click="8.2.0", torch="2.6.0+cu124", vllm="0.8.2", same="1"))
    report = diff(before, after)
    assert [(c.key, c.before, c.after) for c in report.changes] == [
        ("torch", "2.5.1", "2.6.0+cu124"),
        ("vllm", "0.7.3", "0.8.2"),
        ("click", "8.1.0", "8.2.0"),
    ]
    assert [c.risk for c in report.changes] == [Effect.OUTPUT, Effect.OUTPUT, Effect.NONE]
    assert [(layer.name, layer.state) for layer in report.layers] == [("packages", "changed")]
    assert report.outcome is Outcome.BLOCK


def test_packages_that_come_and_go_are_told() -> None:
    report = diff(capture(packages=packages(a="1")), capture(packages=packages(b="1")))
    assert {(c.key, c.before, c.after) for c in report.changes} == {("a", "1", ABSENT), ("b", ABSENT, "1")}


def test_two_builds_of_one_version_show_what_tells_them_apart() -> None:
    """B03: the same version, another wheel."""
    one, two = (
        Packages("environment", (Package("torch", "2.6.0", record=f"sha256:{digit * 64}"),)) for digit in "ab"
    )
    (change,) = diff(capture(packages=one), capture(packages=two)).changes
    assert "2.6.0" in str(change.before)
    assert change.before != change.after


def test_another_spelling_and_order_is_no_difference() -> None:
    """B04: names in another case, with other separators, in another order."""
    before = from_list(b"Flash_Attn==2.7.0\ntorch==2.6.0\n", "a.txt")
    after = from_list(b"# comment\r\ntorch==2.6.0\r\nflash-attn==2.7.0\r\n", "b.txt")
    assert diff(capture(packages=before), capture(packages=after)).outcome is Outcome.PASS


def test_a_long_list_is_folded_and_can_be_shown_whole() -> None:
    before = packages(**{f"p{n}": "1" for n in range(40)})
    after = packages(**{f"p{n}": "2" for n in range(40)})
    folded = diff(capture(packages=before), capture(packages=after))
    assert len(folded.changes) == SHOWN
    assert folded.notes == (f"packages: {40 - SHOWN} more (--all)",)
    assert len(diff(capture(packages=before), capture(packages=after), everything=True).changes) == 40


def test_a_weight_file_is_named_with_its_digests() -> None:
    old, new = (Weights((WeightFile("model.safetensors", 10, f"blake3:{digit * 64}"),)) for digit in "ab")
    (change,) = diff(capture(weights=old), capture(weights=new)).changes
    assert (change.layer, change.key) == ("weights", "model.safetensors")


def test_an_image_that_moved_under_its_tag_is_named() -> None:
    old, new = (Image("host/serve:v0.8", manifest=f"sha256:{digit * 64}") for digit in "ab")
    (change,) = diff(capture(image=old), capture(image=new)).changes
    assert (change.layer, change.key) == ("image", "manifest")


def test_what_one_side_does_not_know_is_undecided_not_changed() -> None:
    known = packages(torch="2.6.0")
    for other in (capture(packages=Unknown("no interpreter")), capture(image=Unknown("no image was named"))):
        report = diff(capture(packages=known), other)
        assert report.outcome is Outcome.UNDECIDED
        assert report.changes == ()


def test_a_record_of_another_scheme_is_undecided() -> None:
    old = Capture("", "", packages=packages(a="1"), scheme="tl0-md5", recorded={"packages": "0" * 64})
    report = diff(old, capture(packages=packages(a="1")))
    assert report.outcome is Outcome.UNDECIDED
    assert "two schemes" in report.summary


def test_records_and_lists_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(dump(capture(packages=packages(torch="2.5.1"))))
    (tmp_path / "b.json").write_bytes(dump(capture(packages=packages(torch="2.6.0"))))
    (tmp_path / "requirements.lock").write_text("torch==2.6.0\n")
    at = Place(tmp_path, here=tmp_path, environ=isolated())
    assert compare(parse_side("a.json", at), parse_side("b.json", at)).changes[0].key == "torch"
    assert compare(parse_side("b.json", at), parse_side("requirements.lock", at)).changes == ()
    edited = (tmp_path / "a.json").read_text().replace("2.5.1", "2.5.2")
    (tmp_path / "a.json").write_text(edited)
    with pytest.raises(Unreadable, match="was edited"):
        parse_side("a.json", at)
