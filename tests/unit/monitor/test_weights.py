"""Weight files of a host beside those of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import pytest
from blake3 import blake3

from governance.adapters.weights import File, digests
from governance.fingerprint.weights import WeightFile
from governance.monitor.mismatch import Seen
from governance.monitor.weights import Manifest, look
from governance.values import ABSENT

DATA = b"weights" * 100
SHA = f"sha256:{sha256(DATA).hexdigest()}"
B3 = f"blake3:{blake3(DATA).hexdigest()}"


def hashed(files: Sequence[File], algorithm: str) -> Mapping[str, str]:
    found = digests(files, ("sha256" if algorithm == "sha256" else "blake3",))
    return {name: each[algorithm] for name, each in found.items()}


def never(files: Sequence[File], algorithm: str) -> Mapping[str, str]:
    raise AssertionError("nothing was to be hashed")


def write(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


def fields(seen: Seen) -> list[tuple[str, object, object]]:
    return [(one.change.key, one.change.before, one.change.after) for one in seen.mismatches]


def state(seen: Seen) -> str:
    (layer,) = seen.layers
    return layer.state


@pytest.mark.parametrize("digest", [SHA, B3])
def test_a_file_with_the_declared_digest_is_the_same_by_either_algorithm(tmp_path: Path, digest: str) -> None:
    seen = look(Manifest({"m.gguf": digest}), write(tmp_path, m_gguf=DATA), hashed)
    assert seen.equal
    assert state(seen) == "same"


def test_one_file_named_otherwise_on_this_host_is_the_one_that_is_declared(tmp_path: Path) -> None:
    write(tmp_path, current_gguf=DATA)
    assert look(Manifest({"m.gguf": SHA}), tmp_path / "current.gguf", hashed).equal


def test_one_changed_byte_is_a_mismatch_that_names_file_and_both_digests(tmp_path: Path) -> None:
    other = DATA[:-1] + b"S"
    seen = look(Manifest({"m.gguf": SHA}), write(tmp_path, m_gguf=other), hashed)
    assert fields(seen) == [("m.gguf", SHA, f"sha256:{sha256(other).hexdigest()}")]
    assert seen.mismatches[0].code == "TL803"
    assert state(seen) == "changed"


def test_a_missing_file_is_a_mismatch_and_the_others_are_compared_all_the_same(tmp_path: Path) -> None:
    manifest = Manifest({"a.gguf": SHA, "b.gguf": SHA, "c.gguf": SHA})
    seen = look(manifest, write(tmp_path, a_gguf=DATA, b_gguf=b"x"), hashed)
    assert [(key, after) for key, _, after in fields(seen)] == [
        ("b.gguf", f"sha256:{sha256(b'x').hexdigest()}"),
        ("c.gguf", ABSENT),
    ]


def test_a_link_to_nothing_is_told_as_one(tmp_path: Path) -> None:
    """A hub cache that was cleaned keeps its links."""
    (tmp_path / "m.gguf").symlink_to(tmp_path / "blobs")
    seen = look(Manifest({"m.gguf": SHA}), tmp_path, hashed)
    assert fields(seen) == [("m.gguf", SHA, "a link to nothing")]


def test_a_second_file_lies_beside_the_one_the_deployment_names(tmp_path: Path) -> None:
    write(tmp_path, m_gguf=DATA, mmproj_gguf=b"other")
    seen = look(Manifest({"m.gguf": SHA, "mmproj.gguf": SHA}), tmp_path / "m.gguf", hashed)
    assert [key for key, _, _ in fields(seen)] == ["mmproj.gguf"]


def test_a_file_that_only_the_capture_knows_is_compared_with_the_capture(tmp_path: Path) -> None:
    """The manifest of a base config mostly names the weights alone, and the tokenizer shapes answers too."""
    captured = (WeightFile("m.gguf", len(DATA), B3), WeightFile("tokenizer.json", 2, "blake3:00"))
    seen = look(
        Manifest({"m.gguf": SHA}, captured), write(tmp_path, m_gguf=DATA, tokenizer_json=b"{}"), hashed
    )
    assert [(key, before) for key, before, _ in fields(seen)] == [("tokenizer.json", "blake3:00")]


def test_a_file_the_capture_does_not_have_is_a_mismatch_and_one_no_manifest_has_a_note(
    tmp_path: Path,
) -> None:
    """Engines read whole folders: a generation config that somebody drops there sets new defaults."""
    write(tmp_path, m_gguf=DATA, generation__config_json=b"{}", README_md=b"hello")
    (tmp_path / "generation..config.json").rename(tmp_path / "generation_config.json")
    captured = look(Manifest({}, (WeightFile("m.gguf", len(DATA), B3),)), tmp_path, hashed)
    assert fields(captured) == [("generation_config.json", ABSENT, "2 bytes")]
    declared = look(Manifest({"m.gguf": SHA}), tmp_path, hashed)
    assert declared.equal
    assert declared.notes == ("in no manifest, so not compared: generation_config.json",)


def test_weights_that_lie_nowhere_on_this_host_are_a_doubt() -> None:
    seen = look(Manifest({"m.gguf": SHA}), None, never)
    assert "no file of this host is known" in seen.doubts[0].reason
    assert state(seen) == "unknown"


def test_a_folder_that_is_not_there_is_a_doubt(tmp_path: Path) -> None:
    assert (
        "there is no file or folder"
        in look(Manifest({"m.gguf": SHA}), tmp_path / "gone", never).doubts[0].reason
    )


def test_a_digest_that_cannot_be_computed_here_is_a_doubt(tmp_path: Path) -> None:
    seen = look(Manifest({"m.gguf": "md5:00"}), write(tmp_path, m_gguf=DATA), never)
    assert seen.doubts[0].reason == "digests by `md5` cannot be computed here"


def test_a_release_that_names_no_files_covers_no_weights(tmp_path: Path) -> None:
    seen = look(Manifest(), tmp_path, never)
    assert seen.equal
    assert seen.uncovered == (("weights", "the release names no files and captured none"),)
