"""Packages and platform of a host beside the capture of a release, in each way they can be known."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from governance.fingerprint.capture import Capture, Wanted, take
from governance.fingerprint.freeze import from_list
from governance.fingerprint.packages import Packages, from_program
from governance.fingerprint.platform import Platform
from governance.monitor import host
from governance.monitor.host import Serving
from governance.monitor.mismatch import Concerns, Seen
from governance.values import ABSENT, Unknown
from tests.support.distributions import install

CAT = Path("/bin/cat")
NATIVE = Unknown("no Python program")
PLAIN = {"PATH": os.environ["PATH"], "LANG": "C"}


def taken(*layers: str, environment: Mapping[str, str] | None = None, **wanted: object) -> Capture:
    given = Wanted(environment=environment or PLAIN, **wanted)  # type: ignore[arg-type]
    return take(layers, given, generated_at="", tool="")


def serving(python: Path | Unknown = NATIVE, environment: Mapping[str, str] | None = None,
            declared: Mapping[str, str] | None = None) -> Serving:  # fmt: skip
    return Serving(CAT, python, environment or PLAIN, declared or {})


def look(expected: Capture | None, here: Serving, lock: Packages | None = None) -> Seen:
    return host.look(expected, lock, here)


def named(seen: Seen) -> dict[str, tuple[object, object]]:
    return {one.change.key: (one.change.before, one.change.after) for one in seen.mismatches}


def state(seen: Seen, layer: str) -> str:
    return next(one.state for one in seen.layers if one.name == layer)


def with_packages(packages: Packages) -> Capture:
    return Capture("", "", packages=packages)


@contextmanager
def running_cat() -> Iterator[int]:
    """A program that has loaded its libraries: it has answered."""
    with subprocess.Popen([CAT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        assert cat.stdin is not None
        assert cat.stdout is not None
        cat.stdin.write(b"ready\n")
        cat.stdin.flush()
        assert cat.stdout.readline() == b"ready\n"
        yield cat.pid
        cat.stdin.close()


@pytest.fixture
def interpreter(tmp_path: Path) -> Path:
    """An interpreter with two distributions, beside those of this one."""
    python = tmp_path / "env" / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(tmp_path / "env")], check=True
    )
    site = next((tmp_path / "env" / "lib").glob("python*/site-packages"))
    install(site, "vllm", "0.8.2")
    install(site, "torch", "2.6.0+cu124")
    return python


def upgrade(interpreter: Path, name: str, before: str, after: str) -> None:
    site = next(interpreter.parents[1].glob("lib/python*/site-packages"))
    (site / f"{name}-{before}.dist-info").rename(site / f"{name}-{after}.dist-info")


class TestPackages:
    def test_the_same_environment_is_the_same(self, interpreter: Path) -> None:
        seen = look(taken("packages", python=interpreter), serving(interpreter))
        assert state(seen, "packages") == "same"
        assert seen.equal

    def test_an_upgrade_is_named_with_both_versions(self, interpreter: Path) -> None:
        expected = taken("packages", python=interpreter)
        upgrade(interpreter, "vllm", "0.8.2", "0.8.3")
        seen = look(expected, serving(interpreter))
        assert named(seen) == {"vllm": ("0.8.2", "0.8.3")}
        assert seen.mismatches[0].code == "TL804"
        assert state(seen, "packages") == "changed"

    def test_the_interpreter_is_that_of_the_server_and_not_ours(self, interpreter: Path) -> None:
        theirs = taken("packages", python=interpreter)
        assert look(theirs, serving(interpreter)).equal
        assert named(look(theirs, serving(NATIVE)))["vllm"] == ("0.8.2", ABSENT)

    def test_packages_that_were_not_pinned_when_recorded_are_not_covered(self, interpreter: Path) -> None:
        site = next(interpreter.parents[1].glob("lib/python*/site-packages"))
        url = {"url": "file:///src/vllm", "dir_info": {"editable": True}}
        install(site, "patched", "1.0", direct_url=url)
        seen = look(taken("packages", python=interpreter), serving(interpreter))
        assert seen.equal
        assert seen.uncovered[0][0] == "packages"
        assert "patched" in seen.uncovered[0][1]

    def test_a_list_stands_for_what_it_names_on_this_system(self, interpreter: Path) -> None:
        lock = from_list(
            b"vllm==0.8.2\ntorch==2.6.0+cu124\ncolorama==0.4 ; sys_platform == 'win32'\n", "requirements.lock"
        )
        assert look(with_packages(lock), serving(interpreter)).equal
        upgrade(interpreter, "torch", "2.6.0+cu124", "2.6.0+cpu")
        assert named(look(with_packages(lock), serving(interpreter))) == {
            "torch": ("2.6.0+cu124", "2.6.0+cpu")
        }

    def test_a_package_of_the_list_that_is_not_installed_is_a_mismatch(self, interpreter: Path) -> None:
        lock = from_list(b"flashinfer==0.2\n", "requirements.lock")
        assert named(look(with_packages(lock), serving(interpreter))) == {"flashinfer": ("0.2", ABSENT)}

    def test_without_a_capture_a_python_server_is_held_against_its_lock(self, interpreter: Path) -> None:
        lock = from_list(b"vllm==0.9\n", "requirements.lock")
        assert named(look(None, serving(interpreter), lock)) == {"vllm": ("0.9", "0.8.2")}
        assert look(None, serving(NATIVE), lock).uncovered[0][0] == "packages"

    def test_a_captured_environment_outranks_the_lock(self, interpreter: Path) -> None:
        lock = from_list(b"vllm==0.9\n", "requirements.lock")
        assert look(taken("packages", python=interpreter), serving(interpreter), lock).equal

    def test_an_interpreter_that_is_gone_is_a_doubt(self, interpreter: Path) -> None:
        expected = taken("packages", python=interpreter)
        interpreter.unlink()
        seen = look(expected, serving(interpreter))
        assert [one.layer for one in seen.doubts] == ["packages"]
        assert state(seen, "packages") == "unknown"


class TestProgram:
    """A server that is no Python: its libraries before the start, all it loaded once it runs."""

    def test_the_libraries_the_loader_lists_are_those_of_the_running_program(self) -> None:
        with running_cat() as pid:
            expected = taken("packages", pid=pid)
            assert look(expected, serving()).equal
            assert host.loaded(expected, replace(serving(), pid=pid)).equal

    def test_a_library_with_other_bytes_is_a_mismatch_before_the_start(self) -> None:
        known = taken("packages", program=CAT).packages
        assert isinstance(known, Packages)
        files = {package.name: package.archive for package in known.packages}
        libc = next(name for name in files if name.startswith("libc."))
        seen = look(with_packages(from_program({**files, libc: "blake3:00"})), serving())
        assert named(seen) == {libc: ("blake3:00", files[libc])}

    def test_a_library_that_is_opened_later_is_compared_later(self) -> None:
        known = taken("packages", program=CAT).packages
        assert isinstance(known, Packages)
        files = {package.name: package.archive for package in known.packages}
        expected = with_packages(from_program({**files, "libcuda.so.1": "blake3:11"}))
        seen = look(expected, serving())
        assert seen.equal
        assert "1 more are loaded and compared later" in seen.layers[0].detail
        with running_cat() as pid:
            later = host.loaded(expected, replace(serving(), pid=pid))
        assert list(named(later)) == ["libcuda.so.1"]

    def test_a_program_that_ended_is_a_doubt(self) -> None:
        with subprocess.Popen(["/bin/true"]) as ended:
            pass
        expected = taken("packages", program=CAT)
        assert host.loaded(expected, replace(serving(), pid=ended.pid)).doubts

    def test_a_release_that_knows_no_program_asks_nothing_of_the_running_one(self, interpreter: Path) -> None:
        assert host.loaded(taken("packages", python=interpreter), replace(serving(), pid=1)) == Seen()


class TestPlatform:
    def test_the_same_host_is_the_same(self) -> None:
        assert look(taken("platform", program=CAT), serving()).equal

    def test_a_host_recorded_beside_this_interpreter_is_compared_beside_it(self) -> None:
        assert look(taken("platform"), serving()).equal

    def test_a_variable_that_chooses_kernels_is_a_mismatch(self) -> None:
        seen = look(taken("platform"), serving(environment={**PLAIN, "GGML_CUDA_FORCE_MMQ": "1"}))
        assert named(seen) == {"variables.GGML_CUDA_FORCE_MMQ": (ABSENT, "1")}
        assert seen.mismatches[0].code == "TL805"

    def test_a_variable_that_shapes_nothing_is_none(self) -> None:
        assert look(taken("platform"), serving(environment={**PLAIN, "TERM": "xterm", "TZ": "UTC"})).equal

    def test_what_the_launch_of_the_release_sets_counts_as_recorded(self) -> None:
        """A capture of a host without the running server lacks them: it has the variables of a shell."""
        threads = {"OMP_NUM_THREADS": "1"}
        here = serving(environment={**PLAIN, **threads}, declared=threads)
        assert look(taken("platform"), here).equal
        other = serving(environment={**PLAIN, "OMP_NUM_THREADS": "4"}, declared=threads)
        assert named(look(taken("platform"), other)) == {"variables.OMP_NUM_THREADS": ("1", "4")}

    def test_another_c_library_is_named_and_concerns_whom_the_caller_says(self) -> None:
        recorded = taken("platform").platform
        assert isinstance(recorded, Platform)
        other = replace(recorded, interpreter={**recorded.interpreter, "libc": "glibc 2.17"})
        seen = host.look(Capture("", "", platform=other), None, serving(), concerns=Concerns.NEXT_START)
        assert [one.concerns for one in seen.mismatches] == [Concerns.NEXT_START]
        assert list(named(seen)) == ["interpreter.libc"]

    def test_a_platform_that_was_unknown_when_recorded_is_not_covered(self) -> None:
        seen = look(Capture("", "", platform=Unknown("no GPU answered")), serving())
        assert ("platform", "no GPU answered") in seen.uncovered
        assert seen.equal
