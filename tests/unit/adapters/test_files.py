"""The work tree and the memory tree obey one contract; writing leaves the old file or the new one."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from governance.adapters import files
from governance.adapters.files import (
    Entry,
    FileSource,
    Kind,
    MemoryTree,
    WorkTree,
    write_all,
    write_atomic,
    write_new,
)
from governance.errors import Unreadable

FILES = {
    "tierlock.yaml": b"version: 1\n",
    "configs/base/a.yaml": b"kind: base\n",
    "configs/base/a/generation_config.json": b"{}",
    "configs/base-old/x.yaml": b"x",
    "configs/prompts/客服/系统.md": "你好".encode(),
    "configs/prompts/-dash and blank.md": b"",
}


def on_disk(folder: Path) -> FileSource:
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return WorkTree(folder)


def in_memory(folder: Path) -> FileSource:
    return MemoryTree(FILES)


@pytest.fixture(params=[on_disk, in_memory])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> FileSource:
    build: Callable[[Path], FileSource] = request.param
    return build(tmp_path)


def test_a_prefix_lists_what_is_below_it_sorted_and_nothing_beside_it(source: FileSource) -> None:
    listed = [entry.path for entry in source.entries("configs/base/")]
    assert listed == ["configs/base/a.yaml", "configs/base/a/generation_config.json"]
    assert listed == [entry.path for entry in source.entries("configs/base")]


def test_a_prefix_may_be_one_file(source: FileSource) -> None:
    assert [entry.path for entry in source.entries("tierlock.yaml")] == ["tierlock.yaml"]


def test_the_empty_prefix_lists_everything(source: FileSource) -> None:
    assert [entry.path for entry in source.entries("")] == sorted(FILES)


def test_nothing_is_listed_where_nothing_is(source: FileSource) -> None:
    assert list(source.entries("configs/sampling/")) == []
    assert list(source.entries("tierlock.yaml/below/")) == []


def test_every_listed_file_can_be_read(source: FileSource) -> None:
    for entry in source.entries(""):
        assert entry.kind is Kind.FILE
        assert source.read(entry.path) == FILES[entry.path]


@pytest.mark.parametrize("path", ["nope.yaml", "configs/base", "configs/base/a.yaml/x"])
def test_reading_what_is_no_file_names_it(source: FileSource, path: str) -> None:
    with pytest.raises(Unreadable) as caught:
        source.read(path)
    assert path in caught.value.message
    assert caught.value.where == path


@pytest.mark.parametrize("path", ["/etc/passwd", "../up.yaml", "configs/../../up", "a//b", "./a", "a\0b"])
def test_a_path_that_leaves_the_repository_is_refused(source: FileSource, path: str) -> None:
    with pytest.raises(Unreadable, match="not a path inside the repository"):
        source.read(path)
    with pytest.raises(Unreadable):
        source.entries(path)


def test_a_file_larger_than_the_limit_is_refused_not_cut(tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    with big.open("wb") as out:
        out.truncate(files.MAX_BYTES + 1)
    with pytest.raises(Unreadable, match="more than"):
        WorkTree(tmp_path).read("big.bin")


def test_a_file_of_several_chunks_is_read_whole(tmp_path: Path) -> None:
    data = os.urandom(3_000_001)
    (tmp_path / "x").write_bytes(data)
    assert WorkTree(tmp_path).read("x") == data


def test_kernel_files_that_claim_no_size_are_read_whole() -> None:
    if Path("/proc/self/status").exists():
        assert b"Pid:" in files.read_file("/proc/self/status")


def test_links_are_listed_as_links_and_never_read(tmp_path: Path) -> None:
    """C17: the text of a link stays the same while what it points to changes."""
    outside = tmp_path / "outside.yaml"
    outside.write_text("secret")
    root = tmp_path / "repo"
    (root / "configs").mkdir(parents=True)
    (root / "configs/out.yaml").symlink_to(outside)
    (root / "configs/dangling.yaml").symlink_to("missing.yaml")
    (root / "configs/loop").symlink_to("..")
    tree = WorkTree(root)
    assert [(entry.path, entry.kind) for entry in tree.entries("configs/")] == [
        ("configs/dangling.yaml", Kind.SYMLINK),
        ("configs/loop", Kind.SYMLINK),
        ("configs/out.yaml", Kind.SYMLINK),
    ]
    with pytest.raises(Unreadable, match="symbolic link"):
        tree.read("configs/out.yaml")
    with pytest.raises(Unreadable, match="symbolic link `configs/loop`"):
        tree.read("configs/loop/configs/out.yaml")


def test_a_linked_folder_in_the_place_of_a_governed_one_is_listed_itself(tmp_path: Path) -> None:
    """Listing nothing would pass for an empty folder."""
    elsewhere = tmp_path / "elsewhere/base"
    elsewhere.mkdir(parents=True)
    (elsewhere / "a.yaml").write_text("kind: base")
    root = tmp_path / "repo"
    root.mkdir()
    (root / "configs").symlink_to(elsewhere.parent)
    assert list(WorkTree(root).entries("configs/base/")) == [Entry("configs", Kind.SYMLINK)]


def test_a_pipe_is_listed_as_other_and_reading_it_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    tree = WorkTree(tmp_path)
    assert [entry.kind for entry in tree.entries("")] == [Kind.OTHER]
    with pytest.raises(Unreadable, match="not a regular file"):
        tree.read("pipe")


def test_a_nested_repository_is_one_submodule_and_git_itself_is_hidden(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("x")
    (tmp_path / "vendored/.git").mkdir(parents=True)
    (tmp_path / "vendored/a.yaml").write_text("x")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/.git").write_text("gitdir: ../elsewhere")
    assert [(entry.path, entry.kind) for entry in WorkTree(tmp_path).entries("")] == [
        ("linked", Kind.SUBMODULE),
        ("vendored", Kind.SUBMODULE),
    ]


def test_a_name_that_is_not_utf8_is_listed_with_surrogates(tmp_path: Path) -> None:
    """D10: it must be refused by name later, so it must not be skipped here."""
    path = os.fsencode(tmp_path) + b"/latin1-\xe9.yaml"
    with open(path, "wb") as out:
        out.write(b"x")
    (entry,) = WorkTree(tmp_path).entries("")
    assert entry.path == "latin1-\udce9.yaml"
    assert WorkTree(tmp_path).read(entry.path) == b"x"


def test_memory_refuses_what_is_no_regular_file() -> None:
    tree = MemoryTree({}, kinds={"configs/x": Kind.SUBMODULE})
    assert [entry.kind for entry in tree.entries("configs/")] == [Kind.SUBMODULE]
    with pytest.raises(Unreadable, match="submodule"):
        tree.read("configs/x")


def test_writing_replaces_whole_files_and_keeps_their_mode(tmp_path: Path) -> None:
    target = tmp_path / "deep/er/a.sh"
    write_atomic(target, b"one")
    target.chmod(0o750)
    write_atomic(target, b"two")
    assert target.read_bytes() == b"two"
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    assert [path.name for path in target.parent.iterdir()] == ["a.sh"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    target.mkdir()
    (target / "inside").write_text("kept")
    with pytest.raises(Unreadable, match="cannot be written"):
        write_atomic(target, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert (target / "inside").read_text() == "kept"


def test_writing_over_a_link_replaces_the_link_not_its_target(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("kept")
    link = tmp_path / "link"
    link.symlink_to(outside)
    write_atomic(link, b"new")
    assert outside.read_text() == "kept"
    assert not link.is_symlink()


def test_a_new_file_is_never_written_over_what_is_there(tmp_path: Path) -> None:
    target = tmp_path / "deep/v1.json"
    write_new(target, b"one")
    with pytest.raises(Unreadable, match="is there already"):
        write_new(target, b"two")
    target.with_name("link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Unreadable, match="is there already"):
        write_new(target.with_name("link"), b"two")
    with pytest.raises(Unreadable, match="cannot be written"):
        write_new(target / "below a file", b"two")
    assert target.read_bytes() == b"one"
    assert sorted(path.name for path in target.parent.iterdir()) == ["link", "v1.json"]


def test_of_many_writers_of_a_new_file_one_wins(tmp_path: Path) -> None:
    target = tmp_path / "v1.json"

    def attempt(number: int) -> bool:
        try:
            write_new(target, b"%d" % number * 1000)
        except Unreadable:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(attempt, range(8)))
    assert won.count(True) == 1
    assert target.read_bytes() == b"%d" % won.index(True) * 1000


def test_write_all_writes_nothing_when_one_path_leaves_the_root(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    outside = tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "linked").symlink_to(outside)
    for bad in ("../up", "linked/x"):
        with pytest.raises(Unreadable):
            write_all(root, {"a.yaml": b"x", bad: b"y"})
    assert [path.name for path in root.iterdir()] == ["linked"]
    assert list(outside.iterdir()) == []
    write_all(root, {"b/c.yaml": b"1", "a.yaml": b"2"})
    assert (root / "b/c.yaml").read_bytes() == b"1"
