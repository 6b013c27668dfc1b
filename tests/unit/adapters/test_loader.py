"""Which files a program would load, without starting it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from governance.adapters.loader import find, linked, python_of
from governance.values import Unknown

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this loader")


def script(path: Path, first: str) -> Path:
    path.write_text(f"{first}\nraise SystemExit('was run')\n")
    path.chmod(0o755)
    return path


class TestPythonOf:
    def test_an_interpreter_is_its_own(self) -> None:
        assert python_of(Path("/opt/vllm/bin/python3.11")) == Path("/opt/vllm/bin/python3.11")

    @pytest.mark.parametrize(
        ("first", "python"),
        [
            ("#!/opt/vllm/bin/python", "/opt/vllm/bin/python"),
            ("#!/opt/vllm/bin/python3.12 -sP", "/opt/vllm/bin/python3.12"),
            (
                '#!/bin/sh\n\'\'\'exec\' "/opt/a long path/bin/python" "$0" "$@"',
                "/opt/a long path/bin/python",
            ),
            ("#!/bin/sh\n'''exec' /opt/deep/bin/python \"$0\" \"$@\"", "/opt/deep/bin/python"),
        ],
    )
    def test_a_script_names_it_in_its_first_lines(self, tmp_path: Path, first: str, python: str) -> None:
        assert python_of(script(tmp_path / "vllm", first)) == Path(python)

    def test_env_finds_it_on_the_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        there = script(tmp_path / "python3", "#!/bin/sh")
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        assert python_of(script(tmp_path / "serve", "#!/usr/bin/env -S python3 -u")) == there

    @pytest.mark.parametrize("first", ["#!/bin/sh", "#!/usr/bin/env bash", "", "#!'"])
    def test_another_program_has_none(self, tmp_path: Path, first: str) -> None:
        assert isinstance(python_of(script(tmp_path / "serve", first)), Unknown)


@LINUX
class TestLinked:
    def test_the_libraries_are_those_the_running_program_has_mapped(self) -> None:
        found = linked(Path("/bin/cat"), os.environ)
        assert not isinstance(found, Unknown)
        with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
            assert cat.stdin is not None
            assert cat.stdout is not None
            cat.stdin.write(b"x\n")
            cat.stdin.flush()
            cat.stdout.readline()
            maps = Path(f"/proc/{cat.pid}/maps").read_text()
            cat.stdin.close()
        for file in found:
            assert file.name in maps
        assert any("/libc." in file.name or "/libc-" in file.name for file in found)

    def test_a_program_is_never_run(self, tmp_path: Path) -> None:
        found = linked(script(tmp_path / "serve", f"#!{sys.executable}"), os.environ)
        assert isinstance(found, Unknown)
        assert "is a script" in found.reason

    def test_a_library_that_is_missing_is_named(self, tmp_path: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("no C compiler")
        library, program = tmp_path / "libgone.so", tmp_path / "program"
        (tmp_path / "a.c").write_text("int gone(void) { return 0; }\n")
        (tmp_path / "b.c").write_text("int gone(void);\nint main(void) { return gone(); }\n")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "a.c"], check=True)
        subprocess.run([compiler, "-o", program, tmp_path / "b.c", library], check=True)
        assert any(file.name == str(library) for file in linked(program, {}))  # type: ignore[union-attr]
        library.unlink()
        found = linked(program, {})
        assert isinstance(found, Unknown)
        assert "libgone.so" in found.reason

    def test_a_static_program_is_alone(self, tmp_path: Path) -> None:
        """The first bytes of an ELF file whose headers name no loader."""
        program = tmp_path / "static"
        program.write_bytes(b"\x7fELF\x02\x01\x01" + b"\0" * 57)
        found = linked(program, {})
        assert not isinstance(found, Unknown)
        assert [file.name for file in found] == [str(program)]

    def test_a_library_put_before_the_others_is_seen(self, tmp_path: Path) -> None:
        """LD_LIBRARY_PATH chooses which libraries are loaded; so does this list."""
        found = linked(Path("/bin/cat"), {})
        assert not isinstance(found, Unknown)
        libc = next(file for file in found if "/libc." in file.name)
        (tmp_path / Path(libc.name).name).write_bytes(Path(libc.name).read_bytes())
        other = linked(Path("/bin/cat"), {"LD_LIBRARY_PATH": str(tmp_path)})
        assert not isinstance(other, Unknown)
        assert str(tmp_path / Path(libc.name).name) in [file.name for file in other]


def test_a_name_with_a_folder_lies_below_the_repository_and_others_on_the_path(tmp_path: Path) -> None:
    there = script(tmp_path / "engine", "#!/bin/sh")
    assert find("./engine", folder=tmp_path) == there
    assert find(str(there), folder=Path("/")) == there
    assert find("engine", folder=tmp_path) is None
    assert find("engine", folder=Path("/"), path=str(tmp_path)) == there
    there.chmod(0o644)
    assert find("./engine", folder=tmp_path) is None
