"""A capture's record: whole and unedited, or refused with the reason."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path

import pytest

from governance.errors import NewerFormat, TierlockError, Unreadable, Usage
from governance.fingerprint.capture import Wanted, from_list, take
from governance.fingerprint.freeze import from_list as packages_from
from governance.fingerprint.gpu import Gpu, Gpus
from governance.fingerprint.image import Image
from governance.fingerprint.packages import Packages
from governance.fingerprint.platform import Platform
from governance.fingerprint.record import Capture, dump, is_capture, load
from governance.fingerprint.weights import WeightFile, Weights
from governance.values import Unknown
from tests.support.distributions import install
from tests.support.fake_registry import FakeRegistry, digest_of, manifest
from tests.support.models import gguf, safetensors

AT = "2026-11-03T10:00:00Z"
FULL = Capture(
    AT,
    "0.1.0",
    weights=Weights((WeightFile("model.gguf", 5, "blake3:" + "1" * 64),), "a/b", "2" * 40),
    packages=packages_from(b"torch==2.6.0+cu124\n", "freeze.txt"),
    platform=Platform({"version": "3.12"}, Gpus("535", "12.2", (Gpu("NVIDIA L40S", 46068),), "NVML")),
    image=Image("r.example/a", manifest="sha256:" + "3" * 64),
)


def edited(change: object) -> bytes:
    tree = json.loads(dump(FULL))
    assert callable(change)
    change(tree)
    return json.dumps(tree).encode()


def test_a_record_gives_the_capture_back_byte_for_byte() -> None:
    again = load(dump(FULL), "host.json")
    assert again == FULL
    assert dump(again) == dump(FULL)
    assert is_capture(dump(FULL))
    assert not is_capture(b'{"schema": "tierlock.report/1"}')


def test_unknown_layers_and_layers_nobody_asked_for_are_kept_apart() -> None:
    capture = dataclasses.replace(FULL, image=Unknown("registry down"), weights=None)
    again = load(dump(capture), "host.json")
    assert set(again.digests()) == {"packages", "platform", "image"}
    image = again.digests()["image"]
    assert isinstance(image, Unknown)
    assert image.reason == "registry down"


def test_a_fingerprint_with_an_unknown_layer_has_no_fold() -> None:
    assert isinstance(FULL.fingerprint().fold(), str)
    assert isinstance(dataclasses.replace(FULL, image=Unknown("down")).fingerprint().fold(), Unknown)


EDITS = {
    "another version of a package": lambda t: t["layers"]["packages"]["value"]["packages"][0].update(
        version="2.5.1"
    ),
    "another file size": lambda t: t["layers"]["weights"]["value"]["files"][0].update(size=6),
    "another driver": lambda t: t["layers"]["platform"]["value"]["gpus"].update(driver="550"),
    "another image": lambda t: t["layers"]["image"]["value"].update(manifest="sha256:" + "4" * 64),
    "another digest": lambda t: t["layers"]["image"].update(digest="0" * 64),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_record_is_refused_and_names_the_layer(what: str) -> None:
    with pytest.raises(Unreadable, match="was edited"):
        load(edited(EDITS[what]), "host.json")


def test_evidence_may_differ_because_it_is_not_in_the_digest() -> None:
    load(edited(lambda t: t["layers"]["platform"]["value"].update(evidence={"kernel": "6.1"})), "host.json")


BROKEN = {
    "nothing": b"",
    "cut off": dump(FULL)[:300],
    "not JSON": b"hello",
    "not UTF-8": b'"\xff"',
    "a list": b"[]",
    "a key twice": b'{"schema": "tierlock.capture/1", "schema": "tierlock.capture/1"}',
    "NaN": b'{"schema": NaN}',
    "another record": b'{"schema": "tierlock.report/1"}',
    "no layers": edited(lambda t: t.pop("layers")),
    "deeply nested": b"[" * 200_000,
    "an unknown layer": edited(lambda t: t["layers"].update(mood={"unknown": "x"})),
    "a layer without its files": edited(lambda t: t["layers"]["weights"]["value"].pop("files")),
    "a size that is text": edited(lambda t: t["layers"]["weights"]["value"]["files"][0].update(size="big")),
    "a layer without reason": edited(lambda t: t["layers"].update(image={})),
    "a form that is not known": edited(lambda t: t["layers"]["packages"]["value"].update(form="rumour")),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_record_that_is_not_whole_is_refused_with_its_path(what: str) -> None:
    with pytest.raises(TierlockError) as caught:
        load(BROKEN[what], "host.json")
    assert "host.json" in str(caught.value)


def test_a_cut_off_record_says_that_it_ends_too_early() -> None:
    with pytest.raises(Unreadable, match="ends too early"):
        load(dump(FULL)[:300], "host.json")


def test_a_newer_format_asks_for_an_upgrade() -> None:
    with pytest.raises(NewerFormat, match="newer than this tool reads") as caught:
        load(b'{"schema": "tierlock.capture/2"}', "host.json")
    assert caught.value.hint == "upgrade tierlock"


def test_a_record_of_another_scheme_keeps_its_digests_and_is_not_recomputed() -> None:
    again = load(edited(lambda t: t.update(scheme="tl0-md5")), "host.json")
    assert again.scheme == "tl0-md5"
    assert again.digests() == FULL.digests()


def test_a_list_alone_makes_a_capture() -> None:
    capture = from_list(b"torch==2.6.0\n", "freeze.txt", generated_at=AT, tool="0.1.0")
    assert list(capture.digests()) == ["packages"]


@pytest.mark.parametrize(("layers", "named"), [(("mood",), "mood"), ((), "no layer")])
def test_a_layer_that_cannot_be_captured_is_a_wrong_call(layers: tuple[str, ...], named: str) -> None:
    with pytest.raises(Usage, match=named):
        take(layers, Wanted(), generated_at=AT, tool="0.1.0")


def model(folder: Path) -> Path:
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(safetensors({"a": ("BF16", [2], 4)}))
    (folder / "config.json").write_text('{"torch_dtype": "bfloat16"}')
    (folder / "README.md").write_text("for people")
    return folder


def test_everything_is_captured_from_where_it_lies(tmp_path: Path) -> None:
    install(tmp_path / "env/lib/python3.12/site-packages", "torch", "2.6.0+cu124")
    (tmp_path / "env/bin").mkdir()
    (tmp_path / "env/bin/python").write_bytes(b"of another machine")
    seen: list[tuple[str, int, int]] = []
    with FakeRegistry() as registry:
        registry.push("a/b", "v1", manifest("x"))
        wanted = Wanted(
            python=tmp_path / "env",
            weights=model(tmp_path / "model"),
            declared={"model.safetensors": "sha256:" + "0" * 64},
            image=f"{registry.host}/a/b:v1",
            cache=tmp_path / "cache",
        )
        capture = take(
            ("weights", "packages", "platform", "image"),
            wanted,
            generated_at=AT,
            tool="0.1.0",
            progress=lambda *step: seen.append(step),
        )
    assert isinstance(capture.image, Image)
    assert capture.image.manifest == digest_of(manifest("x"))
    assert isinstance(capture.weights, Weights)
    assert [f.name for f in capture.weights.files] == ["config.json", "model.safetensors"]
    assert dict(capture.weights.facts)["dtype"] == "BF16"
    assert seen[-1][1] == seen[-1][2] > 0
    codes = {f.code for f in capture.findings}
    assert {"TL961", "TL962", "TL971"} <= codes
    assert load(dump(capture), "host.json").digests() == capture.digests()


def test_what_cannot_be_found_out_is_unknown_and_the_rest_is_captured(tmp_path: Path) -> None:
    wanted = Wanted(package_list=("f.txt", b"a==1\n"), image="127.0.0.1:1/a")
    capture = take(("weights", "packages", "image"), wanted, generated_at=AT, tool="0.1.0")
    digests = capture.digests()
    assert isinstance(digests["packages"], str)
    assert isinstance(digests["image"], Unknown)
    assert isinstance(digests["weights"], Unknown)


def test_a_folder_that_was_named_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no file or folder"):
        take(("weights",), Wanted(weights=tmp_path / "none"), generated_at=AT, tool="0.1.0")


def test_a_damaged_model_has_no_digest(tmp_path: Path) -> None:
    folder = model(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    capture = take(("weights",), Wanted(weights=folder), generated_at=AT, tool="0.1.0")
    assert isinstance(capture.digests()["weights"], Unknown)
    assert "TL963" in {f.code for f in capture.findings}


def test_a_single_gguf_file_is_a_model(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(gguf({"general.architecture": "llama", "general.file_type": 3}, {"t": (0, [1])}))
    capture = take(("weights",), Wanted(weights=path), generated_at=AT, tool="0.1.0")
    assert isinstance(capture.weights, Weights)
    assert dict(capture.weights.facts)["quantisation"] == "Q4_1"


def test_a_model_of_the_hub_cache_is_captured_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "4" * 40
    folder = tmp_path / "models--a--b"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs/main").write_text(commit)
    (folder / "blobs").mkdir()
    data = b'{"torch_dtype": "float16"}'
    (folder / "blobs/notitsdigest00000000000000000000000000000").write_bytes(data)
    (folder / "snapshots" / commit).mkdir(parents=True)
    (folder / "snapshots" / commit / "config.json").symlink_to(
        "../../blobs/notitsdigest00000000000000000000000000000"
    )
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    capture = take(("weights",), Wanted(model="a/b", revision="main"), generated_at=AT, tool="0.1.0")
    assert isinstance(capture.weights, Weights)
    assert capture.weights.revision == commit
    gone = take(("weights",), Wanted(model="a/b", revision="5" * 40), generated_at=AT, tool="0.1.0")
    assert isinstance(gone.weights, Unknown)


def test_a_mount_over_the_image_counts_by_its_files(tmp_path: Path) -> None:
    digests = []
    with FakeRegistry() as registry:
        registry.push("a/b", "v1", manifest("x"))
        for content in ("SCALE = 1.0", "SCALE = 0.5"):
            (tmp_path / "sampler.py").write_text(content)
            mounts = {"/usr/lib/sampler.py": tmp_path / "sampler.py"}
            wanted = Wanted(image=f"{registry.host}/a/b:v1", mounts=mounts)
            capture = take(("image",), wanted, generated_at=AT, tool="0.1.0")
            assert "TL972" in {f.code for f in capture.findings}
            digests.append(capture.digests()["image"])
    assert isinstance(digests[0], str)
    assert digests[0] != digests[1]


def test_a_server_that_is_no_python_program_is_its_program_and_its_libraries() -> None:
    """llama-server has no site-packages; an upgrade of it must still move a layer."""
    with subprocess.Popen(["sleep", "30"]) as process:
        try:
            wanted = Wanted(pid=process.pid)
            capture = take(("packages",), wanted, generated_at=AT, tool="0.1.0")
        finally:
            process.kill()
    assert isinstance(capture.packages, Packages)
    assert capture.packages.form == "program"
    names = {p.name for p in capture.packages.packages}
    assert "sleep" in names or any("coreutils" in name or "busybox" in name for name in names)
    assert all(p.archive.startswith("blake3:") for p in capture.packages.packages)
    assert load(dump(capture), "host.json").digests() == capture.digests()


def test_a_model_id_that_is_a_local_path_is_looked_for_there(tmp_path: Path) -> None:
    folder = model(tmp_path / "model")
    found = take(("weights",), Wanted(model=str(folder)), generated_at=AT, tool="0.1.0")
    assert isinstance(found.digests()["weights"], str)
    gone = take(("weights",), Wanted(model=str(tmp_path / "none")), generated_at=AT, tool="0.1.0")
    assert isinstance(gone.digests()["weights"], Unknown)
