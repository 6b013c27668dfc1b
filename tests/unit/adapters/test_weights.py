"""Hashing of model files: the standard digest, whatever way it was reached, never one of a moving file."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest
from blake3 import blake3

from governance.adapters import weights
from governance.adapters.digest_cache import DigestCache, stat_of
from governance.adapters.weights import Algorithm, File, digests, list_files, read_range, wide_count
from governance.errors import Unreadable, Usage

MIB = 1 << 20


def one_file(tmp_path: Path, data: bytes, name: str = "model.gguf") -> File:
    (tmp_path / name).write_bytes(data)
    return list_files(tmp_path / name).files[0]


@pytest.mark.parametrize("size", [0, 1, weights.BUFFER - 1, weights.BUFFER, 3 * weights.BUFFER + 7])
def test_digests_are_the_standard_ones_of_the_whole_file(tmp_path: Path, size: int) -> None:
    """Another tool, and another language, must be able to check them."""
    data = os.urandom(size)
    found = digests([one_file(tmp_path, data)], ("blake3", "sha256", "git"))["model.gguf"]
    assert found == {
        "blake3": f"blake3:{blake3(data).hexdigest()}",
        "sha256": f"sha256:{hashlib.sha256(data).hexdigest()}",
        "git": f"git:{hashlib.sha1(b'blob %d' % size + bytes(1) + data).hexdigest()}",
    }


def test_one_large_file_gets_the_same_digest_by_all_cores(tmp_path: Path) -> None:
    data = os.urandom(MIB) * 130
    file = one_file(tmp_path, data)
    assert wide_count([file.size], 2) == 1
    assert (
        digests([file], ("blake3",), threads=2)["model.gguf"]["blake3"]
        == f"blake3:{blake3(data).hexdigest()}"
    )
    assert digests([file], ("blake3",), threads=1) == digests([file], ("blake3",), threads=2)


@pytest.mark.parametrize(
    ("sizes", "threads", "wide"),
    [([], 2, 0), ([1000 * MIB] * 4, 2, 0), ([1000 * MIB] * 3, 2, 1), ([1000 * MIB], 8, 1),
     ([1000 * MIB] * 30, 16, 0), ([1000 * MIB], 1, 0), ([MIB], 8, 0),
     ([9000 * MIB, 10 * MIB, 10 * MIB], 2, 1)],
)  # fmt: skip
def test_all_cores_take_one_file_only_where_that_is_sooner(sizes: list[int], threads: int, wide: int) -> None:
    assert wide_count(sizes, threads) == wide


def test_many_files_side_by_side_do_not_mix_their_digests(tmp_path: Path) -> None:
    contents = {f"f{n}.bin": os.urandom(n * 1000) for n in range(40)}
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    found = digests(list_files(tmp_path).files, ("blake3",), threads=4)
    assert {n: f"blake3:{blake3(d).hexdigest()}" for n, d in contents.items()} == {
        n: d["blake3"] for n, d in found.items()
    }


def test_progress_counts_every_byte_once(tmp_path: Path) -> None:
    file = one_file(tmp_path, os.urandom(3 * MIB))
    seen: list[int] = []
    digests([file], ("blake3",), progress=seen.append)
    assert sum(seen) == file.size


def test_a_file_that_changes_after_it_was_listed_has_no_digest(tmp_path: Path) -> None:
    file = one_file(tmp_path, b"one")
    (tmp_path / "model.gguf").write_bytes(b"other")
    with pytest.raises(Unreadable, match="changed while it was read"):
        digests([file], ("blake3",))


def test_a_file_that_is_written_to_while_it_is_read_has_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(os.urandom(150 * MIB))
    file = list_files(path).files[0]
    with pytest.raises(Unreadable, match="changed while it was read"):
        digests([file], ("blake3",), threads=2, progress=lambda _: os.utime(path, (1, 1)))


def test_a_file_that_is_gone_is_an_error_with_its_name(tmp_path: Path) -> None:
    file = one_file(tmp_path, b"one")
    (tmp_path / "model.gguf").unlink()
    with pytest.raises(Unreadable, match=r"model\.gguf"):
        digests([file], ("sha256",))


def test_an_unknown_algorithm_is_a_wrong_call() -> None:
    bad: list[Algorithm] = ["md5"]  # type: ignore[list-item]
    with pytest.raises(Usage, match="md5"):
        digests([], bad)


def test_links_to_files_are_followed_and_links_to_nothing_are_named(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "c"
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (blobs / "abc123").write_bytes(b"weights")
    (snapshot / "model.safetensors").symlink_to("../../blobs/abc123")
    (snapshot / "gone.json").symlink_to("../../blobs/none")
    listing = list_files(snapshot)
    assert [(f.name, f.size, f.target) for f in listing.files] == [("model.safetensors", 7, "abc123")]
    assert listing.broken == ("gone.json",)


def test_a_link_to_a_folder_is_followed_and_one_to_its_own_parent_is_not(tmp_path: Path) -> None:
    """An engine reads through it, so leaving it out would leave files out of the digest."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "model.bin").write_bytes(b"1")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "original").symlink_to("../elsewhere")
    (tmp_path / "model" / "self").symlink_to(".")
    assert [f.name for f in list_files(tmp_path / "model").files] == ["original/model.bin"]


def test_a_loop_of_links_is_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert list_files(tmp_path).broken == ("a", "b")


def test_folders_that_are_skipped_are_not_entered(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x").write_bytes(b"1")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "y").write_bytes(b"1")
    listing = list_files(tmp_path, skip=lambda name: name == ".git/")
    assert [f.name for f in listing.files] == ["sub/y"]


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="there is no file or folder"):
        list_files(tmp_path / "none")


def test_a_piece_of_a_file_is_read(tmp_path: Path) -> None:
    file = one_file(tmp_path, b"0123456789")
    assert read_range(file.path, 2, 3) == b"234"
    assert read_range(file.path, 8, 30) == b"89"


def settled(path: Path) -> File:
    """The file as it is once two seconds have passed since its last change."""
    return list_files(path).files[0]


def test_an_unchanged_file_is_answered_from_the_cache(tmp_path: Path) -> None:
    file = one_file(tmp_path, b"weights")
    later = time.time_ns() + 10_000_000_000
    with DigestCache(tmp_path / "cache") as cache:
        cache.put({file.state: {"blake3": "blake3:remembered"}}, now_ns=later)
        assert digests([file], ("blake3",), cache=cache)["model.gguf"] == {"blake3": "blake3:remembered"}
        assert digests([file], ("blake3",))["model.gguf"] != {"blake3": "blake3:remembered"}


def test_a_file_written_a_moment_ago_is_not_remembered(tmp_path: Path) -> None:
    """It could change again within one tick of the file system's clock and keep its times."""
    file = one_file(tmp_path, b"weights")
    with DigestCache(tmp_path / "cache") as cache:
        digests([file], ("blake3",), cache=cache)
        assert cache.get(file.state, "blake3") is None


@pytest.mark.parametrize("place", range(5), ids=["device", "inode", "size", "mtime", "ctime"])
def test_a_file_that_differs_in_one_number_is_another_file(tmp_path: Path, place: int) -> None:
    file = one_file(tmp_path, b"weights")
    other = list(file.state)
    other[place] += 1
    with DigestCache(tmp_path / "cache") as cache:
        cache.put({file.state: {"blake3": "x"}}, now_ns=time.time_ns() + 10_000_000_000)
        assert cache.get(file.state, "blake3") == "x"
        assert cache.get((other[0], other[1], other[2], other[3], other[4]), "blake3") is None
        assert cache.get(file.state, "sha256") is None


def test_setting_the_time_back_does_not_fool_the_cache(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"one")
    before = path.stat()
    with DigestCache(tmp_path / "cache") as cache:
        cache.put({stat_of(before): {"blake3": "old"}}, now_ns=time.time_ns() + 10_000_000_000)
        path.write_bytes(b"two")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        file = list_files(path).files[0]
        assert file.state[:4] == stat_of(before)[:4]
        assert digests([file], ("blake3",), cache=cache)["model.gguf"]["blake3"] != "old"


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    (folder / "digests.sqlite").write_bytes(
        b"this is no database at all, and long enough to be looked at" * 20
    )
    with DigestCache(folder) as cache:
        assert cache.problem == ""
        assert cache.get((1, 2, 3, 4, 5), "blake3") is None


def test_a_cache_that_cannot_be_used_is_left_alone_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with DigestCache(tmp_path / "file" / "cache") as cache:
        assert cache.problem
        assert "blake3" in digests([one_file(tmp_path, b"x")], ("blake3",), cache=cache)["model.gguf"]


def test_numbers_beyond_63_bits_are_kept(tmp_path: Path) -> None:
    state = (2**64 - 1, 2**63 + 5, 1, 2, 3)
    with DigestCache(tmp_path) as cache:
        cache.put({state: {"blake3": "x"}}, now_ns=10_000_000_000)
        assert cache.get(state, "blake3") == "x"


def test_a_name_that_is_no_text_is_written_with_its_bytes(tmp_path: Path) -> None:
    r"""Else two such names would become one, or the record could not be written."""
    folder = os.fsencode(tmp_path)
    for name in (b"a\xff.bin", b"a\xfe.bin"):
        try:
            with open(folder + b"/" + name, "wb") as file:
                file.write(name)
        except OSError:
            pytest.skip("this file system takes UTF-8 names only")
    listing = list_files(tmp_path)
    assert [f.name for f in listing.files] == ["a\\xfe.bin", "a\\xff.bin"]
    assert len({d["blake3"] for d in digests(listing.files, ("blake3",)).values()}) == 2
