"""What makes two environments the same, and what must never make them the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from governance.adapters.packages import distributions
from governance.fingerprint.packages import (
    Packages,
    from_distributions,
    from_json,
    from_program,
    layer_value,
    public_url,
    to_json,
)
from governance.fingerprint.wheel_record import record_digest
from governance.values import Unknown
from tests.support.distributions import install, record_lines


def read(*sites: Path) -> Packages:
    return from_distributions(distributions([str(site) for site in sites]), (), str(sites[0].parent))


def digest_of(lines: list[str], end: str = "\n") -> str:
    return record_digest((end.join(lines) + end).encode())


def test_line_ends_and_order_of_a_record_do_not_count() -> None:
    lines = record_lines()
    assert digest_of(lines) == digest_of(list(reversed(lines)), "\r\n")


@pytest.mark.parametrize("volatile", ["INSTALLER", "REQUESTED", "direct_url.json", "__pycache__", "RECORD"])
def test_what_an_installer_adds_does_not_count(volatile: str) -> None:
    """pip and uv add different files; the wheel is the same."""
    lines = record_lines()
    assert digest_of(lines) == digest_of([line for line in lines if volatile not in line])


def test_a_console_script_does_not_count_because_its_first_line_is_a_path_of_the_host() -> None:
    other = record_lines(scripts="../../../bin/tool,sha256=SHEBANG2,231")
    assert digest_of(record_lines()) == digest_of(other)
    windows = record_lines(scripts="../../Scripts/tool.exe,sha256=SHEBANG3,231")
    assert digest_of(record_lines()) == digest_of(windows)


def test_a_data_file_outside_of_site_packages_counts() -> None:
    lines = record_lines(extra=("../../../share/tool/kernel.ptx,sha256=ONE,5",))
    other = record_lines(extra=("../../../share/tool/kernel.ptx,sha256=TWO,5",))
    assert digest_of(lines) != digest_of(other)


def test_a_package_file_that_is_called_installer_counts() -> None:
    lines = record_lines(extra=("tool/INSTALLER,sha256=ONE,5",))
    assert digest_of(lines) != digest_of(record_lines(extra=("tool/INSTALLER,sha256=TWO,5",)))


def test_two_wheels_of_one_version_are_told_apart(tmp_path: Path) -> None:
    for host, content in (("a", "ONE"), ("b", "TWO")):
        install(tmp_path / host, "vllm", "0.8.4", record=f"vllm/x.so,sha256={content},5\n")
    assert layer_value(read(tmp_path / "a")) != layer_value(read(tmp_path / "b"))


def test_a_build_path_of_the_host_is_not_part_of_a_package(tmp_path: Path) -> None:
    for host in ("a", "b"):
        direct = {"url": f"file:///opt/build_{host}/numpy/work", "dir_info": {}}
        install(tmp_path / host, "numpy", "1.26.4", record="numpy/x.so,sha256=A,1\n", direct_url=direct)
    assert layer_value(read(tmp_path / "a")) == layer_value(read(tmp_path / "b"))


def test_an_editable_install_makes_the_layer_unknown_and_is_named(tmp_path: Path) -> None:
    direct = {"url": "file:///src/engine", "dir_info": {"editable": True}}
    install(tmp_path, "my-engine", "0.1", direct_url=direct)
    found = read(tmp_path)
    value = layer_value(found)
    assert isinstance(value, Unknown)
    assert "my-engine" in value.reason
    assert [f.code for f in found.findings] == ["TL952"]


def test_a_commit_is_part_of_a_package_and_its_address_is_not(tmp_path: Path) -> None:
    sites = []
    for number, (url, commit) in enumerate(
        [
            ("https://github.com/a/b.git", "a" * 40),
            ("https://mirror.example/a/b.git", "a" * 40),
            ("x://y", "b" * 40),
        ]
    ):
        site = tmp_path / str(number)
        info = {"url": url, "vcs_info": {"vcs": "git", "commit_id": commit}}
        install(site, "tool", "1.0", direct_url=info)
        sites.append(layer_value(read(site)))
    assert sites[0] == sites[1] != sites[2]


def test_a_password_in_an_address_is_never_kept(tmp_path: Path) -> None:
    direct = {"url": "https://user:hunter22@host.example/a.whl?sig=abc#x", "archive_info": {}}
    install(tmp_path, "tool", "1.0", direct_url=direct)
    assert "hunter22" not in str(to_json(read(tmp_path)))
    assert public_url("git+ssh://git@host.example/a") == "git+ssh://host.example/a"
    assert public_url("file:///opt/build") == ""


def test_one_package_twice_in_one_folder_is_an_error_that_names_both(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.5.1")
    install(tmp_path, "torch", "2.6.0")
    found = read(tmp_path)
    finding = next(f for f in found.findings if f.code == "TL950")
    assert "2.5.1" in finding.message
    assert "2.6.0" in finding.message
    assert isinstance(layer_value(found), Unknown)


def test_the_first_folder_on_the_path_wins(tmp_path: Path) -> None:
    install(tmp_path / "first", "numpy", "1.26.4")
    install(tmp_path / "second", "numpy", "2.0.1")
    package = read(tmp_path / "first", tmp_path / "second").get("numpy")
    assert package is not None
    assert package.version == "1.26.4"


def test_the_remains_of_a_broken_upgrade_are_not_a_package(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.5.1", folder="~orch-2.5.1.dist-info")
    assert read(tmp_path).packages == ()


def test_an_egg_info_file_and_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "PyYAML-6.0.egg-info").write_text("Name: PyYAML\nVersion: 6.0\n")
    folder = tmp_path / "old_tool-1.2-py3.11.egg-info"
    folder.mkdir()
    (tmp_path / "plain.egg-info").mkdir()
    (tmp_path / "plain.egg-info" / "PKG-INFO").write_text("Name: Plain\nVersion: 3\n\ntext")
    found = {p.name: p.version for p in read(tmp_path).packages}
    assert found == {"pyyaml": "6.0", "old-tool": "1.2", "plain": "3"}


def test_a_folder_without_a_version_is_unknown_and_never_dropped(tmp_path: Path) -> None:
    (tmp_path / "ghost.egg-info").mkdir()
    found = read(tmp_path)
    assert isinstance(layer_value(found), Unknown)
    assert [f.code for f in found.findings] == ["TL951"]


def test_a_package_without_record_is_noticed(tmp_path: Path) -> None:
    install(tmp_path, "python-apt", "2.6.0", record=None)
    found = read(tmp_path)
    assert not isinstance(layer_value(found), Unknown)
    assert [f.code for f in found.findings] == ["TL982"]


def test_an_unreadable_direct_url_is_unknown(tmp_path: Path) -> None:
    info = install(tmp_path, "tool", "1.0")
    (info / "direct_url.json").write_text("{")
    assert isinstance(layer_value(read(tmp_path)), Unknown)


def test_conda_packages_count_with_their_build(tmp_path: Path) -> None:
    install(tmp_path, "tool", "1.0")
    records = []
    for build in ("py311_cuda12.4_0", "py311_cpu_0"):
        meta = f'{{"name": "pytorch", "version": "2.5.1", "build": "{build}", "sha256": "ab", "channel": "https://c.example/main/linux-64"}}'
        found = from_distributions(distributions([str(tmp_path)]), [("pytorch-2.5.1.json", meta.encode())])
        records.append(layer_value(found))
    assert records[0] != records[1]


def test_an_empty_environment_is_unknown_and_not_equal_to_another(tmp_path: Path) -> None:
    value = layer_value(read(tmp_path))
    assert isinstance(value, Unknown)
    assert value != layer_value(read(tmp_path))


def test_a_record_gives_the_packages_back(tmp_path: Path) -> None:
    install(tmp_path, "torch", "2.6.0+cu124")
    install(
        tmp_path,
        "x",
        "1",
        direct_url={"url": "https://h.example/x.whl", "archive_info": {"hash": "sha256=ab"}},
    )
    found = read(tmp_path)
    assert from_json(to_json(found)) == found


def test_a_program_is_named_without_its_folder_and_two_of_one_name_keep_it() -> None:
    files = {
        "/opt/a/bin/server": "blake3:1",
        "/opt/a/lib/libggml.so": "blake3:2",
        "/usr/lib/libm.so": "blake3:3",
    }
    moved = {path.replace("/opt/a", "/srv/b"): digest for path, digest in files.items()}
    assert layer_value(from_program(files)) == layer_value(from_program(moved))
    twice = from_program({"/a/x.so": "blake3:1", "/b/x.so": "blake3:2"})
    assert [p.name for p in twice.packages] == ["a/x.so", "b/x.so"]
