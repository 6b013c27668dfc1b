"""Finding an interpreter's packages: this one, one that is asked, one that is only a folder."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest

from governance.adapters.packages import (
    conda_records,
    distributions,
    interpreter,
    interpreter_by_layout,
    module_file,
    this_interpreter,
)
from governance.errors import MissingTool, Unreadable
from governance.fingerprint.packages import from_distributions
from governance.fingerprint.versions import normal_name, normal_version
from tests.support.distributions import install


def test_this_interpreter_is_asked_for_nothing() -> None:
    found = this_interpreter()
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.found == "this process"


def test_the_same_packages_are_found_as_importlib_metadata_finds() -> None:
    ours = {
        (p.name, normal_version(p.version or ""))
        for p in from_distributions(distributions(this_interpreter().path)).packages
        if not p.editable
    }
    theirs = {(normal_name(d.name), normal_version(d.version)) for d in metadata.distributions()}
    assert {name for name, _ in ours} <= {name for name, _ in theirs}
    assert theirs - ours <= {(n, v) for n, v in theirs if n == "tierlock"}


def test_another_interpreter_is_asked(tmp_path: Path) -> None:
    found = interpreter(Path(sys.executable))
    assert found.found == "asked"
    assert found.version == this_interpreter().version
    assert set(found.path) <= set(this_interpreter().path) | set(sys.path)


def make_environment(
    folder: Path, settings: str = "home = /nowhere/bin\nversion = 3.12.4\nimplementation = CPython\n"
) -> Path:
    site = folder / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_bytes(b"\x7fELF of another machine")
    (folder / "pyvenv.cfg").write_text(settings)
    return site


@pytest.mark.parametrize("key", ["version", "version_info"])
def test_an_environment_whose_interpreter_cannot_run_here_is_read_by_its_layout(
    tmp_path: Path, key: str
) -> None:
    """pip writes `version`, uv `version_info`; an image for another machine has both."""
    site = make_environment(tmp_path, f"home = /nowhere/bin\n{key} = 3.12.4.final.0\n")
    install(site, "torch", "2.6.0+cu124")
    found = interpreter(tmp_path)
    assert found.found == "folder layout"
    assert found.version == "3.12.4"
    packages = from_distributions(distributions(found.path), (), found.prefix)
    assert [(p.name, p.version) for p in packages.packages] == [("torch", "2.6.0+cu124")]
    assert packages.packages[0].source == "lib/python3.12/site-packages/torch-2.6.0+cu124.dist-info"


def test_an_environment_that_sees_the_packages_of_the_system_is_read_with_them(tmp_path: Path) -> None:
    system = tmp_path / "usr"
    install(system / "lib" / "python3.12" / "site-packages", "numpy", "1.26.4")
    (system / "bin").mkdir()
    make_environment(tmp_path / "env", f"home = {system}/bin\ninclude-system-site-packages = true\n")
    found = interpreter(tmp_path / "env")
    assert [d.folder for d in distributions(found.path)] == ["numpy-1.26.4.dist-info"]


def test_a_path_without_an_interpreter_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no interpreter"):
        interpreter(tmp_path)


def test_an_interpreter_that_neither_runs_nor_has_packages_is_a_missing_tool(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_bytes(b"nothing")
    with pytest.raises(MissingTool):
        interpreter_by_layout(str(tmp_path / "bin" / "python"))


def test_a_file_of_a_module_is_read_and_nothing_is_imported(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_bytes(b"raise SystemExit(1)\n")
    assert (
        module_file([str(tmp_path / "none"), str(tmp_path)], "torch/version.py") == b"raise SystemExit(1)\n"
    )
    assert module_file([str(tmp_path)], "jax/version.py") is None


def test_conda_records_are_read_without_the_history(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "history").write_text("==> x\n")
    (tmp_path / "conda-meta" / "cudnn-9.1.json").write_text("{}")
    assert list(conda_records(str(tmp_path))) == [("cudnn-9.1.json", b"{}")]
    assert list(conda_records(str(tmp_path / "none"))) == []


def test_a_folder_that_cannot_be_listed_is_passed_over(tmp_path: Path) -> None:
    install(tmp_path, "a", "1")
    assert [d.folder for d in distributions([str(tmp_path / "zip.pyz"), str(tmp_path)])] == ["a-1.dist-info"]
