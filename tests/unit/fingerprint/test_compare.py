"""Two captures: what each side can know decides whether layers are the same, changed or not comparable."""

from __future__ import annotations

import pytest

from governance.fingerprint.compare import capture_changes, compare_captures
from governance.fingerprint.freeze import from_list
from governance.fingerprint.gpu import Gpu, Gpus
from governance.fingerprint.image import Image
from governance.fingerprint.observed import resolved_differs
from governance.fingerprint.packages import Package, Packages, from_program
from governance.fingerprint.platform import Framework, Platform
from governance.fingerprint.record import Capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.values import ABSENT, Effect, Json, Unknown

D1, D2, D3 = (f"sha256:{c * 64}" for c in "123")


def capture(**layers: object) -> Capture:
    return Capture("2026-11-03T10:00:00Z", "0.1.0", **layers)  # type: ignore[arg-type]


def listed(text: bytes) -> Packages:
    return from_list(text, "freeze.txt")


def installed(record: str = "r") -> Packages:
    return Packages("environment", (Package("torch", "2.6.0", record=record),))


ADA = Gpus("535", "12.2", (Gpu("NVIDIA L40S", 46068),), "NVML")
ONE = (WeightFile("model.safetensors", 1, "blake3:aa"),)
P, M, W = "packages", "image", "weights"
STATES = [
    ("equal lists", {P: listed(b"a==1\n")}, {P: listed(b"a==1.0\n")}, "same"),
    ("another version", {P: listed(b"a==1\n")}, {P: listed(b"a==2\n")}, "changed"),
    ("a list and its environment", {P: listed(b"torch==2.6.0\n")}, {P: installed()}, "unknown"),
    ("a list and another one", {P: listed(b"torch==2.5.0\n")}, {P: installed()}, "changed"),
    ("an environment and a program", {P: installed()}, {P: from_program({"/a": "blake3:1"})}, "unknown"),
    ("two builds of a program", {P: from_program({"/a": "1"})}, {P: from_program({"/a": "2"})}, "changed"),
    ("two builds of one version", {P: installed("x")}, {P: installed("y")}, "changed"),
    ("an unknown package", {P: listed(b"a @ file:///x\n")}, {P: listed(b"a @ file:///x\n")}, "unknown"),
    ("index and manifest", {M: Image("a", D1, D2)}, {M: Image("a", reported=(D2,))}, "same"),
    ("manifest without index", {M: Image("a", D1)}, {M: Image("a", reported=(D2,))}, "unknown"),
    ("two images", {M: Image("a", D1)}, {M: Image("a", D3)}, "changed"),
    ("files and a commit", {W: Weights(ONE)}, {W: Weights((), "m", "1" * 40)}, "unknown"),
    ("two commits", {W: Weights(ONE, "m", "2" * 40)}, {W: Weights((), "m", "1" * 40)}, "changed"),
    ("a layer on one side", {P: listed(b"a==1\n")}, {}, "unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "left", "right", "state"), STATES, ids=[row[0] for row in STATES])
def test_a_layer_is_judged_by_what_both_sides_know(
    what: str, left: dict[str, object], right: dict[str, object], state: str
) -> None:
    for sides in ((left, right), (right, left)):
        (found,) = compare_captures(capture(**sides[0]), capture(**sides[1]))
        assert found.state == state, found.detail


def test_packages_that_shape_answers_come_first() -> None:
    """Two hundred harmless upgrades must not hide the kernel library (A11)."""
    noise = b"".join(b"lib%d==1\n" % n for n in range(200))
    other = noise.replace(b"==1", b"==2")
    changes = capture_changes(
        capture(packages=listed(noise + b"flashinfer-python==0.5.3\n")),
        capture(packages=listed(other + b"flashinfer-python==0.6.1\n")),
    )
    assert len(changes) == 201
    first = changes[0]
    assert (first.key, first.before, first.after, first.risk) == (
        "flashinfer-python",
        "0.5.3",
        "0.6.1",
        Effect.OUTPUT,
    )
    assert "attention" in first.effect
    assert {c.risk for c in changes[1:]} == {Effect.NONE}


def test_a_package_that_came_and_one_that_went_are_told() -> None:
    changes = capture_changes(capture(packages=listed(b"a==1\n")), capture(packages=listed(b"b==1\n")))
    assert [(c.key, c.before, c.after) for c in changes] == [("a", "1", ABSENT), ("b", ABSENT, "1")]


def test_two_builds_of_one_version_show_their_records() -> None:
    (change,) = capture_changes(capture(packages=installed("x" * 64)), capture(packages=installed("y" * 64)))
    assert str(change.before) == f"2.6.0 (RECORD {'x' * 12})"


def test_a_platform_change_names_the_part() -> None:
    before = Platform({"version": "3.12"}, ADA, Framework("2.6.0", "12.4"), variables={"VLLM_USE_V1": "0"})
    newer = Gpus("550", "12.4", ADA.gpus, "NVML")
    after = Platform({"version": "3.12"}, newer, Framework("2.6.0", "12.4"), variables={"VLLM_USE_V1": "1"})
    changes = capture_changes(capture(platform=before), capture(platform=after))
    assert [c.key for c in changes] == ["driver.cuda", "driver.version", "variables.VLLM_USE_V1"]
    assert all(c.effect for c in changes)


def test_a_weight_file_that_changed_is_named_with_its_role() -> None:
    other = (
        WeightFile("model.safetensors", 1, "blake3:bb"),
        WeightFile("chat_template.jinja", 1, "blake3:cc"),
    )
    changes = capture_changes(capture(weights=Weights(ONE)), capture(weights=Weights(other)))
    assert [(c.key, c.effect) for c in changes] == [
        ("chat_template.jinja", "chat template of the model"),
        ("model.safetensors", "weights of the model"),
    ]


@pytest.mark.parametrize(("what", "left", "right", "state"), STATES, ids=[row[0] for row in STATES])
def test_a_change_is_listed_exactly_when_a_layer_changed(
    what: str, left: dict[str, object], right: dict[str, object], state: str
) -> None:
    changes = capture_changes(capture(**left), capture(**right))
    if state == "changed":
        assert changes
    elif state == "same":
        assert not changes


RESOLVED: list[tuple[dict[str, Json], dict[str, Json], dict[str, Json | Unknown], int]] = [
    ({"dtype": "auto"}, {"dtype": "bfloat16"}, {"dtype": "bfloat16"}, 0),
    ({"dtype": "auto"}, {"dtype": "bfloat16"}, {"dtype": "float16"}, 1),
    ({"dtype": "auto"}, {"dtype": "bfloat16"}, {}, 1),
    ({"dtype": "bfloat16"}, {}, {"dtype": "torch.bfloat16"}, 0),
    ({"backend": "FLASH_ATTN"}, {}, {"backend": "FLASHINFER"}, 1),
    ({"backend": "FLASH_ATTN"}, {}, {}, 0),
    ({"n": 1}, {}, {"n": True}, 1),
    ({"n": 1}, {}, {"n": Unknown("x")}, 1),
]


@pytest.mark.parametrize(("declared", "golden", "resolved", "count"), RESOLVED)
def test_what_an_engine_resolved_is_held_against_what_was_declared_and_recorded(
    declared: dict[str, Json], golden: dict[str, Json], resolved: dict[str, Json | Unknown], count: int
) -> None:
    found = resolved_differs(resolved, declared=declared, golden=golden)
    assert len(found) == count
    assert all(f.code == "TL957" and f.blocks for f in found)
