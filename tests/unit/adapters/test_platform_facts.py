"""Facts of a host as bytes: from a root folder, and of a process that runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from governance.adapters.names import printable
from governance.adapters.platform_facts import environment, host, interpreter_of, root_of
from governance.errors import Unreadable
from governance.values import Unknown


def test_an_image_that_was_unpacked_is_read_from_its_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_bytes(b"ID=debian\n")
    (tmp_path / "var/lib/dpkg/status.d").mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/status.d/a").write_bytes(b"Package: a\n")
    (tmp_path / "var/lib/dpkg/status.d/b").write_bytes(b"Package: b\n")
    found = host(tmp_path)
    assert found.os_release == b"ID=debian\n"
    assert found.dpkg_status == b"Package: a\n\n\nPackage: b\n"
    (tmp_path / "var/lib/dpkg/status").write_bytes(b"Package: c\n")
    assert host(tmp_path).dpkg_status == b"Package: c\n"


def test_a_host_without_dpkg_has_none(tmp_path: Path) -> None:
    assert host(tmp_path).dpkg_status is None
    assert host(tmp_path).machine


def test_the_variables_and_the_interpreter_of_a_running_process_are_read() -> None:
    env = {**os.environ, "VLLM_USE_V1": "1", "EMPTY": ""}
    code = "print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = environment(process.pid)
        python = interpreter_of(process.pid)
        process.communicate(b"\n")
    assert (found["VLLM_USE_V1"], found["EMPTY"]) == ("1", "")
    assert python == Path(sys.executable)


def test_a_process_that_is_gone_is_an_error_and_its_interpreter_unknown() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    with pytest.raises(Unreadable, match=str(process.pid)):
        environment(process.pid)
    assert isinstance(interpreter_of(process.pid), Unknown)


def test_a_process_that_is_not_python_has_no_interpreter() -> None:
    with subprocess.Popen(["sleep", "30"]) as process:
        found = interpreter_of(process.pid)
        process.kill()
    assert isinstance(found, Unknown)
    assert "not Python" in found.reason


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("句", "句"),
        ("back\\slash", "back\\slash"),
        ("a\udcff", "a\\xff"),
        ("\\xff\udcff", "\\\\xff\\xff"),
    ],
)
def test_a_name_that_is_no_text_can_be_written_down(name: str, shown: str) -> None:
    assert printable(name) == shown
    printable(name).encode()


def test_a_process_that_sees_the_same_files_has_no_root_of_its_own() -> None:
    assert root_of(os.getpid()) is None


def test_a_process_in_another_mount_namespace_has_a_root_of_its_own() -> None:
    """Its /usr/bin/python is not ours; running ours would capture another environment."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", "echo ready; read line"]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except FileNotFoundError:
        pytest.skip("no `unshare` here")
    with process:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            pytest.skip("this host lets nobody make a mount namespace")
        found = root_of(process.pid)
        process.communicate(b"\n")
    assert found == Path(f"/proc/{process.pid}/root")
