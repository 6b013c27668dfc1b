"""Whether the model is where the server will look, file by file, or how it comes there."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from blake3 import blake3

from governance.errors import Unreachable
from governance.fingerprint.record import Capture
from governance.fingerprint.weights import WeightFile, Weights
from governance.release.restorable.weights import check_weights
from governance.values import Unknown
from governance.verdict import Check, Outcome
from tests.support.drilled import service, subject, world
from tests.support.governed import BASE

DATA = {"model-1.safetensors": b"one", "model-2.safetensors": b"two", "tokenizer.json": b"{}"}
FILES = ", ".join(
    f'{name}: "sha256:{hashlib.sha256(data).hexdigest()}"' for name, data in DATA.items() if "model" in name
)
DECLARED = BASE.replace("engine:\n", f"  weights: {{format: safetensors, files: {{{FILES}}}}}\nengine:\n")
CAPTURED = Capture(
    "2026-11-30T12:00:00Z",
    "tierlock",
    weights=Weights(
        tuple(
            WeightFile(name, len(data), f"blake3:{blake3(data).hexdigest()}") for name, data in DATA.items()
        )
    ),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "models/qwen"
    folder.mkdir(parents=True)
    for name, data in DATA.items():
        (folder / name).write_bytes(data)
    return tmp_path


def judged(
    root: Path, driver: str = "process", *, weights: str = ", weights: models/qwen",
    base: str = DECLARED, capture: Capture | None = CAPTURED, **near: object,
) -> Check:  # fmt: skip
    made = service(deploy=f"{{driver: {driver}{weights}}}", files={"configs/base/qwen.yaml": base})
    return check_weights(subject(made, root=root, capture=capture), world(**near))


def test_every_declared_and_every_captured_file_is_held_to_its_digest(root: Path) -> None:
    assert judged(root) == Check("weights", Outcome.PASS, "3 files with the released digest")
    assert judged(root, capture=None).detail == "2 files with the released digest"
    assert judged(root, base=BASE).detail == "3 files with the released digest"


def test_a_missing_file_is_named_and_blocks(root: Path) -> None:
    (root / "models/qwen/tokenizer.json").unlink()
    (root / "models/qwen/model-2.safetensors").unlink()
    check = judged(root)
    assert check.outcome is Outcome.BLOCK
    assert check.detail == "model-2.safetensors, tokenizer.json are not in `models/qwen`"


def test_other_bytes_block_with_both_digests(root: Path) -> None:
    (root / "models/qwen/tokenizer.json").write_bytes(b"[]")
    check = judged(root)
    assert check.outcome is Outcome.BLOCK
    assert check.detail == (
        f"tokenizer.json is {blake3(b'[]').hexdigest()[:12]}, released was {blake3(b'{}').hexdigest()[:12]}"
    )


def test_a_file_that_cannot_be_read_is_undecided(root: Path) -> None:
    check = judged(root, hash_files=lambda wanted: [Unknown("permission denied")] * len(wanted))
    assert check.outcome is Outcome.UNDECIDED
    assert "model-1.safetensors: permission denied" in check.detail


def test_nothing_to_hold_the_files_to_is_undecided(root: Path) -> None:
    assert judged(root, base=BASE, capture=None).outcome is Outcome.UNDECIDED


def test_one_declared_file_is_the_file_that_the_deployment_names(root: Path) -> None:
    (root / "any.gguf").write_bytes(b"one")
    digest = hashlib.sha256(b"one").hexdigest()
    one = BASE.replace(
        "engine:\n", f'  weights: {{format: gguf, files: {{m.gguf: "sha256:{digest}"}}}}\nengine:\n'
    )
    assert judged(root, weights=", weights: any.gguf", base=one, capture=None).outcome is Outcome.PASS
    (root / "any.gguf").write_bytes(b"two")
    assert judged(root, weights=", weights: any.gguf", base=one, capture=None).outcome is Outcome.BLOCK


def test_files_of_another_host_are_undecided_when_they_are_not_here(root: Path) -> None:
    (root / "models/qwen/tokenizer.json").unlink()
    assert judged(root, "command").outcome is Outcome.UNDECIDED


def test_weights_inside_an_image_are_proven_by_its_digest(root: Path) -> None:
    check = judged(root, "container", weights=", weights: /models/qwen")
    assert check.outcome is Outcome.PASS
    assert check.detail.startswith("in the image at /models/qwen")


def test_weights_that_a_container_mounts_are_looked_at_on_the_host(root: Path) -> None:
    mounted = (
        DECLARED
        + 'image: {ref: "a.example/b@sha256:'
        + "0" * 64
        + '", mounts: [{source: ./models, target: /m}]}\n'
    )
    check = judged(root, "container", weights=", weights: /m/qwen", base=mounted)
    assert check == Check("weights", Outcome.PASS, "3 files with the released digest")
    (root / "models/qwen/tokenizer.json").unlink()
    assert judged(root, "container", weights=", weights: /m/qwen", base=mounted).outcome is Outcome.BLOCK


def test_a_model_named_by_its_path_lies_there(root: Path) -> None:
    """Not a name on a hub: a folder of the host, or of the image where no mount covers it."""
    for place in (f"{root}/models/qwen", "./models/qwen"):
        local = DECLARED.replace("Qwen/Qwen2.5-7B-Instruct", place)
        assert local != DECLARED
        assert judged(root, weights="", base=local) == Check(
            "weights", Outcome.PASS, "3 files with the released digest"
        )
        inside = judged(root, "container", weights="", base=local)
        assert inside.outcome is Outcome.PASS
        assert f"in the image at {Path(place)}" in inside.detail
    (root / "models/qwen/tokenizer.json").unlink()
    told = judged(root, weights="", base=local)
    assert (told.outcome, told.detail) == (Outcome.BLOCK, "tokenizer.json is not in `./models/qwen`")


def test_weights_that_are_fetched_at_the_start_must_still_be_on_the_hub(root: Path) -> None:
    def gone(model: str, revision: str) -> Unknown:
        return Unknown(f"the hub has no `{revision}` of `{model}`")

    def down(model: str, revision: str) -> str:
        raise Unreachable("the hub does not answer")

    there = judged(root, "kubernetes", weights="", hub=lambda model, revision: revision)
    assert there.outcome is Outcome.PASS
    assert "the hub has Qwen/Qwen2.5-7B-Instruct at a09a35458c70" in there.detail
    assert judged(root, "kubernetes", weights="", hub=gone).outcome is Outcome.BLOCK
    assert judged(root, "kubernetes", weights="", hub=down).outcome is Outcome.UNDECIDED


def test_a_process_without_a_place_for_its_weights_needs_them_in_the_hub_cache(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(root / "hub"))
    check = judged(root, weights="")
    assert check.outcome is Outcome.BLOCK
    assert "`Qwen/Qwen2.5-7B-Instruct` is not in the hub cache" in check.detail
    commit = "a09a35458c702b33eeacc393d103063234e8bc28"
    snapshot = root / "hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots" / commit
    snapshot.mkdir(parents=True)
    for name, data in DATA.items():
        (snapshot / name).write_bytes(data)
    assert judged(root, weights="").outcome is Outcome.PASS
    (snapshot / "tokenizer.json").unlink()
    assert judged(root, weights="").detail == f"tokenizer.json is not in `{commit}` of the hub cache"
